"""The shared routes for scores: each ends in the right value, for every population."""

from __future__ import annotations

from sympy import Rational, S, sqrt

from verify.symbolic.derivation import Derivation
from verify.symbolic.scores import (
    GENERAL,
    STANDARD,
    d,
    mu_q,
    one_product,
    score,
    sigma_k,
    variance_route,
    with_moments,
)


def test_routes_of_scaled_scores_and_single_products() -> None:
    """Division by √d gives variance 1; one product has variance 1."""
    scaled = variance_route(score / sqrt(d), STANDARD, "Scaled")
    assert scaled.end == 1
    assert scaled.title == "Scaled"
    assert Derivation.of(scaled).examine().holds
    assert variance_route(one_product(), STANDARD).end == 1


def test_an_expression_with_moments_put_in() -> None:
    """Components from U(0, 1) have scores of variance 7d/144."""
    uniform = Rational(1, 2), Rational(1, 12)
    assert with_moments(variance_route(score, GENERAL).end, uniform, uniform) == 7 * d / 144
    assert with_moments(mu_q * sigma_k**2, (S(3), S(1)), (S(0), S(2))) == 6
