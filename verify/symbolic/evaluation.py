"""How an expression is gone through, in whatever arithmetic: places of indices, sums, outcomes of means.

``points`` evaluates modulo two primes, ``numbers`` in many digits or in floats. Values are arrays with
the points along their last axis, or a number for them all; within a mean its outcomes, and within a sum its
terms, go along a further axis before those that there are. How a new kind of part is evaluated is a rule in
the ``RULES`` of each.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import cache, cached_property, lru_cache
from typing import Any, NamedTuple, cast

import numpy as np
from sympy import Derivative, Dummy, Indexed, IndexedBase, Integer, Integral, S, Subs, Sum, sympify

from verify.errors import ClaimError
from verify.symbolic.vocabulary import Cov, E, Family, Largest, Named, StepError, Var, definition
from verify.symbolic.vocabulary import free_indices, range_of, unnamed

MEANS_OF = (E, Var, Cov)
"""What is a mean, or is made of means."""

LONGEST_SUM, MOST_TERMS = 40, 500_000
"""The most terms of a sum, and of all sums that stand in each other."""

Numbers = Any
"""An array with the points along its last axis, or a number for them all."""

Supports = Mapping[Any, tuple[Any, Any]]
"""By family the values and the weights of outcomes of an entry, an outcome a row and a point a column."""


class Undecided(StepError):  # noqa: N818 - an outcome
    """An expression could not be evaluated."""


class Axis(NamedTuple):
    """Places that an index takes along an axis, before so many others."""

    first: int
    last: int
    depth: int


class Part:
    """An expression, and what its evaluation asks of it at every point.

    A part is equal to itself alone, for SymPy's expressions take long to be compared.
    """

    def __init__(self, x: Any) -> None:
        self.x, self.kind = x, type(x)
        self.is_rational, self.is_symbol = x.is_Rational, x.is_Symbol
        self.integers = tuple(symbol for symbol in symbols_in(x) if symbol.is_integer)

    @cached_property
    def args(self) -> tuple[Part, ...]:
        """Its arguments."""
        return tuple(map(part_of, self.x.args))

    @cached_property
    def definition(self) -> Part:
        """What a function of the vocabulary stands for."""
        return part_of(self.x.definition)


part_of = lru_cache(maxsize=2**16)(Part)


class Rules(dict[Any, Any]):
    """How each kind of part is evaluated; a kind that has no rule takes that of its nearest base class."""

    def __missing__(self, kind: Any) -> Any:
        def refuse(*_: Any) -> Numbers:
            raise Undecided(f"{kind.__name__} has no exact arithmetic")

        rule = next((self[base] for base in kind.__mro__[1:] if base in self), refuse)
        return self.setdefault(kind, rule)


class Evaluation:
    """Points at which expressions are evaluated, by rules for each kind of part.

    ``sizes`` and ``places`` are numbers of what is counted and of indices. ``rows`` are the numbers, by
    family and place, of the entries that a mean is taken over, and ``columns`` returns the values of all in
    all its outcomes; ``world`` is the number of an outcome in which all other families have any values.
    ``budget`` is how many parts may still be evaluated.

    Each arithmetic has its ``rules``; ``rational`` returns a rational number in it, and ``supports_of`` the
    outcomes of families modulo a prime where there are two, those of the world for None.
    """

    rules: Rules
    rational: Callable[[Part, int], Numbers]
    supports_of: Callable[[list[Any], int], Supports]

    def __init__(self, sizes: Mapping[Any, int], laws: Mapping[Family, Any], budget: float) -> None:
        self.sizes, self.laws, self.budget = sizes, laws, budget
        self.places: dict[Any, int | Axis] = {}
        self.depth, self.terms = 1, 1
        self.rows: dict[Any, Any] | None = None
        self.columns: Callable[[int], Numbers] = lambda _: ()
        self.world: Numbers = None
        self.known: dict[Any, Numbers] = {}
        # Whether numbers are no arrays, and whether the terms of a sum have means over entries of their own.
        self.exact, self.splits_means = False, True

    def value(self, part: Part, modulus: int = 0) -> Numbers:
        """Return the value of a part, where the arithmetic has two primes modulo one of them.

        Raises:
            Undecided: there is no rule for it, or it takes too long.
        """
        if part.is_rational:
            return self.rational(part, modulus)
        if part.is_symbol and part.x in self.places:
            place = self.places[part.x]
            if isinstance(place, int):
                return self.rational(part_of(Integer(place)), modulus)
            return np.arange(place.first, place.last + 1, dtype=np.uint64).reshape(-1, *(1,) * place.depth)
        # A value is that of an expression at the places of those indices that it speaks of.
        key = (part, modulus, *map(self.places.get, part.integers))
        value = self.known.get(key)
        if value is None:
            value = self.rules[part.kind](self, part, modulus)
            self.budget -= 1
            if isinstance(value, np.ndarray):
                while value.ndim > 1 and len(value) == 1:
                    value = value[0]  # so that it does not depend on the sums that it was met in
                self.budget -= value.size // 500
            if self.budget < 0:
                raise Undecided("it is too long to be evaluated exactly")
            self.known[key] = value
        return value

    def with_numbers(self, x: Any) -> Any:
        """Return an expression with the numbers of sizes and places put in."""
        # An index on an axis stays a symbol: it has many places at once, and its values are an array.
        numbers = {symbol: self.places.get(symbol, self.sizes.get(symbol)) for symbol in symbols_in(x)}
        known = {symbol: Integer(number) for symbol, number in numbers.items() if isinstance(number, int)}
        return x.xreplace(known) if known else x

    def whole(self, x: Any) -> int:
        """Return the end of a sum, or a place, as a number.

        Raises:
            Undecided: it is no whole number.
        """
        number = x if isinstance(x, int) else self.places.get(x, self.sizes.get(x))
        return number if isinstance(number, int) else _as_whole(self.with_numbers(x))

    @contextmanager
    def at(self, index: Any, place: int | Axis) -> Iterator[None]:
        """Let an index be at a place, or at all places along an axis."""
        before = self.places, self.depth, self.terms
        self.places = {**self.places, index: place}
        if isinstance(place, Axis):
            self.depth, self.terms = self.depth + 1, self.terms * max(place.last - place.first + 1, 1)
        if self.terms > MOST_TERMS:
            raise Undecided("it is too long to be evaluated exactly")
        try:
            yield
        finally:
            self.places, self.depth, self.terms = before

    @contextmanager
    def having(self, **state: Any) -> Iterator[None]:
        """Let variables, or outcomes and worlds, be others, with a memory of values of their own."""
        before = {name: getattr(self, name) for name in ("known", *state)}
        self.__dict__.update(known={}, **state)
        try:
            yield
        finally:
            self.__dict__.update(before)

    def total(self, part: Part, modulus: int = 0) -> Numbers:
        """Return a sum."""
        apart, inner, index, low, high, has_means, has_sums_up_to_it = _peeled(part)
        first, last = self.whole(low), self.whole(high)
        if last - first > LONGEST_SUM:
            raise Undecided(f"a sum of {last - first + 1} terms")
        total: Numbers = 0
        if self.exact or has_sums_up_to_it or (has_means and self.splits_means):
            # Each term has outcomes, or terms, of its own.
            for place in range(first, last + 1):
                with self.at(index, place):
                    total = total + self.value(inner, modulus)
        elif first <= last:
            terms = self.along(inner, index, first, last, modulus)
            is_along = np.ndim(terms) > self.depth
            total = terms.sum(axis=0) if is_along else terms * (last - first + 1)
        return product(total, self.value(apart, modulus), modulus)

    def along(self, part: Part, index: Any, first: int, last: int, modulus: int = 0) -> Numbers:
        """Return the values of a part with the places of an index along a further axis."""
        with self.at(index, Axis(first, last, self.depth)):
            return self.value(part, modulus)

    # Means.

    def over_outcomes(self, of: Part, *, has_world: bool, modulus: int = 0) -> tuple[Numbers, Numbers]:
        """Return weights and values of a part in all outcomes, which go along a further axis."""
        # A score or a row speaks of sizes that are not written in it.
        places = {index: place for index, place in self.places.items() if isinstance(place, int)}
        entries, rows = _rows_of(of, frozenset({**self.sizes, **places}.items()), frozenset(self.laws))
        weights, columns, world = self.outcomes(entries, has_world=has_world, modulus=modulus)
        with self.having(rows=rows, columns=columns, world=world, depth=self.depth + 1):
            return weights, self.value(of, modulus)

    def outcomes(
        self, entries: list[Any], *, has_world: bool, modulus: int
    ) -> tuple[Numbers, Callable[[int], Numbers], Any]:
        """Return the weight of each outcome, the values of all entries in each, and the world's number."""
        bases = [*(base for base, *_ in entries), *([None] if has_world else [])]
        # Both sides of a line have means over the same families.
        key = (*bases, modulus, self.depth)
        if key in self.known:
            return cast("tuple[Numbers, Callable[[int], Numbers], Any]", self.known[key])
        supports, beside = self.supports_of(bases, modulus), (1,) * (self.depth - 1)
        choices = _choices(*(len(supports[base][0]) for base in bases))
        weights: Numbers = np.ones((choices.shape[1], 1), np.uint64)
        for base, chosen in zip(bases, choices, strict=True):
            weights = product(weights, supports[base][1][chosen], modulus)

        @cache
        def columns(other: int) -> Numbers:
            values = supports if other == modulus else self.supports_of(bases, other)
            table = [values[base][0][chosen] for base, chosen in zip(bases, choices, strict=True) if base]
            return np.stack(table).reshape(len(entries), len(weights), *beside, -1)

        world = choices[-1].astype(np.uint64).reshape(-1, *beside, 1) if has_world else None
        self.known[key] = outcomes = weights.reshape(len(weights), *beside, -1), columns, world
        return outcomes

    def in_outcomes(self, family: Family, places: Any, modulus: int = 0) -> Numbers:
        """Return a family's entries at places, which are numbers or go along axes, in all outcomes."""
        table, rows = self.columns(modulus), (self.rows or {})[family][places]
        # Places may go along axes outside of those of the outcomes.
        return table[rows.reshape(rows.shape[: rows.ndim + 1 - table.ndim])]


def product(first: Numbers, second: Numbers, modulus: int) -> Numbers:
    """Return a product, modulo a prime where there is one."""
    return first % modulus * second % modulus if modulus else first * second


@lru_cache(maxsize=1024)
def _rows_of(
    part: Part, numbers: frozenset[tuple[Any, int]], families: frozenset[Family]
) -> tuple[list[Any], dict[Family, Any]]:
    """Return the entries that an expression depends on, and their numbers by family and place."""

    def whole(end: Any, known: dict[Any, int]) -> int:
        """Return a place, or the end of a sum, as a number."""
        return known[end] if end in known else _as_whole(end.xreplace({x: Integer(known[x]) for x in known}))

    entries = set[tuple[Any, ...]]()
    for base, indices, limits, _ in entries_in(part):
        if base in families:
            choices = [dict(numbers)]
            for index, low, high in limits:
                choices = [
                    {**known, index: place}
                    for known in choices
                    for place in range(whole(low, known), whole(high, known) + 1)
                ]
            entries |= {(base, *(whole(index, known) for index in indices)) for known in choices}
    if any(min(places) < 1 for _, *places in entries if places):
        raise Undecided("a place before the first")
    # In an order that does not change from run to run, nor then does a sum's last digit.
    ordered = sorted(entries, key=lambda entry: (entry[0].name, *entry[1:]))
    rows: dict[Family, Any] = {}
    for number, (base, *places) in enumerate(ordered):
        if base not in rows:
            ends = zip(*(others for family, *others in ordered if family == base), strict=True)
            rows[base] = np.full([max(end) + 1 for end in ends], len(ordered))
        rows[base][tuple(places)] = number
    return ordered, rows


@lru_cache(maxsize=8192)
def entries_in(part: Part) -> frozenset[tuple[Any, ...]]:
    """Return the entries of families in a part, without those in means within it.

    Each is its family, its indices, the limits of those sums around it that it depends on, from the outermost
    on, and the symbols that neither binds.
    """
    x = part.x
    if isinstance(x, E):
        return frozenset()
    if isinstance(x, Indexed):
        return frozenset({(x.base, x.indices, (), symbols_in(x))})
    if hasattr(part.kind, "definition"):
        return entries_in(part.definition)
    if not isinstance(x, Sum | Largest):
        return frozenset().union(*map(entries_in, part.args))
    limits = x.limits if isinstance(x, Sum) else [(x.args[1], S.One, range_of(*x.args))]
    entries = entries_in(part.args[0])
    for index, low, high in limits:
        entries = frozenset(
            (
                base,
                indices,
                ((index, low, high), *within),
                free - {index} | symbols_in(low) | symbols_in(high),
            )
            if index in free
            else (base, indices, within, free)
            for base, indices, within, free in entries
        )
    return entries


_choices = lru_cache(maxsize=256)(lambda *sizes: np.indices(sizes).reshape(len(sizes), math.prod(sizes)))
"""Returns all choices of an outcome for each of several entries, an entry a row."""


def _as_whole(x: Any) -> int:
    if not x.is_Integer:
        raise Undecided(f"{x} is no whole number")
    return int(x)


@lru_cache(maxsize=65536)
def parts_of(x: Any) -> frozenset[Any]:
    """Return an expression and all its parts, each once; lines of a chain have most of them in common."""
    return frozenset([x]).union(*map(parts_of, x.args))


@lru_cache(maxsize=65536)
def has(x: Any, *kinds: Any) -> bool:
    """Return whether an expression has a part of these kinds; asked of the same at every point."""
    return any(isinstance(part, kinds) for part in parts_of(x))


@lru_cache(maxsize=65536)
def symbols_in(x: Any) -> frozenset[Any]:
    """Return the free symbols of an expression, without names of families."""
    if isinstance(x, Sum | Integral):
        # SymPy goes through all that stands within anew for each sum around it; this remembers.
        symbols = symbols_in(x.function)
        for index, *ends in x.limits:
            symbols = (symbols - {index} if ends else symbols).union(*map(symbols_in, ends or [index]))
        return symbols
    if isinstance(x, Indexed | IndexedBase):
        return frozenset().union(*map(symbols_in, getattr(x, "indices", ())))
    return frozenset([x]) if x.is_Symbol else frozenset().union(*map(symbols_in, x.args))


@lru_cache(maxsize=4096)
def _peeled(part: Part) -> tuple[Part, Part, Any, Any, Any, bool, bool]:
    """Return a sum as a factor before it, its terms, and its outermost index with both ends.

    Last are whether there are means in the terms, and whether a sum in them ends at the index.
    """
    x = part.x
    (*before, (index, low, high)) = x.limits
    if before:
        apart, inner = S.One, Sum(x.function, *before)
    else:
        apart, inner = x.function.as_independent(index, as_Add=False)
    ends = (
        end for part in parts_of(inner) if isinstance(part, Sum) for _, *ends in part.limits for end in ends
    )
    has_sums_up_to_it = any(end.has(index) for end in ends)
    first, last = (int(end) if end.is_Integer else end for end in (low, high))
    return part_of(apart), part_of(inner), index, first, last, has(inner, *MEANS_OF), has_sums_up_to_it


@lru_cache(maxsize=1024)
def outermost(part: Part) -> tuple[Part, Any, Any, Any]:
    """Return an integral's outermost variable and its ends, after what is integrated over it."""
    (*inner, (variable, low, high)) = part.x.limits
    return part_of(Integral(part.x.function, *inner) if inner else part.x.function), variable, low, high


def derived(x: Any) -> Any:
    """Return a derivative by symbols or entries, done; of a mean it is the mean of the derivative."""
    # Of names as of what they stand for, which then is derived once.
    return _derivative(definition(x.expr), x.variable_count)


@lru_cache(maxsize=1024)
def _derivative(x: Any, variables: Any) -> Any:
    def apart(part: Any) -> Any:
        # A bound j is another than the j of the entry that it is derived by.
        if isinstance(part, Sum):
            own = {limit[0]: Dummy(limit[0].name, integer=True, positive=True) for limit in part.limits}
            limits = [(own[index], *(end.xreplace(own) for end in ends)) for index, *ends in part.limits]
            return Sum(apart(part.function.xreplace(own)), *limits)
        return part.func(*map(apart, part.args)) if has(part, Sum) else part

    return apart(x).replace(E, _Mean).diff(*variables).replace(_Mean, E)


@lru_cache(maxsize=4096)
def opened(x: Any) -> Any:
    """Return an expression without names, and with derivatives taken."""
    x = sympify(x)
    return differentiated(unnamed(x) if has(x, Named) else x)


def differentiated(x: Any) -> Any:
    """Return an expression with all derivatives taken, also those at a point, ``Subs``."""

    def at_point(part: Any) -> Any:
        return differentiated(part.expr).xreplace(dict(zip(part.variables, part.point, strict=True)))

    x = x.replace(lambda part: isinstance(part, Subs), at_point) if has(x, Subs) else x
    return x.replace(lambda part: isinstance(part, Derivative), derived) if has(x, Derivative) else x


@lru_cache(maxsize=65536)
def range_if_any(x: Any, index: Any) -> Any:
    """Return the size of the range of an index, None where no family of an expression has the index."""
    try:
        return range_of(x, index)
    except ClaimError:
        return None


@lru_cache(maxsize=256)
def ranges_of(*sides: Any) -> list[tuple[Any, Any]]:
    """Return the free indices of both sides, each with the size of its range, None where no family has it."""
    free = sorted(set().union(*map(free_indices, sides)), key=str)
    return [(x, next(filter(None, (range_if_any(side, x) for side in sides)), None)) for x in free]


class _Mean(E):
    """A mean whose derivative is the mean of the derivative."""

    def _eval_derivative(self, symbol: Any) -> Any:
        return _Mean(self.args[0].diff(symbol))
