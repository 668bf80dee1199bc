"""Statistics of pairs, against plain loops over the same draws."""

from __future__ import annotations

import itertools
import math
import statistics

import numpy as np
import pytest
from scipy import stats

from tests.montecarlo.samples import SINGLE, Spy, generator, mean_is, score_pairs
from tests.montecarlo.test_linked import MEANS, MIXING
from tests.strategies import FALSE_ALARM
from verify.montecarlo.distributions import EXPONENTIAL, NORMAL, RADEMACHER, UNIFORM
from verify.montecarlo.inputs import Linked, SharedVectors
from verify.montecarlo.statistics import AllPairs, ComponentMoments, PairMoments, Reduced


class TestPairShares:
    """Blocks of independent scores, counted against a grid."""

    GRID = (-2.0, -0.5, 0.0, 0.5, 3.0)

    def test_fractions_by_direct_counting(self) -> None:
        """Each statistic is the fraction of looped dot products at or below its grid point."""
        query, key = Spy(NORMAL), Spy(UNIFORM)
        sampler = score_pairs(3, 7, query, key, self.GRID)  # type: ignore[arg-type]  # a spy draws
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
        sampler = score_pairs(2, 40, RADEMACHER, RADEMACHER, (-2.0, -1.0, 0.0, 1.0, 2.0))
        found = sampler.sample(generator(2), 50)
        assert np.all(found[:, 0] == found[:, 1])
        assert np.all(found[:, 2] == found[:, 3])
        assert np.all(found[:, 4] == 1)
        assert found[:, 0].max() > 0
        # Exact binomial bounds for 2000 scores at 1e-6: a quarter each at -2 and 2.
        at_two = round(found[:, 0].sum() * 40)
        low, high = stats.binom.ppf(FALSE_ALARM / 2, 2000, 0.25), stats.binom.isf(FALSE_ALARM / 2, 2000, 0.25)
        assert low <= at_two <= high


class TestPairMoments:
    """Queries and keys mixed from the same numbers."""

    @pytest.mark.parametrize("scale", [1.0, 0.25])
    def test_statistics_score_by_score(self, scale: float) -> None:
        """Queries are the first rows of the mixing, keys the last; groups add up; then the scale."""
        distribution, groups, pairs = Spy(NORMAL), 3, 4
        drawn = Linked(groups, pairs, distribution, MIXING, MEANS)  # type: ignore[arg-type]  # a spy draws
        sampler = Reduced(drawn, PairMoments(scale))
        found = sampler.sample(generator(1), 5)
        (fresh,) = distribution.drawn
        assert found.shape == (5, 2)
        assert fresh.size == 5 * sampler.coordinates
        assert sampler.scores == pairs
        numbers = fresh.reshape(5, pairs, groups, 3)
        for block in range(5):
            scores = []
            for pair in range(pairs):
                score = 0.0
                for group in range(groups):
                    z = numbers[block, pair, group]
                    q1, q2, k1, k2 = (
                        mean + sum(a * b for a, b in zip(row, z, strict=True))
                        for row, mean in zip(MIXING, MEANS, strict=True)
                    )
                    score += q1 * k1 + q2 * k2
                scores.append(scale * score)
            assert math.isclose(found[block, 0], math.fsum(scores) / pairs, rel_tol=SINGLE)
            assert math.isclose(found[block, 1], math.fsum(s * s for s in scores) / pairs, rel_tol=SINGLE)

    def test_the_same_vector_twice(self) -> None:
        """With mixing (1), (1) a score is a squared length: signs give d exactly, every time."""
        drawn = Linked(7, 3, RADEMACHER, ((1.0,), (1.0,)), (0.0, 0.0))
        found = Reduced(drawn, PairMoments()).sample(generator(2), 6)
        assert np.all(found == [7.0, 49.0])

    def test_covariance_has_queries_in_its_rows(self) -> None:
        """If q = z₁ and k = Cᵀq + z₂, then E[q·k] = tr C; with the rows exchanged it is another."""
        cross = np.array([[0.5, 2.0], [-1.0, 3.0]])
        upper = np.hstack([np.eye(2), np.zeros((2, 2))])
        mixing = np.vstack([upper, np.hstack([cross.T, np.eye(2)])])
        exchanged = np.vstack([upper, np.hstack([cross.T[::-1], np.eye(2)])])
        means = []
        for one in (mixing, exchanged):
            rows = tuple(map(tuple, one.tolist()))
            sampler = Reduced(Linked(1, 4, NORMAL, rows, (0.0,) * 4), PairMoments())
            means.append(sampler.sample(generator(3), 40_000)[:, 0])
        assert mean_is(means[0], 3.5)
        assert not mean_is(means[1], 3.5)
        assert mean_is(means[1], 1.0)


class TestComponentMoments:
    """What linked queries and keys are made of."""

    def test_means_and_products_one_by_one(self) -> None:
        """Each statistic stands where its name says; rows of the matrix are query components."""
        drawn = Linked(3, 4, NORMAL, MIXING, MEANS)
        sampler = Reduced(drawn, ComponentMoments(2))
        found = sampler.sample(generator(1), 5)
        queries, keys = (one.reshape(20, 3, 2) for one in drawn.draw(generator(1), 5, columns=False))
        assert found.shape == (5, 8)
        for query, key in itertools.product(range(2), repeat=2):
            one, other = f"q{query + 1}", f"k{key + 1}"
            product, first, second = map(sampler.names.index, (one + other, one, other))
            for block in range(5):
                own = slice(4 * block, 4 * (block + 1))
                q, k = queries[own, :, query].ravel(), keys[own, :, key].ravel()
                assert math.isclose(found[block, product], statistics.fmean(q * k), rel_tol=SINGLE)
                assert math.isclose(found[block, first], statistics.fmean(q), rel_tol=SINGLE)
                assert math.isclose(found[block, second], statistics.fmean(k), rel_tol=SINGLE)


class TestAllPairs:
    """Blocks of all pairs among shared vectors."""

    @pytest.mark.parametrize(("d", "vectors"), [(1, 2), (3, 2), (4, 6), (2, 9)])
    def test_statistics_over_all_pairs(self, d: int, vectors: int) -> None:
        """The statistics give the mean and NumPy's variance over all looped pairs i < j."""
        spy = Spy(EXPONENTIAL)
        drawn = SharedVectors(spy, vectors, d)  # type: ignore[arg-type]  # a spy draws
        sampler = Reduced(drawn, AllPairs())
        found = sampler.sample(generator(3), 3)
        (x,) = spy.drawn
        for block in range(3):
            pairs = [
                float(x[block, :, i] @ x[block, :, j]) for i, j in itertools.combinations(range(vectors), 2)
            ]
            assert len(pairs) == sampler.scores
            second, square, mean = found[block]
            assert math.isclose(mean, float(np.mean(pairs)), rel_tol=SINGLE, abs_tol=SINGLE)
            assert math.isclose(square, float(np.mean(pairs)) ** 2, rel_tol=SINGLE, abs_tol=SINGLE)
            # Each vector's product with itself is taken away again, and was rounded.
            rounded = 1e-6 * (1 + float(np.max(np.sum(x[block] ** 2, axis=0))) ** 2)
            assert math.isclose(second - square, float(np.var(pairs)), abs_tol=rounded)
        assert x.size == 3 * sampler.coordinates
