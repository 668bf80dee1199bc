"""Random streams that depend on what is drawn, never on who draws it or in which order."""

from __future__ import annotations

import hashlib

import numpy as np


def stream(seed: int, claim: str, cell: str, batch: int) -> np.random.Generator:
    """Return the generator of one batch of blocks of one cell.

    A function of the root seed, the SHA-256 of the claim's and the cell's name, and the batch's number;
    so results are the same for any number of workers, any order and any choice of claims. SFC64 behind
    NumPy's ``SeedSequence``: of NumPy's generators it fills arrays of normals fastest.
    """
    name = hashlib.sha256(f"{claim}\0{cell}".encode()).digest()
    words = [int.from_bytes(name[i : i + 4], "little") for i in range(0, 16, 4)]
    sequence = np.random.SeedSequence(entropy=[seed, *words], spawn_key=(batch,))
    return np.random.Generator(np.random.SFC64(sequence))
