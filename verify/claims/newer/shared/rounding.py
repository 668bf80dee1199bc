"""Numbers of few bits, and sums of them in several orders."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from verify.claims.newer.shared.rows import Rows
from verify.montecarlo.blocks import Settings
from verify.montecarlo.distributions import UNIT_INTERVAL, Array


def rounded(values: Array, bits: int) -> Array:
    """Return the nearest numbers of ``bits`` significant bits, ties to even; no exponent is out of range."""
    fraction, exponent = np.frexp(values)
    return np.ldexp(np.rint(np.ldexp(fraction, bits)), exponent - bits)


def in_turn(terms: Array, bits: int) -> Array:
    """Return sums over the last axis, one term after the other, each sum rounded to ``bits``."""
    return running(terms, bits)[..., -1]


def running(terms: Array, bits: int) -> Array:
    """Return the partial sums over the last axis, each rounded to ``bits``."""
    found, total = np.empty_like(terms), np.zeros(terms.shape[:-1])
    for key in range(terms.shape[-1]):
        total = rounded(total + terms[..., key], bits)
        found[..., key] = total
    return found


def in_pairs(terms: Array, bits: int) -> Array:
    """Return sums over the last axis, of 2^k terms, by pairs of pairs, each rounded to ``bits``."""
    while terms.shape[-1] > 1:
        terms = rounded(terms[..., ::2] + terms[..., 1::2], bits)
    return terms[..., 0]


def sum_of_ones(many: int, bits: int, term: float = 1.0) -> float:
    """Return the sum of equal terms, one after the other."""
    return float(in_turn(np.full(many, term), bits))


@dataclass(frozen=True)
class LowSums(Rows):
    """What sums of uniform terms lose in ``bits``, one after the other and in pairs; and what they are."""

    bits: int = 8
    names = ("in-turn", "in-pairs", "exact")
    law = UNIT_INTERVAL
    rows = 1

    @property
    def settings(self) -> Settings:
        return *super().settings, ("bits", self.bits), ("terms", "uniform")

    def reduce(self, *drawn: Array) -> tuple[Array, ...]:
        """Return the three of each row."""
        terms = rounded(np.asarray(drawn[0], dtype=np.float64), self.bits)
        return in_turn(terms, self.bits), in_pairs(terms, self.bits), terms.sum(axis=-1)


@dataclass(frozen=True)
class LowDenominators(Rows):
    """Softmax's denominators of normal scores, summed one after the other in ``bits``, and as they are."""

    bits: int = 8
    names = ("in-turn", "exact")
    rows = 1

    @property
    def settings(self) -> Settings:
        return *super().settings, ("bits", self.bits), ("terms", "exponentials of scores less the largest")

    def reduce(self, *drawn: Array) -> tuple[Array, ...]:
        """Return both of each row."""
        scores = np.asarray(drawn[0], dtype=np.float64)
        terms = rounded(np.exp(scores - scores.max(axis=-1, keepdims=True)), self.bits)
        return in_turn(terms, self.bits), terms.sum(axis=-1)
