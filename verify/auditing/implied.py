"""The scale that a head's scores had, where its outputs say that it is not the declared one."""

from __future__ import annotations

from typing import TYPE_CHECKING

from verify.auditing.exact import TOLERANCE, examine

if TYPE_CHECKING:
    from verify.auditing.block import Block

_LEVEL = 1 - 1e-8


def implied_unlike_declared(block: Block, before: float | None) -> float | None:
    """Return the scale that a block's output implies; None where the declared one is within the tolerance.

    ``before`` is what was found of the head's last sequence, and stands for a block whose output does not
    tell: scores are what the program made of them, not what it was meant to make.
    """
    found = block.once(examine)
    implied = None if found is None else found.implied
    if implied is None or not implied.fits:
        return before
    low, high = (end - block.declared for end in implied.interval(_LEVEL))
    room = TOLERANCE * abs(block.declared)
    if high < -room or low > room:
        return implied.scale
    return None if -room <= low and high <= room else before
