"""The share of the scores' variance that lies between rows."""

from __future__ import annotations

import pytest

from tests.auditing.findings.found import normal, of_vectors


def test_means_of_keys_shift_rows_and_are_told_from_variance() -> None:
    """Keys with mean 1 in every component: half of the scores' variance lies between rows."""
    q, k = normal()
    found = of_vectors(q, k + 1)
    assert found["shift-share"].estimate == pytest.approx(0.5, abs=0.03)
    assert found["row-variance"].estimate == pytest.approx(1.0, abs=0.05)
    assert found["components-key-mean"].estimate == pytest.approx(1.0, abs=0.03)
    assert "score-variance asks for mean 0" in found["components-key-mean"].reason
    assert found["components-query-mean"].reason == ""
