"""Statistics of whole score matrices, against plain loops over the same draws."""

from __future__ import annotations

import itertools
import math
import statistics
from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from scipy import stats

from tests.montecarlo.samples import SINGLE, Spy, generator, mean_is, score_matrices
from tests.strategies import FALSE_ALARM
from verify.montecarlo.distributions import (
    EXPONENTIAL,
    NORMAL,
    RADEMACHER,
    UNIFORM,
    UNIT_INTERVAL,
    Distribution,
)
from verify.montecarlo.inputs import ProjectedTokens, Simulated
from verify.montecarlo.statistics import EntryProducts, OtherTokens, Reduced, ScorePowers


class TestScoreMoments:
    """Blocks of m×m scores."""

    @pytest.mark.parametrize(("d", "side"), [(1, 1), (1, 4), (2, 5), (4, 4), (5, 4), (6, 2), (9, 1)])
    @pytest.mark.parametrize("scale", [1.0, 0.25])
    def test_statistics_score_by_score(self, d: int, side: int, scale: float) -> None:
        """Mean S and mean S² equal those of explicitly looped dot products, for d below and above m."""
        query, key = Spy(NORMAL), Spy(UNIT_INTERVAL)
        sampler = score_matrices(d, side, query, key, scale)  # type: ignore[arg-type]  # a spy draws
        found = sampler.sample(generator(d), 3)
        assert found.shape == (3, 2)
        (queries,), (keys,) = query.drawn, key.drawn
        for block in range(3):
            scores = [
                scale * sum(float(queries[block, c, i] * keys[block, c, j]) for c in range(d))
                for i, j in itertools.product(range(side), repeat=2)
            ]
            assert len(scores) == sampler.scores
            assert math.isclose(found[block, 0], math.fsum(scores) / side**2, rel_tol=SINGLE, abs_tol=SINGLE)
            squares = math.fsum(s * s for s in scores) / side**2
            assert math.isclose(found[block, 1], squares, rel_tol=SINGLE)

    def test_scores_of_correlated_components(self) -> None:
        """E S² = d(1 + (d-1)ρ²) for equicorrelated components, within the sample's error at 1e-6."""
        d, rho = 6, 0.5
        values = score_matrices(d, 4, NORMAL, NORMAL, correlation=rho).sample(generator(7), 60_000)[:, 1]
        error = values.std() / math.sqrt(len(values))
        assert abs(values.mean() - d * (1 + (d - 1) * rho**2)) <= stats.norm.isf(FALSE_ALARM / 2) * error

    @pytest.mark.parametrize(
        "distribution", [NORMAL, RADEMACHER, EXPONENTIAL], ids=lambda distribution: distribution.name
    )
    def test_independent_components_give_d(self, distribution: Distribution) -> None:
        """E S² = d, within the sample's error at 1e-6."""
        values = score_matrices(5, 3, distribution, distribution).sample(generator(8), 60_000)[:, 1]
        assert abs(values.mean() - 5) <= stats.norm.isf(FALSE_ALARM / 2) * values.std() / math.sqrt(60_000)


def test_mean_powers_of_the_same_draws() -> None:
    """Each block's statistics are the mean powers of the sizes of its own scores."""
    sampler = Reduced(Simulated(NORMAL, UNIFORM, 3, 3, 5), ScorePowers((1, 2, 4)))
    found = sampler.sample(np.random.default_rng(1), 4)
    rng = np.random.default_rng(1)
    queries, keys = NORMAL.draw(rng, (4, 3, 5)), UNIFORM.draw(rng, (4, 3, 5))
    for block in range(4):
        sizes = [abs(sum(q * k)) for q in queries[block] for k in keys[block]]
        expected = [sum(size**power for size in sizes) / 9 for power in (1, 2, 4)]
        assert found[block] == pytest.approx(expected)
    assert (sampler.coordinates, sampler.scores) == (30, 9)
    assert sampler.held > sampler.coordinates


def test_entries_pair_by_pair() -> None:
    """Each statistic is the mean over the entries or pairs of entries that its name says."""
    sampler, m = Reduced(Simulated(NORMAL, NORMAL, 3, 3, 5), EntryProducts()), 3
    found = sampler.sample(np.random.default_rng(1), 2)
    rng = np.random.default_rng(1)
    queries, keys = NORMAL.draw(rng, (2, m, 5)), NORMAL.draw(rng, (2, m, 5))
    at = {name: place for place, name in enumerate(sampler.names)}
    for block in range(2):
        s = np.array([[q @ k for k in keys[block]] for q in queries[block]])
        cells = list(product(range(m), range(m)))
        pairs = [(a, b) for a in cells for b in cells if a != b]
        row = [(a, b) for a, b in pairs if a[0] == b[0]]
        apart = [(a, b) for a, b in pairs if a[0] != b[0] and a[1] != b[1]]
        expected = {
            "first": s[0, 0],
            "first-square": s[0, 0] ** 2,
            "last": s[-1, -1],
            "last-square": s[-1, -1] ** 2,
            "corners": s[0, 0] * s[-1, -1],
            "mean": s.mean(),
            "square": (s**2).mean(),
            "row-product": np.mean([s[a] * s[b] for a, b in row]),
            "row-squares": np.mean([s[a] ** 2 * s[b] ** 2 for a, b in row]),
            "apart-squares": np.mean([s[a] ** 2 * s[b] ** 2 for a, b in apart]),
        }
        assert set(expected) == set(at)
        for name, value in expected.items():
            assert found[block, at[name]] == pytest.approx(value), name
    assert (sampler.coordinates, sampler.scores) == (30, 9)
    assert sampler.held > sampler.coordinates


class TestOtherTokens:
    """Normalised tokens through projection matrices that are really drawn."""

    def test_squares_score_by_score(self) -> None:
        """Tokens have squared length D; scores of different tokens only; entries have the variance."""
        distribution, width, d, tokens, variance = Spy(UNIFORM), 5, 3, 4, 0.3
        drawn = ProjectedTokens(width, d, tokens, distribution, variance)  # type: ignore[arg-type]  # a spy draws
        sampler = Reduced(drawn, OtherTokens())
        found = sampler.sample(generator(7), 2)
        again = NORMAL.draw(generator(7), (2, tokens, width))
        queries, keys = (math.sqrt(variance) * drawn for drawn in distribution.drawn)
        assert again.size + queries.size + keys.size == 2 * sampler.coordinates
        assert sampler.scores == tokens * (tokens - 1)
        for block in range(2):
            x = [token * math.sqrt(width / float(token @ token)) for token in again[block]]
            squares = [
                float((x[a] @ queries[block]) @ (x[b] @ keys[block])) ** 2 / d
                for a, b in itertools.permutations(range(tokens), 2)
            ]
            assert math.isclose(found[block, 0], statistics.fmean(squares), rel_tol=SINGLE)

    @pytest.mark.parametrize("d", [1, 4])
    def test_mean_square_is_that_of_the_entries_times_the_width(self, d: int) -> None:
        """E[(q·k)²/d] = (vD)² in any head dimension, within the sample's error; not vD."""
        width, variance = 6, Fraction(1, 4)
        drawn = ProjectedTokens(width, d, 3, NORMAL, variance)
        values = Reduced(drawn, OtherTokens()).sample(generator(8), 60_000)[:, 0]
        assert mean_is(values, float(variance * width) ** 2)
        assert not mean_is(values, float(variance * width))
