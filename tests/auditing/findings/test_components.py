"""Mean, variance and effective dimension of the components."""

from __future__ import annotations

import pytest

from tests.auditing.findings.found import normal, of_vectors


def test_correlated_components_have_a_smaller_dimension() -> None:
    """With eight of sixteen components copied from the others the effective dimension is a half."""
    q, k = normal()
    q[..., 8:] = q[..., :8]
    one = of_vectors(q, k)["components-query-dimension"]
    assert one.estimate == pytest.approx(0.5, abs=0.05)
    assert "see correlated-components" in one.reason
