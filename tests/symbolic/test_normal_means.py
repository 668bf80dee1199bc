"""Named expressions, densities put in, derivatives at a point, complex means, jumps."""

from typing import Any

import pytest
from sympy import Derivative, I, Integral, Rational, Subs, Sum, Symbol, cos, exp, oo, pi, sqrt, symbols

from tests.symbolic.lines import refused
from verify.montecarlo.distributions import UNIT_INTERVAL
from verify.montecarlo.quantities import measurement
from verify.symbolic.vocabulary import NORMAL_COMPONENTS, STANDARD, E, Family, Indicator, Named, a
from verify.symbolic.vocabulary import d, i, j, k, normal, q, score
from verify.symbolic.analysis import by_density
from verify.symbolic.calculus import expected
from verify.symbolic.checks import algebra
from verify.symbolic.notation import latex, plain
from verify.symbolic.refutation import Counterexample, refute

t, x, y = symbols("t x y", real=True)
SHIFTED = {q: normal(1, 2), k: normal()}
SQUARE = Named(Symbol(r"\hat{V}"), score**2)


def density(of: Any, centre: int = 0, deviation: int = 1) -> Any:
    """Return a normal density."""
    return exp(-((of - centre) ** 2) / (2 * deviation**2)) / sqrt(2 * pi * deviation**2)


def test_a_named_expression_is_printed_by_its_name_and_is_what_it_stands_for() -> None:
    """It is derived, tried, and measured as what it stands for."""
    assert (plain(E(SQUARE)), latex(2 * SQUARE**2)) == ("E[V̂]", r"2 \hat{V}^2")
    assert expected(E(SQUARE), STANDARD) == d
    algebra.decide(E(SQUARE), E(score**2), "=")
    assert refute(E(SQUARE), "=", d, STANDARD)
    with pytest.raises(Counterexample):
        refute(E(SQUARE), "=", d**2, STANDARD)
    laws = {q: UNIT_INTERVAL, k: UNIT_INTERVAL}
    named, written = (
        measurement("x", {"x": E(of)}, laws, {d: 2}, tolerance=0.1)[0] for of in (SQUARE, score**2)
    )
    assert named == written


def test_densities_are_put_in_for_normal_components_alone() -> None:
    """The innermost integral is over the first component; mean and variance are those of the law."""
    check = by_density({q[a, i]: x}, SHIFTED)
    check.decide(E(q[a, i] ** 2) + 1, 1 + Integral(x**2 * density(x, 1, 2), (x, -oo, oo)), "=")
    both = by_density({k[j, 1]: y, q[a, 1]: x}, NORMAL_COMPONENTS)
    inner = Integral(cos(t * x * y) * density(y), (y, -oo, oo))
    both.decide(E(cos(t * q[a, 1] * k[j, 1])), Integral(inner * density(x), (x, -oo, oo)), "=")
    for wrong, before, after in (
        (check, E(q[a, i] ** 2), Integral(x**2 * density(x), (x, -oo, oo))),
        (check, E(q[a, i] * k[j, i]), Integral(x * density(x, 1, 2), (x, -oo, oo))),
        (by_density({q[a, i]: x}, STANDARD), E(q[a, i]), Integral(x * density(x), (x, -oo, oo))),
    ):
        assert refused(wrong, before, after)


def test_derivatives_at_a_point_of_the_characteristic_function() -> None:
    """The second gives the mean square; another order, or another point, does not."""

    def at(point: int, order: int = 2) -> Any:
        return -Subs(Derivative(E(exp(I * t * score)), (t, order)), t, point)

    algebra.decide(E(score**2), at(0), "=")
    assert refute(E(score**2), "=", at(0), NORMAL_COMPONENTS)
    assert latex(at(0)).endswith("_{t = 0}")
    for other in (at(1), at(0, 4)):
        assert refused(algebra, E(score**2), other)


def test_a_jump_is_not_judged_by_quadrature() -> None:
    """A true chance about normal numbers is drawn; a false one is found by that."""
    z = Family("z", d, 2)
    chance = E(Indicator(Sum(z[a, i] ** 2, (i, 1, 2)) - 3 * Sum(z[j, i] ** 2, (i, 1, 2))))
    assert refute(chance, "=", Rational(1, 4), {z: normal()}).endswith("drawn")
    with pytest.raises(Counterexample):
        refute(chance, "=", Rational(1, 3), {z: normal()})
