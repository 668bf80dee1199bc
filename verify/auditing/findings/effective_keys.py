"""Over how many keys the weights of a row spread: 1/E Σp²."""

from __future__ import annotations

import math

from verify.auditing.estimates import BoundedMean
from verify.auditing.looks import of_rows
from verify.auditing.references import squares
from verify.auditing.statistical import AtUnitVariance, Quantity, Statistical


def _keys(mean_square: float) -> float:
    return 1 / mean_square if mean_square > 0 else math.inf


KIND = Statistical(
    "effective-keys",
    (
        Quantity(
            "effective-keys",
            r"$1/\mathbb{E}\sum p_j^2$",
            "effective-keys",
            BoundedMean(0, _keys),
            reference=AtUnitVariance("effective-keys", lambda known: _keys(float(known[0]))),
        ),
    ),
    of_rows(lambda rows: (rows.squares,), squares),
)
