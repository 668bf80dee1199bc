"""The entropy of the softmax of given scores."""

from __future__ import annotations

from typing import Literal

from sympy import log, sqrt

from verify.engine.computed import Computed, Dimension, Vector, exact, listed, value_of
from verify.evidence import Record
from verify.symbolic import softmax

CLAIM = "attention-entropy"


class Inputs(Record):
    """The scores, ``d_k`` where they are still to be scaled, and the ``unit``."""

    scores: Vector
    d_k: Dimension | None = None
    unit: Literal["nats", "bits"] = "nats"


def compute(inputs: Inputs) -> Computed:
    """Return -Σ p log p of the softmax of the scores."""
    keys = len(inputs.scores)
    scale = sqrt(inputs.d_k) if inputs.d_k else 1
    given = dict(zip(softmax.scores(keys), (exact(one) / scale for one in inputs.scores), strict=True))
    nats = softmax.written_out(softmax.ENTROPY, keys).xreplace(given)
    found = nats / log(2) if inputs.unit == "bits" else nats
    scaled = f" divided by √{inputs.d_k}" if inputs.d_k else ""
    words = f"Entropy, in {inputs.unit}, of the softmax of {listed(inputs.scores)}{scaled}"
    return Computed(value_of(found), words)
