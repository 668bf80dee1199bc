"""The variance or standard deviation of scores in a given dimension, scaled in one of the usual ways."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field, StrictBool
from sympy import Integer, sqrt

from verify.engine.computed import Computed, Dimension, Number, exact, value_of
from verify.evidence import Record
from verify.spec import STANDARD, d, score, variance_route

CLAIM = "score-variance"
_SCALES = {"none": Integer(1), "1/sqrt(d_k)": 1 / sqrt(d), "1/d_k": 1 / d}


class Inputs(Record):
    """The dimension ``d_k``, the ``scale``, the components' variances, and which of the two is meant."""

    d_k: Dimension
    scale: Literal["none", "1/sqrt(d_k)", "1/d_k"] = "none"
    query_variance: Annotated[Number, Field(gt=0)] = 1
    key_variance: Annotated[Number, Field(gt=0)] = 1
    root: StrictBool = False


def compute(inputs: Inputs) -> Computed:
    """Return the derived variance of q·k, or its root, for independent centred components."""
    found = derived() * exact(inputs.query_variance) * exact(inputs.key_variance) * _SCALES[inputs.scale] ** 2
    at = found.subs(d, inputs.d_k)
    name = "standard deviation" if inputs.root else "variance"
    scaled = "" if inputs.scale == "none" else f" times {inputs.scale}"
    return Computed(
        value_of(sqrt(at) if inputs.root else at), f"{name.capitalize()} of q·k{scaled} at d_k = {inputs.d_k}"
    )


def derived() -> Any:
    """Return the variance of q·k as it is derived, in the symbol d."""
    return variance_route(score, STANDARD).steps[-1].expression
