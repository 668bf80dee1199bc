"""The law of a score: density, mixture, simulation and characteristic function agree."""

import math
from dataclasses import replace

import numpy as np
import pytest
from scipy import integrate, special
from sympy import Symbol

from tests.symbolic.kernel.proving import refused
from verify.spec.rounding import rounded
from verify.symbolic import law
from verify.symbolic.characteristic import OF_ONE_PRODUCT, OF_SCORE, t
from verify.symbolic.derivation import Derivation
from verify.symbolic.kernel.words import n
from verify.symbolic.law import DENSITY, below, distribution, rounding_error, x
from verify.symbolic.printing import function
from verify.symbolic.scores import d

pytestmark = pytest.mark.slow  # of the former core, which is no longer worked on


@pytest.mark.parametrize("dimension", [1, 2, 7, 64])
@pytest.mark.parametrize("point", [0.1, 1.0, 5.0])
def test_density_and_mixture_agree(dimension: int, point: float) -> None:
    """Two routes to the same probability: integrating the density, averaging the normal law."""
    density = function((x,), DENSITY.subs(d, dimension), "scipy")
    direct = distribution(density, np.array([point]))[0]
    assert below(dimension, point) == pytest.approx(direct, abs=1e-11)
    assert below(dimension, -point) == pytest.approx(1 - direct, abs=1e-11)


def test_the_transform_of_the_density() -> None:
    """Derived for symbolic dimensions; another dimension's density has another."""
    route = law.transform()
    assert Derivation.of(route).examine().status == "proved"
    assert Derivation.of(replace(route, start=route.start.subs(d, d + 1))).examine().status == "failed"


@pytest.mark.parametrize("bits", [4, 8])
def test_the_error_of_rounding_a_laplace_number(bits: int) -> None:
    """In two dimensions the density is exp(-|x|)/2: against a sum over a fine grid of rounded numbers."""
    step = 40 / 2_000_000
    at = np.asarray(step * (np.arange(2_000_000) + 0.5), dtype=np.float64)
    found = float(np.sum((rounded(at, bits) - at) ** 2 * np.exp(-at)) * step)
    assert rounding_error(2, bits) == pytest.approx(found, rel=1e-6)


@pytest.mark.parametrize(("power", "mean"), [(0, 1.0), (2, 0.25), (4, 0.1875 + 0.375 / 8)])
def test_means_of_even_functions_are_moments(power: int, mean: float) -> None:
    """In eight dimensions halves of scores over the root have the moments 1, 1/4 and (3 + 6/d)/16."""
    s = Symbol("s", real=True)
    assert law.mean_of_even(s**power, s, 8, 0.5 * 8**-0.5) == pytest.approx(mean, abs=1e-8)


def test_the_mean_of_a_total_of_exponentials() -> None:
    """Derived, and against drawn scores in 16 dimensions; not with another variance of a score."""
    route = law.mean_total().defining("a total")
    assert Derivation.of(route).examine().holds
    rng = np.random.default_rng(4)
    scores = np.einsum("ij,ij->i", *rng.normal(size=(2, 200_000, 16))) / 4
    assert float(route.end.subs({n: 1, d: 16})) == pytest.approx(np.exp(scores).mean(), abs=0.03)
    first = route.steps[0].expression
    refused(route.steps[0].rule, route.start, 2 * first)
    refused(route.steps[1].rule, first, route.steps[1].expression.subs(d, d + 1))


@pytest.mark.parametrize("at", [0.25, 1.0, 3.0])
def test_of_one_product_against_the_density(at: float) -> None:
    """The product of two normals has density K₀(|x|)/π; its cosine transform is the function."""
    value, error = integrate.quad(
        lambda u: 2 * math.cos(at * u) * special.k0(u) / math.pi, 0, 60, limit=400, epsabs=1e-11
    )
    assert abs(value - float(OF_ONE_PRODUCT.subs(t, at))) <= 10 * error + 1e-9


@pytest.mark.parametrize(("n", "at"), [(2, 0.7), (5, 0.3)])
def test_of_a_score_against_the_law_of_a_query_length(n: int, at: float) -> None:
    """Given q the score is normal with variance |q|², a chi-square: average exp(-t²χ²/2) over it."""
    constant = 1 / (2 ** (n / 2) * math.gamma(n / 2))
    value, error = integrate.quad(
        lambda u: constant * u ** (n / 2 - 1) * math.exp(-u / 2 - at**2 * u / 2), 0, np.inf
    )
    assert abs(value - function((d, t), OF_SCORE)(n, at)) <= 10 * error + 1e-9
