"""The shared routes for scores: each ends in the right value, for every population."""

from itertools import pairwise
from typing import Any

import pytest
from sympy import Rational, S, Sum, expand, sqrt

from verify.symbolic.derivation import Derivation
from verify.symbolic.kernel.hypotheses import Population
from verify.symbolic.kernel.words import E, Var
from verify.symbolic.routes import Route
from verify.symbolic.scores import (
    CENTRED,
    GENERAL,
    STANDARD,
    d,
    index,
    k,
    mean_route,
    moment_steps,
    mu_k,
    mu_q,
    one_product,
    q,
    score,
    sigma_k,
    sigma_q,
    variance_route,
    with_moments,
)


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


@pytest.mark.parametrize("variable", [score, Sum(q[index] ** 2, (index, 1, d)), d * score])
def test_rules_that_have_nothing_to_do_are_left_out(variable: Any) -> None:
    """No step repeats the expression before it: a vector’s score with itself has no two factors to part."""
    moments = (S.One, S.Zero, S.One, S.Zero, S(3))
    population = Population({q: moments, k: moments}, d)
    for route in (mean_route(variable, population), variance_route(variable, population)):
        reached = [route.start, *(step.expression for step in route.steps)]
        assert all(before != after for before, after in pairwise(reached))
        assert Derivation.of(route).examine().holds


def test_a_route_says_what_is_independent() -> None:
    """Where the parts of a product are not a query's and a key's, its rule says which they are."""
    for build in (mean_route, variance_route):
        rules = [step.words for step in build(score, STANDARD, independence="These two are").steps]
        assert "These two are" in rules
        assert "Query and key are independent" not in rules
        assert "Query and key are independent" in [step.words for step in build(score, STANDARD).steps]


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
