"""Scores past a limit, counted by sequence."""

from __future__ import annotations

import numpy as np
import pytest

from tests.auditing.findings.found import normal, of_vectors
from verify.evidence.audits import Judgement


def test_large_scores_are_counted_by_sequence_and_refuted_past_the_last_limit() -> None:
    """A third of the sequences has a score past 1e4; a gate decides by it."""
    q, k = normal()
    q[::3] *= 4000
    found = of_vectors(q, k, gate="largest-score-10000")
    past = found["largest-score-10000"]
    assert past.estimate == pytest.approx(1 / 3)
    assert (past.judgement, past.decides) == (Judgement.REFUTED, True)
    assert (found["largest-score-100"].judgement, found["largest-score-100"].decides) == (
        Judgement.WARNED,
        False,
    )
    calm = of_vectors(*normal(), gate="largest-score-10000")["largest-score-10000"]
    assert calm.judgement is Judgement.CONFIRMED
    assert "larger ones may not have been seen" in calm.reason
    assert (calm.interval[1] or 0) > 0


def test_an_infinite_score_is_the_largest() -> None:
    """It passes every limit, although no mean over rows exists."""
    q, k = normal(8)
    k[2, 0, 5, :] = np.inf
    q[2] = np.abs(q[2])
    found = of_vectors(q, k)
    assert found["largest-score-10000"].estimate == pytest.approx(1 / 8)
    assert found["entropy"].sequences == 7
