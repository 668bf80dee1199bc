"""Densities put in, those of laws without moments too: sizes, events, and what is refused or refuted."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from sympy import Abs, Integral, S, cos, exp, oo, pi, sqrt, symbols

from tests.catalogue import derived_in
from tests.symbolic.lines import refused
from verify.errors import ClaimError
from verify.spec import CAUCHY, NORMAL_COMPONENTS, STANDARD, Chain, Check, Derivation, E, Indicator, Law, Line
from verify.spec import a, by_density, d, i, j, k, moments, normal, q
from verify.spec.experiment import experiment_of

t, w, x, y = symbols("t w x y", real=True)
u = symbols("u", positive=True)


def density(of: Any) -> Any:
    """Return the density of a standard Cauchy number."""
    return 1 / (pi * (1 + of**2))


def bell(of: Any, centre: int = 0, deviation: int = 1) -> Any:
    """Return a normal density."""
    return exp(-((of - centre) ** 2) / (2 * deviation**2)) / sqrt(2 * pi * deviation**2)


CAUCHY_LAW = Law(
    "standard Cauchy components", (S.One,), True, density, lambda share: np.tan(np.pi * (share - 0.5))
)
LAWS = {q: CAUCHY_LAW, k: CAUCHY_LAW}


def problem(before: Any, after: Any, check: Any) -> str:
    """Return why a line fails."""
    return Derivation.of(Chain(before, Line(after, "", check))).problem


def test_an_event_has_the_integral_up_to_its_point() -> None:
    """Whatever the sign of the factor, for the law has none; a normal law of another mean has."""
    over, event = (w, -oo, x / 3), E(Indicator(x - 3 * q[a, i]))
    assert problem(event, Integral(density(w), over), by_density({q[a, i]: w}, LAWS)) == ""
    turned = E(Indicator(x + 3 * q[a, i]))
    assert problem(turned, Integral(density(w), over), by_density({q[a, i]: w}, LAWS)) == ""
    assert problem(event, Integral(density(w), (w, -oo, x)), by_density({q[a, i]: w}, LAWS))
    shifted = by_density({q[a, i]: w}, {q: normal(1)})
    assert problem(turned, Integral(bell(w, 1), over), shifted)


def test_a_size_goes_from_zero_where_the_sign_does_not_matter() -> None:
    """Twice over sizes is once over numbers of either sign; of what is odd, or has a mean, it is not."""
    by_size = by_density({q[a, i]: u}, LAWS)
    once = Integral(2 * cos(u) * density(u), (u, 0, oo))
    assert problem(E(cos(q[a, i])), once, by_size) == ""
    assert problem(E(cos(q[a, i])), once / 2, by_size)
    assert "sign" in problem(E(cos(q[a, i] + 1)), once, by_size)
    assert "sign" in problem(E(cos(q[a, i])), once, by_density({q[a, i]: u}, {q: normal(1)}))
    both = by_density({k[1, i]: w, q[a, i]: u}, LAWS)
    inner = Integral(density(w), (w, -oo, x / u))
    product = E(Indicator(x - q[a, i] * k[1, i]))
    assert problem(product, Integral(2 * density(u) * inner, (u, 0, oo)), both) == ""


def test_nothing_follows_from_moments_that_there_are_not() -> None:
    """A law without a mean is not taken for one that is always the same number."""
    square = E(exp(q[a, i])) ** 2
    assert problem(E(exp(2 * q[a, i])), square, moments(LAWS))
    assert "moment 2" in problem(E(q[a, i] ** 2), E(Abs(q[a, i])) ** 2, moments(LAWS))


def test_a_check_draws_from_the_law_of_its_chain() -> None:
    """Not from another one, which has the moments that the chain assumes: none."""
    share, by_its_density = E(Indicator(y - q[a, i])), by_density({q[a, i]: w}, LAWS)
    chain = Chain(share).then(Integral(density(w), (w, -oo, y)), "its density", by_its_density)
    check = Check("below", share, {d: 1, y: 1}, equals=chain.end, laws={q: CAUCHY})
    assert derived_in(experiment_of([check], Derivation.of(chain), 0.05)) == ("below",)
    with pytest.raises(ClaimError, match="assumes standard Cauchy components for q, and normal is drawn"):
        experiment_of([replace(check, laws={})], Derivation.of(chain), 0.05)


def test_densities_are_put_in_for_normal_components_alone() -> None:
    """The innermost integral is over the first component; mean and variance are those of the law."""
    check = by_density({q[a, i]: x}, {q: normal(1, 2), k: normal()})
    check.decide(E(q[a, i] ** 2) + 1, 1 + Integral(x**2 * bell(x, 1, 2), (x, -oo, oo)), "=")
    both = by_density({k[j, 1]: y, q[a, 1]: x}, NORMAL_COMPONENTS)
    inner = Integral(cos(t * x * y) * bell(y), (y, -oo, oo))
    both.decide(E(cos(t * q[a, 1] * k[j, 1])), Integral(inner * bell(x), (x, -oo, oo)), "=")
    for wrong, before, after in (
        (check, E(q[a, i] ** 2), Integral(x**2 * bell(x), (x, -oo, oo))),
        (check, E(q[a, i] * k[j, i]), Integral(x * bell(x, 1, 2), (x, -oo, oo))),
        (by_density({q[a, i]: x}, STANDARD), E(q[a, i]), Integral(x * bell(x), (x, -oo, oo))),
    ):
        assert refused(wrong, before, after)
