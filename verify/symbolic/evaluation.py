"""How an expression is gone through, in whatever arithmetic: places of indices, sums, outcomes of means.

``modular`` evaluates modulo two primes, ``numbers`` in many digits or in floats. Values are arrays with
the points along their last axis, or a number for them all; within a mean its outcomes, and within a sum its
terms, go along a further axis before those that there are. What a kind of part is worth is a method of each
arithmetic, named like the kind: ``_on_add``, ``_on_exp``.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import cache, cached_property, lru_cache
from typing import Any, NamedTuple, cast

import numpy as np
from sympy import Derivative, Dummy, Indexed, IndexedBase, Integer, Integral, Subs, Sum, sympify

from verify.errors import ClaimError
from verify.symbolic.vocabulary import Cov, Defined, E, Family, Largest, Named, StepError, Var, definition
from verify.symbolic.vocabulary import families_of, free_indices, range_of, unnamed

MEANS_OF = (E, Var, Cov)
"""What is a mean, or is made of means."""

LONGEST_SUM, MOST_TERMS = 40, 500_000
"""The most terms of a sum, and of all sums that stand in each other."""

Numbers = Any
"""An array with the points along its last axis, or a number for them all."""

Supports = Mapping[Any, tuple[Any, Any]]
"""By family the values and the weights of outcomes of an entry, an outcome a row and a point a column."""

Outcomes = tuple[Numbers, Callable[[int], Numbers], Any]
"""The weight of each outcome, the values of all entries in each by modulus, and the world's number."""


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
        self.x, self.is_rational, self.is_symbol = x, x.is_Rational, x.is_Symbol
        self.kind: Any = type(x)
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


@cache
def _rule(arithmetic: Any, kind: Any) -> Callable[[Any, Part], Numbers]:
    """Return the method for a kind of part; a kind that has none takes that of its nearest base class."""
    rules = (getattr(arithmetic, f"_on_{base.__name__.lower()}", None) for base in kind.__mro__)
    rule: Callable[[Any, Part], Numbers] | None = next(filter(None, rules), None)
    if rule is None:
        raise Undecided(f"{kind.__name__} has no exact arithmetic")
    return rule


class Evaluation:
    """Points at which expressions are evaluated, by a method for each kind of part.

    ``sizes`` and ``places`` are numbers of what is counted and of indices. ``rows`` are the numbers, by
    family and place, of the entries that a mean is taken over, and ``columns`` returns the values of all in
    all its outcomes; ``world`` is the number of an outcome in which all other families have any values.
    ``budget`` is how many parts may still be evaluated. ``known`` are values of parts; what is evaluated with
    other variables or outcomes has a memory of its own. ``modulus`` is the prime of an arithmetic that has
    one.

    Each arithmetic has its ``rational`` numbers, its ``product``, and the outcomes of an entry of each
    family, those of the world for None, from ``supports_of``.
    """

    rational: Callable[[Part], Numbers]
    product: Callable[[Numbers, Numbers], Numbers]
    supports_of: Callable[[list[Any]], Supports]

    def __init__(self, sizes: Mapping[Any, int], laws: Mapping[Family, Any], budget: float) -> None:
        self.sizes, self.laws, self.budget = sizes, laws, budget
        self.places: dict[Any, int | Axis] = {}
        self.depth, self.terms, self.modulus = 1, 1, 0
        self.rows: dict[Any, Any] | None = None
        self.columns: Callable[[int], Numbers] = lambda _: ()
        self.world: Numbers = None
        self.known: dict[Any, Any] = {}
        # Whether numbers are no arrays, and whether the terms of a sum have means over entries of their own.
        self.exact, self.splits_means = False, True

    def value(self, part: Part) -> Numbers:
        """Return the value of a part.

        Raises:
            Undecided: there is no rule for it, or it takes too long.
        """
        if part.is_rational:
            return self.rational(part)
        if part.is_symbol and part.x in self.places:
            place = self.places[part.x]
            if isinstance(place, int):
                return self.rational(part_of(Integer(place)))
            return np.arange(place.first, place.last + 1, dtype=np.uint64).reshape(-1, *(1,) * place.depth)
        # A value is that of an expression at the places of those indices that it speaks of.
        key = (part, self.modulus, *map(self.places.get, part.integers))
        value = self.known.get(key)
        if value is None:
            arithmetic: Any = type(self)
            value = _rule(arithmetic, part.kind)(self, part)
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
    def having(self, **state: Any) -> Iterator[None]:
        """Let places, variables, outcomes or the modulus be others for a while."""
        before = {name: getattr(self, name) for name in state}
        self.__dict__.update(state)
        try:
            yield
        finally:
            self.__dict__.update(before)

    def _on_defined(self, part: Part) -> Numbers:
        return self.value(part.definition)

    def _on_sum(self, part: Part) -> Numbers:
        """Return a sum."""
        apart, inner, index, low, high, has_means, has_sums_up_to_it = _peeled(part)
        first, last = self.whole(low), self.whole(high)
        if last - first > LONGEST_SUM:
            raise Undecided(f"a sum of {last - first + 1} terms")
        total: Numbers = 0
        if self.exact or has_sums_up_to_it or (has_means and self.splits_means):
            # Each term has outcomes, or terms, of its own.
            for place in range(first, last + 1):
                with self.having(places={**self.places, index: place}):
                    total = total + self.value(inner)
        elif first <= last:
            terms = self.along(inner, index, first, last)
            is_along = np.ndim(terms) > self.depth
            total = terms.sum(axis=0) if is_along else terms * (last - first + 1)
        return self.product(total, self.value(apart))

    def along(self, part: Part, index: Any, first: int, last: int) -> Numbers:
        """Return the values of a part with the places of an index along a further axis."""
        places, terms = {**self.places, index: Axis(first, last, self.depth)}, last - first + 1
        if self.terms * terms > MOST_TERMS:
            raise Undecided("it is too long to be evaluated exactly")
        with self.having(places=places, depth=self.depth + 1, terms=self.terms * max(terms, 1)):
            return self.value(part)

    # Means.

    def over_outcomes(self, of: Part, *, has_world: bool) -> tuple[Numbers, Numbers]:
        """Return weights and values of a part in all outcomes, which go along a further axis."""
        # A score or a row speaks of sizes that are not written in it.
        places = {index: place for index, place in self.places.items() if isinstance(place, int)}
        entries, rows = _rows_of(of, frozenset({**self.sizes, **places}.items()), frozenset(self.laws))
        weights, columns, world = self.outcomes(entries, has_world=has_world)
        depth = self.depth + 1
        with self.having(known={}, rows=rows, columns=columns, world=world, depth=depth):
            return weights, self.value(of)

    def outcomes(self, entries: list[Any], *, has_world: bool) -> Outcomes:
        """Return weights, values and worlds of all outcomes of entries."""
        bases = [*(base for base, *_ in entries), *([None] if has_world else [])]
        # Both sides of a line have means over the same families.
        key = (*bases, self.modulus, self.depth)
        if key in self.known:
            return cast("Outcomes", self.known[key])
        supports, beside, modulus = self.supports_of(bases), (1,) * (self.depth - 1), self.modulus
        choices = _choices(*(len(supports[base][0]) for base in bases))
        weights: Numbers = np.ones((choices.shape[1], 1), np.uint64)
        for base, chosen in zip(bases, choices, strict=True):
            weights = self.product(weights, supports[base][1][chosen])

        @cache
        def columns(other: int) -> Numbers:
            values = supports if other == modulus else self.supports_of(bases)
            table = [values[base][0][chosen] for base, chosen in zip(bases, choices, strict=True) if base]
            return np.stack(table).reshape(len(entries), len(weights), *beside, -1)

        world = choices[-1].astype(np.uint64).reshape(-1, *beside, 1) if has_world else None
        self.known[key] = outcomes = weights.reshape(len(weights), *beside, -1), columns, world
        return outcomes

    def in_outcomes(self, family: Family, places: Any) -> Numbers:
        """Return a family's entries at places, which are numbers or go along axes, in all outcomes."""
        table, rows = self.columns(self.modulus), (self.rows or {})[family][places]
        # Places may go along axes outside of those of the outcomes.
        return table[rows.reshape(rows.shape[: rows.ndim + 1 - table.ndim])]


@lru_cache(maxsize=1024)
def _rows_of(
    part: Part, numbers: frozenset[tuple[Any, int]], families: frozenset[Family]
) -> tuple[list[Any], dict[Family, Any]]:
    """Return the entries that an expression depends on, and their numbers by family and place.

    Entries in means within it are not among them.
    """
    memory: dict[Any, frozenset[tuple[Any, ...]]] = {}

    def entries_in(part: Part, at: dict[Any, int]) -> frozenset[tuple[Any, ...]]:
        x = part.x
        if isinstance(x, E) or not families_of(x) & families:
            return frozenset()
        if isinstance(x, Indexed):
            return frozenset({(x.base, *(whole(index, at) for index in x.indices))})
        if isinstance(x, Defined):
            return entries_in(part.definition, at)
        key = part, *map(at.get, part.integers)
        if key not in memory:
            inner, ways = part.args, [at]
            if isinstance(x, Sum | Largest):
                of, index, low, high = outermost(part)
                places = range(whole(low, at), whole(high, at) + 1)
                inner, ways = (of,), [{**at, index: place} for place in places]
            memory[key] = frozenset().union(*(entries_in(each, way) for each in inner for way in ways))
        return memory[key]

    def whole(x: Any, at: dict[Any, int]) -> int:
        return at[x] if x in at else _as_whole(x.xreplace({symbol: Integer(at[symbol]) for symbol in at}))

    entries = entries_in(part, dict(numbers))
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
def outermost(part: Part) -> tuple[Part, Any, Any, Any]:
    """Return the terms of a sum, an integral or a largest, and its outermost index with both ends."""
    x = part.x
    limits = ((x.args[1], Integer(1), range_of(*x.args)),) if isinstance(x, Largest) else x.limits
    (*before, (index, low, high)) = limits
    return part_of(x.func(x.function, *before)) if before else part.args[0], index, low, high


@lru_cache(maxsize=4096)
def _peeled(part: Part) -> tuple[Part, Part, Any, Any, Any, bool, bool]:
    """Return a sum as a factor before it, its terms, and its outermost index with both ends.

    Last are whether there are means in the terms, and whether a sum in them ends at the index.
    """
    terms, index, low, high = outermost(part)
    apart, inner = terms.x.as_independent(index, as_Add=False)
    sums = (part for part in parts_of(inner) if isinstance(part, Sum))
    has_sums_up_to_it = any(end.has(index) for each in sums for _, *ends in each.limits for end in ends)
    first, last = (int(end) if end.is_Integer else end for end in (low, high))
    return part_of(apart), part_of(inner), index, first, last, has(inner, *MEANS_OF), has_sums_up_to_it


def derived(x: Any) -> Any:
    """Return a derivative by symbols or entries, done; of a mean it is the mean of the derivative."""
    # Of names as of what they stand for, which then is derived once.
    return _derivative(definition(x.expr), x.variable_count)


@lru_cache(maxsize=1024)
def _derivative(x: Any, variables: Any) -> Any:
    def with_own_indices(total: Any) -> Any:
        # A bound j is another than the j of the entry that it is derived by.
        own = {index: Dummy(index.name, integer=True, positive=True) for index, *_ in total.limits}
        return total.xreplace(own)

    x = x.replace(lambda part: isinstance(part, Sum), with_own_indices)
    return x.replace(E, _Mean).diff(*variables).replace(_Mean, E)


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
