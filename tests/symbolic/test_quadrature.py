"""Integrals: the first look and the rigorous rule agree, and both know what they do not."""

from typing import Any

import pytest
from flint import arb, fmpq
from sympy import Integral, Symbol, cos, exp, gamma, oo

from verify.symbolic.arithmetics import Unknown
from verify.symbolic.balls import Scene, value
from verify.symbolic.quadrature import integral

a, w = Symbol("a", positive=True), Symbol("w", positive=True)
z = Symbol("z", real=True)
CHI = w ** (a / 2 - 1) * exp(-w / 2) / (2 ** (a / 2) * gamma(a / 2))


@pytest.mark.parametrize("rigorous", [False, True])
@pytest.mark.parametrize(
    ("expression", "known"),
    [
        (Integral(z**2, (z, 0, 3)), 9),
        (Integral(exp(-(z**2) / 2), (z, -oo, oo)) ** 2, 6.283185307179586),
        (Integral(exp(z), (z, -oo, 0)), 1),
        (Integral(CHI, (w, 0, oo)), 1),
        (Integral(1 / (1 + z**2), (z, -oo, oo)), 3.141592653589793),
    ],
)  # fmt: skip
def test_integrals_are_what_they_are(expression: Any, known: float, rigorous: bool) -> None:
    """Over all kinds of ranges, each in a ball that holds the value."""
    found = value(expression, Scene(values={a: fmpq(5)}, rigorous=rigorous))
    assert abs(found - arb(known)) < arb("1e-7")


@pytest.mark.parametrize("many", [10**3, 10**6])
def test_narrow_peaks_are_found(many: int) -> None:
    """Whose factors alone overflow."""
    assert abs(value(Integral(CHI, (w, 0, oo)), Scene(values={a: fmpq(many)})) - 1) < arb("1e-7")


def test_a_double_integral_gets_a_first_look() -> None:
    """Of more nodes than one may go through one by one."""
    both = Integral(exp(-(z**2) / 2 - w), (z, -oo, oo), (w, 0, oo))
    assert abs(value(both, Scene()) - arb.pi() ** arb(0.5) * arb(2) ** arb(0.5)) < arb("1e-6")


def test_what_grows_without_end_is_infinite() -> None:
    """And what is not resolved is not known."""
    assert value(Integral(z, (z, 0, oo)), Scene()) > 10**9
    for slow in (Integral(a / w ** (1 + a), (w, 1, oo)), Integral(cos(z * 10**6) * z, (z, 0, oo))):
        with pytest.raises(Unknown, match="tail falls slowly"):
            value(slow, Scene(values={a: fmpq(1, 10**6)}))


def test_a_function_of_ones_own_is_integrated() -> None:
    """As the mean over an exponential law is."""
    found = integral(
        lambda x, at: value(exp(-2 * z), at.having({z: x})), Integral(0, (z, 0, 1)).limits[0][1], oo, Scene()
    )
    assert found.contains(arb(0.5))
