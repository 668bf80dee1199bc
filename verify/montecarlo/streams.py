"""Random streams that depend on what is drawn, never on who draws it or in which order."""

from __future__ import annotations

import hashlib
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray


def stream(seed: int, claim: str, cell: str, batch: int) -> np.random.Generator:
    """Return the generator of one batch of blocks of one cell.

    A function of the root seed, the SHA-256 of the claim's and the cell's name, and the batch's number;
    so results are the same for any number of workers, any order and any choice of claims. SFC64 behind
    NumPy's ``SeedSequence``: of NumPy's generators it fills arrays of normals fastest.
    """
    sequence = np.random.SeedSequence(entropy=_words(seed, claim, cell), spawn_key=(batch,))
    return np.random.Generator(np.random.SFC64(sequence))


@lru_cache(maxsize=64)
def _words(seed: int, claim: str, cell: str) -> NDArray[np.uint32]:
    """Return the seed and the names' hash as NumPy would make words of them, once for all batches."""
    name = hashlib.sha256(f"{claim}\0{cell}".encode()).digest()[:16]
    size = max(1, -(-seed.bit_length() // 32))
    return np.frombuffer(seed.to_bytes(4 * size, "little") + name, dtype="<u4")
