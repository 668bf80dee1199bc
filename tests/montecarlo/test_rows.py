"""Statistics of rows: against their definitions, key by key."""

from __future__ import annotations

import math
import statistics

import numpy as np
import pytest
from scipy import stats

from tests.montecarlo.samples import SINGLE, Spy, generator
from verify.montecarlo.attention import softmax
from verify.montecarlo.distributions import EXPONENTIAL, NORMAL, UNIT_INTERVAL, Distribution
from verify.montecarlo.estimands import complex_step
from verify.montecarlo.inputs import Simulated
from verify.montecarlo.rows import (
    BothScales,
    CausalRows,
    NormalRows,
    OfRow,
    RowVariance,
    SoftmaxRows,
    of_rows,
)
from verify.montecarlo.statistics import Reduced

ALL: tuple[OfRow, ...] = ("largest", "squares", "entropy", "sharp", "jacobian", "product")


@pytest.mark.parametrize("size", [0.1, 3.0, 500.0])
def test_definitions(size: float) -> None:
    """Each statistic agrees with a computation of its own, also where probabilities underflow."""
    scores = size * np.random.default_rng(1).normal(size=(6, 5))
    found = of_rows(scores, ALL)
    for row, values in zip(scores, found, strict=True):
        p = softmax(row)
        jacobian = np.diag(p) - np.outer(p, p)
        entropy = stats.entropy(p)
        sharp = float(entropy < np.log(5) - 0.5)
        expected = [p.max(), np.sum(p**2), entropy, sharp, np.sum(jacobian**2), p[0] * (1 - p[0])]
        assert values == pytest.approx(expected, abs=1e-12)


def test_rows_of_real_vectors() -> None:
    """A block's statistics are the means over the rows of its own score matrix."""
    sampler = Reduced(Simulated(NORMAL, NORMAL, 2, 4, 3), SoftmaxRows(("entropy", "squares"), 0.5))
    found = sampler.sample(np.random.default_rng(2), 3)
    rng = np.random.default_rng(2)
    queries, keys = NORMAL.draw(rng, (3, 2, 3)), NORMAL.draw(rng, (3, 4, 3))
    for block in range(3):
        rows = [softmax(np.array([0.5 * q @ k for k in keys[block]])) for q in queries[block]]
        expected = [np.mean([stats.entropy(p) for p in rows]), np.mean([np.sum(p**2) for p in rows])]
        assert found[block] == pytest.approx(expected)
    assert (sampler.coordinates, sampler.scores) == (18, 8)


def test_causal_rows_see_the_past_only() -> None:
    """The entropy at position t is that of the first t keys' softmax; shares count those far below."""
    sampler = Reduced(Simulated(NORMAL, NORMAL, 6, 6, 3), CausalRows((1, 4, 6)))
    found = sampler.sample(np.random.default_rng(4), 2)
    assert found.shape == (2, 6)
    rng = np.random.default_rng(4)
    queries, keys = NORMAL.draw(rng, (2, 2, 3, 3)), NORMAL.draw(rng, (2, 1, 6, 3))[:, 0]
    for block in range(2):
        rows = [
            (t, np.array([stats.entropy(softmax(keys[block, :t] @ one)) for one in queries[block, :, place]]))
            for place, t in enumerate((1, 4, 6))
        ]
        expected = [row.mean() for _, row in rows] + [np.mean(row < np.log(t) - 0.5) for t, row in rows]
        assert found[block] == pytest.approx(expected, abs=1e-6)


BOTH = Reduced(Simulated(NORMAL, NORMAL, 3, 4, 9), BothScales())


def test_statistics_are_the_norms_of_the_jacobians() -> None:
    """The same draws, softmax differentiated row by row at both scales."""
    found = BOTH.sample(np.random.default_rng(1), 5)
    rng = np.random.default_rng(1)
    queries, keys = NORMAL.draw(rng, (5, 3, 9)), NORMAL.draw(rng, (5, 4, 9))
    for block in range(5):
        for place, scale in enumerate((1.0, 1 / 3)):
            rows = [scale * keys[block] @ query for query in queries[block]]
            norms = [np.linalg.norm(complex_step(softmax, row)) ** 2 for row in rows]
            assert found[block, place] == pytest.approx(np.mean(norms), rel=SINGLE)


class TestRowVariance:
    """The variance of one query's scores over its keys."""

    @pytest.mark.parametrize(("d", "queries", "keys"), [(1, 1, 2), (3, 4, 2), (5, 2, 6)])
    def test_variance_row_by_row(self, d: int, queries: int, keys: int) -> None:
        """The statistic is the mean of the rows' sample variances, queries in rows."""
        query, key = Spy(UNIT_INTERVAL), Spy(NORMAL)
        drawn = Simulated(query, key, queries, keys, d)  # type: ignore[arg-type]  # a spy draws
        sampler = Reduced(drawn, RowVariance())
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
            assert math.isclose(found[block, 0], statistics.fmean(rows), rel_tol=SINGLE)

    def test_a_shift_of_all_scores_of_a_query_does_not_count(self) -> None:
        """Another mean of the keys moves whole rows and leaves the statistic alone."""
        centred = Reduced(Simulated(NORMAL, NORMAL, 3, 5, 4), RowVariance()).sample(generator(5), 8)
        shifted = Reduced(Simulated(NORMAL, NORMAL.moved(2, 1), 3, 5, 4), RowVariance()).sample(
            generator(5), 8
        )
        assert np.allclose(centred, shifted, rtol=SINGLE)


def test_normal_rows_have_their_deviation() -> None:
    """Of tiny deviation, a row is nearly even; of a huge one, nearly all on one key."""
    even = NormalRows(8, 4, 1e-6, NORMAL, ("squares",)).sample(np.random.default_rng(3), 10)
    frozen = NormalRows(8, 4, 1e6, NORMAL, ("squares",)).sample(np.random.default_rng(3), 10)
    assert even == pytest.approx(1 / 8)
    assert frozen == pytest.approx(1)


def test_many_normal_rows_come_with_both_signs() -> None:
    """Half of the numbers are drawn; the statistics are those of all rows, of either sign."""
    sampler = NormalRows(32, 4, 2.0, NORMAL, ("squares", "largest"))
    assert sampler.coordinates == 2 * 32
    ((rows,),) = sampler.readings(generator(8), 5)
    assert np.array_equal(rows.vectors[:, 2:], -rows.vectors[:, :2])
    expected = of_rows(rows.vectors, sampler.wanted).mean(axis=1)
    assert np.allclose(sampler.sample(generator(8), 5), expected, rtol=SINGLE)


@pytest.mark.parametrize(
    ("keys", "rows", "law"),
    [
        pytest.param(32, 4, EXPONENTIAL, id="skewed"),
        pytest.param(32, 4, NORMAL.moved(1, 1), id="not centred"),
        pytest.param(32, 3, NORMAL, id="odd"),
        pytest.param(2, 4, NORMAL, id="of two keys"),
    ],
)
def test_other_rows_are_all_drawn(keys: int, rows: int, law: Distribution) -> None:
    """The other sign has another law, or says nothing new; so rows are drawn one by one."""
    sampler = NormalRows(keys, rows, 2.0, law, ("squares",))
    assert sampler.coordinates == rows * keys
    ((drawn,),) = sampler.readings(generator(9), 1)
    assert len(np.unique(np.abs(drawn.vectors))) == rows * keys
