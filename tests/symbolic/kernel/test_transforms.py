"""Characteristic functions: powers, moments, and laws that they determine."""

from dataclasses import replace
from typing import Any

from sympy import Abs, I, Integral, Rational, S, Symbol, cos, exp, oo, sqrt

from tests.symbolic.kernel.proving import refused
from verify.symbolic import characteristic
from verify.symbolic.characteristic import OF_SCORE, t
from verify.symbolic.kernel.core import Reviewed, prove
from verify.symbolic.kernel.hypotheses import Hypotheses
from verify.symbolic.kernel.laws import density
from verify.symbolic.kernel.transforms import DensityByTransform, Moments, Multiplied, SameLaw
from verify.symbolic.kernel.words import E, Var
from verify.symbolic.law import DENSITY, transform, x
from verify.symbolic.scores import NORMAL_VECTORS, d, index, q, score

MORE = Rational(101, 100)
y = Symbol("y", real=True)
u = Symbol("u", positive=True)
OF_ONE = replace(characteristic.route("r"), steps=characteristic.route("r").steps[:2]).proved()
OF_ALL = characteristic.route("r").proved()
TRANSFORM = transform().proved()


def moved(rule: Any, known: Any, after: Any) -> Any:
    """Return the theorem that a known one becomes."""
    return prove(replace(rule, known=known), S.Zero, after)


def not_moved(rule: Any, known: Any, after: Any) -> str:
    """Return why it becomes no such theorem."""
    return refused(replace(rule, known=known), S.Zero, after)


def test_the_mean_of_a_product_is_the_power_of_one_mean() -> None:
    """Of as many as there are dimensions."""
    found = moved(Multiplied(NORMAL_VECTORS, index), OF_ONE, OF_SCORE)
    assert (found.lhs, found.rhs) == (E(exp(I * t * score)), OF_SCORE)
    not_moved(Multiplied(NORMAL_VECTORS, index), OF_ONE, OF_SCORE.subs(d, d + 1))
    assert "not independent and alike" in not_moved(Multiplied(NORMAL_VECTORS, index), OF_ALL, OF_SCORE**d)


def test_moments_are_derivatives_at_zero() -> None:
    """Of any order, and the variance; of the right number only."""
    assert moved(Moments(Var(score)), OF_ALL, d).lhs == Var(score)
    assert moved(Moments(E(score)), OF_ALL, S.Zero).lhs == E(score)
    assert moved(Moments(E(score**4)), OF_ALL, 3 * d**2 + 6 * d).lhs == E(score**4)
    not_moved(Moments(E(score**4)), OF_ALL, 3 * d**2)
    not_moved(Moments(Var(score)), OF_ALL, MORE * d)
    assert "no moment" in not_moved(Moments(E((2 * score) ** 2)), OF_ALL, d)
    assert "no moment" in not_moved(Moments(E(abs(score))), OF_ALL, S.Zero)


def test_a_function_with_a_corner_has_no_moments() -> None:
    """Such as exp(-|t|), that of Cauchy's law; nor is one known for some arguments only."""
    value = Symbol("X", real=True)
    known = prove(Reviewed("as given"), E(exp(I * t * value)), exp(-Abs(t)))
    assert "smooth" in not_moved(Moments(E(value)), known, S.Zero)
    known = prove(Reviewed("as given"), E(exp(I * t * value)), exp(-sqrt(t**4) / 2))
    assert "X" in str(known.lhs)
    positive = prove(Reviewed("as given"), E(exp(I * t * value)), exp(-(t**2)), Hypotheses().having(t > 0))
    assert "all real" in not_moved(Moments(E(value**2)), positive, S(2))


def test_a_law_is_determined() -> None:
    """By the cosine transform of a positive weight, for functions with one sign or bounded ones."""
    rule, limits = SameLaw(OF_ALL, TRANSFORM), (x, 0, oo)
    assert prove(rule, E(Abs(score)), Integral(2 * x * DENSITY, limits))
    weighed = 2 * DENSITY * cos(x)
    assert prove(rule, E(cos(score)), Integral(weighed, limits))
    refused(rule, E(Abs(score)), Integral(MORE * 2 * x * DENSITY, limits))
    refused(rule, E(Abs(score)), Integral(2 * x * DENSITY, (x, 1, oo)))
    assert "neither bounded" in refused(rule, E(score), Integral(2 * x * DENSITY, limits))
    assert "still random" in refused(rule, E(Abs(score) * q[1] ** 2), Integral(2 * x * DENSITY, limits))


def test_the_density_is_the_one_with_the_transform() -> None:
    """At positive places, and no other than the half of it."""
    rule = DensityByTransform(OF_ALL, TRANSFORM)
    assert prove(rule, density(score, x), DENSITY)
    refused(rule, density(score, x), MORE * DENSITY)
    refused(rule, density(score, y), DENSITY.subs(x, y))
    refused(rule, density(2 * score, x), DENSITY)
