"""Rows of attention: score matrices reduced to what the softmax of each row looks like."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np

from verify.montecarlo.attention import softmax

if TYPE_CHECKING:
    from collections.abc import Callable

    from verify.montecarlo.blocks import Settings
    from verify.montecarlo.distributions import Array, Distribution

Statistic = Literal["largest", "squares", "entropy", "sharp", "jacobian", "product"]
"""Of one row: max p; Σp²; entropy in nats; 1 if that is more than half a nat below ln n, else 0; squared
Frobenius norm of diag(p) - ppᵀ; p₁(1 - p₁)."""


def row_statistics(scores: Array, wanted: tuple[Statistic, ...]) -> Array:
    """Return the wanted statistics of each row's softmax, shape (…, len(wanted)) for scores (…, keys)."""
    p = softmax(scores)
    return np.stack([_STATISTICS[name](p, scores) for name in wanted], axis=-1)


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


_STATISTICS: dict[Statistic, Callable[[Array, Array], Array]] = {
    "largest": lambda p, _: p.max(axis=-1),
    "squares": _squares,
    "entropy": _entropy,
    "sharp": lambda p, scores: is_sharp(_entropy(p, scores), p.shape[-1]),
    "jacobian": _jacobian,
    "product": lambda p, _: p[..., 0] * (1 - p[..., 0]),
}


@dataclass(frozen=True)
class AttentionRows:
    """Blocks are ``queries`` rows over ``keys`` shared keys in ``d`` dimensions; statistics: row means."""

    d: int
    queries: int
    keys: int
    query: Distribution
    key: Distribution
    scale: float
    wanted: tuple[Statistic, ...]

    order = 3

    @property
    def settings(self) -> Settings:
        """What is drawn, as a cell records it."""
        return (
            ("n", self.keys),
            ("d_k", self.d),
            ("query", self.query.name),
            ("key", self.key.name),
            ("scale", self.scale),
        )

    @property
    def names(self) -> tuple[str, ...]:
        """What the statistics are called."""
        return self.wanted

    @property
    def coordinates(self) -> int:
        """Random components drawn for one block."""
        return (self.queries + self.keys) * self.d

    @property
    def scores(self) -> int:
        """Scores that one block holds."""
        return self.queries * self.keys

    @property
    def held(self) -> int:
        """Numbers that are in memory at once while one block is drawn and reduced."""
        return self.coordinates + 4 * self.scores

    def sample(self, rng: np.random.Generator, count: int) -> Array:
        """Return the row statistics' means of ``count`` blocks, shape (count, len(wanted))."""
        queries = self.query.draw(rng, (count, self.queries, self.d))
        keys = self.key.draw(rng, (count, self.keys, self.d))
        scores = self.scale * (queries @ keys.transpose(0, 2, 1))
        means: Array = row_statistics(scores, self.wanted).mean(axis=1)
        return means


@dataclass(frozen=True)
class NormalRows:
    """Blocks are ``rows`` rows of independent normal scores of the given deviation; statistics: row means.

    What a row of normal keys looks like once the query's length is known.
    """

    keys: int
    rows: int
    deviation: float
    distribution: Distribution
    wanted: tuple[Statistic, ...]

    order = 3

    @property
    def settings(self) -> Settings:
        """What is drawn, as a cell records it."""
        return (
            ("n", self.keys),
            ("sigma", self.deviation),
            ("scores", f"independent {self.distribution.name}"),
        )

    @property
    def names(self) -> tuple[str, ...]:
        """What the statistics are called."""
        return self.wanted

    @property
    def coordinates(self) -> int:
        """Random components drawn for one block."""
        return self.rows * self.keys

    @property
    def scores(self) -> int:
        """Scores that one block holds."""
        return self.rows * self.keys

    @property
    def held(self) -> int:
        """Numbers that are in memory at once while one block is drawn and reduced."""
        return 5 * self.scores

    def sample(self, rng: np.random.Generator, count: int) -> Array:
        """Return the row statistics' means of ``count`` blocks, shape (count, len(wanted))."""
        scores = self.deviation * self.distribution.draw(rng, (count, self.rows, self.keys))
        means: Array = row_statistics(scores, self.wanted).mean(axis=1)
        return means


@dataclass(frozen=True)
class CausalRows:
    """Blocks are ``queries`` causal rows at each of some positions, over shared keys.

    Row t attends to the first t of ``length`` keys; ``positions`` count from 1. Statistics: the rows' mean
    entropy at each position, then at each the share of rows with an entropy of less than ln t - ½.
    """

    d: int
    length: int
    queries: int
    distribution: Distribution
    scale: float
    positions: tuple[int, ...]

    order = 3

    @property
    def settings(self) -> Settings:
        """What is drawn, as a cell records it."""
        return (
            ("d_k", self.d),
            ("components", self.distribution.name),
            ("tokens", self.length),
            ("mask", "causal"),
            ("scale", self.scale),
        )

    @property
    def names(self) -> tuple[str, ...]:
        """What the statistics are called."""
        return tuple(f"{what}-{t}" for what in ("entropy", "sharp") for t in self.positions)

    @property
    def coordinates(self) -> int:
        """Random components drawn for one block."""
        return (self.length + self.queries * len(self.positions)) * self.d

    @property
    def scores(self) -> int:
        """Scores that one block holds."""
        return self.queries * sum(self.positions)

    @property
    def held(self) -> int:
        """Numbers that are in memory at once while one block is drawn and reduced."""
        return self.coordinates + 4 * self.length * self.queries * len(self.positions)

    def sample(self, rng: np.random.Generator, count: int) -> Array:
        """Return entropies and shares of ``count`` blocks, shape (count, 2·len(positions))."""
        queries = self.distribution.draw(rng, (count, self.queries, len(self.positions), self.d))
        keys = self.distribution.draw(rng, (count, 1, self.length, self.d))
        scores = self.scale * (queries @ keys.transpose(0, 1, 3, 2))
        ahead = np.arange(self.length) >= np.asarray(self.positions)[:, None]
        p = softmax(np.where(ahead, -np.inf, scores))
        # A masked key adds nothing; the logarithm of its 0 is never taken.
        entropies: Array = -np.sum(p * np.log(np.where(p > 0, p, 1.0)), axis=-1)
        shares = is_sharp(entropies, np.asarray(self.positions))
        means: Array = np.concatenate([entropies.mean(axis=1), shares.mean(axis=1)], axis=-1)
        return means
