"""Other ways to the same certificate: plain NumPy, PyTorch, and nested Python loops."""

from __future__ import annotations

import importlib
import importlib.util
import math
import random
import time
from collections.abc import Callable

import numpy as np

_AT_ONCE = 2_000_000
"""Components that the vectorised contestants hold at once."""


def pairs_needed(d: int, z: float, width: float) -> int:
    """Return the independent pairs whose variance has relative half-width ``width``: (κ-1)(z/width)²."""
    return math.ceil((2 + 6 / d) * (z / width) ** 2)


def numpy_pairs(d: int, pairs: int) -> float:
    """Return the variance over independent pairs, drawn with NumPy's default generator in chunks."""
    rng = np.random.default_rng(1)
    total = squares = 0.0
    left = pairs
    while left:
        count = min(left, max(1, _AT_ONCE // d))
        q, k = rng.standard_normal((count, d)), rng.standard_normal((count, d))
        scores = np.einsum("ij,ij->i", q, k)
        total += float(scores.sum())
        squares += float(scores @ scores)
        left -= count
    return squares / pairs - (total / pairs) ** 2


def torch_pairs(d: int, pairs: int) -> float:
    """Return the same with PyTorch on the processor."""
    torch = importlib.import_module("torch")

    torch.manual_seed(1)
    torch.set_num_threads(1)
    total = squares = 0.0
    left = pairs
    while left:
        count = min(left, max(1, _AT_ONCE // d))
        scores = (torch.randn(count, d) * torch.randn(count, d)).sum(-1).double()
        total += float(scores.sum())
        squares += float((scores * scores).sum())
        left -= count
    return squares / pairs - (total / pairs) ** 2


def python_loops(d: int, pairs: int) -> float:
    """Return the same with nested loops over numbers."""
    rng = random.Random(1)  # noqa: S311  # simulation, not secrets
    total = squares = 0.0
    for _ in range(pairs):
        score = 0.0
        for _ in range(d):
            score += rng.gauss(0, 1) * rng.gauss(0, 1)
        total += score
        squares += score * score
    return squares / pairs - (total / pairs) ** 2


def seconds(contestant: Callable[[int, int], float], d: int, pairs: int, at_most: int) -> float:
    """Return the time of ``pairs`` pairs; beyond ``at_most`` it is measured on those and scaled up."""
    measured = min(pairs, at_most)
    begun = time.perf_counter()
    contestant(d, measured)
    return (time.perf_counter() - begun) * pairs / measured


def available() -> dict[str, tuple[Callable[[int, int], float], int]]:
    """Return the contestants that can run here, each with the components it may draw before scaling up."""
    found: dict[str, tuple[Callable[[int, int], float], int]] = {"NumPy pairs": (numpy_pairs, 10**12)}
    if importlib.util.find_spec("torch"):
        found["PyTorch pairs"] = (torch_pairs, 10**12)
    found["Python loops"] = (python_loops, 400_000)
    return found
