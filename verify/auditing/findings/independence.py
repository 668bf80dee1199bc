"""Whether a sequence's keys vary along its own queries more than another sequence's keys do."""

from __future__ import annotations

from typing import TYPE_CHECKING

from verify.auditing.estimates import MeanFunction
from verify.auditing.looks import of_pairs
from verify.auditing.rows import row_means
from verify.auditing.spread import crossed_variance
from verify.auditing.statistical import Quantity, Statistical
from verify.montecarlo.estimands import ratio

if TYPE_CHECKING:
    from verify.auditing.block import Block


def _variances(block: Block, partner: Block) -> tuple[float, float]:
    own = (block.once(row_means).variance + partner.once(row_means).variance) / 2
    return own, crossed_variance(block, partner)


KIND = Statistical(
    "independence",
    (
        Quantity(
            "independence",
            r"$c^2\,\mathbb{E}\operatorname{Var}_j(q\cdot k_j)$ over "
            r"$c^2(\operatorname{tr}\Sigma_q\Sigma_k + \mu_q^{\mathsf T}\Sigma_k\mu_q)$",
            "variance-split",
            MeanFunction(ratio("own", "crossed"), ("own", "crossed")),
        ),
    ),
    of_pairs(_variances),
    sequences=2,
)
