"""Columns are balanced in a few steps, none twice, and come out as WeasyPrint would have them."""

from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import pytest
import weasyprint
from weasyprint.formatting_structure import boxes
from weasyprint.layout import block, inline, preferred

from verify.report.balancing import laid_out_once

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


def laid_out(
    monkeypatch: pytest.MonkeyPatch, html: weasyprint.HTML, way: AbstractContextManager[None]
) -> tuple[list[tuple[float, int]], int]:
    """Return the columns of a page laid out in some way, and how often WeasyPrint laid one out for them."""
    count, layout = 0, block.block_box_layout

    def counted(context: Any, box: Any, *rest: Any, **named: Any) -> Any:
        nonlocal count
        count += box.is_column
        return layout(context, box, *rest, **named)

    with monkeypatch.context() as patch:
        patch.setattr(block, "block_box_layout", counted)
        with way:
            return columns(html.render()), count


def lines(document: weasyprint.Document) -> list[tuple[str, float, float, float]]:
    """Return each line of text of a document, where it stands and how wide it is."""
    return [
        (box.text, box.position_x, box.position_y, box.width)
        for page in document.pages
        for box in page._page_box.descendants()
        if isinstance(box, boxes.TextBox)
    ]


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
    usual, slowly = laid_out(monkeypatch, page(rows), nullcontext())
    found, fast = laid_out(monkeypatch, page(rows), laid_out_once())
    assert found == usual == expected
    assert slowly > 8 * fast


def test_leaves_weasyprint_as_it_was() -> None:
    """Also where the layout fails."""
    before = block.block_box_layout, inline.split_first_line, preferred.split_first_line
    with pytest.raises(AssertionError), laid_out_once():
        raise AssertionError
    assert (block.block_box_layout, inline.split_first_line, preferred.split_first_line) == before


def test_rows_that_may_break_are_balanced_line_by_line(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing changes for them."""
    html = f"<style>{STYLE}</style><div class=two><p>{'x<br>' * 31}</p></div>"
    usual, slowly = laid_out(monkeypatch, weasyprint.HTML(string=html), nullcontext())
    found, fast = laid_out(monkeypatch, weasyprint.HTML(string=html), laid_out_once())
    assert (found, fast) == (usual, slowly)
    assert len(found) == 2


def test_takes_the_columns_of_a_full_page_from_its_try(monkeypatch: pytest.MonkeyPatch) -> None:
    """They come out in the same place, words and widths included, and so do those of the pages after them."""
    words = " ".join(f"{number} {'abcdefgh'[: number % 8]}" for number in range(800))
    html = weasyprint.HTML(string=f"<style>{STYLE}</style><div class=two><p>{words}</p><p>{words}</p></div>")
    _, before = laid_out(monkeypatch, html, nullcontext())
    _, after = laid_out(monkeypatch, html, laid_out_once())
    with laid_out_once():
        once = html.render()
    assert len(once.pages) > 2
    assert lines(once) == lines(html.render())
    assert after <= before - 2 * (len(once.pages) - 1)


def test_lays_a_text_out_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """A line that is asked for in one style and width a second time is the one from before."""
    asked = []
    layout = inline.split_first_line

    def counted(text: str, *rest: Any, **named: Any) -> Any:
        asked.append((text, *map(id, rest[:1]), *rest[2:], *named.values()))
        return layout(text, *rest, **named)

    html = page((60, 70, 40))
    with monkeypatch.context() as patch:
        patch.setattr(inline, "split_first_line", counted)
        with laid_out_once():
            html.render()
    assert asked
    assert len(asked) == len(set(asked))
