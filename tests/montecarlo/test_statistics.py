"""Statistics of blocks and rows: against plain loops over the same queries and keys."""

import itertools
import math
import statistics
from itertools import product

import numpy as np
import pytest
from scipy import stats

from tests.montecarlo.samples import SINGLE, Spy, generator, score_matrices, score_pairs
from tests.strategies import FALSE_ALARM
from verify.montecarlo.attention import softmax
from verify.montecarlo.distributions import (
    EXPONENTIAL,
    NORMAL,
    RADEMACHER,
    UNIFORM,
    UNIT_INTERVAL,
)
from verify.montecarlo.estimands import complex_step
from verify.montecarlo.inputs import Linked, ProjectedTokens, Shape, SharedVectors, Simulated
from verify.montecarlo.rows import (
    BothScales,
    CausalRows,
    NormalRows,
    OfRow,
    RowVariance,
    SoftmaxRows,
    of_rows,
)
from verify.montecarlo.statistics import (
    AllPairs,
    ComponentMoments,
    EntryProducts,
    OtherTokens,
    PairMoments,
    Reduced,
    ScorePowers,
    ScoreProducts,
)


class TestScoreMoments:
    """Blocks of m×m scores."""

    def test_scores_of_correlated_components(self) -> None:
        """E S² = d(1 + (d-1)ρ²) for equicorrelated components, within the sample's error at 1e-6."""
        d, rho = 6, 0.5
        values = score_matrices(d, 4, NORMAL, NORMAL, correlation=rho).sample(generator(7), 60_000)[:, 1]
        error = values.std() / math.sqrt(len(values))
        assert abs(values.mean() - d * (1 + (d - 1) * rho**2)) <= stats.norm.isf(FALSE_ALARM / 2) * error


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


def test_products_pair_by_pair() -> None:
    """Every mean is that over the pairs of scores that it names, however many queries and keys there are."""
    rng = np.random.default_rng(3)
    for shape in (Shape(2, 2, 1), Shape(3, 5, 2), Shape(4, 2, 3)):
        queries, keys = rng.normal(size=(2, shape.m, shape.d)), rng.normal(size=(2, shape.n, shape.d))
        found = ScoreProducts().reduce(queries, keys)
        for block in range(2):
            scores = [[sum(q * k) for k in keys[block]] for q in queries[block]]
            entries = list(product(range(shape.m), range(shape.n)))
            pairs = [(scores[i][j] * scores[a][b], i == a, j == b) for i, j in entries for a, b in entries]
            expected = [
                np.mean([value for value, *same in pairs if same == [query, key]])
                for query, key in ((True, True), (True, False), (False, False))
            ]
            np.testing.assert_allclose(found[block], expected, rtol=1e-12, atol=1e-12)


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


MIXING = ((1.0, 0.0, 2.0), (0.0, -1.0, 0.5), (3.0, 1.0, 0.0), (0.0, 2.0, -1.0))
"""Two query and two key components made from three numbers, no two rows alike."""
MEANS = (1.0, -2.0, 0.5, 4.0)


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
