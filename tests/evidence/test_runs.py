"""What is on record of a run and of campaigns: it comes back from its text, and counts add up."""

from html import escape
from itertools import product
from typing import Any

import pytest

from tests.report.builders import check_that_is
from tests.report.records import SCORE_VARIANCE, record
from verify.errors import ClaimError
from verify.evidence import ClaimRecord, Counted, Proof, RunRecord, Verdict


CLAIM = SCORE_VARIANCE


def run_of(*claims: ClaimRecord, **more: Any) -> RunRecord:
    """Return a run of these claims alone."""
    alone: dict[str, Any] = {"claims": claims, "sources": (), "statements": ()}
    return record(CLAIM).model_copy(update=alone | more)


def claim_of(kind: tuple[Verdict, Proof]) -> ClaimRecord:
    """Return the claim with a check that comes out so, and another state of its proof."""
    verdict, proof = kind
    derivation = CLAIM.derivation.model_copy(update={"status": proof})
    return CLAIM.model_copy(update={"checks": (check_that_is(verdict, "one"),), "derivation": derivation})


def test_the_worst_claim_decides_the_exit_status() -> None:
    """1 for anything refuted or a failed proof, else 3 for anything undecided, else 0; in any order."""
    alone = {
        (verdict, proof): 1
        if verdict is Verdict.REFUTED or proof is Proof.FAILED
        else 3
        if verdict is Verdict.UNDECIDED
        else 0
        for verdict, proof in product(Verdict, Proof)
    }
    worse = {0: 0, 3: 1, 1: 2}
    representatives = {status: kind for kind, status in alone.items()}.values()
    for first, second in [*product(alone, representatives), *product(representatives, alone)]:
        worst = max(alone[first], alone[second], key=worse.__getitem__)
        assert run_of(*map(claim_of, (first, second))).exit_status == worst
    assert run_of().exit_status == 0


def test_parts_and_counts_of_a_run() -> None:
    """A claim by its id, the nearest where there is none; checks with and without draws; a short line."""
    made = run_of(CLAIM, CLAIM.model_copy(update={"id": "other", "checks": CLAIM.checks[:1]}))
    assert made.claim(CLAIM.id) is made.claims[0]
    with pytest.raises(ClaimError, match=r"this run: .*did you mean 'other'"):
        made.claim("othr")
    exact = sum(check.draws == 0 for check in CLAIM.checks)
    assert (made.exact_checks, made.measured_checks) == (exact, len(CLAIM.checks) + 1 - exact)
    assert repr(made) == "RunRecord(claims=2, confirmed=2, profile='standard', seed=20170612)"


def test_a_run_shows_itself_as_text_and_in_notebooks() -> None:
    """Every claim has one line of text and one row of escaped HTML."""
    run = record()
    assert [line.partition(":")[0] for line in str(run).splitlines()] == [claim.id for claim in run.claims]
    shown = run._repr_html_()
    assert shown.count("<tr>") == len(run.claims) + 1
    for claim in run.claims:
        assert f"<td>{claim.id}</td>" in shown
        assert escape(claim.title) in claim._repr_html_()


def test_rows_are_in_order_while_their_bounds_leave_it_open() -> None:
    """Too many is where even the lower bound is beyond what is allowed, too few the other way round."""
    row = Counted(what="a miss", level=0.05, trials=100, events=7, allowed=0.05, low=0.02, high=0.16)
    right: list[dict[str, Any]] = [{}, {"low": 0.05}, {"at_least": True}, {"at_least": True, "allowed": 0.16}]
    wrong: list[dict[str, Any]] = [{"low": 0.051}, {"at_least": True, "allowed": 0.17}]
    in_order = [row.model_copy(update=changes).in_order for changes in (*right, *wrong)]
    assert in_order == [True, True, True, True, False, False]
