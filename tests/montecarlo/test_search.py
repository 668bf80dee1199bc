"""The adversary: finds what is known to be the worst, and the norms are NumPy's."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest

from verify.montecarlo.attention import softmax
from verify.montecarlo.reference_loops import REACH, largest_ratio, spectral_norms

if TYPE_CHECKING:
    from verify.montecarlo.distributions import Array


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


def test_norms_are_those_of_the_singular_values() -> None:
    """Row by row, another decomposition gives the same."""
    weights = softmax(3 * np.random.default_rng(1).normal(size=(7, 5)))
    expected = [np.linalg.norm(np.diag(row) - np.outer(row, row), 2) for row in weights]
    np.testing.assert_allclose(spectral_norms(weights), expected, rtol=1e-12)
