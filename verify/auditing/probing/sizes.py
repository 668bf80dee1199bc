"""The arrays that a function is given, by their sizes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from verify.auditing.heads import Floats


@dataclass(frozen=True)
class Sizes:
    """The sizes of the arrays that a function is given: heads of queries and of keys, and their width."""

    heads: int
    key_heads: int
    width: int

    def queries(self, tokens: int, size: float = 1.0, sequences: int = 1) -> Floats:
        """Return normal components with standard deviation ``size``, [sequence, head, token, d]."""
        return size * _normal(1, sequences, self.heads, tokens, self.width)

    def keys(self, tokens: int, size: float = 1.0, sequences: int = 1) -> Floats:
        """Return the same for keys."""
        return size * _normal(2, sequences, self.key_heads, tokens, self.width)

    def values(self, tokens: int, sequences: int = 1) -> Floats:
        """Return standard normal values."""
        return _normal(3, sequences, self.key_heads, tokens, self.width)

    def rows(self, vectors: Floats) -> tuple[Floats, Floats]:
        """Return the same vectors, [token, d], for all heads of queries, and for all of keys."""
        shape = vectors.shape
        queries = np.broadcast_to(vectors, (1, self.heads, *shape))
        return queries, np.broadcast_to(vectors, (1, self.key_heads, *shape))


def _normal(seed: int, *shape: int) -> Floats:
    return np.random.default_rng(seed).standard_normal(shape)
