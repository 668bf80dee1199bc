"""How much the scores of a row vary."""

from __future__ import annotations

import pytest

from tests.auditing.findings.found import D, normal, of_vectors


def test_a_wrong_scale_shows_in_the_row_variance_and_its_remark() -> None:
    """Scaled by 1/d in place of 1/√d rows vary by 1/d, and the scale that would make it 1 is named."""
    one = of_vectors(*normal(), scale=1 / D)["row-variance"]
    assert one.estimate == pytest.approx(1 / D, rel=0.1)
    assert "a scale of 0.2" in one.reason
    nothing = of_vectors(*normal(), scale=0.0)
    assert "all scores agree" in nothing["row-variance"].reason
    assert nothing["independence"].estimate is None
