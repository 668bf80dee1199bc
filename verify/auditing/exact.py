"""What exact findings keep of a block: the scale that its output implies, and what reproduces it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from verify.auditing.alternatives import Place
from verify.auditing.candidates import Widths
from verify.auditing.heads import head_of
from verify.auditing.reconstruction import coarser_precision, explanations
from verify.auditing.scale import implied_scale

if TYPE_CHECKING:
    from verify.auditing.block import Block
    from verify.auditing.heads import Head
    from verify.auditing.kinds import Subject
    from verify.auditing.reconstruction import Explanation
    from verify.auditing.scale import Implied

TOLERANCE = 0.01
"""Relative difference from the intended scale that counts as none."""

ALL_ZERO = "the output is 0 throughout, as it should be, and tells no scale"
"""Why nothing is found of attention to values that are 0."""

_ROWS, _MOST_ROWS = 16, 256
_LEVEL = 1 - 1e-8
_FEWEST_FITTED = 20


@dataclass(frozen=True)
class Examined:
    """What was found of some rows of one block whose call has values and output.

    ``implied`` is None where nothing tells the scale: ``broken`` says that this is for NaN or infinities,
    ``lost`` that the output is 0 throughout where attention is not, ``zero`` that it is so rightly.
    ``explanations`` are wrong attentions that fit where the declared one does not, ``precision`` the coarser
    one that would. ``keys`` is the number of keys, ``left_out`` that of rows that see fewer than two.
    """

    intended: float
    keys: int
    d_v: int
    implied: Implied | None
    broken: bool = False
    lost: bool = False
    zero: bool = False
    explanations: tuple[Explanation, ...] = ()
    precision: str = ""


def examine(block: Block) -> Examined | None:
    """Return what is found of a block; None where its call has no output, or it is not among those looked at.

    Of a layer the sequences 0, 1, 2, 4, 8 … are looked at: a wrong scale is seldom wrong in one of them only.
    """
    call, sequence = block.call, block.sequence
    if call.value is None or call.output is None or block.place & (block.place - 1):
        return None
    found = Examined(block.intended, int(call.key.shape[2]), int(call.value.shape[3]), None)
    rows = _ROWS
    while True:
        head = head_of(call, sequence, block.head, rows)
        finite = np.isfinite(head.output).all(axis=1) & np.isfinite(head.query).all(axis=1)
        if not finite.all() or not (np.isfinite(head.key).all() and np.isfinite(head.value).all()):
            return replace(found, broken=True)
        if not len(head.places):
            return found
        if not head.size:
            is_zero = not head.attend(block.intended).any()
            return replace(found, lost=not is_zero, zero=is_zero)
        implied = implied_scale(head, dict.fromkeys((block.intended, block.scale)))
        enough = len(head.places) < rows or rows >= _MOST_ROWS
        if enough or not implied.fits or _decides(implied, block.intended):
            break
        rows *= 4
    found = replace(found, implied=implied)
    return found if implied.fits else _explained(found, block, head, implied)


def widths_of(subject: Subject, keys: int, d_v: int | None = None) -> Widths:
    """Return the sizes that a head's scale may have been made of."""
    padded = dict(subject.layer.padded)
    if d_v is not None and d_v != subject.d_k:
        padded.setdefault("width of the values", d_v)
    return Widths(subject.d_k, subject.heads, subject.layer.width, keys, padded)


def _decides(implied: Implied, intended: float) -> bool:
    """Return whether the scale is inside or outside the tolerance at the level of a large audit."""
    low, high = sorted(end / intended for end in implied.interval(_LEVEL))
    is_inside = low >= 1 - TOLERANCE and high <= 1 + TOLERANCE
    return is_inside or high < 1 - TOLERANCE or low > 1 + TOLERANCE


def _explained(found: Examined, block: Block, head: Head, implied: Implied) -> Examined:
    """Return the same with what explains an output that no scale does."""
    starts = dict.fromkeys((block.intended, block.scale, 1.0))
    place = Place(block.call, block.sequence, block.head, head, block.intended)
    if head.output.size < _FEWEST_FITTED:
        return found
    return replace(
        found,
        explanations=explanations(place, starts),
        precision=coarser_precision(head, implied.scale),
    )
