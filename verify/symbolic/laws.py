"""Laws that have exactly the moments that are assumed, and are otherwise as unlike the normal one as they like.

A law is known by the coefficients of its orthogonal polynomials, p(j+1) = (x - centre(j)) p(j) - spread(j)² p(j-1).
Moments give the first of them, one moment each; whatever follows may be chosen. The nodes and weights are those
of Gauss's rule: eigenvalues of a matrix of three diagonals. Source: G. H. Golub and J. H. Welsch, Calculation
of Gauss Quadrature Rules, Math. Comp. 23 (1969), 221-230.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
from mpmath import mp

DIGITS = 45
"""Digits in which laws are computed."""


class NoLaw(Exception):  # noqa: N818  # no error of the program
    """No law has these moments."""


@dataclass(frozen=True)
class NumericLaw:
    """A law by its coefficients; ``whole`` where these are all that a given law has as far as they go.

    A ``normal`` law has as many as are wanted.
    """

    centres: tuple[Any, ...]
    spreads: tuple[Any, ...]
    whole: bool = False
    normal: bool = False

    def rule(self, components: int, most: int, coarse: bool, exact: bool) -> tuple[Any, Any]:
        """Return nodes and weights, of so many that those of all components together are at most ``most``."""
        if not self.whole:
            return _rule(self.centres, self.spreads, exact)
        limit = 40 if self.normal else len(self.centres)
        count = max(3, min(limit, int(most ** (1 / max(components, 1)) + 1e-9)))
        count = min(count - 1, max(2, 3 * count // 4)) if coarse and count > 1 else count
        return self.nodes(count)

    def nodes(self, count: int) -> tuple[Any, Any]:
        """Return so many nodes of a whole law's Gauss rule, and weights."""
        if not self.normal:
            return _rule(self.centres[:count], self.spreads[: count - 1], exact=False)
        nodes, weights = _hermite(count)
        return float(self.centres[0]) + float(self.spreads[0]) * nodes, weights

    def draws(self, rng: np.random.Generator, count: int) -> Any:
        """Return so many draws."""
        if self.normal:
            return float(self.centres[0]) + float(self.spreads[0]) * rng.standard_normal(count)
        nodes, weights = _rule(self.centres, self.spreads, exact=False)
        return rng.choice(nodes, size=count, p=weights / weights.sum())

    def __str__(self) -> str:
        if self.normal:
            return f"normal with mean {_short(self.centres[0])} and deviation {_short(self.spreads[0])}"
        nodes, weights = _rule(self.centres, self.spreads, exact=False)
        if np.ptp(weights) < 1e-9:
            return f"{{{', '.join(map(_short, nodes))}}}"
        return f"{{{', '.join(f'{_short(x)}: {_short(w)}' for x, w in zip(nodes, weights, strict=True))}}}"


def _short(number: Any) -> str:
    return f"{float(number):.4g}".replace("-", "−")


@cache
def _hermite(count: int) -> tuple[Any, Any]:
    nodes, weights = np.polynomial.hermite_e.hermegauss(count)
    return nodes, weights / weights.sum()


@cache
def _rule(centres: tuple[Any, ...], spreads: tuple[Any, ...], exact: bool) -> tuple[Any, Any]:
    with mp.workdps(DIGITS):
        matrix = mp.diag(list(centres))
        for place, spread in enumerate(spreads[: len(centres) - 1]):
            matrix[place, place + 1] = matrix[place + 1, place] = spread
        values, vectors = mp.eigsy(matrix)
        nodes, weights = list(values), [vectors[0, place] ** 2 for place in range(len(centres))]
    kind = object if exact else float
    return np.array(nodes, dtype=kind), np.array(weights, dtype=kind)


def law_with(moments: Sequence[Any], whole: bool, chosen: Sequence[tuple[float, float]]) -> NumericLaw:
    """Return a law with these raw moments, E x⁰ first.

    ``chosen`` are how far each further centre lies from the mean and each further spread, in deviations.

    Raises:
        NoLaw: there is none.
    """
    with mp.workdps(DIGITS):
        centres, spreads, ended = _coefficients([mp.mpf(moment) for moment in moments])
        if whole:
            return _whole(centres, spreads)
        unit = spreads[0] if spreads else mp.one
        mean = centres[0] if centres else mp.zero
        for away, wide in () if ended else chosen:
            if len(spreads) < len(centres):
                spreads.append(unit * mp.mpf(wide))
            centres.append(mean + unit * mp.mpf(away))
    return NumericLaw(tuple(centres), tuple(spreads))


def _coefficients(moments: list[Any]) -> tuple[list[Any], list[Any], bool]:
    """Return centres and spreads as far as moments give them, and whether the law ends there."""

    def mean(polynomial: list[Any]) -> Any:
        return mp.fsum(factor * moment for factor, moment in zip(polynomial, moments, strict=False))

    centres, spreads = list[Any](), list[Any]()
    before, current, norm = [mp.zero], [mp.one], mp.one
    for degree in range(len(moments)):
        square = _times(current, current)
        if len(square) > len(moments):
            break
        size, terms = mean(square), mp.fsum(abs(f * m) for f, m in zip(square, moments, strict=False))
        if size < -(mp.mpf(10) ** (10 - DIGITS)) * terms:
            raise NoLaw
        if size <= mp.mpf(10) ** (10 - DIGITS) * terms:
            return centres, spreads[: len(centres) - 1], True
        if degree:
            spreads.append(mp.sqrt(size / norm))
        if len(square) == len(moments):
            break
        centres.append(mean([mp.zero, *square]) / size)
        less = [spreads[-1] ** 2 * factor if spreads else mp.zero for factor in before]
        less += [mp.zero] * (len(current) + 1 - len(less))
        moved = [
            a - centres[-1] * b - c
            for a, b, c in zip([mp.zero, *current], [*current, mp.zero], less, strict=True)
        ]
        before, current, norm = current, moved, size
    return centres, spreads, False


def _times(one: list[Any], other: list[Any]) -> list[Any]:
    product = [mp.zero] * (len(one) + len(other) - 1)
    for place, factor in enumerate(one):
        for further, second in enumerate(other):
            product[place + further] += factor * second
    return product


def _whole(centres: list[Any], spreads: list[Any]) -> NumericLaw:
    """Return a law of which all moments are given; the normal one is told by its coefficients."""
    normal = all(abs(centre - centres[0]) < mp.mpf("1e-20") * spreads[0] for centre in centres) and all(
        abs(spread**2 - place * spreads[0] ** 2) < mp.mpf("1e-20") * spread**2
        for place, spread in enumerate(spreads, 1)
    )
    return NumericLaw(tuple(centres), tuple(spreads[: len(centres) - 1]), whole=True, normal=normal)
