"""The laws of the mean and the variance of one sample of scores, from their characteristic functions.

With normal components a score is √R·z for R ~ χ²_d and a standard normal z, independent of it. With X = R/d,
scores of variance 1 and Q the sum of the squared distances of n of them from their mean,

    E exp(itQ) = E_g ψ(t, g)ⁿ,  ψ(t, g) = E (1 - 2itX)^(-1/2) exp(-itg²X / (n(1 - 2itX))),

with a standard normal g: exp(-itn·mean²) is the mean of exp(iug·mean) over g for u² = 2itn. The sum of N
products of components has (1 + t²)^(-N/2). All is evaluated for the sample's own n, not for large n.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from verify.symbolic.gauss import legendre, of_lengths

_FARTHEST = 12.0  # standard deviations; what is farther away is no more probable
_DIED = 1e-8  # of a characteristic function: what is left of it no longer counts
_POINTS, _RADII, _INNER = 240, 40, 64  # with more, probabilities change by less than 10⁻⁸


@dataclass(frozen=True, slots=True)
class StandardLaw:
    """A standardised statistic's law: its characteristic function, of mean 0 and variance 1, tabulated."""

    times: Any
    weights: Any
    values: Any

    def below(self, place: float) -> float:
        """Return the probability of at most ``place`` standard deviations above the mean, to about 10⁻⁶.

        Source: J. Gil-Pelaez, Note on the inversion theorem, Biometrika 38 (1951), 481-482.
        """
        at = min(max(place, -_FARTHEST), _FARTHEST)
        inverted = np.exp(-1j * self.times * at) * self.values
        below = 0.5 - float((self.weights * inverted.imag / self.times).sum()) / math.pi
        return min(max(below, 0.0), 1.0)


def mean_law(scores: int, dimension: int) -> StandardLaw:
    """Return the law of a sample's mean, a sum of ``scores``·``dimension`` products of components."""
    products = float(scores * dimension)
    return _tabulated(lambda t: np.exp(-products / 2 * np.log1p(t * t / products)))


def variance_law(scores: int, dimension: int, relative_deviation: float) -> StandardLaw:
    """Return the law of a sample's variance, whose standard deviation is so much of its mean."""
    n, mean = float(scores), float(scores - 1)
    lengths, of_radii = of_lengths(dimension, _RADII)
    radii = lengths**2 / dimension

    def characteristic(times: Any) -> Any:
        return np.array([at(t) for t in np.asarray(times) / (mean * relative_deviation)])

    def at(t: float) -> complex:
        reach = 7 * math.sqrt(1 + 4 * t * t)
        g, of_g = legendre(0, reach, _INNER)
        # 1/(1 - 2itX) is (1 + 2itX)/(1 + 4t²X²).
        size = 4 * t * t * radii**2
        real = -np.log1p(size) / 4 + np.outer(g * g, 2 * t * t * radii**2 / (1 + size)) / n
        imaginary = np.arctan(2 * t * radii) / 2 - np.outer(g * g, t * radii / (1 + size)) / n
        excess = (np.expm1(real + 1j * imaginary) * of_radii).sum(axis=1)
        # log ψ from ψ - 1, of which the square of a large sample's small t would be lost.
        x, y = excess.real, excess.imag
        logarithm = np.log1p(2 * x + x * x + y * y) / 2 + 1j * np.arctan2(y, 1 + x)
        # g < 0 is as probable as g > 0.
        density = np.exp(n * logarithm - 1j * t * mean - g * g / 2) * math.sqrt(2 / math.pi)
        return complex((of_g * density).sum())

    return _tabulated(characteristic)


def _tabulated(characteristic: Callable[[Any], Any]) -> StandardLaw:
    last = 8.0
    while abs(characteristic(np.array([last]))[0]) > _DIED:
        last *= 1.25
    times, weights = legendre(0, last, _POINTS)
    return StandardLaw(times, weights, characteristic(times))
