"""Where a line claims to hold: values of its symbols, sizes and indices that its conditions allow."""

from __future__ import annotations

import itertools
import math
import random
from collections.abc import Iterable, Iterator
from functools import lru_cache
from typing import Any

from mpmath import mp
from sympy import Eq, I, Indexed, Integral, Rational, Sum, exp, sympify
from sympy.core.relational import Relational
from sympy.functions.elementary.hyperbolic import HyperbolicFunction

from verify.symbolic.evaluation import Undecided, has, range_if_any
from verify.symbolic.numbers import Point, evaluated, holds
from verify.symbolic.vocabulary import BINDERS, Cov, Dot, E, Index, Law, Var, families_of, free_indices
from verify.symbolic.vocabulary import free_symbols

MEANS_OF = (E, Var, Cov)
"""What is a mean, or is made of means."""

MOST_DIGITS = 1000
"""Digits of what conditions put in for a symbol, and of the last attempt at a line."""

CORNERS = tuple(map(sympify, (2, 1, 3, 0, -1, -2, "1/2", "-1/2", "1/10", 5)))
"""Values at which lines tend to fail, besides those near ends of the domain, very small and large ones."""


class Domain:
    """The points at which a line claims to hold.

    ``put`` are values of symbols and components that conditions say, ``given`` the other conditions on
    symbols, ``of_components`` those on components; ``sizes`` count terms of sums, or components, keys and
    queries; ``symbols`` are the others that need a value; ``ranges`` are the free indices by the size of
    their range, None for those of no family; ``rows`` are the sizes of rows that weights are of. In ``sides``
    is put in what a condition says of a mean or an integral.
    """

    def __init__(
        self, sides: tuple[Any, Any], relation: str, laws: dict[Any, Law], conditions: list[Any]
    ) -> None:
        self.relation, self.random = relation, random.Random(1)  # noqa: S311  # no secrets
        self.families = families_of(sides[0]) | families_of(sides[1])
        self.rows = {range_if_any(*part.args) for side in sides for part in side.atoms(*BINDERS)}
        counts = {size for family in self.families for size in getattr(family, "ranges", ())}
        sums = (part for side in sides for part in side.atoms(Sum))
        counts |= {bound for part in sums for limit in part.limits for bound in limit[1:]}
        self.sizes = [x for x in symbols_of(counts) if not isinstance(x, Index)]
        self.put, self.given, self.of_components = dict[Any, Any](), list[Any](), list[Any]()
        said = dict[Any, Any]()
        for condition in conditions:
            if isinstance(condition, Eq) and condition.lhs not in self.sizes:
                name, x = condition.args
                of_number = (name.is_Symbol or isinstance(name, Indexed)) and not x.has(Integral, *MEANS_OF)
                (self.put if of_number else said)[name] = x
            else:
                (self.of_components if condition.has(Indexed, Dot) else self.given).append(condition)
        self.sides = tuple(side.xreplace(said) for side in sides)
        raws = [moment for family in self.families & set(laws) for moment in laws[family].raw]
        symbols = symbols_of([*self.sides, *self.given, *self.put.values(), *raws])
        self.symbols = [x for x in symbols if not isinstance(x, Index) and x not in {*self.sizes, *self.put}]
        # For each symbol the conditions on it alone, and the numbers that conditions compare it with.
        self.alone, self.ends = dict[Any, list[Any]](), dict[Any, list[Any]]()
        for symbol in self.symbols + self.sizes:
            self.alone[symbol] = [x for x in self.given if x.free_symbols == {symbol}]
            compared = [x.args for x in self.given if isinstance(x, Relational) and symbol in x.args]
            ends = {side for both in compared for side in both if side.is_number and side.is_finite}
            has_sign = symbol.is_nonnegative or symbol.is_nonpositive
            self.ends[symbol] = sorted(ends | ({sympify(0)} if has_sign else set()))
        self.ranges: dict[Any, list[Index]] = {}
        for index in sorted(set().union(*map(free_indices, self.sides)), key=str):
            size = range_if_any(self.sides[0], index) or range_if_any(self.sides[1], index)
            self.ranges.setdefault(size, []).append(index)

    def has(self, *kinds: Any) -> bool:
        """Return whether a side has a part of these kinds."""
        return any(has(side, *kinds) for side in self.sides)

    def points(self, wanted: int, *, moderate: bool = True, least: int = 1) -> Iterator[dict[Any, Any]]:
        """Yield values of all symbols and free indices where the conditions hold, corners first.

        Args:
            wanted: How many points, at most.
            moderate: Whether very small and very large values are left out.
            least: The least size of rows.
        """
        corners, sizes = [self._corners(symbol, moderate) for symbol in self.symbols], self._sizes(least)
        most = wanted // 2
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
                plan = tuple(self._any(symbol) for symbol in self.symbols)
            else:
                return
            # The first sizes from here on at which the conditions hold.
            for further in range(len(sizes)):
                size = sizes[(turn + further) % len(sizes)]
                values = {**dict(zip(self.symbols, plan, strict=True)), **size}
                if self.allows(values):
                    yield values
                    break

    def _corners(self, symbol: Any, moderate: bool) -> list[Any]:
        """Return values where lines tend to fail: small ones, those near ends of the domain, large ones."""
        small, ends = Rational(1, 1000), self.ends[symbol]
        # Where exponentials of a thousand cancel, no number of digits shows the rest.
        large = 30 if self.has(exp, HyperbolicFunction) else 1000
        extreme = () if moderate else (small, large, -small, -large)
        # Near a singular end rules of both sizes miss the same of an integral.
        near = (0, 1, -1) if self.has(Integral) else (0, 1, -1, small, -small)
        values = [*CORNERS, *extreme, sum(ends) / sympify(2), *(end + x for end in ends for x in near)]
        if self.relation == "=" and symbol.is_complex is None:
            # Its imaginary part is beyond π, where the root of an exponential changes its sign.
            values.append(Rational(-1, 2) + 7 * I / 2)
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
        if not _fits(symbol, value):
            return False
        alone = self.alone[symbol] if value.is_real else ()
        return all(x.xreplace({symbol: value}) != False for x in alone)  # noqa: E712  # SymPy's

    def _sizes(self, at_least: int) -> list[dict[Any, int]]:
        """Return values of sizes: those first that differ from each other, but the least soon."""
        ranges = []
        for symbol in self.sizes:
            first = at_least if symbol in self.rows else 1
            starts = [first, *(math.ceil(float(end)) for end in self.ends[symbol])]
            sizes = {start + more for start in starts for more in range(8)}
            ranges.append([x for x in sorted(sizes) if x >= first and self.may_be(symbol, sympify(x))][:4])
        choices = list(itertools.islice(itertools.product(*ranges), 256))
        least = choices[:1]
        self.random.shuffle(choices)
        choices.sort(key=lambda sizes: (-len(set(sizes)), sum(size > 3 for size in sizes)))
        choices[2:2] = least
        return [dict(zip(self.sizes, sizes, strict=True)) for sizes in dict.fromkeys(choices)]

    def allows(self, values: dict[Any, Any]) -> bool:
        """Return whether all conditions hold; free indices are put in, which are different places."""
        try:
            for size, indices in self.ranges.items():
                free = [index for index in indices if index not in self.put]
                taken = {self.put[index] for index in indices if index in self.put}
                places = [place for place in range(1, len(indices) + 1) if place not in taken]
                if size is not None and Point(values).whole(size) < len({*places[: len(free)], *taken}):
                    return False
                values.update(dict(zip(free, places, strict=False)))
            for name, x in self.put.items():
                with mp.workdps(MOST_DIGITS):
                    values[name] = x if x.is_Rational else evaluated(x, Point(values))
            point = Point(values)
            return all(holds(condition, point) for condition in self.given)
        except Undecided:
            return False


def symbols_of(parts: Iterable[Any]) -> list[Any]:
    """Return the free symbols of expressions, sorted."""
    return sorted(set[Any]().union(*map(_symbols_in, parts)), key=str)


_symbols_in = lru_cache(maxsize=8192)(lambda part: frozenset(free_symbols(sympify(part))))


@lru_cache(maxsize=8192)
def _fits(symbol: Any, value: Any) -> bool:
    """Return whether the assumptions of a symbol allow a value."""
    return all(getattr(value, f"is_{fact}") in (x, None) for fact, x in symbol.assumptions0.items())
