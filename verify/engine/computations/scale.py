"""The scale that keeps the variance of scores at 1, and what scores are divided by."""

from __future__ import annotations

from typing import Literal

from sympy import sqrt

from verify.engine.computations.variance import derived
from verify.engine.computed import Computed, Dimension, value_of
from verify.evidence import Record
from verify.spec import d

CLAIM = "sqrt-scaling"


class Inputs(Record):
    """The dimension ``d_k``, and whether the ``factor`` is meant or the ``divisor``."""

    d_k: Dimension
    form: Literal["factor", "divisor"] = "divisor"


def compute(inputs: Inputs) -> Computed:
    """Return the root of the derived variance, or 1 over it."""
    root = sqrt(derived().subs(d, inputs.d_k))
    value = root if inputs.form == "divisor" else 1 / root
    verb = "is divided by" if inputs.form == "divisor" else "is multiplied with"
    return Computed(value_of(value), f"What q·k {verb} at d_k = {inputs.d_k}, for variance 1")
