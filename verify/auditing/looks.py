"""What statistical kinds keep of a block: from the rows of its scores, or from it and its partner."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from verify.auditing.references import over_rows
from verify.auditing.rows import row_means
from verify.auditing.statistical import Look

if TYPE_CHECKING:
    from collections.abc import Callable

    from verify.auditing.block import Block
    from verify.auditing.references import OfKeys
    from verify.auditing.rows import RowMeans


def of_rows(
    statistics: Callable[[RowMeans], tuple[float, ...]], *references: OfKeys
) -> Callable[[Block], Look]:
    """Return what looks at the rows of a block; ``references`` are averaged over as many keys as rows see."""

    def look(block: Block) -> Look:
        rows = block.once(row_means)
        if not rows.finite or not rows.used:
            return Look(None, left_out=rows.few, blind=rows.blind, broken=not rows.finite)
        values = tuple(over_rows(one, rows.keys, rows.rows) for one in references)
        return Look(statistics(rows), values, rows.few, rows.blind, implied=block.implied)

    return look


def of_pairs(statistics: Callable[[Block, Block], tuple[float, ...]]) -> Callable[[Block], Look]:
    """Return what looks at a block with its partner; blocks without one have no statistics."""

    def look(block: Block) -> Look:
        if block.partner is None:
            return Look(None)
        with np.errstate(all="ignore"):
            found = statistics(block, block.partner)
        if all(map(math.isfinite, found)):
            return Look(found)
        # Of a single vector, or of none, there are no such numbers either.
        return Look(None, broken=not all(one.once(row_means).finite for one in (block, block.partner)))

    return look
