"""The shared routes for scores: each ends in the right value, for every population."""

from __future__ import annotations

from typing import Any

import pytest
from sympy import S, expand, sqrt

from verify.symbolic.derivation import Derivation
from verify.symbolic.expectation import E, Population, Var
from verify.symbolic.scores import (
    CENTRED,
    GENERAL,
    STANDARD,
    d,
    mean_route,
    mu_k,
    mu_q,
    one_product,
    score,
    sigma_k,
    sigma_q,
    variance_route,
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
        assert Derivation(route.start, value, (route,)).examine().holds


def test_routes_of_scaled_scores_and_single_products() -> None:
    """Division by √d gives variance 1; one product has variance 1."""
    scaled = variance_route(score / sqrt(d), STANDARD, "Scaled")
    assert scaled.end == 1
    assert scaled.title == "Scaled"
    assert Derivation(Var(score / sqrt(d)), S.One, (scaled,)).examine().holds
    assert variance_route(one_product(), STANDARD).end == 1


def test_the_last_step_is_there_only_if_something_is_collected() -> None:
    """No step repeats the expression before it."""
    for population in (STANDARD, CENTRED, GENERAL):
        steps = variance_route(score, population).steps
        assert steps[-1].expression != steps[-2].expression
