"""Columns of numbers: aligned on the decimal point, and wide enough."""

from tests.report.builders import check, exact_check
from verify.report.columns import aligned
from verify.report.tables import check_table


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
