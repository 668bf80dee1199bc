"""The share of the scores' variance that lies between rows: it shifts whole rows, and no softmax sees it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from verify.auditing.estimates import BoundedMean
from verify.auditing.looks import of_rows
from verify.auditing.statistical import Quantity, Statistical

if TYPE_CHECKING:
    from verify.auditing.rows import RowMeans


def _share(rows: RowMeans) -> tuple[float]:
    total = rows.variance + rows.between
    return (rows.between / total if total > 0 else 0.0,)


KIND = Statistical(
    "shift-share",
    (
        Quantity(
            "shift-share",
            r"share of $\operatorname{Var}(q\cdot k)$ between rows: $\mu_k^{\mathsf T}\Sigma_q\mu_k$",
            "variance-split",
            BoundedMean(0),
        ),
    ),
    of_rows(_share),
)
