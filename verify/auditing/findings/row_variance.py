"""How much the scores of a row vary, which is what the softmax sees; and the scale that would make it 1."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from verify.auditing.estimates import MeanFunction
from verify.auditing.looks import of_rows
from verify.auditing.statistical import Quantity, Statistical
from verify.montecarlo.estimands import component

if TYPE_CHECKING:
    from verify.auditing.estimates import Estimate
    from verify.auditing.statistical import Floats


def _unit_scale(_: Estimate, blocks: Floats) -> str:
    unscaled = float(blocks[:, 1].mean())
    return f"a scale of {1 / math.sqrt(unscaled):.4g} would make it 1" if unscaled > 0 else "all scores agree"


KIND = Statistical(
    "row-variance",
    (
        Quantity(
            "row-variance",
            r"$c^2\,\mathbb{E}\operatorname{Var}_j(q\cdot k_j)$",
            "variance-split",
            MeanFunction(component("scaled", positive=True), ("scaled", "unscaled")),
            remark=_unit_scale,
        ),
    ),
    of_rows(lambda rows: (rows.variance, rows.unscaled_variance)),
)
