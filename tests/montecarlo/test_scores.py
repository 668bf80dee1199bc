"""Samplers: their statistics equal those computed score by score, in plain loops, from the same draws."""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
import pytest
from scipy import stats

from tests.strategies import FALSE_ALARM
from verify.montecarlo.distributions import (
    EXPONENTIAL,
    NORMAL,
    RADEMACHER,
    UNIFORM,
    UNIT_INTERVAL,
    Distribution,
)
from verify.montecarlo.moments import ScorePowers
from verify.montecarlo.scores import ScoreMatrices, ScorePairs, SharedPairs

if TYPE_CHECKING:
    from verify.montecarlo.distributions import Array


@dataclass
class Spy:
    """A distribution that keeps what it draws."""

    distribution: Distribution
    drawn: list[Array] = field(default_factory=list)

    def draw(self, rng: np.random.Generator, shape: tuple[int, ...]) -> Array:
        """Draw from the distribution and keep a copy."""
        values = self.distribution.draw(rng, shape)
        self.drawn.append(values.copy())
        return values


def generator(seed: int = 0) -> np.random.Generator:
    """Return a generator with a fixed seed."""
    return np.random.default_rng([20170612, seed])


def test_samplers_say_what_they_draw() -> None:
    """Dimension, distributions and shape come from the fields that the sampler draws by."""
    moved = UNIT_INTERVAL.moved(1, 2)
    assert dict(ScoreMatrices(3, 4, NORMAL, moved, 0.5, 0.25).settings) == {
        "d_k": 3,
        "query": "normal",
        "key": "1 + 2·U(0,1)",
        "scale": 0.5,
        "correlation": 0.25,
        "block": "4×4",
    }
    assert not {"scale", "correlation"} & set(dict(ScoreMatrices(3, 4, NORMAL, NORMAL).settings))
    distributions = {"d_k": 2, "query": "normal", "key": "Rademacher"}
    assert dict(ScorePairs(2, 8, NORMAL, RADEMACHER, (-1.0,)).settings) == {**distributions, "point": -1.0}
    assert dict(ScorePairs(2, 8, NORMAL, RADEMACHER, (-1.0, 1.0)).settings) == {**distributions, "points": 2}
    assert dict(SharedPairs(2, 9, UNIFORM).settings) == {"d_k": 2, "vectors": 9, "components": "uniform"}
    assert dict(ScorePowers(2, 9, NORMAL, RADEMACHER, (2, 4)).settings) == {**distributions, "block": "9×9"}


class TestScoreMatrices:
    """Blocks of m×m scores."""

    @pytest.mark.parametrize(("d", "side"), [(1, 1), (1, 4), (2, 5), (4, 4), (5, 4), (6, 2), (9, 1)])
    @pytest.mark.parametrize("scale", [1.0, 0.25])
    def test_statistics_score_by_score(self, d: int, side: int, scale: float) -> None:
        """Mean S and mean S² equal those of explicitly looped dot products, for d below and above m."""
        query, key = Spy(NORMAL), Spy(UNIT_INTERVAL)
        sampler = ScoreMatrices(d, side, query, key, scale)  # type: ignore[arg-type]  # a spy draws
        found = sampler.sample(generator(d), 3)
        assert found.shape == (3, 2)
        (queries,), (keys,) = query.drawn, key.drawn
        for block in range(3):
            scores = [
                scale * sum(float(queries[block, c, i] * keys[block, c, j]) for c in range(d))
                for i, j in itertools.product(range(side), repeat=2)
            ]
            assert len(scores) == sampler.scores
            assert math.isclose(found[block, 0], math.fsum(scores) / side**2, rel_tol=1e-11, abs_tol=1e-13)
            squares = math.fsum(s * s for s in scores) / side**2
            assert math.isclose(found[block, 1], squares, rel_tol=1e-11)

    def test_coordinates_are_those_drawn(self) -> None:
        """What is counted as drawn is what was drawn, also with shared components."""
        for correlation in (0.0, 0.3):
            query, key = Spy(NORMAL), Spy(NORMAL)
            sampler = ScoreMatrices(3, 4, query, key, correlation=correlation)  # type: ignore[arg-type]
            sampler.sample(generator(), 5)
            assert sum(x.size for x in query.drawn + key.drawn) == 5 * sampler.coordinates

    @pytest.mark.parametrize("rho", [0.3, 0.8])
    def test_components_are_equicorrelated(self, rho: float) -> None:
        """Components of one vector have covariance ρ and variance 1; those of different vectors none.

        Central limit bounds at 1e-6 for all entries together, with the normal distribution's exact errors.
        """
        d, count, side = 3, 40_000, 2
        sampler = ScoreMatrices(d, side, NORMAL, NORMAL, correlation=rho)
        x = sampler._vectors(generator(6), count, NORMAL).transpose(0, 2, 1).reshape(count, side * d)
        covariance = x.T @ x / count
        within = rho + (1 - rho) * np.eye(d)
        expected = np.kron(np.eye(side), within)
        z = stats.norm.isf(FALSE_ALARM / 2 / covariance.size)
        assert np.all(np.abs(covariance - expected) <= z * np.sqrt((1 + expected**2) / count))

    def test_scores_of_correlated_components(self) -> None:
        """E S² = d(1 + (d-1)ρ²) for equicorrelated components, within the sample's error at 1e-6."""
        d, rho = 6, 0.5
        values = ScoreMatrices(d, 4, NORMAL, NORMAL, correlation=rho).sample(generator(7), 60_000)[:, 1]
        error = values.std() / math.sqrt(len(values))
        assert abs(values.mean() - d * (1 + (d - 1) * rho**2)) <= stats.norm.isf(FALSE_ALARM / 2) * error

    @pytest.mark.parametrize(
        "distribution", [NORMAL, RADEMACHER, EXPONENTIAL], ids=lambda distribution: distribution.name
    )
    def test_independent_components_give_d(self, distribution: Distribution) -> None:
        """E S² = d, within the sample's error at 1e-6."""
        values = ScoreMatrices(5, 3, distribution, distribution).sample(generator(8), 60_000)[:, 1]
        assert abs(values.mean() - 5) <= stats.norm.isf(FALSE_ALARM / 2) * values.std() / math.sqrt(60_000)


class TestScorePairs:
    """Blocks of independent scores, counted against a grid."""

    GRID = (-2.0, -0.5, 0.0, 0.5, 3.0)

    def test_fractions_by_direct_counting(self) -> None:
        """Each statistic is the fraction of looped dot products at or below its grid point."""
        query, key = Spy(NORMAL), Spy(UNIFORM)
        sampler = ScorePairs(3, 7, query, key, self.GRID)  # type: ignore[arg-type]  # a spy draws
        found = sampler.sample(generator(1), 4)
        (queries,), (keys,) = query.drawn, key.drawn
        for block, position in itertools.product(range(4), range(len(self.GRID))):
            scores = [sum(queries[block, p] * keys[block, p]) for p in range(7)]
            count = sum(score <= self.GRID[position] for score in scores)
            assert found[block, position] == count / 7
        assert queries.size + keys.size == 4 * sampler.coordinates
        assert sampler.scores == 7

    def test_ties_count_as_at_or_below(self) -> None:
        """A score that equals a grid point counts there: signs in two dimensions give -2, 0 and 2."""
        sampler = ScorePairs(2, 40, RADEMACHER, RADEMACHER, (-2.0, -1.0, 0.0, 1.0, 2.0))
        found = sampler.sample(generator(2), 50)
        assert np.all(found[:, 0] == found[:, 1])
        assert np.all(found[:, 2] == found[:, 3])
        assert np.all(found[:, 4] == 1)
        assert found[:, 0].max() > 0
        # Exact binomial bounds for 2000 scores at 1e-6: a quarter each at -2 and 2.
        at_two = round(found[:, 0].sum() * 40)
        low, high = stats.binom.ppf(FALSE_ALARM / 2, 2000, 0.25), stats.binom.isf(FALSE_ALARM / 2, 2000, 0.25)
        assert low <= at_two <= high


class TestSharedPairs:
    """Blocks of all pairs among shared vectors."""

    @pytest.mark.parametrize(("d", "vectors"), [(1, 2), (3, 2), (4, 6), (2, 9)])
    def test_statistics_over_all_pairs(self, d: int, vectors: int) -> None:
        """The statistics give the mean and NumPy's variance over all looped pairs i < j."""
        spy = Spy(EXPONENTIAL)
        sampler = SharedPairs(d, vectors, spy)  # type: ignore[arg-type]  # a spy draws
        found = sampler.sample(generator(3), 3)
        (x,) = spy.drawn
        for block in range(3):
            pairs = [
                float(x[block, :, i] @ x[block, :, j]) for i, j in itertools.combinations(range(vectors), 2)
            ]
            assert len(pairs) == sampler.scores
            second, square, mean = found[block]
            assert math.isclose(mean, float(np.mean(pairs)), rel_tol=1e-9, abs_tol=1e-11)
            assert math.isclose(square, float(np.mean(pairs)) ** 2, rel_tol=1e-9, abs_tol=1e-11)
            assert math.isclose(second - square, float(np.var(pairs)), rel_tol=1e-9, abs_tol=1e-10)
        assert x.size == 3 * sampler.coordinates
