"""Laws that have exactly the moments that are assumed, and are otherwise as unlike the normal law as may be.

A law is known by the coefficients of its orthogonal polynomials: the next is x - centre times the last, less
spread² times the last but one. Each moment gives a coefficient; the further ones may be chosen. Nodes and
weights are those of Gauss's rule: eigenvalues of a matrix of three diagonals. Source: G. H. Golub and
J. H. Welsch, Calculation of Gauss Quadrature Rules, Math. Comp. 23 (1969), 221-230.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np

FEW = 3
"""Nodes of a continuous law's rule, at least."""


class NoLaw(Exception):  # noqa: N818  # no error of the program
    """No law has these moments."""


@dataclass(frozen=True)
class NumericLaw:
    """A law by its coefficients, or normal with a single centre and spread, or by its quantiles.

    Of a ``whole`` law all moments are given, so that its coefficients go on and a rule only comes near it.
    """

    centres: tuple[float, ...]
    spreads: tuple[float, ...]
    whole: bool = False
    normal: bool = False
    quantile: Callable[[Any], Any] | None = None

    def rule(self, components: int = 1, most: int = 1, coarse: int = 0) -> tuple[Any, Any]:
        """Return nodes and weights; of a whole law so many that all components have at most ``most``.

        A rule that is ``coarse`` has three quarters of them, or where that is 2 half of them.
        """
        if not self.whole:
            return _rule(self.centres, self.spreads)
        limit = 40 if self.normal or self.quantile else len(self.centres)
        count = max(FEW, min(limit, int(most ** (1 / max(components, 1)) + 1e-9)))
        count = max(2, min(count - 1, (4 - coarse) * count // 4)) if coarse else count
        if self.quantile:
            return self.quantile((np.arange(count) + 0.5) / count), np.full(count, 1 / count)
        if not self.normal:
            return _rule(self.centres[:count], self.spreads[: count - 1])
        nodes, weights = _hermite(count)
        return self.centres[0] + self.spreads[0] * nodes, weights / weights.sum()

    def draws(self, rng: np.random.Generator, count: int) -> Any:
        """Return so many draws."""
        if self.quantile:
            return self.quantile(rng.random(count))
        if self.normal:
            return self.centres[0] + self.spreads[0] * rng.standard_normal(count)
        nodes, weights = self.rule(1, len(self.centres))
        return rng.choice(nodes, size=count, p=weights)

    def __str__(self) -> str:
        if self.quantile:
            return f"has the median {_short(float(self.quantile(0.5)))}"
        if self.normal:
            return f"is normal with mean {_short(self.centres[0])} and deviation {_short(self.spreads[0])}"
        nodes, weights = self.rule(1, len(self.centres))
        each = [f"{_short(x)}: {_short(weight)}" for x, weight in zip(nodes, weights, strict=True)]
        return f"∈ {{{', '.join(map(_short, nodes) if np.ptp(weights) < 1e-9 else each)}}}"


@cache
def law_with(moments: tuple[float, ...], whole: bool, chosen: tuple[tuple[float, float], ...]) -> NumericLaw:
    """Return a law with these raw moments, E x⁰ first.

    ``chosen`` are how far each further centre lies from the mean and each further spread, in deviations.

    Raises:
        NoLaw: there is none.
    """
    centres, spreads, ended = _coefficients(np.array(moments, dtype=float))
    if whole and not ended:
        # The moments of a normal law follow from each other by integration by parts.
        mean, variance = centres[0], spreads[0] ** 2
        normal = all(
            abs(moments[k + 1] - mean * moments[k] - k * variance * moments[k - 1])
            <= 1e-9 * abs(moments[k + 1])
            or moments[k + 1] == 0 == mean
            for k in range(1, len(moments) - 1)
        )
        count = 1 if normal else min(6, len(centres))
        return NumericLaw(tuple(centres[:count]), tuple(spreads[:count]), whole=True, normal=normal)
    unit, mean = spreads[0] if spreads else 1.0, centres[0] if centres else 0.0
    for away, wide in () if ended else chosen:
        if len(spreads) < len(centres):
            spreads.append(unit * wide)
        centres.append(mean + unit * away)
    return NumericLaw(tuple(centres), tuple(spreads))


def _coefficients(moments: Any) -> tuple[list[float], list[float], bool]:
    """Return centres and spreads as far as moments give them, and whether the law has no more nodes."""
    centres, spreads = list[float](), list[float]()
    before, current, norm = np.zeros(1), np.ones(1), 1.0
    while 2 * len(current) - 1 <= len(moments):
        square = np.convolve(current, current)
        terms = square * moments[: len(square)]
        size, rounding = float(terms.sum()), 1e-12 * float(np.abs(terms).sum())
        if size < -rounding:
            raise NoLaw
        if size <= rounding:
            return centres, spreads, True
        if len(current) > 1:
            spreads.append(float(np.sqrt(size / norm)))
        if len(square) == len(moments):
            break
        centres.append(float(square @ moments[1 : len(square) + 1]) / size)
        following = np.concatenate([[0.0], current]) - centres[-1] * np.append(current, 0.0)
        following[: len(before)] -= (spreads[-1] ** 2 if spreads else 0.0) * before
        before, current, norm = current, following, size
    return centres, spreads, False


@cache
def _rule(centres: tuple[float, ...], spreads: tuple[float, ...]) -> tuple[Any, Any]:
    beside = np.diag(spreads[: len(centres) - 1], 1)
    nodes, vectors = np.linalg.eigh(np.diag(centres) + beside + beside.T)
    weights = vectors[0] ** 2
    return np.where(np.abs(nodes) < 1e-14 * np.abs(nodes).max(), 0.0, nodes), weights / weights.sum()


_hermite = cache(np.polynomial.hermite_e.hermegauss)


def _short(number: float) -> str:
    return f"{number:.4g}".replace("-", "−")
