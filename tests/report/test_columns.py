"""Columns of numbers: aligned on the decimal point, and wide enough."""

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.report.builders import check, exact_check
from verify.report.columns import aligned, check_widths, control_widths, found_widths
from verify.report.tables import check_table
from verify.report.views import Cell, RowView


def test_decimal_points_line_up() -> None:
    """What stands right of the point, and its padding, is equally wide in all cells of a column."""
    cells = aligned(["1", "22.5", "3.125", ""])
    assert [cell.pad for cell in cells] == [1.74, 0.994, 0.0, 0.0]
    assert [cell.pad for cell in aligned(["1", "0.25", "−7.1×10⁻⁸"])] == [1.243, 0.0, 0.0]


def test_columns_follow_their_numbers() -> None:
    """A long number widens its column, and a table without rows has none."""
    short = check_table("c", [check("c", 1, 1)]).widths
    long = check_table("c", [exact_check("c", 6.882544915e-5, "x", "c")]).widths
    assert long[1] > short[1] + 1


def rows(**texts: str) -> list[RowView]:
    """Return two rows of checks, the second with other texts in some columns."""
    (group,) = check_table("c", [check("a", 64.02, 64, cell={"d_k": 1}), check("b", 64.02, 64)]).groups[:1]
    first = group.rows[0]
    cells: dict[str, Any] = {name: Cell(text, 0.0) for name, text in texts.items()}
    return [first, replace(first, **cells)]


@pytest.mark.parametrize(("column", "name"), [*enumerate(["predicted", "estimate", "error", "low", "high"])])
def test_only_the_column_of_a_long_number_widens(column: int, name: str) -> None:
    """Twenty figures of half an em need ten, and the room between two columns."""
    usual, long = check_widths(rows()), check_widths(rows(**{name: "8" * 20}))
    assert [place for place in range(7) if usual[place] != long[place]] == [column]
    assert long[column] == pytest.approx(20 * 0.497 + 1.1, abs=0.006)
    assert check_widths([]) == found_widths([]) == control_widths([]) == ()


def test_padding_counts_and_heads_need_their_room() -> None:
    """A number moved to its decimal point takes that much more; an empty column is as wide as its head."""
    one, *_ = rows()
    moved = replace(one, estimate=Cell("8" * 20, 3.0))
    assert check_widths([moved])[1] - check_widths(rows(estimate="8" * 20))[1] == pytest.approx(3, abs=0.011)
    nothing: dict[str, Any] = dict.fromkeys(("predicted", "estimate", "error", "low", "high"), Cell("", 0.0))
    empty = replace(one, **nothing)
    assert min(check_widths([empty])) > 1.1


@given(st.lists(st.tuples(st.integers(0, 9999), st.integers(0, 5), st.booleans()), min_size=1, max_size=5))
def test_aligned_points_stand_at_one_place(numbers: list[tuple[int, int, bool]]) -> None:
    """From the right edge: the padding and what stands right of the point are as wide in all cells."""
    texts = [
        f"{'−' if sign else ''}{whole}{'.' + '7' * digits if digits else ''}"
        for whole, digits, sign in numbers
    ]
    cells = aligned(texts)
    assert [cell.text for cell in cells] == texts
    widths = [
        cell.pad + (0.249 + 0.497 * digits if digits else 0)
        for cell, (_, digits, _) in zip(cells, numbers, strict=True)
    ]
    assert max(widths) - min(widths) < 0.0015
    assert min(cell.pad for cell in cells) == 0
