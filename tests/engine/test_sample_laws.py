"""The laws of a sample's mean and variance: against chi-square, and against samples that are drawn."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.optimize import brentq
from scipy.stats import binom, chi2, norm

from verify.engine.computed import INCOMPATIBLE
from verify.engine.sample_laws import mean_law, variance_law


def spread(scores: int, dimension: int) -> float:
    """Return the relative standard deviation of a sample variance of scores, of kurtosis 3 + 6/d."""
    return math.sqrt((3 + 6 / dimension - (scores - 3) / (scores - 1)) / scores)


@pytest.mark.parametrize("scores", [30, 1000, 10**9])
def test_scores_of_very_many_dimensions_are_normal(scores: int) -> None:
    """The sample variance is a chi-square then, and the mean normal; far into both tails."""
    law, of_mean = variance_law(scores, 10**9, spread(scores, 10**9)), mean_law(scores, 10**9)
    for z in (-3.5, -1, 0, 2, 4):
        degrees = scores - 1
        at = degrees * (1 + z * spread(scores, 10**9))
        assert law.below(z) == pytest.approx(chi2.cdf(at, degrees), abs=1e-7)
        assert of_mean.below(z) == pytest.approx(norm.cdf(z), abs=1e-7)


def test_a_right_sample_of_few_scores_is_rarely_contradicted() -> None:
    """No more often than it should be; by the normal law, ten times as often."""
    scores, samples = 30, 150_000
    rng = np.random.default_rng(5)
    drawn = rng.standard_normal((2, samples, scores), dtype=np.float32).prod(axis=0).var(axis=1, ddof=1)
    places = (drawn.astype(float) - 1) / spread(scores, 1)
    law = variance_law(scores, 1, spread(scores, 1))
    low = float(brentq(lambda z: law.below(z) - INCOMPATIBLE / 2, -5, 12))
    high = float(brentq(lambda z: law.below(z) - 1 + INCOMPATIBLE / 2, -5, 12))
    alarms = int(((places < low) | (places > high)).sum())
    most = float(binom.ppf(1 - 1e-4, samples, INCOMPATIBLE))
    assert float(binom.ppf(1e-4, samples, INCOMPATIBLE)) <= alarms <= most
    assert int((2 * norm.sf(np.abs(places)) < INCOMPATIBLE).sum()) > 5 * most


def test_the_mean_of_few_scores_has_heavier_tails_than_the_normal_law() -> None:
    """As differences of chi-squares have, of as many degrees of freedom as there are products."""
    rng = np.random.default_rng(6)
    one, other = rng.chisquare(30, (2, 200_000))
    places = (one - other) / (2 * math.sqrt(30))
    law = mean_law(30, 1)
    for z in (-3.5, -1, 0, 2):
        expected = law.below(z)
        share = (places <= z).mean()
        assert abs(share - expected) < 4.5 * math.sqrt(expected * (1 - expected) / len(places))


def test_what_is_very_far_is_no_more_probable() -> None:
    """Beyond what is evaluated, the last probability stands as a bound."""
    law = variance_law(30, 8, spread(30, 8))
    assert law.below(1e9) == law.below(12) <= 1
    assert law.below(-1e9) == pytest.approx(0, abs=1e-9)
