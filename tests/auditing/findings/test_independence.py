"""Whether a sequence's keys vary along its own queries more than another's do."""

from __future__ import annotations

import numpy as np
import pytest

from tests.auditing.findings.found import normal, of_vectors


def test_queries_that_know_their_sequences_keys_are_not_independent() -> None:
    """Where queries and keys are long in the same sequences, rows vary more than independence allows."""
    q, k = normal()
    length = np.exp(0.5 * np.random.default_rng(3).standard_normal((60, 1, 1, 1))).astype(np.float32)
    assert of_vectors(q * length, k)["independence"].estimate == pytest.approx(1.0, abs=0.05)
    assert (of_vectors(q * length, k * length)["independence"].estimate or 0) > 1.5
