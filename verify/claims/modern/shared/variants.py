"""What today's models do to queries, keys and scores."""

from dataclasses import dataclass

import numpy as np

from verify.montecarlo.blocks import double
from verify.montecarlo.distributions import Array
from verify.montecarlo.inputs import Shape
from verify.montecarlo.statistics import Statistic, scores_of


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
