"""Quantities measured: against exact values, against the former results, and with derived block variances."""

import itertools
import math
from collections.abc import Mapping
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np
import pytest
import sympy as sp
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from tests.montecarlo.samples import draw
from verify.errors import ClaimError
from verify.montecarlo.blocks import Cell, Sample
from verify.montecarlo.compiling import Column
from verify.montecarlo.distributions import CAUCHY, LAPLACE, NORMAL, RADEMACHER, UNIFORM, UNIT_INTERVAL
from verify.montecarlo.distributions import Array
from verify.montecarlo.estimands import Bounded, Goal, Measured
from verify.montecarlo.quantities import is_nonnegative, measurement
from verify.montecarlo.shapes import block_variance
from verify.symbolic.calculus import expected
from verify.symbolic.vocabulary import NORMAL_COMPONENTS, Cov, E, Entropy, Family, Indicator, Largest
from verify.symbolic.vocabulary import Quantile, Softmax, Var, a, b, d, j, k, l, m, n, over_keys, q, s
from verify.symbolic.vocabulary import score, score_of, sigma, squares

LEVEL = 1e-9
"""How often an interval may miss by chance."""

NORMAL_SCORES = {q: NORMAL, k: NORMAL}
x = Family("x", m, d)
RAW = s[a, j]
HALF = sp.Rational(1, 2)


def sampled(cell: Cell, blocks: int) -> Sample:
    """Return a sample of at least so many blocks."""
    return draw(cell, "quantities", 1, blocks).total.sample(cell)


def measured(quantity: Any, laws: Any, at: Any, blocks: int = 600, **more: Any) -> Measured:
    """Return what a quantity comes to in a few blocks."""
    cell, estimands = measurement("cell", {"it": quantity}, laws, at, tolerance=0.01, **more)
    return estimands["it"].measure(sampled(cell, blocks), LEVEL)


KURTOSIS = E(score**4) / Var(score) ** 2
EXACT: list[tuple[Any, Any]] = [
    (Var(score), {d: 8}),
    (E(score), {d: 8}),
    (KURTOSIS, {d: 8}),
    (Cov(score_of(a, j) ** 2, score_of(b, j) ** 2) / Var(score**2), {d: 8}),
    (Cov(score_of(a, j), score_of(a, l)), {d: 8}),
    (E(over_keys(score**2)) / n, {d: 8, n: 4}),
    (sp.sqrt(E(score_of(a, j) ** 2 * score_of(a, l) ** 2)), {d: 4}),
]


@pytest.mark.parametrize(("quantity", "at"), EXACT)
def test_intervals_hold_what_is_derived(quantity: Any, at: Any) -> None:
    """The value from the moment calculus lies in the interval, at a level that chance never misses."""
    low, high = measured(quantity, NORMAL_SCORES, at).interval
    value = float(expected(quantity, NORMAL_COMPONENTS).subs(at))
    assert low <= value <= high
    assert high - low < max(1, value)


@pytest.mark.parametrize("power", [1, 2, 3, 4])
def test_a_derived_block_variance_is_that_of_all_blocks_of_signs(power: int) -> None:
    """For mean powers of scores it equals the variance over every block there is."""
    mean = sp.Symbol("mean")
    laws = ((q, RADEMACHER), (k, RADEMACHER))
    derived = block_variance(mean, ((mean, score**power),), laws, ((d, 3),))
    signs = np.array(list(itertools.product((-1, 1), repeat=9))).reshape(-1, 3, 3)
    means = [((queries @ signs.swapaxes(1, 2)) ** power).mean((1, 2)) for queries in signs]
    assert derived is not None
    assert derived.of(3, 3) == pytest.approx(float(np.var(means)), rel=1e-12, abs=1e-12)


@given(
    st.sampled_from([NORMAL, LAPLACE.moved(Fraction(1, 2), 3), UNIT_INTERVAL]),
    st.sampled_from([UNIFORM, NORMAL.moved(-1, Fraction(1, 3))]),
    st.integers(1, 12),
    st.integers(1, 9),
    st.integers(1, 9),
)
def test_a_derived_block_variance_of_a_mean_is_the_textbooks(
    query: Any, key: Any, dimension: int, queries: int, keys: int
) -> None:
    """Of the mean score it is the law of total variance over queries and keys."""
    mean = sp.Symbol("mean")
    derived = block_variance(mean, ((mean, score),), ((q, query), (k, key)), ((d, dimension),))
    assert derived is not None
    variance, other = query.central_moments(2)[2], key.central_moments(2)[2]
    of_query, of_key, both = variance * key.mean**2, other * query.mean**2, variance * other
    exact = dimension * (of_query / queries + of_key / keys + both / (queries * keys))
    assert derived.of(queries, keys) == pytest.approx(float(exact), rel=1e-9)


def test_blocks_vary_as_derived() -> None:
    """The standard error that is derived is the one that the blocks show, for a kurtosis too."""
    for quantity in (Var(score), KURTOSIS, E(score**2) - 3 * E(score)):
        estimate = measured(quantity, {q: NORMAL, k: UNIFORM}, {d: 6}, blocks=4000)
        assert estimate.model_error == pytest.approx(estimate.error, rel=0.15)


def test_where_no_block_variance_is_derived() -> None:
    """Of a sum over keys, which are no places of one score, and of what is no polynomial or lacks moments."""
    mean, laws = sp.Symbol("mean"), tuple(NORMAL_SCORES.items())
    assert block_variance(mean, ((mean, over_keys(score) ** 2),), laws, ((d, 3), (n, 4))) is None
    assert measured(E(sp.Abs(score)), NORMAL_SCORES, {d: 4}).model_error is None
    cell, estimands = measurement("cell", {"it": E(score**2)}, {q: CAUCHY, k: NORMAL}, {d: 2}, tolerance=0.01)
    assert getattr(estimands["it"], "block_variance", 0) is None
    assert cell.coordinates > 0


def test_means_of_one_output_count_once() -> None:
    """The mean squares of two scores are one output: E(s²s'²) − (E s²)² has slope −2E s²."""
    quantity = Cov(score_of(a, j) ** 2, score_of(b, j) ** 2)
    cell, estimands = measurement("cell", {"it": quantity}, NORMAL_SCORES, {d: 2}, tolerance=0.1)
    estimand: Any = estimands["it"]
    square = cell.names.index(str(score**2))
    at = dict(zip(cell.names, [3.0 if place == square else 10.0 for place in range(2)], strict=True))
    slopes = np.full(2, 1.0)
    slopes[square] = -6
    np.testing.assert_allclose(estimand.at(at)[1], slopes)


def test_a_shape_may_differ_from_its_symbol() -> None:
    """A size that is a value and the length of an axis are two things; no block variance is derived then."""
    estimate = measured(E(score**2) / d, NORMAL_SCORES, {d: 1024}, shape={d: 16, m: 8, n: 8})
    low, high = estimate.interval
    assert low < 16 / 1024 < high
    assert estimate.model_error is None


def test_a_share_of_no_event_has_an_interval() -> None:
    """That no event was seen does not mean that there are none."""
    cell, estimands = measurement(
        "cell", {"it": E(Indicator(score - 40))}, NORMAL_SCORES, {d: 2}, tolerance=0.01
    )
    sample = sampled(cell, 200)
    share = estimands["it"].measure(sample, 1e-3)
    assert share.value == 0
    assert 0 < share.interval[1] < 0.1
    assert not share.doubt
    goal = Goal(1e-3, 0.05, prediction=0.001, width=0.001)
    needed = estimands["it"].blocks_needed(goal, sample)
    assert needed is not None
    assert needed > 1000


def test_a_quantile_is_where_its_share_lies() -> None:
    """Of independent normal numbers, and of a quotient of two quantiles."""
    point = measured(Quantile(RAW, sp.Rational(95, 100)), {s: NORMAL}, {})
    assert point.interval[0] < stats.norm.ppf(0.95) < point.interval[1]
    assert point.error < 0.002
    ratio = sp.sqrt(Quantile(RAW**2, HALF) / Quantile(RAW**4, HALF))
    both = measured(ratio, {s: NORMAL}, {})
    assert both.interval[0] < 1 / math.sqrt(stats.chi2.ppf(0.5, 1)) < both.interval[1]


def test_a_median_of_numbers_over_powers_of_ten_has_its_own_error(monkeypatch: pytest.MonkeyPatch) -> None:
    """Some of which are 0, as gradients of saturated rows are: a rough pilot costs no more than it says."""
    monkeypatch.setattr("verify.montecarlo.quantities._MOST_DRAWN", 1)
    spread = Indicator(RAW + 1) * sp.exp(10 * RAW)
    distances = []
    for name in "abcdefgh":
        cell, estimands = measurement(
            name, {"it": Quantile(spread, HALF)}, {s: NORMAL}, {}, shape={n: 2, m: 2}, tolerance=0.01
        )
        median = estimands["it"].measure(draw(cell, name, 1, 4000).total.sample(cell), LEVEL)
        distances.append((median.value - 1) / median.error)
    assert np.sum(np.square(distances)) < stats.chi2.isf(LEVEL, len(distances))


@pytest.mark.slow
def test_intervals_of_quantiles_miss_no_more_than_they_say() -> None:
    """Over many seeds the interval of a quantile misses at most at its level, within chance."""
    cell, estimands = measurement(
        "cell", {"it": Quantile(score, HALF / 5)}, NORMAL_SCORES, {d: 2}, tolerance=0.1
    )
    exact = math.log(0.2)  # q·k of two dimensions is Laplace: P(S < x) = e^x / 2
    missed = 0
    for seed in range(400):
        low, high = (
            estimands["it"].measure(draw(cell, "quantile", seed, 200).total.sample(cell), 0.05).interval
        )
        missed += not low <= exact <= high
    assert missed <= stats.binom.isf(LEVEL, 400, 0.05)


VISIBLE: list[tuple[Any, bool]] = [
    (Var(score), True),
    (E(score), False),
    (E(score**2) / Var(score), True),
    (sp.sqrt(E(sp.Abs(score))), True),
    (E(squares(RAW)), True),
    (1 - E(Largest(Softmax(RAW, j), j)), True),
    (2 - E(squares(RAW)), False),
    (sp.log(n) - E(Entropy(RAW, j)), True),
    (E(Indicator(score)) + E(RAW**2), True),
    (E(score**2) / 4 - E(score) ** 2 / 4, True),
    (E(score) ** 2 - E(score**2), False),
    (E(score**2) - E(score_of(a, 1)) ** 2, False),
    (Quantile(score**2, HALF), True),
    (E(Largest(RAW, j)), False),
]


@pytest.mark.parametrize(("quantity", "visible"), VISIBLE)
def test_intervals_are_relative_where_a_quantity_is_visibly_positive(quantity: Any, visible: bool) -> None:
    """The sign is read off the expression; where it cannot be, the interval is absolute."""
    assert is_nonnegative(quantity) == visible


WRONG: list[tuple[Any, Any, Any, str]] = [
    (Var(score), NORMAL_SCORES, {}, "give d_k a value"),
    (sigma * E(score), NORMAL_SCORES, {d: 4}, "no value is given for sigma"),
    (E(score * E(score)), NORMAL_SCORES, {d: 4}, "a mean inside of a mean"),
    (E(Column(lambda *_: {}, "drawn by a program")), {}, {}, "it: nothing is drawn; give laws"),
    (Quantile(Indicator(score - 40), HALF), NORMAL_SCORES, {d: 4}, "has no density at its quantile"),
]


@pytest.mark.parametrize(("quantity", "laws", "at", "problem"), WRONG, ids=[text for *_, text in WRONG])
def test_a_mistake_is_one_line(quantity: Any, laws: Any, at: Any, problem: str) -> None:
    """What is missing is said, with how to give it."""
    with pytest.raises(ClaimError, match=problem) as caught:
        measurement("cell", {"it": quantity}, laws, at, tolerance=0.01)
    assert "\n" not in str(caught.value)


def halves(draws: Mapping[str, Array], rng: np.random.Generator) -> dict[str, Array]:  # noqa: ARG001
    """Return the first components of all queries and of all keys."""
    return {name: draws[name][..., 0] for name in "qk"}


def test_events_of_a_program_take_few_blocks() -> None:
    """A block in which a program says whether something happens is one event: any number of them will do."""
    quantity = E(Indicator(Column(halves, "q") + 1))
    shape = {m: 1, n: 1}
    _, estimands = measurement("cell", {"it": quantity}, NORMAL_SCORES, {d: 2}, tolerance=0.01, shape=shape)
    assert isinstance(estimands["it"], Bounded)
    share = measured(quantity, NORMAL_SCORES, {d: 2}, shape=shape)
    assert share.interval[0] < stats.norm.cdf(1) < share.interval[1]


def test_two_programs_with_one_name_for_a_column_are_told_apart() -> None:
    """One of them would be measured in place of the other."""
    other = partial(halves)
    both = {"one": E(Column(halves, "q")), "other": E(Column(other, "q"))}
    with pytest.raises(ClaimError, match="q: two programs of one setting have a column of this name"):
        measurement("both", both, NORMAL_SCORES, {d: 2}, tolerance=0.1)
