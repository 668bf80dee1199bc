"""How an expression is gone through, in whatever arithmetic: places of indices, sums, outcomes of means.

``points`` evaluates modulo two primes, ``numbers`` in many digits or in floats. Values are arrays with
the points along their last axis, or a number for them all; within a mean its outcomes, and within a sum its
terms, go along a further axis before those that there are. How a new kind of part is evaluated is a rule in
the ``RULES`` of each.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import lru_cache, partial
from math import prod
from operator import attrgetter
from typing import Any, NamedTuple

import numpy as np
from sympy import Add, Derivative, Dummy, Function, Indexed, Integer, Integral, Mul, Pow, S, Subs, Sum
from sympy import sympify

from verify.errors import ClaimError
from verify.symbolic.vocabulary import Cov, E, Family, Largest, StepError, Var, definition, range_of

LONGEST_SUM, MOST_TERMS = 40, 500_000
"""The most terms of a sum, and of all sums that stand in each other."""

Numbers = Any
"""An array with the points along its last axis, or a number for them all."""

Rule = Callable[[int], tuple[Numbers, Numbers]]
"""Returns the values and the weights of outcomes, an outcome a row, modulo a prime where there are two."""


class Undecided(StepError):  # noqa: N818 - an outcome
    """An expression could not be evaluated."""


class Axis(NamedTuple):
    """Places that an index takes along an axis, before so many others."""

    first: int
    last: int
    depth: int


class Evaluation:
    """Points at which expressions are evaluated, by rules for each kind of part.

    ``sizes`` and ``places`` are numbers of what is counted and of indices; ``outcomes`` are values of the
    entries that a mean is taken over, ``world`` is the number of an outcome in which all other families have
    any values; ``budget`` is how many parts may still be evaluated. Each arithmetic has ``rational``, which
    returns a rational number in it, and ``rules_of``, which returns the number of outcomes, and their values
    and weights, of an entry of each family; there None is for the world, of which all others are functions.
    """

    rules: Mapping[Any, Callable[[Any, Any, int], Numbers]]
    rational: Callable[[Any, int], Numbers]
    rules_of: Callable[[list[Any]], list[tuple[int, Rule]]]

    def __init__(self, sizes: Mapping[Any, int], laws: Mapping[Family, Any], budget: float) -> None:
        self.sizes, self.laws, self.budget = sizes, laws, budget
        self.places: dict[Any, int | Axis] = {}
        self.depth, self.terms = 1, 1
        self.outcomes: dict[Any, Any] | None = None
        self.world: Numbers = None
        self.known: dict[Any, Numbers] = {}

    def product(self, first: Numbers, second: Numbers, modulus: int) -> Numbers:  # noqa: ARG002  # see Points
        """Return the product of two numbers in this arithmetic."""
        return first * second

    def goes_by_terms(self, x: Any) -> bool:
        """Return whether a sum of terms x is gone through term by term, instead of along an axis."""
        return has(x, E, Var, Cov)

    def value(self, x: Any, modulus: int = 0) -> Numbers:
        """Return the value of an expression, where the arithmetic has two primes modulo one of them.

        Raises:
            Undecided: there is no rule for a part of it, or it takes too long.
        """
        if x.is_Rational:
            return self.rational(x, modulus)
        if x.is_Symbol and x in self.places:
            place = self.places[x]
            if isinstance(place, int):
                return self.rational(Integer(place), modulus)
            places = np.arange(place.first, place.last + 1, dtype=np.uint64)
            return places.reshape(-1, *(1,) * place.depth)
        # A value is that of an expression at the places of those indices that it speaks of.
        key = (x, modulus, *map(self.places.get, _integers(x)))
        value = self.known.get(key)
        if value is None:
            rule = next((self.rules[base] for base in type(x).__mro__ if base in self.rules), None)
            if rule is None:
                raise Undecided(f"{type(x).__name__} has no exact arithmetic")
            value = rule(self, x, modulus)
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
        numbers = {symbol: self.places.get(symbol, self.sizes.get(symbol)) for symbol in _integers(x)}
        known = {symbol: Integer(number) for symbol, number in numbers.items() if isinstance(number, int)}
        return x.xreplace(known) if known else x

    def whole(self, x: Any) -> int:
        """Return the end of a sum, or a place, as a number.

        Raises:
            Undecided: it is no whole number.
        """
        number = self.places.get(x, self.sizes.get(x))
        return number if isinstance(number, int) else _as_whole(self.with_numbers(sympify(x)))

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

    def total(self, x: Any, modulus: int = 0) -> Numbers:
        """Return a sum."""
        apart, inner, index, low, high, has_sums_up_to_it = _peeled(x)
        first, last = self.whole(low), self.whole(high)
        if last - first > LONGEST_SUM:
            raise Undecided(f"a sum of {last - first + 1} terms")
        total: Numbers = 0
        if self.goes_by_terms(inner) or has_sums_up_to_it:
            # Each term has outcomes, or terms, of its own.
            for place in range(first, last + 1):
                with self.at(index, place):
                    total = total + self.value(inner, modulus)
        elif first <= last:
            terms = self.along(inner, index, first, last, modulus)
            is_along = np.ndim(terms) > self.depth
            total = terms.sum(axis=0) if is_along else terms * (last - first + 1)
        return self.product(total, self.value(apart, modulus), modulus)

    def along(self, x: Any, index: Any, first: int, last: int, modulus: int = 0) -> Numbers:
        """Return the values of an expression with the places of an index along a further axis."""
        with self.at(index, Axis(first, last, self.depth)):
            return self.value(x, modulus)

    def at_places(self, places: list[Any], entry: Callable[..., Any]) -> Numbers:
        """Return an entry of a family at places, which are numbers or go along axes."""
        if not any(isinstance(place, np.ndarray) for place in places):
            return entry(*map(int, places))
        together = np.broadcast(*places)
        parts = [entry(*map(int, each)) for each in together]
        shape = together.shape[: together.ndim - parts[0].ndim]
        return np.array(parts).reshape(*shape, *parts[0].shape)

    # Means.

    def over_outcomes(self, of: Any, *, has_world: bool, modulus: int = 0) -> tuple[Numbers, Numbers]:
        """Return weights and values of an expression in all outcomes, which go along a further axis."""
        # A score or a row speaks of sizes that are not written in it.
        places = {index: place for index, place in self.places.items() if isinstance(place, int)}
        numbers = frozenset({**self.sizes, **places}.items())
        entries = _in_order(entries_of(of, numbers, frozenset(self.laws)))  # as the last digit hangs on it
        rules = self.rules_of([*(base for base, *_ in entries), *([None] if has_world else [])])
        sizes = [size for size, _ in rules]
        choices = _choices(*sizes)
        columns = [(rule, chosen, self.depth) for (_, rule), chosen in zip(rules, choices, strict=True)]
        weights: Numbers = np.ones((prod(sizes), *(1,) * self.depth), np.uint64)
        for rule, chosen, depth in columns:
            weights = self.product(weights, _spread(rule(modulus)[1], chosen, depth), modulus)
        state: dict[str, Any] = {"outcomes": dict(zip(entries, columns, strict=False)), "world": None}
        if has_world:
            state["world"] = choices[-1].astype(np.uint64).reshape(-1, *(1,) * self.depth)
        with self.having(**state, depth=self.depth + 1):
            return weights, self.value(of, modulus)

    def outcome(self, entry: tuple[Any, ...], modulus: int = 0) -> Numbers:
        """Return the values of an entry in all outcomes of the mean."""
        rule, chosen, depth = (self.outcomes or {})[entry]
        return _spread(rule(modulus)[0], chosen, depth)


def _spread(column: Any, chosen: Any, depth: int) -> Numbers:
    """Return an outcome's values, so many points in each, along the axis before the last ``depth`` axes."""
    return column[chosen].reshape(len(chosen), *(1,) * (depth - 1), column.shape[-1])


@lru_cache(maxsize=8192)
def entries_of(
    x: Any, numbers: frozenset[tuple[Any, int]], families: frozenset[Family]
) -> frozenset[tuple[Any, ...]]:
    """Return the entries of families that an expression depends on at these numbers of sizes and places."""
    if isinstance(x, E) or not families:
        return frozenset()
    if hasattr(type(x), "definition"):
        return entries_of(definition_of(x), numbers, families)
    known: dict[Any, int] = dict(numbers)

    def whole(end: Any) -> int:
        """Return a place, or the end of a sum, as a number."""
        if end in known:
            return known[end]
        end = sympify(end)
        return _as_whole(end if end.is_Integer else end.xreplace({x: Integer(known[x]) for x in known}))

    if isinstance(x, Indexed):
        entry = (x.base, *map(whole, x.indices)) if x.base in families else ()
        return frozenset([entry] if entry else [])
    if not isinstance(x, Sum | Largest):
        return frozenset().union(*(entries_of(part, numbers, families) for part in x.args))
    if isinstance(x, Largest):
        (inner, index), low, high = x.args, S.One, range_of(*x.args)
    else:
        (*limits, (index, low, high)) = x.limits
        inner = Sum(x.function, *limits) if limits else x.function
    places = range(whole(low), whole(high) + 1)
    terms = (entries_of(inner, frozenset({**known, index: place}.items()), families) for place in places)
    return frozenset().union(*terms)


_choices = lru_cache(maxsize=256)(lambda *sizes: np.indices(sizes).reshape(len(sizes), prod(sizes)))
"""Returns all choices of an outcome for each of several entries, an entry a row."""

_in_order = lru_cache(maxsize=1024)(partial(sorted, key=str))
definition_of = lru_cache(maxsize=65536)(attrgetter("definition"))
"""Returns what a function of the vocabulary stands for, with its arguments as they are."""


def _as_whole(x: Any) -> int:
    if not x.is_Integer:
        raise Undecided(f"{x} is no whole number")
    return int(x)


@lru_cache(maxsize=65536)
def has(x: Any, *kinds: Any) -> bool:
    """Return whether an expression has a part of these kinds; asked of the same at every point."""
    return bool(x.has(*kinds))


@lru_cache(maxsize=65536)
def _integers(x: Any) -> frozenset[Any]:
    """Return the symbols of an expression that may be sizes or indices."""
    if x.is_Symbol:
        return frozenset([x] if x.is_integer else [])
    if isinstance(x, Add | Mul | Pow | Function):
        return frozenset().union(*map(_integers, x.args))
    if isinstance(x, Sum | Integral):
        # SymPy goes through all that stands within anew for each sum around it; this remembers.
        symbols = _integers(x.function)
        for index, *ends in x.limits:
            symbols = (symbols - {index} if ends else symbols).union(*map(_integers, ends or [index]))
        return symbols
    return frozenset(symbol for symbol in x.free_symbols if symbol.is_Symbol and symbol.is_integer)


@lru_cache(maxsize=4096)
def _peeled(x: Any) -> tuple[Any, Any, Any, Any, Any, bool]:
    """Return a sum as a factor before it, its terms, and its outermost index with both ends.

    Last is whether a sum within the terms ends at the index.
    """
    (*before, (index, low, high)) = x.limits
    if before:
        apart, inner = S.One, Sum(x.function, *before)
    else:
        apart, inner = x.function.as_independent(index, as_Add=False)
    within = (end for part in inner.atoms(Sum) for _, *ends in part.limits for end in ends)
    return apart, inner, index, low, high, any(end.has(index) for end in within)


@lru_cache(maxsize=1024)
def derived(x: Any) -> Any:
    """Return a derivative by symbols or entries, done; of a mean it is the mean of the derivative."""

    def apart(part: Any) -> Any:
        # A bound j is another than the j of the entry that it is derived by.
        if isinstance(part, Sum):
            own = {limit[0]: Dummy(limit[0].name, integer=True, positive=True) for limit in part.limits}
            limits = [(own[index], *(end.xreplace(own) for end in ends)) for index, *ends in part.limits]
            return Sum(apart(part.function.xreplace(own)), *limits)
        return part.func(*map(apart, part.args)) if part.has(Sum) else part

    return apart(definition(x.expr)).replace(E, _Mean).diff(*x.variable_count).replace(_Mean, E)


def differentiated(x: Any) -> Any:
    """Return an expression with all derivatives taken, also those at a point, ``Subs``."""

    def at_point(part: Any) -> Any:
        return differentiated(part.expr).xreplace(dict(zip(part.variables, part.point, strict=True)))

    x = sympify(x)
    x = x.replace(lambda part: isinstance(part, Subs), at_point) if has(x, Subs) else x
    return x.replace(lambda part: isinstance(part, Derivative), derived) if has(x, Derivative) else x


@lru_cache(maxsize=65536)
def range_if_any(x: Any, index: Any) -> Any:
    """Return the size of the range of an index, None where no family of an expression has the index."""
    try:
        return range_of(x, index)
    except ClaimError:
        return None


class _Mean(E):
    """A mean whose derivative is the mean of the derivative."""

    def _eval_derivative(self, symbol: Any) -> Any:
        return _Mean(self.args[0].diff(symbol))
