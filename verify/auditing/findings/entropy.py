"""The entropy of a row's weights over the logarithm of the number of keys that it sees."""

from __future__ import annotations

from verify.auditing.estimates import BoundedMean
from verify.auditing.looks import of_rows
from verify.auditing.references import entropy_share
from verify.auditing.statistical import AtUnitVariance, Quantity, Statistical

KIND = Statistical(
    "entropy",
    (
        Quantity(
            "entropy",
            r"$\mathbb{E}H/\ln n$",
            "attention-entropy",
            BoundedMean(0),
            reference=AtUnitVariance("attention-entropy", lambda known: float(known[0])),
        ),
    ),
    of_rows(lambda rows: (rows.entropy,), entropy_share),
)
