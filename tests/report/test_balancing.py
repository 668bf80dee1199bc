"""Columns are balanced in a few steps, and come out as WeasyPrint would have them."""

from collections.abc import Sequence
from typing import Any

import pytest
import weasyprint
from weasyprint.layout import block

from verify.report.balancing import raised_by_whole_rows

STYLE = """
@page { size: 400px 600px; margin: 0 }
body { margin: 0; font: 10px/10px "DejaVu Sans" }
.two { columns: 2; column-gap: 0 }
.row { break-inside: avoid }
p { margin: 0 }
"""


def page(rows: Sequence[int]) -> weasyprint.HTML:
    """Return two columns of rows that must not break, a line each ten pixels."""
    texts = ("<br>".join(["x"] * (height // 10)) for height in rows)
    body = "".join(f'<div class="row"><p>{text}</p></div>' for text in texts)
    return weasyprint.HTML(string=f'<style>{STYLE}</style><div class="two">{body}</div>')


def columns(document: weasyprint.Document) -> list[tuple[float, int]]:
    """Return each column's height, and how many rows it has."""
    return [
        (box.height, len(box.children))
        for box in document.pages[0]._page_box.descendants()
        if getattr(box, "is_column", False)
    ]


def laid_out(monkeypatch: pytest.MonkeyPatch, html: weasyprint.HTML) -> tuple[list[tuple[float, int]], int]:
    """Return the columns of a page, and how often one was laid out for them."""
    count, layout = 0, block.block_box_layout

    def counted(context: Any, box: Any, *rest: Any, **named: Any) -> Any:
        nonlocal count
        count += box.is_column
        return layout(context, box, *rest, **named)

    with monkeypatch.context() as patch:
        patch.setattr(block, "block_box_layout", counted)
        return columns(html.render()), count


@pytest.mark.parametrize(
    ("rows", "expected"),
    [
        ((60, 70, 40), [(110, 1), (110, 2)]),
        ((250, 310, 220, 210), [(560, 2), (560, 2)]),
        ((100, 200, 90, 40), [(300, 2), (300, 2)]),
    ],
)
def test_the_same_columns_in_fewer_steps(
    rows: Sequence[int], expected: list[tuple[float, int]], monkeypatch: pytest.MonkeyPatch
) -> None:
    """What WeasyPrint finds pixel by pixel is found at once."""
    usual, slowly = laid_out(monkeypatch, page(rows))
    with raised_by_whole_rows():
        found, fast = laid_out(monkeypatch, page(rows))
    assert found == usual == expected
    assert slowly > 8 * fast


def test_leaves_weasyprint_as_it_was() -> None:
    """Also where the layout fails."""
    layout = block.block_box_layout
    with pytest.raises(AssertionError), raised_by_whole_rows():
        raise AssertionError
    assert block.block_box_layout is layout


def test_rows_that_may_break_are_balanced_line_by_line(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing changes for them."""
    html = f"<style>{STYLE}</style><div class=two><p>{'x<br>' * 31}</p></div>"
    usual, slowly = laid_out(monkeypatch, weasyprint.HTML(string=html))
    with raised_by_whole_rows():
        found, fast = laid_out(monkeypatch, weasyprint.HTML(string=html))
    assert (found, fast) == (usual, slowly)
    assert len(found) == 2
