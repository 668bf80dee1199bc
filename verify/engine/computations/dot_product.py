"""The dot product of a given query and key, scaled or not."""

from __future__ import annotations

from typing import Self

from pydantic import StrictBool, model_validator
from sympy import Add, sqrt

from verify.engine.computed import Computed, Vector, exact, listed, value_of
from verify.evidence import Record

CLAIM = "worked-dot-products"


class Inputs(Record):
    """The components ``q`` and ``k``, and whether the product is divided by the root of their number."""

    q: Vector
    k: Vector
    scaled: StrictBool = False

    @model_validator(mode="after")
    def _have_one_length(self) -> Self:
        if len(self.q) != len(self.k):
            raise ValueError(f"q and k have {len(self.q)} and {len(self.k)} components; give as many")
        return self


def compute(inputs: Inputs) -> Computed:
    """Return Σ q_i k_i, divided by √d where it is to be scaled."""
    product = Add(*(exact(one) * exact(other) for one, other in zip(inputs.q, inputs.k, strict=True)))
    scale = sqrt(len(inputs.q)) if inputs.scaled else 1
    name = "Scaled dot product" if inputs.scaled else "Dot product"
    return Computed(value_of(product / scale), f"{name} of ({listed(inputs.q)}) and ({listed(inputs.k)})")
