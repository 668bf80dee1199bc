"""Samplers of dependent scores: their statistics equal those computed score by score in plain loops."""

from __future__ import annotations

import itertools
import math
import statistics
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np
import pytest
from scipy import stats

from tests.montecarlo.test_scores import Spy, generator
from tests.strategies import FALSE_ALARM
from verify.montecarlo.distributions import NORMAL, RADEMACHER, UNIFORM, UNIT_INTERVAL
from verify.montecarlo.linked import LinkedComponents, LinkedPairs, ProjectedTokens, RowSpread

if TYPE_CHECKING:
    from verify.montecarlo.distributions import Array

MIXING = ((1.0, 0.0, 2.0), (0.0, -1.0, 0.5), (3.0, 1.0, 0.0), (0.0, 2.0, -1.0))
"""Two query and two key components made from three numbers, no two rows alike."""
MEANS = (1.0, -2.0, 0.5, 4.0)


def within(values: Array, expected: float) -> bool:
    """Return whether the mean of ``values`` is ``expected``, by the central limit bound at 1e-6."""
    error = float(values.std()) / math.sqrt(len(values))
    return abs(float(values.mean()) - expected) <= float(stats.norm.isf(FALSE_ALARM / 2)) * error


class TestLinkedPairs:
    """Queries and keys mixed from the same numbers."""

    @pytest.mark.parametrize("scale", [1.0, 0.25])
    def test_statistics_score_by_score(self, scale: float) -> None:
        """Queries are the first rows of the mixing, keys the last; groups add up; then the scale."""
        distribution, groups, pairs = Spy(NORMAL), 3, 4
        sampler = LinkedPairs(groups, pairs, distribution, MIXING, MEANS, scale)  # type: ignore[arg-type]  # a spy
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
            assert math.isclose(found[block, 0], math.fsum(scores) / pairs, rel_tol=1e-11)
            assert math.isclose(found[block, 1], math.fsum(s * s for s in scores) / pairs, rel_tol=1e-11)

    def test_the_same_vector_twice(self) -> None:
        """With mixing (1), (1) a score is a squared length: signs give d exactly, every time."""
        found = LinkedPairs(7, 3, RADEMACHER, ((1.0,), (1.0,)), (0.0, 0.0)).sample(generator(2), 6)
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
            means.append(LinkedPairs(1, 4, NORMAL, rows, (0.0,) * 4).sample(generator(3), 40_000)[:, 0])
        assert within(means[0], 3.5)
        assert not within(means[1], 3.5)
        assert within(means[1], 1.0)


class TestRowSpread:
    """The variance of one query's scores over its keys."""

    @pytest.mark.parametrize(("d", "queries", "keys"), [(1, 1, 2), (3, 4, 2), (5, 2, 6)])
    def test_variance_row_by_row(self, d: int, queries: int, keys: int) -> None:
        """The statistic is the mean of the rows' sample variances, queries in rows."""
        query, key = Spy(UNIT_INTERVAL), Spy(NORMAL)
        sampler = RowSpread(d, queries, keys, query, key)  # type: ignore[arg-type]  # a spy draws
        found = sampler.sample(generator(4), 3)
        (x,), (y,) = query.drawn, key.drawn
        assert found.shape == (3, 1)
        assert x.size + y.size == 3 * sampler.coordinates
        assert sampler.scores == queries * keys
        for block in range(3):
            rows = [
                statistics.variance([float(x[block, a] @ y[block, b]) for b in range(keys)])
                for a in range(queries)
            ]
            assert math.isclose(found[block, 0], statistics.fmean(rows), rel_tol=1e-11)

    def test_a_shift_of_all_scores_of_a_query_does_not_count(self) -> None:
        """Another mean of the keys moves whole rows and leaves the statistic alone."""
        centred = RowSpread(4, 3, 5, NORMAL, NORMAL).sample(generator(5), 8)
        shifted = RowSpread(4, 3, 5, NORMAL, NORMAL.moved(2, 1)).sample(generator(5), 8)
        assert np.allclose(centred, shifted, rtol=1e-11)

    def test_components_from_the_unit_interval(self) -> None:
        """The mean is d/36, within the sample's error; it is not the total variance 7d/144."""
        values = RowSpread(6, 4, 8, UNIT_INTERVAL, UNIT_INTERVAL).sample(generator(6), 20_000)[:, 0]
        assert within(values, 6 / 36)
        assert not within(values, 6 * 7 / 144)


class TestLinkedComponents:
    """What linked queries and keys are made of."""

    def test_means_and_products_one_by_one(self) -> None:
        """Each statistic stands where its name says; rows of the matrix are query components."""
        pairs = LinkedPairs(3, 4, NORMAL, MIXING, MEANS)
        sampler = LinkedComponents(pairs)
        found = sampler.sample(generator(1), 5)
        queries, keys = pairs.components(generator(1), 5)
        assert found.shape == (5, 8)
        for query, key in itertools.product(range(2), repeat=2):
            one, other = f"q{query + 1}", f"k{key + 1}"
            product, first, second = map(sampler.names.index, (one + other, one, other))
            for block in range(5):
                own = slice(4 * block, 4 * (block + 1))
                q, k = queries[own, :, query].ravel(), keys[own, :, key].ravel()
                assert math.isclose(found[block, product], statistics.fmean(q * k), rel_tol=1e-11)
                assert math.isclose(found[block, first], statistics.fmean(q), rel_tol=1e-11)
                assert math.isclose(found[block, second], statistics.fmean(k), rel_tol=1e-11)

    def test_scores_are_made_of_these_components(self) -> None:
        """From one stream the scores are the components' products, added up."""
        pairs = LinkedPairs(3, 4, NORMAL, MIXING, MEANS, 0.5)
        queries, keys = pairs.components(generator(2), 5)
        scores = 0.5 * (queries * keys).sum(axis=(1, 2)).reshape(5, 4)
        assert np.allclose(pairs.sample(generator(2), 5)[:, 0], scores.mean(axis=1), rtol=1e-11)


class TestSettings:
    """What the samplers say of themselves is what they draw."""

    def test_the_covariance_is_that_of_the_components(self) -> None:
        """The recorded matrix has a row for each query component, and agrees with what is drawn."""
        pairs = LinkedPairs(1, 50_000, NORMAL, MIXING, MEANS)
        assert dict(pairs.settings) == {
            "d_k": 2,
            "components": "normal",
            "Cov(q, k)": "[3 −2; −1 −2.5]",
            "Cov(q)": "[5 1; 1 1.25]",
            "Cov(k)": "[10 2; 2 5]",
            "means": "[1 −2; 0.5 4]",
        }
        queries, keys = (one[:, 0] for one in pairs.components(generator(3), 1))
        drawn = np.cov(queries, keys, rowvar=False)
        stated = [[5, 1, 3, -2], [1, 1.25, -1, -2.5], [3, -1, 10, 2], [-2, -2.5, 2, 5]]
        assert np.allclose(drawn, np.array(stated), atol=0.3)

    def test_a_key_that_is_the_query_is_said_to_be(self) -> None:
        """A matrix of ones alone would not say so for every distribution."""
        own = dict(LinkedPairs(8, 4, UNIFORM, ((1.0,), (1.0,)), (0.0, 0.0)).settings)
        assert own == {"d_k": 8, "components": "uniform", "key": "the query itself"}
        other = dict(LinkedPairs(8, 4, NORMAL, ((1.0, 0.0), (0.5, 0.75)), (0.0, 0.0), 0.25).settings)
        assert (other["Cov(q, k)"], other["scale"]) == ("0.5", 0.25)

    def test_rows_and_projections(self) -> None:
        """Shape, distributions and the variance of the entries."""
        assert dict(RowSpread(4, 3, 5, NORMAL, UNIT_INTERVAL).settings) == {
            "d_k": 4,
            "query": "normal",
            "key": "U(0,1)",
            "block": "3×5",
        }
        assert dict(ProjectedTokens(6, 2, 3, NORMAL, Fraction(1, 4)).settings) == {
            "d_k": 2,
            "token width": 6,
            "entries": "normal",
            "entry variance": "1/4",
        }


class TestProjectedTokens:
    """Normalised tokens through projection matrices that are really drawn."""

    def test_squares_score_by_score(self) -> None:
        """Tokens have squared length D; scores of different tokens only; entries have the variance."""
        distribution, width, d, tokens, variance = Spy(UNIFORM), 5, 3, 4, 0.3
        sampler = ProjectedTokens(width, d, tokens, distribution, variance)  # type: ignore[arg-type]  # a spy draws
        found = sampler.sample(generator(7), 2)
        again = generator(7).normal(size=(2, tokens, width))
        queries, keys = (math.sqrt(variance) * drawn for drawn in distribution.drawn)
        assert again.size + queries.size + keys.size == 2 * sampler.coordinates
        assert sampler.scores == tokens * (tokens - 1)
        for block in range(2):
            x = [token * math.sqrt(width / float(token @ token)) for token in again[block]]
            squares = [
                float((x[a] @ queries[block]) @ (x[b] @ keys[block])) ** 2 / d
                for a, b in itertools.permutations(range(tokens), 2)
            ]
            assert math.isclose(found[block, 0], statistics.fmean(squares), rel_tol=1e-11)

    @pytest.mark.parametrize("d", [1, 4])
    def test_mean_square_is_that_of_the_entries_times_the_width(self, d: int) -> None:
        """E[(q·k)²/d] = (vD)² in any head dimension, within the sample's error; not vD."""
        width, variance = 6, Fraction(1, 4)
        values = ProjectedTokens(width, d, 3, NORMAL, variance).sample(generator(8), 60_000)[:, 0]
        assert within(values, float(variance * width) ** 2)
        assert not within(values, float(variance * width))
