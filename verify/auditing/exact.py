"""What exact findings keep of a block: the scale that its output implies, and what reproduces it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from verify.auditing.alternatives import Place
from verify.auditing.candidates import Widths
from verify.auditing.heads import head_of
from verify.auditing.reconstruction import coarser_precision, explanations
from verify.auditing.rows import row_means
from verify.auditing.scale import implied_scale

if TYPE_CHECKING:
    from collections.abc import Sequence

    from verify.auditing.block import Block
    from verify.auditing.heads import Head
    from verify.auditing.kinds import Subject
    from verify.auditing.reconstruction import Explanation
    from verify.auditing.scale import Implied

TOLERANCE = 0.01
"""Relative difference from the intended scale that counts as none."""

_ROWS, _MOST_ROWS, _FEW_ROWS = 16, 256, 4
_MOST_UNEXPLAINED = 2
_LEVEL = 1 - 1e-8
_FEWEST_FITTED = 20


@dataclass(frozen=True)
class Examined:
    """What was found of some rows of one block whose call has values and output.

    ``implied`` is None where nothing tells the scale: ``broken`` says that this is for NaN or infinities,
    ``lost`` that the output is 0 throughout where attention is not, ``zero`` that it is so rightly, ``blind``
    that no query sees a key.
    ``explanations`` are wrong attentions that fit where the declared one does not, ``precision`` the coarser
    one that would. ``keys`` is the number of keys, ``rows`` that of the ``queries`` that were looked at.
    """

    intended: float
    keys: int
    queries: int
    d_v: int
    implied: Implied | None
    rows: int = 0
    broken: bool = False
    lost: bool = False
    zero: bool = False
    blind: bool = False
    explanations: tuple[Explanation, ...] = ()
    precision: str = ""


def examine(block: Block) -> Examined | None:
    """Return what is found of a block; None where its call has no output, or enough is known to be wrong.

    The rows are drawn, others in each block. Of the sequences 0, 1, 2, 4, 8 … of a layer there are more, up
    to as many as settle the scale; of the others a few, for a mistake may be in one of them only. When the
    outputs of two sequences of a head are no declared attention, its further ones are not looked at.
    """
    call = block.call
    if call.value is None or call.output is None or len(block.unexplained) >= _MOST_UNEXPLAINED:
        return None
    found = Examined(
        block.intended, int(call.key.shape[2]), int(call.query.shape[2]), int(call.value.shape[3]), None
    )
    is_thorough = not block.place & (block.place - 1)
    rows = _ROWS if is_thorough else _FEW_ROWS
    while True:
        head = _drawn(block, rows)
        found = replace(found, rows=len(head.places))
        finite = np.isfinite(head.output).all(axis=1) & np.isfinite(head.query).all(axis=1)
        if not finite.all() or not (np.isfinite(head.key).all() and np.isfinite(head.value).all()):
            return replace(found, broken=True)
        if not len(head.places):
            return replace(found, blind=block.once(row_means).blind == found.queries)
        if not head.size:
            is_zero = not head.attend(block.intended).any()
            return replace(found, lost=not is_zero, zero=is_zero)
        implied = implied_scale(head, dict.fromkeys((block.intended, block.scale)))
        enough = not is_thorough or len(head.places) < rows or rows >= _MOST_ROWS
        if enough or not implied.fits or _decides(implied, block.intended):
            break
        rows *= 4
    found = replace(found, implied=implied)
    return found if implied.fits else _explained(found, block, head, implied)


def why_nothing(examined: Sequence[Examined]) -> str:
    """Return why blocks that have an output, and right ones, say nothing of the scale."""
    if any(look.zero for look in examined):
        return "the output is 0 throughout, as it should be, and tells no scale"
    if all(look.blind for look in examined):
        return "every key is hidden from every query, so that nothing reaches the output"
    return "no query sees two keys, and with one key every scale gives the same output"


def looked_at(examined: Sequence[Examined], sequences: int) -> str:
    """Return in words how many rows of how many of the ``sequences`` were looked at."""
    rows, queries = sum(one.rows for one in examined), sum(one.queries for one in examined)
    of_rows = f"all {rows:,} rows" if rows == queries else f"{rows:,} of {queries:,} rows, drawn,"
    some = f"{len(examined):,} of " if len(examined) < sequences else ""
    return f"looked at {of_rows} of {some}{sequences:,} sequence{'' if sequences == 1 else 's'}"


def widths_of(subject: Subject, keys: int, d_v: int | None = None) -> Widths:
    """Return the sizes that a head's scale may have been made of."""
    padded = dict(subject.layer.padded)
    if d_v is not None and d_v != subject.d_k:
        padded.setdefault("width of the values", d_v)
    return Widths(subject.d_k, subject.heads, subject.layer.width, keys, padded)


def _drawn(block: Block, rows: int) -> Head:
    return head_of(block.call, block.sequence, block.head, rows, seed=block.place)


def _decides(implied: Implied, intended: float) -> bool:
    """Return whether the scale is inside or outside the tolerance at the level of a large audit."""
    low, high = sorted(end / intended for end in implied.interval(_LEVEL))
    is_inside = low >= 1 - TOLERANCE and high <= 1 + TOLERANCE
    return is_inside or high < 1 - TOLERANCE or low > 1 + TOLERANCE


def _explained(found: Examined, block: Block, head: Head, implied: Implied) -> Examined:
    """Return the same with what explains an output that no scale does."""
    block.unexplained.append(block.place)
    starts = dict.fromkeys((block.intended, block.scale, 1.0))
    if len(head.places) < _ROWS:
        places = np.union1d(head.places, _drawn(block, _ROWS).places)
        head = head_of(block.call, block.sequence, block.head, places)
    place = Place(block.call, block.sequence, block.head, head, block.intended)
    if head.output.size < _FEWEST_FITTED:
        return found
    return replace(
        found,
        explanations=explanations(place, starts),
        precision=coarser_precision(head, implied.scale),
    )
