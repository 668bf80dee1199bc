"""Statistics of rows of attention: what the softmax of each query's scores looks like."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np

from verify.montecarlo.attention import softmax
from verify.montecarlo.statistics.base import Statistic, scale_setting, scores_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from verify.montecarlo.blocks import Settings
    from verify.montecarlo.distributions import Array
    from verify.montecarlo.inputs import Shape

OfRow = Literal["largest", "squares", "entropy", "sharp", "jacobian", "product"]
"""Of one row: max p; Σp²; entropy in nats; 1 if that is more than half a nat below ln n, else 0; squared
Frobenius norm of diag(p) - ppᵀ; p₁(1 - p₁)."""


def of_rows(scores: Array, wanted: tuple[OfRow, ...]) -> Array:
    """Return what is wanted of each row's softmax, shape (…, len(wanted)) for scores (…, keys)."""
    p = softmax(scores)
    return np.stack([_OF_ROW[name](p, scores) for name in wanted], axis=-1)


def is_sharp(entropy: Array, keys: Array | int) -> Array:
    """Return 1 where a row over so many keys has an entropy of less than ln n - ½, else 0."""
    sharp: Array = (entropy < np.log(keys) - 0.5).astype(np.float64)
    return sharp


def _squares(p: Array, _: Array | None = None) -> Array:
    squares: Array = np.einsum("...j,...j->...", p, p)
    return squares


def _entropy(p: Array, scores: Array) -> Array:
    # -Σ p ln p = ln Σ exp(s - top) - Σ p (s - top), where no logarithm of a probability 0 occurs.
    moved = scores - scores.max(axis=-1, keepdims=True)
    entropy: Array = np.log(np.exp(moved).sum(axis=-1)) - np.einsum("...j,...j->...", p, moved)
    return entropy


def _jacobian(p: Array, _: Array) -> Array:
    squares, cubes = _squares(p), np.einsum("...j,...j,...j->...", p, p, p)
    norm: Array = squares - 2 * cubes + squares**2
    return norm


_OF_ROW: dict[OfRow, Callable[[Array, Array], Array]] = {
    "largest": lambda p, _: p.max(axis=-1),
    "squares": _squares,
    "entropy": _entropy,
    "sharp": lambda p, scores: is_sharp(_entropy(p, scores), p.shape[-1]),
    "jacobian": _jacobian,
    "product": lambda p, _: p[..., 0] * (1 - p[..., 0]),
}


@dataclass(frozen=True)
class SoftmaxRows(Statistic):
    """The mean over the rows of what is ``wanted`` of the softmax of c·QKᵀ, where c is ``scale``."""

    wanted: tuple[OfRow, ...]
    scale: float = 1.0

    copies = 4

    @property
    def names(self) -> tuple[str, ...]:
        """What each number of a block vector is."""
        return self.wanted

    def settings(self, shape: Shape) -> Settings:
        """Return the number of keys and the scale."""
        return (("n", shape.n), *scale_setting(self.scale))

    def reduce(self, queries: Array, keys: Array) -> Array:
        """Return the rows' means, shape (blocks, wanted)."""
        means: Array = of_rows(self.scale * scores_of(queries, keys), self.wanted).mean(axis=1)
        return means


@dataclass(frozen=True)
class BothScales(Statistic):
    """The mean squared Frobenius norm of the rows' softmax Jacobians, unscaled and at 1/√d."""

    names = ("unscaled", "scaled")
    copies = 4

    def settings(self, shape: Shape) -> Settings:
        """Return the numbers of keys and queries, and both scales."""
        block = f"{shape.m} queries, {shape.n} keys"
        return ("n", shape.n), ("scale", r"1 and $1/\sqrt{d_k}$"), ("block", block)

    def reduce(self, queries: Array, keys: Array) -> Array:
        """Return (mean unscaled, mean scaled), shape (blocks, 2)."""
        scores, d = scores_of(queries, keys), queries.shape[2]
        rows = [of_rows(scale * scores, ("jacobian",)) for scale in (1.0, d**-0.5)]
        means: Array = np.concatenate([one.mean(axis=1) for one in rows], axis=1)
        return means


@dataclass(frozen=True)
class CausalRows(Statistic):
    """Causal rows at some positions: the mean entropy at each, then at each the share of sharp rows.

    Row t attends to the first t keys; ``positions`` count from 1, and queries come in rounds of one for each
    position. The outputs are entropy-t and sharp-t, where a row is sharp if its entropy is below ln t - ½.
    """

    positions: tuple[int, ...]
    scale: float = 1.0

    copies = 4

    @property
    def names(self) -> tuple[str, ...]:
        """What each number of a block vector is."""
        return tuple(f"{what}-{t}" for what in ("entropy", "sharp") for t in self.positions)

    def settings(self, shape: Shape) -> Settings:
        """Return the number of tokens, the mask and the scale."""
        return (("tokens", shape.n), ("mask", "causal"), *scale_setting(self.scale))

    def scores(self, shape: Shape) -> int:
        """Return how many scores of a block enter."""
        return shape.m // len(self.positions) * sum(self.positions)

    def reduce(self, queries: Array, keys: Array) -> Array:
        """Return entropies and shares, shape (blocks, 2·positions)."""
        blocks, m, d = queries.shape
        places = len(self.positions)
        rounds = queries.reshape(blocks, m // places, places, d)
        scores = self.scale * scores_of(rounds, keys[:, None])
        ahead = np.arange(keys.shape[1]) >= np.asarray(self.positions)[:, None]
        p = softmax(np.where(ahead, -np.inf, scores))
        # A masked key adds nothing; the logarithm of its 0 is never taken.
        entropies: Array = -np.sum(p * np.log(np.where(p > 0, p, 1.0)), axis=-1)
        shares = is_sharp(entropies, np.asarray(self.positions))
        means: Array = np.concatenate([entropies.mean(axis=1), shares.mean(axis=1)], axis=-1)
        return means


@dataclass(frozen=True)
class RowVariance(Statistic):
    """The mean unbiased variance of the scores within a row, over which its softmax is taken."""

    names = ("row-variance",)
    copies = 2

    def reduce(self, queries: Array, keys: Array) -> Array:
        """Return the mean row variance, shape (blocks, 1)."""
        rows: Array = scores_of(queries, keys).var(axis=2, ddof=1).mean(axis=1)
        return rows[:, None]
