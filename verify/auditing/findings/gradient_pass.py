"""How much of a gradient the softmax lets through: trace and norm of its Jacobian diag(p) - ppᵀ."""

from __future__ import annotations

import math

from verify.auditing.estimates import BoundedMean
from verify.auditing.looks import of_rows
from verify.auditing.references import jacobian, squares
from verify.auditing.statistical import AtUnitVariance, Quantity, Statistical

KIND = Statistical(
    "gradient-pass",
    (
        Quantity(
            "gradient-pass-trace",
            r"$\operatorname{tr}J = 1 - \mathbb{E}\sum p_j^2$",
            "softmax-jacobian",
            BoundedMean(0),
            reference=AtUnitVariance("attention-concentration", lambda known: 1 - float(known[0])),
        ),
        Quantity(
            "gradient-pass-norm",
            r"$\sqrt{\mathbb{E}\|J\|_F^2}$",
            "softmax-jacobian",
            BoundedMean(1, math.sqrt),
            reference=AtUnitVariance("jacobian-saturation", lambda known: math.sqrt(float(known[1]))),
        ),
    ),
    of_rows(lambda rows: (1 - rows.squares, rows.jacobian), squares, jacobian),
)
