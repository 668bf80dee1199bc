"""Samplers of rows and matrices of weights under newer kinds of attention, and their means, integrated."""

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

import numpy as np

from verify.montecarlo.attention import softmax
from verify.montecarlo.blocks import Settings
from verify.montecarlo.distributions import NORMAL, QUERIES, UNIT_INTERVAL, Array, Distribution, VectorSource
from verify.montecarlo.rows import of_rows

_NODES, _WEIGHTS = np.polynomial.hermite_e.hermegauss(96)
_WEIGHTS = _WEIGHTS / _WEIGHTS.sum()  # means over a standard normal number
_EVEN, _EVEN_WEIGHTS = np.polynomial.legendre.leggauss(48)
_EVEN, _EVEN_WEIGHTS = (1 + _EVEN) / 2, _EVEN_WEIGHTS / 2
"""Means over a number that is uniform between 0 and 1."""
_LOG = np.linspace(-60.0, 12.0, 721)
"""The logarithms over which integrals from 0 to infinity are taken, by the trapezoid rule."""


@dataclass(frozen=True)
class Rows:
    """Blocks are rows of independent numbers, of which ``reduce`` makes what is averaged over a block."""

    keys: int

    order, univariate = 3, 0
    names: ClassVar[tuple[str, ...]] = ()
    rows: ClassVar[int] = 16
    maps: ClassVar[int] = 1
    """How many numbers are drawn for each key."""
    law: ClassVar[Distribution] = NORMAL

    @property
    def settings(self) -> Settings:
        return ("n", self.keys), ("rows", self.rows)

    @property
    def coordinates(self) -> int:
        return self.maps * self.rows * self.keys

    @property
    def scores(self) -> int:
        return self.coordinates

    @property
    def held(self) -> int:
        return 5 * self.coordinates

    def sample(self, rng: np.random.Generator, count: int) -> Array:
        """Return the block means of ``count`` blocks, shape (count, len(names))."""
        drawn = self.law.draw(rng, (self.maps, count, self.rows, self.keys), single=True)
        found = np.stack(self.reduce(*drawn), axis=-1)
        return found.reshape(count, -1, len(self.names)).mean(axis=1, dtype=np.float64)

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
        drawn = ("lead", f"{self.lead:g} to {self.lead + self.width:g}, uniform"), ("s", self.factor)
        return *super().settings, *drawn

    def reduce(self, *drawn: Array) -> tuple[Array, ...]:
        """Return the leader's weight; the first number of a row is not used."""
        scores = -(self.lead + self.width * drawn[0])
        scores[..., 0] = 0
        return (softmax(self.factor * math.log(self.keys) * scores)[..., 0],)

    @property
    def symbols(self) -> dict[str, float]:
        """The number of keys, and between which leads they are drawn."""
        return {"N": self.keys, "g": self.lead, "R": self.lead + self.width}

    def readings(self, rng: np.random.Generator, count: int) -> tuple[tuple[VectorSource, ...], ...]:
        """Return the roots of where each other key's exponential is, from the least at 0 to the largest."""

        def roots(drawn: Array) -> Array:
            of_lead = self.keys ** (-self.factor * (self.lead + self.width * drawn))
            least, most = (self.keys ** (-self.factor * (self.lead + end)) for end in (self.width, 0.0))
            return np.sqrt((of_lead - least) / (most - least))

        def fill(rng: np.random.Generator, out: Array) -> None:
            out[...] = roots(rng.random(out.shape))

        law = Distribution("root of an exponential’s place", (Fraction(1),), fill, base_ends=(0, 1))
        drawn = self.law.draw(rng, (1, count, self.rows, self.keys))[0, ..., 1:]
        return ((VectorSource(roots(drawn), QUERIES, law),),)


def mean_of_leader(keys: int, lead: float, width: float, factor: float) -> float:
    """Return the mean weight of the leader of ``LeadingRows``: E 1/(1 + S) is ∫ e^(-t) E e^(-tS) dt."""
    terms = np.exp(-factor * math.log(keys) * (lead + width * _EVEN))
    at = np.exp(_LOG)
    of_one = np.exp(-np.outer(at, terms)) @ _EVEN_WEIGHTS
    return _over_log(at * np.exp(-at) * of_one ** (keys - 1))


def _over_log(values: Array) -> float:
    return float(np.trapezoid(values, _LOG))


def factor_at(entropy: Array | float) -> Array:
    """Return the published factor of adaptive temperature at an entropy in nats, not below 1.

    Source: P. Veličković et al., Softmax Is Not Enough, 2025, whose code has these coefficients.
    """
    return np.maximum(np.polyval([-0.037, 0.481, -2.3, 4.917, -1.791], entropy), 1.0)


@dataclass(frozen=True)
class AdaptiveRows(Rows):
    """The entropy of rows of standard normal scores, and a control variate for it.

    That is the mean over the keys of (2 - z)·exp(z - ½), whose mean is 1 by construction: exp(z - ½) turns
    the standard normal density into that of mean 1. Of many keys the entropy follows it closely.
    """

    names = ("entropy", "control")

    def reduce(self, *drawn: Array) -> tuple[Array, ...]:
        """Return both of each row."""
        scores = drawn[0]
        control = np.einsum("...k,...k->...", 2 - scores, np.exp(scores - 0.5)) / self.keys
        return of_rows(scores, ("entropy",))[..., 0], control
