"""What makes weights of scores, as a call declares it: the softmax, or one of the newer forms beside it.

``WEIGHTINGS`` has a line for each; whatever compares outputs computes them from there.
"""

import math
import re
from collections.abc import Callable
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
from scipy import special

from verify.errors import SettingsError

Floats = Any
"""A NumPy array of float64."""

WEIGHTINGS = ("softmax", "sigmoid", "sigmoid-ln-n", "softpick", "clipped=C", "differential=LAMBDA")
"""What can be declared: C bounds scaled scores, LAMBDA multiplies the second of two maps."""

_WRITTEN = re.compile(
    r"(softmax|sigmoid-ln-n|sigmoid|softpick)|(clipped|differential)=([-+]?[0-9.]{1,20}(?:e[-+]?[0-9]{1,3})?)"
)
_LARGEST = 1e9


class Weighed(NamedTuple):
    """Weights of the keys, their derivatives by the scale, and what errors of scores move them by.

    An error ε of a score moves a row by at most ``carried``·|ε| times the length of the key's value, with
    that of the output added to it where ``is_shared``: there one score moves the weights of all keys.
    """

    weights: Floats
    slope: Floats
    carried: Floats
    is_shared: bool = False


class Weighting(NamedTuple):
    """How weights are made of scores: its kind, and the number that goes with it.

    Where ``maps`` is 2, queries and keys are two halves, each with its softmax over the same keys.
    """

    kind: str = "softmax"
    number: float = 0.0

    @property
    def maps(self) -> int:
        """How many parts of queries and keys have weights of their own."""
        return 2 if self.kind == "differential" else 1

    @property
    def is_softmax(self) -> bool:
        """Whether weights are one softmax, of scores that may be clipped before."""
        return self.kind in ("softmax", "clipped")

    @property
    def text(self) -> str:
        """What declares it."""
        return self.kind if self.kind in WEIGHTINGS else f"{self.kind}={self.number:.12g}"

    @property
    def latex(self) -> str:
        """The weights as the report prints them."""
        return _LATEX[self.kind].format(f"{self.number:g}")


_LATEX = {
    "softmax": r"\operatorname{{softmax}}(\hat{{c}}qK^\top+B)",
    "clipped": r"\operatorname{{softmax}}(\operatorname{{clip}}(\hat{{c}}qK^\top,\pm {})+B)",
    "sigmoid": r"\sigma(\hat{{c}}qK^\top+B)",
    "sigmoid-ln-n": r"\sigma(\hat{{c}}qK^\top+B-\ln n)",
    "softpick": r"\operatorname{{softpick}}(\hat{{c}}qK^\top+B)",
    "differential": (
        r"(\operatorname{{softmax}}(\hat{{c}}q_1K_1^\top+B)"
        r"-{}\cdot\operatorname{{softmax}}(\hat{{c}}q_2K_2^\top+B))"
    ),
}
SOFTMAX = Weighting()


@lru_cache(maxsize=64)
def weighting(text: str) -> Weighting:
    """Return what ``text`` declares, one of `WEIGHTINGS`; the softmax where it is empty.

    Raises:
        SettingsError: it is none of them, or its number is none or not in range.
    """
    found = _WRITTEN.fullmatch(text.strip() or "softmax")
    try:
        number = float((found and found[3]) or 1)
    except ValueError:
        number = math.nan
    is_clip = found is not None and found[2] == "clipped"
    if found is None or not abs(number) <= _LARGEST or (is_clip and number <= 0):
        raise SettingsError(f"weights {text[:40]!r}: give one of {', '.join(WEIGHTINGS)}, such as clipped=50")
    return Weighting(found[1] or found[2], number if found[2] else 0.0)


def _sigmoid(scores: Floats, rise: Floats, hidden: Any) -> Weighed:
    """Return 1/(1 + e^-s), which no other key changes. Source: arXiv 2409.04431."""
    weights = np.where(hidden, 0.0, special.expit(scores))
    return Weighed(weights, weights * (1 - weights) * rise, weights)


def _sigmoid_less(scores: Floats, rise: Floats, hidden: Any) -> Weighed:
    """Return the sigmoid of scores less ln n, n the keys that a row sees. Source: arXiv 2409.04431."""
    seen = (~np.broadcast_to(hidden, scores.shape)).sum(axis=-1, keepdims=True)
    return _sigmoid(scores - np.log(np.maximum(seen, 1)), rise, hidden)


def _softpick(scores: Floats, rise: Floats, hidden: Any) -> Weighed:
    """Return max(e^s - 1, 0)/Σ|e^s - 1|. Source: arXiv 2504.20966."""
    scores = np.where(hidden, 0.0, scores)
    top = np.maximum(scores.max(axis=-1, keepdims=True), 0.0)
    base = np.exp(-top)
    # e^s - 1 over the largest e^s, without cancellation near s = 0.
    above = np.where(scores > 1, np.exp(scores - top) - base, base * np.expm1(np.minimum(scores, 1)))
    total = np.abs(above).sum(axis=-1, keepdims=True)
    total = np.where(total > 0, total, 1.0)
    raised = np.where(hidden, 0.0, above + base)
    weights = np.maximum(above, 0.0) / total
    moved = raised * np.where(hidden, 0.0, rise) / total
    whole = (np.sign(above) * moved).sum(axis=-1, keepdims=True)
    return Weighed(
        weights,
        np.where(above > 0, moved, 0.0) - weights * whole,
        (raised + np.where(hidden, 0.0, base)) / total,
        is_shared=True,
    )


OF_SCORES: dict[str, Callable[[Floats, Floats, Any], Weighed]] = {
    "sigmoid": _sigmoid,
    "sigmoid-ln-n": _sigmoid_less,
    "softpick": _softpick,
}
"""Weights of scores, [..., row, key], given what they rise by with the scale and which keys are hidden."""
