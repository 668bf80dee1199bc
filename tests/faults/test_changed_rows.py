"""Rows of a store changed and sealed again: a part of the campaign, and what only a claim's row shows."""

from __future__ import annotations

import warnings
from pathlib import Path

import pytest

from tests.faults.changed_rows import Kept, Outcome, campaign, changes, table
from verify.engine.rows import fault_of


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> Kept:
    """Return a store that a run has filled."""
    return Kept(tmp_path_factory.mktemp("kept"), own=False)


@pytest.mark.slow
def test_a_changed_row_of_a_claim_file_is_refused_or_decides_nothing(tmp_path: Path) -> None:
    """As of a claim that comes with the tool."""
    check_campaign(Kept(tmp_path), 500)


def test_a_changed_row_is_refused_or_decides_nothing(kept: Kept) -> None:
    """Of each leaf as many changes; what is refused is said in one line and computed again."""
    check_campaign(kept, 30)


def check_campaign(kept: Kept, number: int) -> None:
    """Try so many changes."""
    wrong: list[Outcome] = []
    outcomes = campaign(kept, number, 33, wrong.append)
    print(table(outcomes))
    assert not wrong, [(one.change[:4], one.problems) for one in wrong]
    assert sum(one.what.startswith("refused") for one in outcomes) > number / 4


def test_a_fact_has_the_value_of_its_formula(kept: Kept) -> None:
    """It decides what sources print: another value is refused."""
    some = [one for one in changes(kept) if (one.kind, one.leaf) == ("claim", "facts.#.value")]
    assert len(some) > 20
    for one in some:
        assert fault_of(one.row._replace(content=one.content())), one[:4]


def test_a_record_without_what_statements_rest_on_is_computed_again(kept: Kept) -> None:
    """Else that run, and every later one, would end for lack of it."""
    names = ("worked-dot-products", "claim", "facts", "[]")
    (change,) = (one for one in changes(kept) if one[:4] == names)
    outcome = kept.tried(change)
    assert outcome.what == "refused by the run alone"
    assert not outcome.problems


def test_sums_too_large_for_an_estimate_are_refused_without_a_warning_of_numpys(kept: Kept) -> None:
    """They are finite, and those of some blocks; what would be estimated from them is not."""
    change = next(one for one in changes(kept) if (one.leaf, one.to) == ("shift", "1e+308"))
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        outcome = kept.tried(change)
    assert outcome.what == "refused by the run alone"
    assert not outcome.problems
    assert not warned
