"""The limit of n·E Σp²: every step holds, and the integrated value lies between both bounds."""

from __future__ import annotations

from sympy import exp

from verify.symbolic import effective_keys
from verify.symbolic.derivation import Derivation
from verify.symbolic.kernel.words import sigma


def test_the_limit_is_proved() -> None:
    """By rules of the kernel alone."""
    derivation = Derivation.of(effective_keys.for_many(), lemmas=effective_keys.lemmas())
    assert derivation.examine().status == "proved"
    assert derivation.result == exp(sigma**2)
