"""Rows of differential attention, and its noise for scores of any correlation, integrated."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from verify.claims.newer.shared.rows import Rows
from verify.montecarlo.attention import softmax
from verify.montecarlo.blocks import Settings
from verify.montecarlo.distributions import Array

_NODES, _WEIGHTS = np.polynomial.hermite_e.hermegauss(80)
_WEIGHTS = _WEIGHTS / _WEIGHTS.sum()


@dataclass(frozen=True)
class DifferentialRows(Rows):
    """Weights of one map and of one less ``factor`` times another, of normal scores with that correlation.

    The outputs are means over rows and keys: of the difference and its square, of the weight and its square.
    """

    correlation: float
    factor: float
    names = ("mean", "square", "own-mean", "own-square")
    maps = 2

    @property
    def settings(self) -> Settings:
        return *super().settings, ("r", self.correlation), ("lambda", self.factor)

    def reduce(self, *drawn: Array) -> tuple[Array, ...]:
        """Return the four means of each row."""
        first, other = drawn
        second = self.correlation * first + math.sqrt(1 - self.correlation**2) * other
        own = softmax(first)
        less = own - self.factor * softmax(second)
        return tuple(one.mean(axis=-1) for one in (less, less**2, own, own**2))


def correlation_of_two(correlation: float) -> float:
    """Return the correlation of the weights of two maps of two keys, at standard normal scores."""
    first, second = np.meshgrid(_NODES, _NODES, indexing="ij")
    joint = np.outer(_WEIGHTS, _WEIGHTS)
    other = correlation * first + math.sqrt(1 - correlation**2) * second
    one, two = (1 / (1 + np.exp(-math.sqrt(2) * gaps)) - 0.5 for gaps in (first, other))
    return float((joint * one * two).sum() / (joint * one**2).sum())
