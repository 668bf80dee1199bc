"""Samplers of rows of scores under newer kinds of attention, and the means over such rows, integrated."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from verify.montecarlo.attention import softmax
from verify.montecarlo.distributions import NORMAL, UNIT_INTERVAL

if TYPE_CHECKING:
    from collections.abc import Callable

    from verify.montecarlo.blocks import Settings
    from verify.montecarlo.distributions import Array, Distribution

_NODES, _WEIGHTS = np.polynomial.hermite_e.hermegauss(96)
_WEIGHTS = _WEIGHTS / _WEIGHTS.sum()
"""Means over a standard normal number."""
_EVEN, _EVEN_WEIGHTS = np.polynomial.legendre.leggauss(48)
_EVEN, _EVEN_WEIGHTS = (1 + _EVEN) / 2, _EVEN_WEIGHTS / 2
"""Means over a number that is uniform between 0 and 1."""
_LOG = np.linspace(-60.0, 12.0, 721)
"""The logarithms over which integrals from 0 to infinity are taken, by the trapezoid rule."""
_ROWS = 16


@dataclass(frozen=True)
class Rows:
    """Blocks are rows of independent numbers, of which ``reduce`` makes what is averaged over a block."""

    keys: int

    order, univariate = 3, 0
    names: ClassVar[tuple[str, ...]] = ()
    maps: ClassVar[int] = 1
    """How many numbers are drawn for each key."""
    law: ClassVar[Distribution] = NORMAL

    @property
    def settings(self) -> Settings:
        """What is drawn, as a cell records it."""
        return ("n", self.keys), ("rows", _ROWS)

    @property
    def coordinates(self) -> int:
        """Random components drawn for one block."""
        return self.maps * _ROWS * self.keys

    @property
    def scores(self) -> int:
        """Scores that one block holds."""
        return self.coordinates

    @property
    def held(self) -> int:
        """Numbers that are in memory at once while one block is drawn and reduced."""
        return 5 * self.coordinates

    def sample(self, rng: np.random.Generator, count: int) -> Array:
        """Return the block means of ``count`` blocks, shape (count, len(names))."""
        drawn = self.law.draw(rng, (self.maps, count, _ROWS, self.keys))
        found = np.stack(self.reduce(*drawn), axis=-1)
        means: Array = found.reshape(count, -1, len(self.names)).mean(axis=1)
        return means

    def reduce(self, *drawn: Array) -> tuple[Array, ...]:
        """Return what each name is of every row, or every key of it, for ``drawn`` of shape (…, keys)."""
        raise NotImplementedError


@dataclass(frozen=True)
class LeadingRows(Rows):
    """The weight of one key ahead of each other by ``lead`` to ``lead`` + ``width``, times factor·ln n."""

    lead: float
    width: float
    factor: float
    names = ("leader",)
    law = UNIT_INTERVAL

    @property
    def settings(self) -> Settings:
        """What is drawn, as a cell records it."""
        drawn = ("lead", f"{self.lead:g} to {self.lead + self.width:g}, uniform"), ("s", self.factor)
        return *super().settings, *drawn

    def reduce(self, *drawn: Array) -> tuple[Array, ...]:
        """Return the leader's weight; the first number of a row is not used."""
        scores = -(self.lead + self.width * drawn[0])
        scores[..., 0] = 0
        return (softmax(self.factor * math.log(self.keys) * scores)[..., 0],)


def mean_of_leader(keys: int, lead: float, width: float, factor: float) -> float:
    """Return the mean weight of the leader of ``LeadingRows``: E 1/(1 + S) is ∫ e^(-t) E e^(-tS) dt."""
    terms = np.exp(-factor * math.log(keys) * (lead + width * _EVEN))
    at = np.exp(_LOG)
    of_one = np.exp(-np.outer(at, terms)) @ _EVEN_WEIGHTS
    return _over_log(at * np.exp(-at) * of_one ** (keys - 1))


def _over_log(values: Array) -> float:
    return float(np.trapezoid(values, _LOG))


@dataclass(frozen=True)
class SigmoidRows(Rows):
    """The sum of sigmoids of standard normal scores less ln n."""

    names = ("total",)

    def reduce(self, *drawn: Array) -> tuple[Array, ...]:
        """Return the sum of each row."""
        return ((1 / (1 + self.keys * np.exp(-drawn[0]))).sum(axis=-1),)


def mean_of_sigmoids(keys: int) -> float:
    """Return the mean of ``SigmoidRows``."""
    return float(_WEIGHTS @ (keys / (1 + keys * np.exp(-_NODES))))
