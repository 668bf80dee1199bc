"""How near a head's products come to the largest number of the dtype, and what is no number at all."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from array_api_compat import array_namespace

from verify.auditing.arrays import dtype_of
from verify.auditing.heads import HIDDEN, added_to, to_numpy

if TYPE_CHECKING:
    from collections.abc import Sequence

    from verify.auditing.block import Block
    from verify.auditing.heads import Floats
    from verify.auditing.recording import Array

LARGEST = {
    "float16": 65504.0,
    "bfloat16": (2 - 2.0**-7) * 2.0**127,
    "float32": float(np.finfo(np.float32).max),
    "float64": float(np.finfo(np.float64).max),
}
"""The largest finite number of each dtype."""

NEAR = 0.25
"""Share of the largest number beyond which a finding warns."""

_STRIP = 2**20


@dataclass(frozen=True)
class Margin:
    """The largest |q·k| of a block, before any scale, over the largest number of its dtype.

    ``share`` is the largest seen and ``bound`` what none can exceed; they are equal where ``share`` had to be
    computed from all pairs. ``broken`` counts numbers that are NaN or infinite, by the name of their array,
    and ``blind`` rows of the output that are so for want of a key.
    """

    share: float
    bound: float
    dtype: str
    has_output: bool
    broken: tuple[tuple[str, int], ...] = ()
    blind: int = 0


def margin(block: Block) -> Margin:
    """Return the margin of a block.

    |q·k| is at most d times the largest components of both, and at most |q||k|: this settles all but half
    precision. Only near its limit all pairs are computed, strip by strip.
    """
    call = block.call
    dtype = dtype_of(call)
    limit = LARGEST.get(dtype, LARGEST["float64"])
    shared = call.query.shape[1] // call.key.shape[1]
    arrays = {"queries": block.query, "keys": block.key}
    if call.value is not None:
        arrays["values"] = call.value[block.sequence, block.head // shared]
    sizes = {name: _largest(array) for name, array in arrays.items()}
    broken = [
        (name, int(np.sum(~np.isfinite(to_numpy(arrays[name])))))
        for name, size in sizes.items()
        if not math.isfinite(size)
    ]
    blind = 0
    if call.output is not None:
        lost, blind = _lost(block, call.output[block.sequence, block.head])
        broken += [("outputs", lost)] if lost else []
    bound = int(call.query.shape[3]) * sizes["queries"] * sizes["keys"] / limit
    share, bound = _largest_products(block, limit, bound)
    return Margin(share, bound, dtype, call.output is not None, tuple(broken), blind)


def _largest_products(block: Block, limit: float, bound: float) -> tuple[float, float]:
    """Return the largest |q·k| seen, and what none exceeds, over ``limit``; one ``bound`` is known."""
    if bound <= NEAR:
        one = to_numpy(block.query[:1]) @ to_numpy(block.key[:1]).T
        return abs(float(one[0, 0])) / limit, bound
    query, key = (np.nan_to_num(to_numpy(one), posinf=0, neginf=0) for one in (block.query, block.key))
    bound = math.prod(float(np.linalg.norm(one, axis=1).max()) for one in (query, key)) / limit
    if bound > NEAR:
        bound = _largest_product(query, key) / limit
        return bound, bound
    return abs(float(query[0] @ key[0])) / limit, bound


def combined(margins: Sequence[Margin]) -> Margin:
    """Return the margin of several blocks together."""
    worst = max(margins, key=lambda one: one.bound)
    counts: dict[str, int] = {}
    for one in margins:
        for name, count in one.broken:
            counts[name] = counts.get(name, 0) + count
    return Margin(
        max(one.share for one in margins),
        worst.bound,
        worst.dtype,
        all(one.has_output for one in margins),
        tuple(counts.items()),
        sum(one.blind for one in margins),
    )


def _lost(block: Block, output: Array) -> tuple[int, int]:
    """Return how many numbers of an output are none, and in how many rows besides that see no key."""
    if math.isfinite(_largest(output)):
        return 0, 0
    wrong = ~np.isfinite(to_numpy(output))
    rows = np.flatnonzero(wrong.any(axis=1))
    sees = (added_to(block.call, block.sequence, block.head, rows) > HIDDEN).any(axis=1)
    return int(wrong[rows[sees]].sum()), int((~sees).sum())


def _largest(array: Array) -> float:
    """Return the largest size of an array's numbers, where the array is; NaN or infinite if one is."""
    xp = array_namespace(array)
    return float(xp.max(xp.abs(array)))


def _largest_product(query: Floats, key: Floats) -> float:
    strip = max(1, _STRIP // len(key))
    parts = (query[start : start + strip] @ key.T for start in range(0, len(query), strip))
    return max((float(np.abs(part).max()) for part in parts), default=-math.inf)
