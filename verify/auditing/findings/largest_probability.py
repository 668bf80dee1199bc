"""The largest weight of a row."""

from __future__ import annotations

from verify.auditing.estimates import BoundedMean
from verify.auditing.looks import of_rows
from verify.auditing.references import largest_weight
from verify.auditing.statistical import AtUnitVariance, Quantity, Statistical

KIND = Statistical(
    "largest-probability",
    (
        Quantity(
            "largest-probability",
            r"$\mathbb{E}\max_j p_j$",
            "softmax-saturation",
            BoundedMean(0),
            reference=AtUnitVariance("softmax-saturation", lambda known: float(known[0])),
        ),
    ),
    of_rows(lambda rows: (rows.largest_weight,), largest_weight),
)
