"""Routes for scores end in the right value for every population; expressions and traces in numbers."""

from typing import Any

import numpy as np
import pytest
from scipy import special
from sympy import Matrix, MatrixSymbol, Rational, S, Symbol, Trace, erf, expand, sqrt

from verify.symbolic.derivation import Derivation
from verify.symbolic.kernel.hypotheses import Population
from verify.symbolic.kernel.words import E, Var
from verify.symbolic.printing import function
from verify.symbolic.routes import Route
from verify.symbolic.scores import (
    CENTRED, GENERAL, STANDARD, d, in_numbers, mean_route, moment_steps, mu_k, mu_q, one_product, score,
    sigma_k, sigma_q, variance_route, with_moments,
)  # fmt: skip


@pytest.mark.parametrize(
    ("population", "mean", "variance"),
    [
        (STANDARD, S.Zero, d),
        (CENTRED, S.Zero, d * sigma_q**2 * sigma_k**2),
        (
            GENERAL,
            d * mu_q * mu_k,
            d * (sigma_q**2 * sigma_k**2 + mu_q**2 * sigma_k**2 + mu_k**2 * sigma_q**2),
        ),
    ],
    ids=["standard", "centred", "general"],
)
def test_routes_of_the_score(population: Population, mean: Any, variance: Any) -> None:
    """Mean and variance routes are proved and end in the known values."""
    of_mean, of_variance = mean_route(score, population), variance_route(score, population)
    assert of_mean.start == E(score)
    assert of_variance.start == Var(score)
    for route, value in ((of_mean, mean), (of_variance, variance)):
        assert expand(route.end - value) == 0
        assert Derivation.of(route).examine().status == "proved"


def test_routes_of_scaled_scores_and_single_products() -> None:
    """Division by √d gives variance 1; one product has variance 1."""
    scaled = variance_route(score / sqrt(d), STANDARD, "Scaled")
    assert scaled.end == 1
    assert scaled.title == "Scaled"
    assert Derivation.of(scaled).examine().holds
    assert variance_route(one_product(), STANDARD).end == 1


def test_steps_from_products_of_scores_to_their_value() -> None:
    """They are checked for any moments; a result of one's own takes the place of the factored one."""
    start = E(score**2) - E(score) ** 2
    value = d * (sigma_q**2 * sigma_k**2 + mu_q**2 * sigma_k**2 + mu_k**2 * sigma_q**2)
    for result in (None, value):
        steps = moment_steps(start, GENERAL, result)
        assert Derivation.of(Route("r", start, steps)).examine().holds
        assert result is None or steps[-1].expression == value
    wrong = moment_steps(start, GENERAL, 2 * value)
    assert not Derivation.of(Route("r", start, wrong)).examine().holds


def test_an_expression_with_moments_put_in() -> None:
    """Components from U(0, 1) have scores of variance 7d/144."""
    uniform = Rational(1, 2), Rational(1, 12)
    assert with_moments(variance_route(score, GENERAL).end, uniform, uniform) == 7 * d / 144
    assert with_moments(mu_q * sigma_k**2, (S(3), S(1)), (S(0), S(2))) == 6


D = Symbol("d", integer=True, positive=True)
A, B = MatrixSymbol("A", D, D), MatrixSymbol("B", D, D)


def test_traces_in_numbers() -> None:
    """Products, powers and transposes of given matrices; what is not in a trace stays."""
    left, right = Matrix([[1, 2], [3, 4]]), Matrix([[0, 1], [5, 0]])
    given = {A: left, B: right}
    assert in_numbers(2 * Trace(A * B.T * A) - Trace(A**2), given) == (
        2 * (left * right.T * left).trace() - (left**2).trace()
    )


def test_arguments_go_by_position_even_if_names_agree() -> None:
    """Symbols of one name but different assumptions stay apart."""
    first, second = Symbol("x"), Symbol("x", positive=True)
    assert function((first, second), first - 2 * second)(10.0, 1.0) == 8.0


def test_special_functions_and_arrays() -> None:
    """With SciPy behind it, a prediction takes arrays and special functions."""
    x = Symbol("x")
    grid = np.linspace(-2, 2, 5)
    assert np.allclose(function((x,), erf(x), modules="scipy")(grid), special.erf(grid), rtol=1e-14)
