"""The tail as a mixture: neither another law inside, nor another weight, nor other ends pass."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from sympy import Integral, exp, gamma, oo, pi, sqrt

from tests.symbolic.kernel.proving import proved, refused
from verify.claims.limits import half_precision as claim
from verify.symbolic.scores import d

b, w, x = claim.b, claim.w, claim.x
CHI_SQUARE = w ** (d / 2 - 1) * exp(-w / 2) / (2 ** (d / 2) * gamma(d / 2))
NORMAL = exp(-(x**2) / (2 * w)) / sqrt(2 * pi * w)
TAIL = Integral(NORMAL, (x, b, oo))


@pytest.mark.parametrize(
    "wrong",
    [
        pytest.param(CHI_SQUARE * Integral(NORMAL.subs(w, 4 * w), (x, b, oo)), id="variance 4w"),
        pytest.param(CHI_SQUARE * Integral(NORMAL, (x, 0, oo)), id="from 0"),
        pytest.param(CHI_SQUARE * Integral(NORMAL, (x, b, 2 * b)), id="to 2b"),
        pytest.param(CHI_SQUARE * Integral(x**7, (x, b, 2 * b)), id="another integrand"),
        pytest.param(2 * CHI_SQUARE * TAIL, id="twice the weight"),
        pytest.param(CHI_SQUARE * TAIL**2, id="the tail squared"),
    ],
)
def test_a_wrong_mixture_is_noticed(wrong: Any) -> None:
    """What stands under the outer integral is compared as a whole."""
    (route,) = claim.derive().routes
    *_, before, last = route.steps
    proved(last.rule, before.expression, Integral(CHI_SQUARE * TAIL, (w, 0, oo)))
    refused(last.rule, before.expression, Integral(wrong, (w, 0, oo)))


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
