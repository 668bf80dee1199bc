"""The tail as a mixture: neither another law inside, nor another weight, nor other ends pass."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from verify.claims.limits import half_precision as claim

b, w, x = claim.b, claim.w, claim.x


@pytest.mark.parametrize(
    ("patterns", "floats", "largest"),
    [(np.uint16, np.float16, math.log(65504)), (np.uint32, np.float32, math.log(np.finfo(np.float32).max))],
)
def test_the_overflow_point_lies_next_to_the_logarithm_of_the_largest_number(
    patterns: Any, floats: Any, largest: float
) -> None:
    """The found number has a finite exponential, its upper neighbour has none; 65504 is half's largest."""
    found = floats(claim._overflow(patterns, floats))
    above = np.nextafter(found, floats(np.inf))
    with np.errstate(over="ignore"):
        assert np.isfinite(np.exp(found))
        assert not np.isfinite(np.exp(above))
    assert abs(float(found) - largest) <= float(above - found)
    assert float(np.finfo(np.float16).max) == claim.LARGEST
