"""Planted faults are caught and named, or undecided with the reason; correct attention passes."""

from __future__ import annotations

import numpy as np
import pytest

from tests.auditing.planted import (
    CORRECT,
    OVERFLOWS,
    RECONSTRUCTIONS,
    SCALES,
    Fault,
    dtypes,
    exact_findings,
    is_caught,
    training_findings,
)
from verify.auditing.audit import audit
from verify.auditing.recording import Recording
from verify.evidence.audits import AuditSettings, Judgement

DTYPES = ("float32", "bfloat16")
pytest.importorskip("ml_dtypes")


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("fault", [*SCALES, *RECONSTRUCTIONS], ids=lambda fault: fault.what)
def test_planted_faults_are_caught_and_named(fault: Fault, dtype: str) -> None:
    """Each fault is refuted by its finding, with the cause that was planted and a fix."""
    found = exact_findings(fault.layer(dtypes()[dtype]))[fault.kind]
    assert is_caught(fault, found), f"{found.judgement}: {found.cause or found.reason}"
    assert found.fix
    assert found.decides


@pytest.mark.parametrize("dtype", DTYPES)
def test_growing_logits_and_collapsing_entropy_are_caught(dtype: str) -> None:
    """At the start of training gates on scores and entropy hold; later both fail in right attention."""
    kind = dtypes()[dtype]
    start, late = training_findings(1.0, kind), training_findings(5000.0, kind)
    gated = ("largest-score-10000", "entropy")
    assert {start[name].judgement for name in gated} == {Judgement.CONFIRMED}
    assert {late[name].judgement for name in gated} == {Judgement.REFUTED}
    assert "scores beyond 10,000 were seen; the largest seen is " in late["largest-score-10000"].reason
    assert (late["entropy"].interval[1] or 1) < 0.3
    assert {found["reconstruction"].judgement for found in (start, late)} == {Judgement.CONFIRMED}
    assert late["scale-implied"].judgement is not Judgement.REFUTED


@pytest.mark.parametrize("fault", OVERFLOWS, ids=lambda fault: fault.what)
def test_numbers_that_are_none_are_found(fault: Fault) -> None:
    """What leaves the range of half precision, or is NaN, is refuted and named."""
    found = exact_findings(fault.layer(np.float16), head=0)[fault.kind]
    assert is_caught(fault, found), f"{found.judgement}: {found.cause or found.reason}"


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("what", CORRECT)
def test_correct_attention_passes(what: str, dtype: str) -> None:
    """Attention without a fault is confirmed by every exact finding."""
    found = exact_findings(CORRECT[what].layer(dtypes()[dtype]))
    assert {"scale-implied", "reconstruction", "overflow"} <= set(found)
    assert {name: one.reason for name, one in found.items() if one.judgement is not Judgement.CONFIRMED} == {}


@pytest.mark.parametrize("factor", [1.0, 1.1])
def test_scale_that_bfloat16_cannot_tell_is_undecided_with_the_reason(factor: float) -> None:
    """Where scores differ by 0.02 or less, rounding hides the scale and the finding says so."""
    fault = Fault("", "", "", lambda a, q, k, v: a.attend(q, k, v, factor / 8), {"deviation": 0.002})
    found = exact_findings(fault.layer(dtypes()["bfloat16"]))["scale-implied"]
    assert found.judgement is Judgement.UNDECIDED
    assert "rounding leaves the scale uncertain" in found.reason


def test_large_scores_in_bfloat16_are_no_false_alarm() -> None:
    """Rounded scores of size 20 flatten the softmax; that is allowed for, however many rows there are."""
    for deviation in (6.0, 16.0):
        options = {"deviation": deviation, "queries": 150, "keys": 150, "heads": 2}
        fault = Fault("", "", "", lambda a, q, k, v: a.attend(q, k, v, 1 / 8), options)
        found = exact_findings(fault.layer(dtypes()["bfloat16"]))
        assert found["reconstruction"].judgement is Judgement.CONFIRMED
        assert found["scale-implied"].judgement is not Judgement.REFUTED


def test_a_whole_audit_fails_for_a_planted_fault_and_names_the_fix() -> None:
    """Through the audit itself a wrong scale gives status 1, and the fix is on record for every head."""
    (fault,) = (one for one in SCALES if one.what == "width of all heads")
    record = audit(
        Recording("planted", (fault.layer(np.float32),)), AuditSettings(false_alarm=1e-3), workers=1
    )
    assert record.exit_status() == 1
    fixes = {one.fix for one in record.findings if one.kind == "scale-implied"}
    assert fixes == {"divide by √64, not √256: every score is 2 times too small"}
