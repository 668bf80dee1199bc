"""What today's models do to queries, keys and scores."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import special

from verify.montecarlo.attention import softmax
from verify.montecarlo.blocks import double
from verify.montecarlo.distributions import Array
from verify.montecarlo.inputs import Shape
from verify.montecarlo.statistics import Statistic, scores_of

_STEP = 1e-5
"""How far either way the difference reaches that a slope is taken from; it is off by about the square."""


def rotation_angles(pairs: int) -> Array:
    """Return the angle by which each of the pairs is turned from one position to the next: 10000^(-i/pairs).

    Source: J. Su et al., RoFormer, 2021, section 3.2.2.
    """
    return 10000.0 ** (-np.arange(pairs) / pairs)


def rotated(vectors: Array, position: float) -> Array:
    """Return vectors, shape (…, 2·pairs), with turned pairs: all first parts, then all second."""
    angles = position * rotation_angles(vectors.shape[-1] // 2)
    cosines, sines = np.diag(np.cos(angles)), np.diag(np.sin(angles))
    turn = np.empty((2 * len(angles), 2 * len(angles)))
    turn[::2], turn[1::2] = np.hstack([cosines, sines]), np.hstack([-sines, cosines])
    return vectors @ turn.astype(vectors.dtype)


def soft_capped(scores: Array, cap: float) -> Array:
    """Return cap·tanh(scores/cap)."""
    return cap * np.tanh(scores / cap)


@dataclass(frozen=True)
class RotatedScores(Statistic):
    """Mean and mean square of the scores of turned queries and keys, ``distance`` positions apart."""

    distance: int
    names = ("mean", "square")

    def symbols(self, shape: Shape) -> dict[str, float | Array]:
        """Return how many pairs are turned, and by which angles a query's is turned more than a key's."""
        return {"m": shape.d // 2, "theta": self.distance * rotation_angles(shape.d // 2)}

    def reduce(self, queries: Array, keys: Array) -> Array:
        """Return both, shape (blocks, 2); the keys are at position 5."""
        scores = double(scores_of(rotated(queries, 5 + self.distance), rotated(keys, 5)))
        return np.stack([scores.mean(axis=(1, 2)), (scores**2).mean(axis=(1, 2))], axis=1)


@dataclass(frozen=True)
class CappedScores(Statistic):
    """Mean squares of scaled scores and of capped ones, and the mean slope of the cap by a difference."""

    cap: float
    scale: float = 1.0
    names = ("square", "capped", "slope")

    def reduce(self, queries: Array, keys: Array) -> Array:
        """Return the three, shape (blocks, 3)."""
        scores = double(scores_of(self.scale * queries, keys))
        above, below = (soft_capped(scores + step, self.cap) for step in (_STEP, -_STEP))
        slope = (above - below) / (2 * _STEP)
        squares = scores**2, soft_capped(scores, self.cap) ** 2
        return np.stack([one.mean(axis=(1, 2)) for one in (*squares, slope)], axis=1)


@dataclass(frozen=True)
class DroppedWeights(Statistic):
    """What dropout of weights at a ``rate`` does to outputs, and that of keys to the larger of two weights.

    Scores are made of the first ``width`` components. The others of a query, one for each key and standard
    normal, decide which keys it drops; those of a key are its value. What is kept is divided by 1 - ``rate``.
    The two weights are those of the first and second key alone, of the third and fourth, and so on; where
    both are dropped they add nothing to ``lost`` and ``lead``.
    """

    rate: float
    width: int
    scale: float = 1.0
    names = ("bias", "noise", "size", "lost", "lead")
    copies = 6

    def reduce(self, queries: Array, keys: Array) -> Array:
        """Return means of (o' - o)o, (o' - o)², o², what the larger of two weights loses, and 2p - 1."""
        vectors = (one[:, :, : self.width] for one in (queries, keys))
        weights = softmax(self.scale * next(vectors) @ next(vectors).swapaxes(1, 2))
        masks = queries[:, :, self.width :] < special.ndtri(1 - self.rate)
        values = keys[:, :, self.width :]
        output = weights @ values
        noise = (weights * masks / (1 - self.rate)) @ values - output
        found = noise * output, noise**2, output**2, *_lost_of_two(weights, masks)
        return np.stack([one.mean(axis=(1, 2), dtype=np.float64) for one in found], axis=1)


def _lost_of_two(weights: Array, masks: NDArray[np.bool_]) -> tuple[Array, Array]:
    """Return what the larger of two weights loses where keys are dropped, and 2p - 1, for pairs of keys."""
    # Without the other keys, the weights of two of them stay in proportion.
    first, second = weights[..., :-1:2], weights[..., 1::2]
    large = np.maximum(first, second) / (first + second)
    # Masks know nothing of weights: one is that of the larger, the other that of the smaller.
    of_large, of_small = masks[..., :-1:2], masks[..., 1::2]
    some, kept = np.logical_or(of_large, of_small), large * of_large
    left = kept / np.where(some, kept + (1 - large) * of_small, 1)
    return (large - left) * some, (2 * large - 1) * some
