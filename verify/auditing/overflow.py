"""How near a head's products come to the largest number of the dtype, and what is no number at all."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from verify.auditing.arrays import dtype_of
from verify.auditing.heads import HIDDEN, added_to, to_numpy

if TYPE_CHECKING:
    from collections.abc import Sequence

    from verify.auditing.block import Block
    from verify.auditing.heads import Floats

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

    |q·k| ≤ |q||k| (Cauchy and Schwarz) settles all but half precision; only near its limit all pairs are
    computed, strip by strip.
    """
    call = block.call
    dtype = dtype_of(call)
    query, key = to_numpy(block.query), to_numpy(block.key)
    broken = [(name, int(np.sum(~np.isfinite(array)))) for name, array in (("queries", query), ("keys", key))]
    shared = call.query.shape[1] // call.key.shape[1]
    if call.value is not None:
        value = to_numpy(call.value[block.sequence, block.head // shared])
        broken.append(("values", int(np.sum(~np.isfinite(value)))))
    blind = 0
    if call.output is not None:
        lost, blind = _lost(block, to_numpy(call.output[block.sequence, block.head]))
        broken.append(("the output", lost))
    limit = LARGEST.get(dtype, LARGEST["float64"])
    query, key = np.nan_to_num(query, posinf=0, neginf=0), np.nan_to_num(key, posinf=0, neginf=0)
    lengths = [np.sqrt(np.einsum("td,td->t", one, one)) for one in (query, key)]
    bound = float(lengths[0].max()) * float(lengths[1].max()) / limit
    if bound > NEAR:
        share = bound = _largest_product(query, key) / limit
    else:
        at = [int(one.argmax()) for one in lengths]
        share = abs(float(query[at[0]] @ key[at[1]])) / limit
    present = tuple((name, count) for name, count in broken if count)
    return Margin(share, bound, dtype, call.output is not None, present, blind)


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


def _lost(block: Block, output: Floats) -> tuple[int, int]:
    """Return how many numbers of an output are none, and in how many rows besides that see no key."""
    wrong = ~np.isfinite(output)
    rows = np.flatnonzero(wrong.any(axis=1))
    if not len(rows):
        return 0, 0
    sees = (added_to(block.call, block.sequence, block.head, rows) > HIDDEN).any(axis=1)
    return int(wrong[rows[sees]].sum()), int((~sees).sum())


def _largest_product(query: Floats, key: Floats) -> float:
    strip = max(1, _STRIP // len(key))
    parts = (query[start : start + strip] @ key.T for start in range(0, len(query), strip))
    return max((float(np.abs(part).max()) for part in parts), default=-math.inf)
