"""What is on record of claims, of a run and of campaigns: parts by their ids, counts, tables, figures."""

from itertools import product
from typing import Any

import numpy as np
import pytest
from matplotlib import pyplot as plt

from tests.report.builders import check, check_that_is
from tests.report.records import SCORE_VARIANCE, record
from verify.errors import ClaimError
from verify.evidence import Check, ClaimRecord, Counted, Proof, RunRecord, Settings, Verdict
from verify.evidence.load import command

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
    assert repr(CLAIM) == f"ClaimRecord(id='score-variance', verdict='confirmed', reason={CLAIM.reason!r})"
    assert [line.partition(":")[0] for line in str(made).splitlines()] == [CLAIM.id, "other"]


def test_the_command_says_what_is_not_usual() -> None:
    """To the last digit: rounded, it would draw other samples."""
    made, usual = record(CLAIM), Settings(seed=1)
    for chosen, ending in (
        (usual, "--seed 1 --profile standard"),
        (Settings(profile="quick", tolerance=0.012345678), " --profile quick --tolerance 0.012345678"),
        (Settings(false_alarm=1e-6, power=0.99), " --profile standard --false-alarm 1e-06 --power 0.99"),
    ):
        run = made.run.model_copy(update={"settings": chosen})
        assert command(made.model_copy(update={"run": run})).endswith(ending)


def test_rows_are_in_order_while_their_bounds_leave_it_open() -> None:
    """Too many is where even the lower bound is beyond what is allowed, too few the other way round."""
    row = Counted(what="a miss", level=0.05, trials=100, events=7, allowed=0.05, low=0.02, high=0.16)
    right: list[dict[str, Any]] = [{}, {"low": 0.05}, {"at_least": True}, {"at_least": True, "allowed": 0.16}]
    wrong: list[dict[str, Any]] = [{"low": 0.051}, {"at_least": True, "allowed": 0.17}]
    in_order = [row.model_copy(update=changes).in_order for changes in (*right, *wrong)]
    assert in_order == [True, True, True, True, False, False]


def test_checks_and_controls_are_had_by_id() -> None:
    """Each among its own kind; the message names claim and nearest id in one line."""
    claim = CLAIM
    check, control = claim.checks[0], claim.controls[0]
    assert (claim.check(check.id), claim.control(control.id)) == (check, control)
    for read, name, kind in ((claim.check, control.id, "check"), (claim.control, check.id, "control")):
        with pytest.raises(ClaimError) as caught:
            read(name)
        assert str(caught.value).startswith(f"claim {claim.id}: no {kind} {name!r}")
        assert "\n" not in str(caught.value)


def test_what_is_computed_cannot_be_given() -> None:
    """A verdict, a reason and a tightness of a file are not taken; they are worked out."""
    bound = check("a", 1.5, 2.0, relation="≤")
    written = bound.model_dump()
    assert (bound.tightness, bound.verdict, bound.reason) == (0.75, "confirmed", "")
    assert {name: written[name] for name in ("tightness", "verdict", "reason")} == {
        "tightness": 0.75,
        "verdict": "confirmed",
        "reason": "",
    }
    assert Check.model_validate(written | {"verdict": "refuted", "tightness": 0.1, "reason": "why"}) == bound
    claim = ClaimRecord.model_validate(CLAIM.model_dump() | {"verdict": "refuted"})
    assert claim.verdict == "confirmed"


def test_a_claim_is_plotted() -> None:
    """Its first figure, or the one that is named, with all its points."""
    claim, (drawing, axes) = CLAIM, plt.subplots()
    figure = claim.series[0]
    assert claim.plot(figure.id, ax=axes) is axes
    points = next(layer for layer in figure.layers if layer.kind == "points")
    assert any(np.array_equal(line.get_xdata(), points.x) for line in axes.get_lines())
    assert axes.get_xscale() == figure.x.scale
    assert claim.plot().get_title() == axes.get_title() != ""
    plt.close()
    drawing.canvas.draw()
    plt.close(drawing)
    with pytest.raises(ClaimError, match="claim score-variance: no figure 'none'"):
        claim.plot("none")
    with pytest.raises(ClaimError, match="claim score-variance: has no figures"):
        claim.model_copy(update={"series": ()}).plot()
