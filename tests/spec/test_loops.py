"""Second sources: the loops against SciPy and closed forms, and what an adversary finds."""

import math

import numpy as np
import pytest

from verify.montecarlo.distributions import Array
from verify.spec.loops import REACH, attention_in_loops, complex_step, gradients_of_loops
from verify.spec.loops import largest_ratio, spectral_norms


def test_one_query_by_hand() -> None:
    """Two keys with scores ln 3 and 0 have the weights ¾ and ¼; a key that is not seen has none."""
    query, keys = np.array([[1.0, 0.0]]), np.array([[2 * math.log(3), 5.0], [0.0, 7.0]])
    values = np.array([[4.0, 0.0], [0.0, 8.0]])
    np.testing.assert_allclose(attention_in_loops(query, keys, values, 0.5), [[3.0, 2.0]], rtol=1e-14)
    second = attention_in_loops(query, keys, values, 0.5, lambda _, key: key == 1)
    np.testing.assert_array_equal(second, [[0.0, 8.0]])


def test_complex_steps_have_no_error_of_a_step() -> None:
    """Derivatives of array code to the last digits; what is not analytic would have none, and is refused."""
    slopes = complex_step(lambda at: np.sqrt(at[..., 0] / at[..., 1]), np.array([3.0, 7.0]))
    assert slopes == pytest.approx([math.sqrt(3 / 7) / 6, -math.sqrt(3 / 7) / 14], rel=1e-15)
    with pytest.raises(TypeError, match="must be analytic"):
        complex_step(lambda at: np.abs(at[..., 0]), np.ones(2))


def test_gradients_by_hand() -> None:
    """With two keys and one dimension dS is ±p(1-p)·G(v₁-v₂), and all else follows from that."""
    query, keys, values = np.array([[1.0]]), np.array([[2 * math.log(3)], [0.0]]), np.array([[4.0], [1.0]])
    slope = 3 / 16 * 2 * 3
    queries, of_keys, of_values = gradients_of_loops(query, keys, values, np.array([[2.0]]), 0.5)
    np.testing.assert_allclose(queries, [[0.5 * slope * 2 * math.log(3)]], rtol=1e-14)
    np.testing.assert_allclose(of_keys, [[0.5 * slope], [-0.5 * slope]], rtol=1e-14)
    np.testing.assert_allclose(of_values, [[1.5], [0.5]], rtol=1e-14)


def _ones(weights: Array) -> Array:
    return np.ones(len(weights))


def _largest(weights: Array) -> Array:
    return weights[:, 0]


def _smallest(weights: Array) -> Array:
    return weights[:, -1]


@pytest.mark.parametrize("keys", [2, 3, 8])
def test_the_worst_row_is_found(keys: int) -> None:
    """The smallest probability is largest where all are alike, the largest where one score leads by most."""
    assert largest_ratio(_smallest, _ones, keys) == pytest.approx(1 / keys, rel=0.1)
    lead = np.exp(2 * REACH)
    assert largest_ratio(_largest, _ones, keys) == pytest.approx(lead / (lead + keys - 1), rel=0.1)
    # All entries count at once, and a ratio of extremes has a ridge there: found less closely.
    assert 0.6 < largest_ratio(_smallest, _largest, keys) <= 1


def test_a_broken_bound_is_found_out() -> None:
    """The norm is more than the largest entry somewhere, and never more than the largest probability."""

    def entry(weights: Array) -> Array:
        return weights[:, 0] * (1 - weights[:, 0])

    assert largest_ratio(spectral_norms, entry, 3) > 1.9
    assert largest_ratio(spectral_norms, _largest, 3) <= 1 + 1e-12
