"""What changed between two runs: verdicts, predictions and estimates, not the digits that chance redraws."""

from __future__ import annotations

from typing import Any

from tests.report.records import CLAIMS, PAIRWISE, record
from verify.evidence import ClaimRecord, Outcome, RunRecord, Verdict
from verify.report.changes import changes


def altered(claim: ClaimRecord, **more: Any) -> ClaimRecord:
    """Return a claim whose first check is otherwise."""
    first, *others = claim.checks
    return claim.model_copy(update={"checks": (first.model_copy(update=more), *others)}).sealed()


def test_a_run_has_not_changed_against_itself() -> None:
    """Nothing is listed, and every claim's evidence is the same; the earlier run is named."""
    run = record()
    found = changes(run, run)
    assert (found.claims, found.checks, found.statements, found.same) == ((), (), (), len(CLAIMS))
    assert found.earlier.startswith("0.1.0, seed 20170612, standard profile")


def test_what_chance_draws_again_is_no_change() -> None:
    """An estimate may move within both intervals; beyond them it is listed, with both values."""
    first = PAIRWISE.checks[0]
    low, high = first.interval
    inside = first.estimate + (high - first.estimate) / 2
    old = record(PAIRWISE)
    near = record(altered(PAIRWISE, estimate=inside))
    assert (changes(old, near).checks, changes(old, near).same) == ((), 0)
    shift = 3 * (high - low)
    far = record(altered(PAIRWISE, estimate=first.estimate + shift, interval=(low + shift, high + shift)))
    (moved,) = changes(old, far).checks
    assert moved.link == moved.key == f"{PAIRWISE.id}.{first.id}"
    assert moved.before != moved.after
    assert "approximate" in moved.before


def test_verdicts_and_predictions_are_changes() -> None:
    """Even where the estimate is the same."""
    for more in ({"verdict": Verdict.REFUTED}, {"prediction": 7.0}):
        (moved,) = changes(record(PAIRWISE), record(altered(PAIRWISE, **more))).checks
        assert moved.key == f"{PAIRWISE.id}.{PAIRWISE.checks[0].id}"


def test_what_came_and_what_went() -> None:
    """Claims and checks that only one of the runs has; what is gone has no place to lead to."""
    less = PAIRWISE.model_copy(update={"checks": PAIRWISE.checks[1:]}).sealed()
    fewer: RunRecord = record(less)
    grown, shrunk = changes(fewer, record()), changes(record(), fewer)
    gone = [one.key for one in shrunk.claims]
    assert gone == [claim.id for claim in CLAIMS if claim is not PAIRWISE]
    assert {one.link for one in shrunk.claims} == {""}
    assert {one.after for one in shrunk.claims} == {"gone"}
    assert [one.link for one in grown.claims] == gone
    assert {one.before for one in grown.claims} == {"not there"}
    (added,), (removed,) = grown.checks, shrunk.checks
    assert (added.before, removed.after) == ("not there", "gone")


def test_statements_are_compared_by_their_outcome() -> None:
    """A statement that is decided otherwise is listed with both outcomes."""
    run = record()
    first, *others = run.statements
    turned = run.model_copy(
        update={"statements": (first.model_copy(update={"outcome": Outcome.WRONG}), *others)}
    )
    (one,) = changes(run, turned).statements
    assert (one.link, one.before, one.after, one.tone) == (f"statement-{first.id}", "holds", "wrong", "bad")
