"""The limit of n·E Σp²: every step holds, and the integrated value lies between both bounds."""

import pytest
from sympy import exp

from verify.symbolic import effective_keys
from verify.symbolic.derivation import Derivation
from verify.symbolic.kernel.words import n, sigma
from verify.symbolic.row_integrals import mean_squares


def test_the_limit_is_proved() -> None:
    """By rules of the kernel alone."""
    derivation = Derivation.of(effective_keys.for_many(), lemmas=effective_keys.lemmas())
    assert derivation.examine().status == "proved"
    assert derivation.result == exp(sigma**2)


@pytest.mark.parametrize(("keys", "deviation"), [(8, 0.5), (64, 1.0), (1024, 1.5)])
def test_the_integral_lies_between_the_bounds(keys: int, deviation: float) -> None:
    """Closely, for many keys; a per cent more of the limit would be passed."""
    at = {n: keys, sigma: deviation}
    (*_, at_most, _), at_least = effective_keys.for_many().steps, effective_keys.lemmas()[-1].end
    low, high = (float(one.subs(at)) for one in (at_least, at_most.expression))
    assert low < keys * mean_squares(keys, deviation).value < high
    assert high / low < 1 + 4 * float(exp(2 * deviation**2)) / keys
