"""Statistics of attention's variants, against plain loops over the same draws."""

from __future__ import annotations

import itertools
import math
import operator
import statistics
from typing import Any

import numpy as np
import pytest
from scipy import special

from tests.montecarlo.samples import generator
from verify.claims.modern.shared.variants import (
    BesideSink,
    BiasedRows,
    CappedScores,
    Cosines,
    DroppedWeights,
    GroupedScores,
    RotatedScores,
    RoundedScores,
    beside_sink,
    cosine_scores,
    largest_cosine,
    rotated,
    rotation_angles,
    rounded,
    soft_capped,
    with_linear_bias,
)
from verify.montecarlo.attention import softmax
from verify.montecarlo.inputs import Shape

RNG = generator()
QUERIES, KEYS = RNG.normal(size=(2, 3, 4)), RNG.normal(size=(2, 5, 4))
PAIRS = tuple(itertools.product(range(3), range(5)))


def dot(one: Any, other: Any) -> float:
    """Return the sum of products."""
    return float(sum(map(operator.mul, one, other)))


def dots(block: int) -> list[float]:
    """Return all scores of a block, one after the other."""
    return [dot(QUERIES[block, one], KEYS[block, other]) for one, other in PAIRS]


def test_cosines_are_scores_over_both_lengths() -> None:
    """Times the scale, squared and to the fourth; a vector's length does not matter."""
    found = Cosines(2.0).reduce(QUERIES, KEYS)
    for block in range(2):
        cosines = [
            2 * score / math.hypot(*QUERIES[block, one]) / math.hypot(*KEYS[block, other])
            for score, (one, other) in zip(dots(block), PAIRS, strict=True)
        ]
        expected = [statistics.fmean(cosine**power for cosine in cosines) for power in (2, 4)]
        assert found[block] == pytest.approx(expected)
    assert cosine_scores(7 * QUERIES, KEYS / 3) == pytest.approx(cosine_scores(QUERIES, KEYS))


def test_rotation_is_by_plain_matrices() -> None:
    """Each pair is turned by its angle times the position; the mean and mean square of such scores."""
    assert rotation_angles(2).tolist() == [1.0, 0.01]
    turned = rotated(KEYS, 5)
    for pair, angle in enumerate((5.0, 0.05)):
        matrix = [[math.cos(angle), -math.sin(angle)], [math.sin(angle), math.cos(angle)]]
        assert turned[..., pair::2] == pytest.approx(
            KEYS[..., 2 * pair : 2 * pair + 2] @ np.transpose(matrix)
        )
    scores = rotated(QUERIES, 8) @ turned.swapaxes(1, 2)
    found = RotatedScores(3).reduce(QUERIES, KEYS)
    assert found[:, 0] == pytest.approx(scores.mean(axis=(1, 2)))
    assert found[:, 1] == pytest.approx((scores**2).mean(axis=(1, 2)))


def test_only_the_distance_of_two_positions_counts() -> None:
    """Queries at 8 with keys at 5 have the scores of 103 with 100, and not those of 9 with 5."""
    here, far, other = (
        rotated(QUERIES, one) @ rotated(KEYS, two).swapaxes(1, 2) for one, two in ((8, 5), (103, 100), (9, 5))
    )
    assert here == pytest.approx(far)
    assert here != pytest.approx(other, rel=1e-3)


def test_a_linear_bias_by_hand() -> None:
    """The first key is at no distance; the variance is that over the keys themselves, not an estimate."""
    assert with_linear_bias(np.zeros(3), 0.5).tolist() == [0.0, -0.5, -1.0]
    found = BiasedRows(0.25, 0.5).reduce(QUERIES, KEYS)
    for block in range(2):
        rows = np.reshape(dots(block), (3, 5)) / 2 - 0.25 * np.arange(5)
        assert found[block, 0] == pytest.approx(statistics.fmean(map(statistics.pvariance, rows.tolist())))


def test_a_cap_and_its_slope_by_differences() -> None:
    """Squares of scores and of capped ones; the slope is that of a small step."""
    found = CappedScores(2.0, 0.5).reduce(QUERIES, KEYS)
    for block in range(2):
        scores = [score / 2 for score in dots(block)]
        capped = [2 * math.tanh(score / 2) for score in scores]
        slopes = [
            (2 * math.tanh((score + 1e-6) / 2) - one) / 1e-6
            for score, one in zip(scores, capped, strict=True)
        ]
        expected = [
            statistics.fmean(one * one for one in scores),
            statistics.fmean(one * one for one in capped),
        ]
        assert found[block, :2] == pytest.approx(expected)
        assert found[block, 2] == pytest.approx(statistics.fmean(slopes), rel=1e-5)
    assert np.abs(soft_capped(np.array([-1e9, 1e9]), 5.0)).tolist() == [5.0, 5.0]


def test_a_sink_is_one_key_more_without_a_value() -> None:
    """Weights are exponentials over the sum of all and the sink's; alone it leaves nothing or all."""
    found = BesideSink(1.0, 0.5).reduce(QUERIES, KEYS)
    for block in range(2):
        totals = [sum(map(math.exp, row)) for row in np.reshape(dots(block), (3, 5)) / 2]
        assert found[block, 0] == pytest.approx(statistics.fmean(one / (one + math.e) for one in totals))
    scores = QUERIES[0]
    assert beside_sink(scores, -np.inf) == pytest.approx(softmax(scores))
    assert beside_sink(scores, 800.0) == pytest.approx(0.0)


@pytest.mark.parametrize("shared", [True, False])
def test_grouped_heads_by_loops(shared: bool) -> None:
    """Three heads meet the same six keys, or each two of its own; a cell records how many heads."""
    assert ("heads", 3) in GroupedScores(shared).settings(Shape(3, 6, 4))
    keys = RNG.normal(size=(2, 6, 4))
    found = GroupedScores(shared).reduce(QUERIES, keys)
    for block in range(2):
        many = 6 if shared else 2
        of_heads = [
            [dot(QUERIES[block, head], keys[block, key if shared else 2 * head + key]) for key in range(many)]
            for head in range(3)
        ]
        flat = list(itertools.chain(*of_heads))
        pairs = [
            (of_heads[one][key], of_heads[two][key])
            for one, two in itertools.permutations(range(3), 2)
            for key in range(many)
        ]
        expected = [
            *(statistics.fmean(score**power for score in flat) for power in (1, 2)),
            statistics.fmean(one * two for one, two in pairs),
            statistics.fmean(one**2 * two**2 for one, two in pairs),
            statistics.fmean(score**4 for score in flat),
        ]
        assert found[block] == pytest.approx(expected)


def test_dropped_weights_by_loops() -> None:
    """One row a block: masks, outputs of two components, and pairs of keys, some with both dropped."""
    width, many, rate = 2, 5, 0.4
    queries, keys = RNG.normal(size=(40, 1, width + many)), RNG.normal(size=(40, many, width + 2))
    found = DroppedWeights(rate, width, 0.7).reduce(queries, keys)
    empty = 0
    for block in range(40):
        query, own = queries[block, 0], keys[block]
        weights = softmax(0.7 * own[:, :width] @ query[:width])
        kept = [special.ndtr(number) < 1 - rate for number in query[width:]]
        of_outputs = []
        for values in own[:, width:].T:
            output = dot(weights, values)
            pairs = zip(weights, values, kept, strict=True)
            noise = sum(p * v / (1 - rate) for p, v, stays in pairs if stays) - output
            of_outputs.append((noise * output, noise**2, output**2))
        of_pairs = []
        for one in (0, 2):
            smaller, larger = sorted(softmax(0.7 * own[one : one + 2, :width] @ query[:width]).tolist())
            # The masks are those of the larger and of the smaller weight, in this order.
            if kept[one] or kept[one + 1]:
                left = larger * kept[one] / (larger * kept[one] + smaller * kept[one + 1])
                of_pairs.append((larger - left, 2 * larger - 1))
            else:
                empty += 1
                of_pairs.append((0.0, 0.0))
        assert found[block] == pytest.approx([*np.mean(of_outputs, axis=0), *np.mean(of_pairs, axis=0)])
    assert empty > 0


def test_errors_of_rounded_scores() -> None:
    """The mean squared distance from the scores themselves."""
    found = RoundedScores(4, 0.5).reduce(QUERIES, KEYS)
    for block in range(2):
        scores = np.array(dots(block)) / 2
        assert found[block, 0] == pytest.approx(statistics.fmean((rounded(scores, 4) - scores) ** 2))


def test_a_cosine_is_at_most_one_and_reaches_it() -> None:
    """By the query itself among the keys; the scale multiplies it."""
    assert largest_cosine(1.0) == pytest.approx(1.0, abs=1e-12)
    assert largest_cosine(8.0) == pytest.approx(8.0, abs=1e-12)
