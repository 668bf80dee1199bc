"""The components of one head's queries and keys on one sequence, and of pairs of sequences.

What is of the second order in means or covariances is taken from two sequences, which are independent: the
product of two such estimates has the product of what they estimate as its mean, a square has not.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import array_api_compat
import numpy as np

from verify.auditing.rows import floating, on_host, seen_keys

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from verify.auditing.block import Block
    from verify.auditing.recording import Array

    Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Spread:
    """Mean, shape (d,), and unbiased covariance, shape (d, d), of the vectors of one sequence.

    Of a single vector the covariance is NaN, of none the mean as well.
    """

    mean: Floats
    covariance: Floats
    vectors: int

    @property
    def mean_square(self) -> float:
        """The mean of the squared components."""
        return float(np.trace(self.second_moment())) / len(self.mean)

    def second_moment(self) -> Floats:
        """Return the mean of x·xᵀ, shape (d, d)."""
        scatter: Floats = (self.vectors - 1) / max(self.vectors, 1) * self.covariance
        return scatter + np.outer(self.mean, self.mean)


def query_spread(block: Block) -> Spread:
    """Return mean and covariance of a block's queries."""
    return _spread(block.query)


def key_spread(block: Block) -> Spread:
    """Return mean and covariance of a block's keys, of those that some query sees."""
    key, seen = block.key, seen_keys(block)
    return _spread(key if seen is None else key[seen, :])


def _spread(vectors: Array) -> Spread:
    vectors = floating(vectors)
    xp = array_api_compat.array_namespace(vectors)
    count = vectors.shape[0]
    if not count:
        nothing = np.full(vectors.shape[1], np.nan)
        return Spread(nothing, np.outer(nothing, nothing), 0)
    with np.errstate(all="ignore"):
        mean = xp.mean(vectors, axis=0)
        moved = vectors - mean
        products = on_host(xp.matmul(moved.T, moved))
        return Spread(on_host(mean), products / (count - 1) if count > 1 else products * np.nan, count)


def crossed_variance(block: Block, partner: Block) -> float:
    """Return the variance of the queries' scores, each with its scale, over keys of the other sequence.

    The mean of tr(M_q·Σ_k) both ways round, M_q the second moment of one sequence's queries and Σ_k the
    covariance of the other one's keys: what a row varies by where its query knows nothing of the keys.
    """
    found = 0.0
    for one, other in ((block, partner), (partner, block)):
        products = one.once(query_spread).second_moment() * other.once(key_spread).covariance
        found += one.scale**2 * float(np.sum(products)) / 2
    return found
