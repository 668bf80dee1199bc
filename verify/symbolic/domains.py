"""Where a line claims to hold: values of symbols, sizes and indices that its conditions allow, and laws.

Laws have exactly the moments that are assumed, and are otherwise as unlike the normal law as may be. A law is
known by the coefficients of its orthogonal polynomials: the next is x - centre times the last, less spread²
times the last but one. Each moment gives a coefficient; the further ones may be chosen. Nodes and weights are
those of Gauss's rule: eigenvalues of a matrix of three diagonals. Source: G. H. Golub and J. H. Welsch,
Calculation of Gauss Quadrature Rules, Math. Comp. 23 (1969), 221-230.
"""

from __future__ import annotations

import itertools
import math
import random
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cache, cached_property, lru_cache, partial
from typing import Any

import numpy as np
from mpmath import mp
from sympy import Eq, I, Indexed, Integral, Rational, Sum, exp, sympify
from sympy.core.relational import Relational
from sympy.functions.elementary.hyperbolic import HyperbolicFunction

from verify.symbolic.evaluation import MEANS_OF, Undecided, has, parts_of, ranges_of, symbols_in
from verify.symbolic.evaluation import range_if_any
from verify.symbolic.numbers import Point, evaluated, holds
from verify.symbolic.vocabulary import BINDERS, Dot, Index, Law, families_of

MOST_DIGITS = 1000
"""Digits of what conditions put in for a symbol, and of the last attempt at a line."""

CORNERS = tuple(map(sympify, (2, 1, 3, 0, -1, -2, "1/2", "-1/2", "1/10", 5)))
"""Values at which lines tend to fail, besides the ends of the domain, very small and large ones."""


class Domain:
    """The points at which a line claims to hold.

    ``put`` are values of symbols and components that conditions say, ``given`` the other conditions on
    symbols, ``of_components`` those on components; ``sizes`` count terms of sums, or components, keys and
    queries; ``symbols`` are the others that need a value; ``places`` are those of free indices, and ``least``
    how many of them a size has; ``rows`` are the sizes of rows that weights are of. In ``sides`` is put in
    what a condition says of a mean or an integral.
    """

    def __init__(
        self, sides: tuple[Any, Any], relation: str, laws: dict[Any, Law], conditions: list[Any]
    ) -> None:
        self.random = random.Random(1)  # noqa: S311  # no secrets
        parts = parts_of(sides[0]) | parts_of(sides[1])
        self.families = families_of(sides[0]) | families_of(sides[1])
        self.rows = {range_if_any(*part.args) for part in parts if isinstance(part, BINDERS)}
        counts = {size for family in self.families for size in getattr(family, "ranges", ())}
        sums = (part for part in parts if isinstance(part, Sum))
        counts |= {bound for part in sums for limit in part.limits for bound in limit[1:]}
        self.sizes = [x for x in symbols_of(counts) if not isinstance(x, Index)]
        self.put, self.given, self.of_components = dict[Any, Any](), list[Any](), list[Any]()
        said = dict[Any, Any]()
        for condition in conditions:
            if isinstance(condition, Eq) and condition.lhs not in self.sizes:
                name, x = condition.args
                of_number = (name.is_Symbol or isinstance(name, Indexed)) and not has(x, Integral, *MEANS_OF)
                (self.put if of_number else said)[name] = x
            else:
                (self.of_components if has(condition, Indexed, Dot) else self.given).append(condition)
        self.sides = tuple(side.xreplace(said) if said else side for side in sides)
        raws = [moment for family in self.families & set(laws) for moment in laws[family].raw]
        symbols = symbols_of([*self.sides, *self.given, *self.put.values(), *raws])
        self.symbols = [x for x in symbols if not isinstance(x, Index) and x not in {*self.sizes, *self.put}]
        # For each symbol the conditions on it alone, and the numbers that conditions compare it with.
        self.alone, self.ends = dict[Any, tuple[Any, ...]](), dict[Any, list[Any]]()
        for symbol in self.symbols + self.sizes:
            self.alone[symbol] = tuple(x for x in self.given if symbols_in(x) == {symbol})
            compared = [x.args for x in self.given if isinstance(x, Relational) and symbol in x.args]
            ends = {side for both in compared for side in both if side.is_number and side.is_finite}
            has_sign = symbol.is_nonnegative or symbol.is_nonpositive
            self.ends[symbol] = sorted(ends | ({sympify(0)} if has_sign else set()))
        # Free indices are different places of their range, which has to have as many.
        self.places, self.least = dict[Any, Any](), dict[Any, int]()
        ranges = ranges_of(*self.sides)
        for index, size in ranges:
            within = [x for x, other in ranges if other == size]
            if size is not None:
                self.least[size] = len(within)
            taken = {self.put.get(x, self.places.get(x)) for x in within}
            self.places[index] = next(place for place in itertools.count(1) if place not in taken)
        # Of leading terms, means, strict bounds and equivalences no extreme values are tried.
        is_plain = relation in {"=", "≤", "≥"}
        self.corners = {symbol: self._corners(symbol, relation, is_plain) for symbol in self.symbols}

    def has(self, *kinds: Any) -> bool:
        """Return whether a side has a part of these kinds."""
        return any(has(side, *kinds) for side in self.sides)

    def points(self, wanted: int) -> Iterator[dict[Any, Any]]:
        """Yield values of all symbols and free indices where the conditions hold, at most so many.

        Corners come first.
        """
        corners, sizes, most = self.corners.values(), self._sizes, wanted // 2
        if math.prod(map(len, corners)) <= most:
            plans = list(itertools.product(*corners))
        else:
            diagonal = [tuple(values[place % len(values)] for values in corners) for place in range(3)]
            others = [tuple(map(self.random.choice, corners)) for _ in range(most)]
            plans = list(dict.fromkeys([*diagonal, *others]))[:most]
        for turn in range(wanted):
            if turn < min(most, len(plans) * len(sizes)):
                plan = plans[turn % len(plans)]
            elif self.symbols:
                plan = tuple(map(self._any, self.symbols))
            else:
                return
            # The first sizes from here on at which the conditions hold.
            for further in range(len(sizes)):
                size = sizes[(turn + further) % len(sizes)]
                values = {**dict(zip(self.symbols, plan, strict=True)), **size}
                if self.allows(values):
                    yield values
                    break

    def _corners(self, symbol: Any, relation: str, is_plain: bool) -> list[Any]:
        """Return values where lines tend to fail: small ones, those near ends of the domain, large."""
        # Where exponentials of a thousand cancel, no number of digits shows the rest.
        small, large = Rational(1, 1000), 30 if self.has(exp, HyperbolicFunction) else 1000
        ends = self.ends[symbol]
        # First a number with an imaginary part beyond π, where the root of an exponential changes its sign.
        values = [Rational(-1, 2) + 7 * I / 2] if relation == "=" and symbol.is_complex is None else []
        values += CORNERS
        if is_plain and not self.has(Integral, *MEANS_OF):
            values += [small, large, -small, -large]
        values += [end + x for end in ends for x in (0, 1, -1)]
        inside = [x for x in dict.fromkeys(map(sympify, values)) if self.may_be(symbol, x)]
        return inside or [self._any(symbol)]

    def _any(self, symbol: Any) -> Any:
        """Return a random value of a symbol, near the ends of its domain or between them."""
        value, ends = sympify(1), self.ends[symbol] or [sympify(0)]
        for _ in range(20):
            away = Rational(round(1024 * self.random.lognormvariate(0, 1)) + 1, 1024)
            if symbol.is_integer:
                away = Rational(self.random.randint(1, 12))
            elif len(ends) > 1 and self.random.random() < 0.5:
                away = (ends[-1] - ends[0]) * Rational(self.random.randint(1, 1023), 1024)
            value = self.random.choice(ends) + self.random.choice((-1, 1)) * away
            if self.may_be(symbol, value):
                break
        return value

    def may_be(self, symbol: Any, value: Any) -> bool:
        """Return whether a symbol's assumptions, and the conditions on it alone, allow a value."""
        return _may_be(symbol, value, self.alone[symbol])

    @cached_property
    def _sizes(self) -> list[dict[Any, int]]:
        """Values of sizes: those first that differ from each other, but the least soon."""
        ranges = []
        for symbol in self.sizes:
            starts = [1, *(math.ceil(float(end)) for end in self.ends[symbol])]
            sizes = {start + more for start in starts for more in range(8)}
            ranges.append([x for x in sorted(sizes) if x >= 1 and self.may_be(symbol, sympify(x))][:4])
        choices = list(itertools.islice(itertools.product(*ranges), 256))
        least = choices[:1]
        self.random.shuffle(choices)
        choices.sort(key=lambda sizes: (-len(set(sizes)), sum(size > 3 for size in sizes)))
        choices[2:2] = least
        return [dict(zip(self.sizes, sizes, strict=True)) for sizes in dict.fromkeys(choices)]

    def allows(self, values: dict[Any, Any]) -> bool:
        """Return whether all conditions hold; free indices are put in, which are different places."""
        try:
            if any(Point(values).whole(size) < least for size, least in self.least.items()):
                return False
            values.update(self.places)
            for name, x in self.put.items():
                with mp.workdps(MOST_DIGITS):
                    values[name] = x if x.is_Rational else evaluated(x, Point(values))
            return not self.given or all(map(partial(holds, point=Point(values)), self.given))
        except Undecided:
            return False


def symbols_of(parts: Iterable[Any]) -> list[Any]:
    """Return the free symbols of expressions, sorted."""
    return sorted(set[Any]().union(*(symbols_in(sympify(part)) for part in parts)), key=str)


@lru_cache(maxsize=2**14)
def _may_be(symbol: Any, value: Any, conditions: tuple[Any, ...]) -> bool:
    # Of the assumptions only those that were written: SymPy takes long to deduce all that follows.
    if any(getattr(value, f"is_{fact}") not in {x, None} for fact, x in symbol._assumptions_orig.items()):
        return False
    alone = conditions if value.is_real else ()
    return all(x.xreplace({symbol: value}) != False for x in alone)  # noqa: E712  # SymPy's


# ---- laws ------------------------------------------------------------------------------------------------

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

    def rule(self, components: int = 1, most: int = 1, *, coarse: bool = False) -> tuple[Any, Any]:
        """Return nodes and weights; of a whole law so many that all components have at most ``most``.

        A rule that is ``coarse`` has half of them.
        """
        if not self.whole:
            return _rule(self.centres, self.spreads)
        limit = 40 if self.normal or self.quantile else len(self.centres)
        count = max(FEW, min(limit, int(most ** (1 / max(components, 1)) + 1e-9)))
        count = max(2, count // 2) if coarse else count
        if self.quantile:
            return self.quantile((np.arange(count) + 0.5) / count), np.full(count, 1 / count)
        if not self.normal:
            return _rule(self.centres[:count], self.spreads[: count - 1])
        nodes, weights = _hermite(count)
        return self.centres[0] + self.spreads[0] * nodes, weights / weights.sum()

    def draws(self, seed: tuple[int, ...], count: int) -> Any:
        """Return so many draws, the same for a seed."""
        rng = np.random.default_rng(seed)
        if self.normal:
            return self.centres[0] + self.spreads[0] * rng.standard_normal(count)
        if self.quantile:
            return self.quantile(rng.random(count))
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
    unit, mean = spreads[0] if spreads else 1.0, centres[0] if centres else 0.0
    if whole and not ended:
        # Of the normal law alone, E x^(n+1) is mean·E x^n + n·variance·E x^(n-1) for every n.
        terms = ((mean * moments[n], n * unit**2 * moments[n - 1]) for n in range(1, len(moments) - 1))
        both = zip(moments[2:], terms, strict=True)
        normal = all(abs(x - sum(pair)) <= 1e-9 * sum(map(abs, pair)) for x, pair in both)
        count = 1 if normal else min(6, len(centres))
        return NumericLaw(tuple(centres[:count]), tuple(spreads[:count]), whole=True, normal=normal)
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
