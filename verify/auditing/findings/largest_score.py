"""How many sequences have a score beyond what training is known to survive.

Logits grow past 1e4 in runs that diverge: M. Wortsman et al., Small-scale proxies for large-scale Transformer
training instabilities, arXiv 2309.14322. Past 1e3 large runs are clipped, to 1e2: Kimi K2, arXiv 2507.20534.
"""

from __future__ import annotations

import math
from functools import partial
from typing import TYPE_CHECKING

from verify.auditing.estimates import ShareOfBlocks
from verify.auditing.rows import row_means
from verify.auditing.statistical import Look, Quantity, Statistical
from verify.evidence.audits import Judgement

if TYPE_CHECKING:
    from verify.auditing.block import Block
    from verify.auditing.estimates import Estimate
    from verify.auditing.statistical import Floats

_WARNED, _FATAL = (100, 1000), 10_000


def _look(block: Block) -> Look:
    """Keep which limits the largest score passes, and the score itself where it is finite."""
    rows = block.once(row_means)
    largest = rows.largest_score
    if math.isnan(largest):
        return Look(None, broken=True)
    passed = (float(largest > limit) for limit in (*_WARNED, _FATAL))
    size = largest if math.isfinite(largest) else math.copysign(_FATAL, largest)
    return Look((*passed, size), blind=rows.blind, implied=block.implied)


def _rule(limit: int, estimate: Estimate, decides: bool) -> tuple[Judgement, str]:
    if estimate.value > 0:
        judgement = Judgement.REFUTED if limit == _FATAL else Judgement.WARNED
        return judgement, f"scores beyond {limit:,} were seen"
    return (Judgement.CONFIRMED if decides else Judgement.REPORTED), f"no score beyond {limit:,} was seen"


def _largest(_: Estimate, blocks: Floats) -> str:
    return f"the largest seen is {blocks[:, -1].max():.4g}, and larger ones may not have been seen"


KIND = Statistical(
    "largest-score",
    tuple(
        Quantity(
            f"largest-score-{limit}",
            rf"share of sequences with a score beyond {limit:,}",
            None,
            ShareOfBlocks(place),
            rule=partial(_rule, limit),
            remark=_largest,
        )
        for place, limit in enumerate((*_WARNED, _FATAL))
    ),
    _look,
)
