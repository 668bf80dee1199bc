"""Exact equality: both sides are evaluated at random points, modulo two primes.

An equation that is wrong holds at a random point modulo a prime P with a probability of about degree/P, that
is never; of signs, which are a draw of two, it is tried as often as that takes. Sums are written out, at
several sizes: all different, and more of them than the degree. Sides that cannot be evaluated, or at one size
only, are *not decided*, which is no equality. ``points`` evaluates.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping
from functools import lru_cache
from itertools import count
from typing import Any

import numpy as np
from sympy import Abs, Add, Indexed, Integral, Max, Min, Mul, Pow, Sum, binomial, exp, factor, factorial
from sympy import fraction, gamma, sign, sympify

from verify.errors import ClaimError
from verify.symbolic.evaluation import Undecided, has, opened, part_of, parts_of, symbols_in
from verify.symbolic.points import P, Points, TooManyOutcomes
from verify.symbolic.vocabulary import Family, Index, Indicator, Largest, Law, Laws, Softmax, StepError
from verify.symbolic.vocabulary import definition, range_of

LEAST_SIZE = 3
LEAST_ASSIGNMENTS = 3
MOST_STEPS = 300_000
ATTEMPTS, BATCH = 40, 64
MOST_SIGNS = 5
MOMENTS = (5, 4, 3, 2)
"""How many moments, E 1 among them, a drawn law has in common with the law that is assumed."""


class Unequal(StepError):  # noqa: N818 - an outcome
    """The sides differ at a point."""


def decide_equality(
    before: Any, after: Any, laws: Laws | None = None, sizes: Mapping[Any, int] | None = None
) -> None:
    """Return where two expressions are equal at all sizes and points tried, as an exact computation.

    Means are any linear functional, or where ``laws`` are given those of independent families with these
    moments. ``sizes`` are those that have one value only.

    Raises:
        Unequal: they differ; its text says at which sizes.
        Undecided: a side could not be evaluated; its text says why.
    """
    if before == after:
        return
    given = None if laws is None else tuple(sorted(laws.items(), key=lambda item: str(item[0])))
    error = _error(sympify(before), sympify(after), given, tuple((sizes or {}).items()))
    if error is not None:
        raise error


@lru_cache(maxsize=2048)
def _error(
    before: Any, after: Any, laws: tuple[tuple[Family, Law], ...] | None, sizes: tuple[tuple[Any, int], ...]
) -> StepError | None:
    if definition(before) == definition(after):
        return None
    error: StepError | None = None
    # Drawn laws share as many moments with those assumed as their outcomes can be gone through for.
    for moments in MOMENTS if laws else MOMENTS[:1]:
        drawn = {base: Law(law.words, law.raw[:moments]) for base, law in laws or ()}
        try:
            _try((_opened(before), _opened(after)), drawn, dict(sizes))
        except StepError as problem:
            error = problem
        except (ClaimError, RecursionError) as problem:
            error = Undecided(str(problem))
        else:
            return None
        if not isinstance(error, TooManyOutcomes):
            break
    if isinstance(error, Unequal) and any(len(law.raw) > moments for _, law in laws or ()):
        return Undecided(f"it does not follow from the first {moments - 1} moments of the components")
    return error


def _opened(x: Any) -> Any:
    """Return an expression with definitions put in, derivatives taken, and squares taken out of roots."""
    for part in parts_of(x):
        if isinstance(part, Indexed) and not isinstance(part.base, Family):
            raise Undecided(f"{part.base} is no family; declare it with Family({str(part.base)!r}, …)")

    def weight_of_largest(largest: Any) -> Any:
        # The largest weight is that of the largest score, for exponentials rise.
        weight, key = largest.args
        if not isinstance(weight, Softmax) or weight.args[1] != key:
            return largest
        scores, (others, other) = weight.args[0], weight.row
        return exp(Largest(scores, key)) / Sum(exp(others), (other, 1, range_of(others, other)))

    x = opened(x)
    if has(x, Largest):
        x = x.replace(lambda part: isinstance(part, Largest), weight_of_largest)
    x = definition(x)
    if any(map(_is_root, parts_of(x))):
        x = x.replace(_is_root, lambda root: Pow(factor(root.base), root.exp))
    return x


def _is_root(x: Any) -> bool:
    return isinstance(x, Pow) and x.exp.is_Rational and x.exp.q % 2 == 0 and not x.base.is_Atom


def _try(sides: tuple[Any, Any], laws: Laws, fixed: Mapping[Any, int]) -> None:
    """Evaluate both sides at points for each assignment of sizes."""
    budget, seeds = float(MOST_STEPS), count()
    parts = parts_of(sides[0]) | parts_of(sides[1])
    signs = {part.args for part in parts if isinstance(part, Abs | sign | Indicator | Max | Min)}
    roots = filter(_is_root, parts)
    signs |= {(of,) for root in roots for of in Mul.make_args(root.base) if of.is_Pow and of.exp.is_even}
    if len(signs) > MOST_SIGNS:
        raise Undecided(f"it has more than {MOST_SIGNS} different signs, too many to try them all")
    for number, sizes in enumerate(_assignments(*sides, fixed)):
        # A false line passes a point with a probability of at most 1 - 2^-signs, so that it passes all of so
        # many with 1e-12 at most.
        wanted = 28 * 2 ** len(signs) if signs and not number else 1
        for attempt in range(ATTEMPTS):
            points = Points(next(seeds), min(2 * wanted << attempt, BATCH), sizes, laws, budget)
            points.place(*sides)
            before, after = (points.value(part_of(side), P) for side in sides)
            if np.any(np.not_equal(before, after) & points.valid):
                at = ", ".join(f"{size} = {value}" for size, value in sizes.items())
                raise Unequal(f"the two sides differ{f' at {at}' if at else ''}")
            budget, wanted = points.budget, wanted - int(points.valid.sum())
            if wanted <= 0:
                break
        else:
            raise Undecided("no point was found at which all roots and quotients exist")


def _assignments(before: Any, after: Any, fixed: Mapping[Any, int]) -> Iterator[dict[Any, int]]:
    """Yield numbers for the sizes that count something: all different, and more of them than degrees.

    A polynomial in a size that vanishes at more numbers than its degree is 0. Sizes that count nothing are
    symbols as any other, and drawn.
    """
    counting = sorted((_counting(before) | _counting(after)) - set(fixed), key=str)
    powers = [part for part in parts_of(before) | parts_of(after) if part.is_Pow and not has(part.base, Sum)]
    divisors = [part.base for part in powers if part.exp.is_Integer and part.exp.is_negative]
    degree = 0
    for size in counting:
        degrees = [_degree(before, size), _degree(after, size)]
        divides = any(size in parts_of(base) for base in divisors)
        degree = max(degree, sum(degrees) if divides else max(degrees))
    times = max(LEAST_ASSIGNMENTS, degree + 2) if counting else 1
    pool = range(LEAST_SIZE, LEAST_SIZE + times + len(counting) - 1)
    shuffled = random.Random(1)  # noqa: S311 - nothing is secret
    order = shuffled.sample(pool, len(pool))
    for number in range(times):
        # The next numbers in the order: different within a row, and for each size another in each row.
        row = [order[(number + at) % len(order)] for at in range(len(counting))]
        yield {**dict(zip(counting, row, strict=True)), **fixed}


def is_size(symbol: Any) -> bool:
    """Return whether a symbol counts something: a positive whole number that is no index."""
    counts = symbol.is_Symbol and symbol.is_integer and symbol.is_positive
    return bool(counts) and not isinstance(symbol, Index)


@lru_cache(maxsize=4096)
def _counting(x: Any) -> frozenset[Any]:
    """Sizes in ends of sums and in whatever is evaluated at whole numbers only."""
    counted: list[Any] = []
    for part in parts_of(x):
        if isinstance(part, Sum):
            counted += [end for limit in part.limits for end in limit[1:]]
        elif isinstance(part, gamma | factorial | binomial):
            counted += part.args
        elif isinstance(part, Largest):
            counted.append(range_of(*part.args))
        # Whether a long base is positive takes SymPy long, and most exponents are numbers.
        elif part.is_Pow and any(map(is_size, symbols_in(part.exp))) and not part.base.is_positive:
            counted.append(part.exp)
    bound = {limit[0] for part in parts_of(x) if isinstance(part, Sum | Integral) for limit in part.limits}
    return frozenset(filter(is_size, frozenset().union(*map(symbols_in, counted)))) - bound


def _degree(x: Any, size: Any) -> Any:
    """A bound of the degree of the numerator in a size, once all is over one denominator."""
    if isinstance(x, Sum):
        return _degree(x.function, size) + sum(limit[2].has(size) for limit in x.limits)
    if isinstance(x, Pow) and x.exp.is_negative and x.base.has(Indexed):
        return 0  # a common denominator of random sums is no polynomial in their size
    if isinstance(x, Pow) and x.exp.is_Integer:
        return _degree(x.base, size) * abs(int(x.exp))
    if isinstance(x, Add):
        degrees = [_degree(part, size) for part in x.args]
        over = [_degree(part, size) for part in x.args if fraction(part)[1] != 1]
        return max(degrees) + sum(over)
    return int(x == size) + sum(_degree(part, size) for part in x.args if not isinstance(x, Indexed))
