"""A claim's tables of checks and controls: which rows stand together, and what is printed once for them."""

import pytest

from tests.report.builders import check, control, spaced
from tests.report.score_variance import SCORE_VARIANCE
from verify.evidence import Verdict
from verify.report.tables import check_table, control_table
from verify.report.views import CheckTable, ControlTable
from verify.text.escapes import pieces
from verify.text.latex import Prose


@pytest.mark.parametrize(
    ("estimate", "error", "shown"), [(58.88, 0.09, "0.9200"), (63.99, 0.0005, "0.999844"), (32.0, 0.0, "0.5")]
)
def test_how_close_a_bound_is_stands_beside_it(estimate: float, error: float, shown: str) -> None:
    """The estimate over the bound is printed with the digits that its error supports, in the check's row."""
    made = check("at", estimate, 64, relation="≤", error=error)
    row = check_table("c", (made,)).groups[0].rows[0]
    assert spaced(row.remark) == f"estimate ÷ bound {shown}"
    assert check_table("c", (check("at", 64, 64),)).groups[0].rows[0].remark == ""


def test_what_keeps_a_check_open_stands_beside_it() -> None:
    """The reason of an undecided check is in its row, after how close its bound is."""
    made = check("at", 60.0, 64, relation="≤", verdict=Verdict.UNDECIDED, reason="too skewed")
    assert check_table("c", (made,)).groups[0].rows[0].remark.endswith("; too skewed")


def test_checks_of_one_fit_stand_together() -> None:
    """A fit's slope, intercept and so on share a title that says what was fitted."""
    last = check_table("c", SCORE_VARIANCE.checks).groups[-1]
    assert last.title is not None
    assert last.title.quantity == "Weighted fit"
    assert [row.anchor for row in last.rows][:2] == ["c.slope", "c.intercept"]


def test_settings_may_hold_formulas() -> None:
    """A cell's value with LaTeX between dollar signs is typeset, in tables and sentences."""
    cells = [{"scale": r"$1/\sqrt{d_k}$", "d_k": d} for d in (1, 2)]
    made = tuple(check(f"c{n}", 1, 1, cell={**cell}) for n, cell in enumerate(cells))
    (group,) = check_table("c", made).groups
    assert group.title is not None
    assert [piece.text for piece in pieces(group.title.note) if piece.is_formula] == [r"1/\sqrt{d_k}"]


def test_settings_of_all_checks_are_printed_once() -> None:
    """What all checks, or all simulated ones, have alike stands above the table and not in each title."""
    long: dict[str, int | float | str] = {
        "task": "find the copied one of many tokens, noise 0.3",
        "goal": "mean loss below 0.2",
    }
    made = [check(f"c{n}", 1, 1, quantity=f"share {n}", cell={"d_k": n, **long}) for n in (1, 2)]
    other = check("e", 1, 1, method="exact", cell={"d_k": 3})
    table = check_table("c", [*made, other])
    (line,) = table.common
    assert line.startswith(
        "In all simulated checks: task find the copied one of many tokens, noise 0.3; goal"
    )
    titles = [row.title for group in table.groups for row in group.rows]
    assert all(title is not None and "task" not in title.note for title in titles)
    assert check_table("c", []) == CheckTable((), (), ())
    assert check_table("c", made[:1]).common == ()


def test_neighbours_with_the_same_long_settings_share_a_head() -> None:
    """Where not all checks have the settings, those that follow one another print them once."""
    long: dict[str, int | float | str] = {
        "task": "find the copied one of many tokens, noise 0.3",
        "goal": "mean loss below 0.2",
    }
    made = [check(f"c{n}", 1, 1, quantity=f"share {n}", cell=long) for n in (1, 2)]
    (head, rest) = check_table("c", [*made, check("c3", 1, 1, quantity="share 3", cell={"d_k": 3})]).groups
    assert head.title is not None
    assert "noise 0.3" in head.title.note
    assert [row.title.quantity for row in head.rows if row.title] == ["share 1", "share 2"]
    assert all("noise" not in row.title.note for row in head.rows if row.title)
    assert len(rest.rows) == 1


def test_a_table_of_controls_says_how_many_are_refuted() -> None:
    """Settings that all share stand above, the others with what is wrong; a standing control is an alarm."""
    wrong = [
        control("one", "it is larger", 70, 64, cell={"d_k": 64, "law": "normal"}),
        control("two", "it is smaller", 50, 64, cell={"d_k": 8, "law": "normal"}, verdict=Verdict.UNDECIDED),
    ]
    table = control_table("c", wrong)
    assert (table.refuted, table.common) == (1, "In all controls: law normal.")
    assert [row.anchor for row in table.rows] == ["c.one", "c.two"]
    assert [spaced(row.what) for row in table.rows] == [
        "it is larger ($d_{k}$ = 64)",
        "it is smaller ($d_{k}$ = 8)",
    ]
    assert [row.verdict.tone for row in table.rows] == ["good", "bad"]
    assert spaced(table.rows[0].power) == "> 0.9999"
    assert spaced(table.rows[0].found) == "64.00 in [63.52, 64.48]"


def test_a_single_control_has_its_settings_to_itself() -> None:
    """Nothing stands above; one of computed values has no power and no interval."""
    exact = control("one", "it is 1", 1, 2, interval=(2.0, 2.0), blocks=0, draws=0, cell={"d_k": 4})
    table = control_table("c", [exact])
    assert table.common == ""
    (row,) = table.rows
    assert (spaced(row.what), row.found, row.power) == ("it is 1 ($d_{k}$ = 4)", "2", "exact")
    assert control_table("c", []) == ControlTable((), Prose(""), (), 0)


@pytest.mark.parametrize(
    ("blocks", "draws", "shown"),
    [
        (0, 0, ""),
        (64, 999_999, "64 / 999 999"),
        (4096, 1_000_000, "4096 / 1 M"),
        (20_000, 16_777_216, "20 000 / 16.8 M"),
    ],
)
def test_samples_are_blocks_and_draws(blocks: int, draws: int, shown: str) -> None:
    """Millions in short; nothing where nothing is drawn."""
    made = check("c", 1, 1).model_copy(update={"blocks": blocks, "draws": draws})
    assert spaced(check_table("c", [made]).groups[0].rows[0].sample) == shown


def test_rows_of_one_quantity_stand_under_one_title() -> None:
    """Neighbours in other dimensions; another quantity, or another relation, begins a group of its own."""
    made = [
        *(check(f"v{n}", n, n, cell={"d_k": n}) for n in (2, 4)),
        *(check(f"m{n}", n, n, quantity="mean", cell={"d_k": n}) for n in (2, 4)),
        *(check(f"b{n}", n, n, quantity="mean", cell={"d_k": n}, relation="≤") for n in (2, 4)),
    ]
    groups = check_table("c", made).groups
    assert [[row.anchor for row in one.rows] for one in groups] == [
        ["c.v2", "c.v4"], ["c.m2", "c.m4"], ["c.b2", "c.b4"],
    ]  # fmt: skip
    assert [one.title and spaced(one.title.note) for one in groups] == [
        "±1% of the prediction", "±1% of the prediction", "upper bound +1% of the prediction",
    ]  # fmt: skip
    assert [spaced(row.label) for row in groups[0].rows] == ["$d_{k}$ = 2", "$d_{k}$ = 4"]


def test_what_most_exact_checks_allow_for_is_printed_once() -> None:
    """Above the table; a row that allows for something else, or for nothing, says so itself."""
    usual = [
        check(f"c{n}", 1e-16, 0, error=0.0, scale=1.0, method="exact", tolerance=1e-12, of="rounding",
              quantity=f"gap {n}", latex="0")
        for n in range(3)
    ]  # fmt: skip
    exact = check("e", 2, 2, error=0.0, method="exact", tolerance=0.0, quantity="a count", latex="2")
    table = check_table("c", usual)
    assert table.common == ("Exact checks hold to 1×10⁻¹² for rounding.",)
    rows = [row for group in table.groups for row in group.rows]
    assert [row.title.note for row in rows if row.title] == ["", "", ""]
    assert [row.estimate.text for row in rows] == ["1×10⁻¹⁶"] * 3
    for wide in (False, True):
        mixed = check_table("c", [*usual, exact], wide=wide)
        assert mixed.common == ("Exact checks hold to 1×10⁻¹² for rounding, where nothing else is said.",)
        last = mixed.groups[-1].rows[-1].title
        assert last is not None
        assert last.note == "exact"
    alone = check_table("c", [exact], wide=True).groups[0].rows[0].title
    assert alone is not None
    assert alone.note == ""
    assert check_table("c", usual[:2]).common == ()
