"""Where a function crosses 0: known roots, from either side, and none where there is none."""

from __future__ import annotations

import math

import pytest

from verify.montecarlo.roots import crossing


@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_known_crossings_to_the_last_bits(sign: float) -> None:
    """Whether the function rises or falls there; one at an end is found too."""
    assert crossing(lambda x: sign * (x * x - 2), 0.0, 40.0) == pytest.approx(math.sqrt(2), rel=1e-15)
    assert crossing(lambda x: sign * (math.exp(x) - 1e-30), -100.0, 0.0) == pytest.approx(
        math.log(1e-30), rel=1e-15
    )
    assert crossing(lambda x: sign * (x - 1e-200), 0.0, 1.0) == pytest.approx(1e-200, rel=1e-15)


def test_no_crossing_is_an_error() -> None:
    """A function with one sign has none."""
    with pytest.raises(ValueError, match=r"no change of sign between 0\.0 and 1\.0"):
        crossing(lambda x: 1 + x, 0.0, 1.0)
