"""One weight of a softmax of given scores."""

from __future__ import annotations

from typing import Self

from pydantic import Field, StrictInt, model_validator
from sympy import sqrt

from verify.engine.computed import Computed, Dimension, Vector, exact, listed, value_of
from verify.evidence import Record
from verify.symbolic import softmax
from verify.symbolic.kernel.words import p

CLAIM = "softmax-saturation"


class Inputs(Record):
    """The scores, the ``key`` whose weight is meant, from 1, and ``d_k`` where they are yet to be scaled."""

    scores: Vector
    key: StrictInt = Field(ge=1)
    d_k: Dimension | None = None

    @model_validator(mode="after")
    def _has_the_key(self) -> Self:
        if self.key > len(self.scores):
            raise ValueError(f"key {self.key}: there are {len(self.scores)} scores; correct it")
        return self


def compute(inputs: Inputs) -> Computed:
    """Return exp(s_key)/Σexp(s_j), of the scores divided by √d_k where that is given."""
    keys = len(inputs.scores)
    scale = sqrt(inputs.d_k) if inputs.d_k else 1
    given = dict(zip(softmax.scores(keys), (exact(one) / scale for one in inputs.scores), strict=True))
    weight = softmax.written_out(p[inputs.key], keys).xreplace(given)
    scaled = f" divided by √{inputs.d_k}" if inputs.d_k else ""
    return Computed(
        value_of(weight), f"Weight {inputs.key} of the softmax of {listed(inputs.scores)}{scaled}"
    )
