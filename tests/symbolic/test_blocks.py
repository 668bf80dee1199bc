"""Derived variances of block statistics, against closed forms and against simulated score matrices."""

import math
from collections.abc import Sequence
from fractions import Fraction

import numpy as np
import pytest
from scipy import stats
from sympy import IndexedBase, S, Sum, simplify

from tests.montecarlo.samples import score_matrices
from tests.strategies import FALSE_ALARM
from verify.montecarlo.distributions import (
    EXPONENTIAL, LAPLACE, NORMAL, RADEMACHER, UNIFORM, UNIT_INTERVAL, Distribution,
)  # fmt: skip
from verify.montecarlo.inputs import Simulated
from verify.montecarlo.rows import RowVariance
from verify.montecarlo.statistics import Reduced
from verify.symbolic.blocks import (
    _CENTRAL_K, _CENTRAL_Q, block_square_variance, kurtosis, m, mean_variance, n,
    row_spread_variance, row_variance, square_variance,
)  # fmt: skip
from verify.symbolic.kernel.hypotheses import Population, Refused
from verify.symbolic.scores import STANDARD, d, index, mu_k, mu_q, score

V_Q, S_Q, F_Q = _CENTRAL_Q
V_K, S_K, F_K = _CENTRAL_K


def central(law: Distribution) -> tuple[Fraction, ...]:
    """Return a law's mean and its central moments of order 2, 3, 4."""
    return (law.mean, *law.moved(-law.mean, 1).moments(4)[2:])


def test_closed_form_for_centred_unit_variance() -> None:
    """Var U = [2d² + d(κqκk - 3) + (m-1)d(κq + κk - 2)]/m², symbolically; third moments drop out."""
    unit = {mu_q: 0, mu_k: 0, V_Q: 1, V_K: 1}
    closed = (2 * d**2 + d * (F_Q * F_K - 3) + (m - 1) * d * (F_Q + F_K - 2)) / m**2
    assert simplify(block_square_variance().subs(unit) - closed) == 0


CASES = [
    pytest.param(3, 2, NORMAL, NORMAL, id="normal"),
    pytest.param(2, 5, UNIFORM, LAPLACE, id="uniform-laplace"),
    pytest.param(4, 3, UNIT_INTERVAL, UNIT_INTERVAL, id="unit-interval"),
    pytest.param(2, 4, EXPONENTIAL.moved(Fraction(1, 2), 2), UNIT_INTERVAL, id="moved-exponential"),
    pytest.param(5, 3, EXPONENTIAL, EXPONENTIAL.moved(-1, Fraction(1, 2)), id="two-exponentials"),
    pytest.param(6, 4, RADEMACHER.moved(1, 1), NORMAL.moved(-1, 1), id="moved-signs"),
]


def agrees(derived: float, values: np.ndarray[tuple[int], np.dtype[np.float64]]) -> bool:
    """Return whether the sample variance is within its own error of ``derived``, at the stated rate.

    On the logarithmic scale, with the sample's fourth moment for the error: the central limit theorem's
    bound at false-alarm rate 1e-6.
    """
    squares = (values - values.mean()) ** 2
    variance = squares.mean()
    error = squares.std() / math.sqrt(len(values)) / variance
    return abs(math.log(variance / derived)) <= float(stats.norm.isf(FALSE_ALARM / 2) * error)


@pytest.mark.parametrize(("dimension", "side", "query", "key"), CASES)
def test_against_simulated_score_matrices(
    dimension: int, side: int, query: Distribution, key: Distribution
) -> None:
    """Both derived variances are what sampled blocks show, for laws with and without mean and skewness."""
    rng = np.random.default_rng([dimension, side])
    values = score_matrices(dimension, side, query, key).sample(rng, 40_000)
    mu = dimension * float(query.mean * key.mean)
    moments: Sequence[tuple[Fraction, ...]] = (central(query), central(key))
    assert agrees(mean_variance(dimension, side, *moments), values[:, 0])
    deviation = values[:, 1] - 2 * mu * values[:, 0] + mu**2
    assert agrees(square_variance(dimension, side, *moments), deviation)


def test_a_wrong_block_variance_would_be_noticed() -> None:
    """Taking the m² scores for independent is refused by the same comparison."""
    normal = central(NORMAL)
    values = score_matrices(8, 8, NORMAL, NORMAL).sample(np.random.default_rng(8), 40_000)
    assert agrees(square_variance(8, 8, normal, normal), values[:, 1])
    assert not agrees(square_variance(8, 1, normal, normal) / 64, values[:, 1])


# --- the variance within rows -------------------------------------------------------------------------


def test_one_row_of_one_dimension_and_fixed_queries() -> None:
    """With q = 1 and d = 1 a row is a plain sample: Var s² = (κ - (n-3)/(n-1))·v²/n, the textbook's."""
    fixed = {mu_q: 1, V_Q: 0, S_Q: 0, F_Q: 0, d: 1, m: 1}
    textbook = (F_K - (n - 3) / (n - 1) * V_K**2) / n
    assert simplify(row_spread_variance().subs(fixed) - textbook) == 0


@pytest.mark.parametrize(
    ("dimension", "keys", "query", "key"),
    [(case.values[0], case.values[1], *case.values[2:]) for case in CASES],
)
def test_against_simulated_rows(dimension: int, keys: int, query: Distribution, key: Distribution) -> None:
    """The derived variance is what sampled blocks show, for laws with and without mean and skewness."""
    values = Reduced(Simulated(query, key, 3, keys, dimension), RowVariance()).sample(
        np.random.default_rng([dimension, keys]), 40_000
    )
    moments = central(query), central(key)
    assert agrees(row_variance(dimension, 3, keys, *moments), values[:, 0])


def test_a_wrong_variance_within_rows_would_be_noticed() -> None:
    """Taking the rows of a block for independent, or its keys for fewer, is refused."""
    moments = central(UNIT_INTERVAL), central(UNIT_INTERVAL)
    values = Reduced(Simulated(UNIT_INTERVAL, UNIT_INTERVAL, 8, 5, 4), RowVariance()).sample(
        np.random.default_rng(4), 40_000
    )[:, 0]
    assert agrees(row_variance(4, 8, 5, *moments), values)
    assert not agrees(row_variance(4, 1, 5, *moments) / 8, values)
    assert not agrees(row_variance(4, 8, 4, *moments), values)


# --- the kurtosis of a sum ----------------------------------------------------------------------------


def test_kurtosis_of_scores_and_of_squared_lengths() -> None:
    """3 + 6/d for scores of normal components, 3 + 12/d for their chi-square squared length."""
    q, k = IndexedBase("q"), IndexedBase("k")
    normal = (S.One, S.Zero, S.One, S.Zero, S(3), S.Zero, S(15), S.Zero, S(105))
    population = Population({q: normal, k: normal}, d)
    assert simplify(kurtosis(Sum(q[index] * k[index], (index, 1, d)), population) - 3 - 6 / d) == 0
    assert simplify(kurtosis(Sum(q[index] ** 2, (index, 1, d)), population) - 3 - 12 / d) == 0


def test_kurtosis_wants_the_moments() -> None:
    """Where nothing is assumed about fourth moments, nothing is said."""
    with pytest.raises(Refused, match="moment of order"):
        kurtosis(score, STANDARD)
