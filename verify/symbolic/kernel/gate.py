"""The gate of well-formedness: names, what is bound and free, random and constant, and moments of laws."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import Any

from sympy import (
    Derivative,
    Float,
    Idx,
    Indexed,
    IndexedBase,
    Integral,
    Limit,
    Matrix,
    S,
    Sum,
    Symbol,
    expand,
    oo,
)
from sympy.matrices.expressions import MatrixSymbol

from verify.symbolic.kernel.hypotheses import (
    SYMBOLS,
    Hypotheses,
    Population,
    Refused,
    assumed,
    free_symbols,
    has_any,
    parts_of,
)
from verify.symbolic.kernel.words import E, Var, largest, n, p, s


@cache
def upwards(total: Any) -> tuple[Any, ...]:
    """Return the conditions under which a sum runs upwards, or is empty; none where it surely does.

    Raises:
        Refused: it never does, or that is not decided.
    """
    conditions = []
    for index, low, high in total.limits:
        terms = high - low + 1
        if terms.is_integer and terms.is_nonnegative:
            continue
        inner = {one for one in free_symbols(terms) if isinstance(one, Idx) or one in bound_in(total)}
        if inner or not terms.is_integer:
            raise Refused(f"not known: {index} runs upwards, from one whole number to another, in {total}")
        if not terms.is_real or terms.is_negative:
            raise Refused(f"{index} runs backwards in {total}")
        conditions.append(terms >= 0)
    return tuple(conditions)


def refuse_complex(relation: str, hypotheses: Hypotheses, *sides: Any) -> None:
    """Refuse an order of what may be complex numbers.

    Raises:
        Refused: it is one.
    """
    if relation not in "≤<≥>":
        return
    for one in set().union(*map(free_symbols, sides)) - labels_in(*sides):
        if type(one) in SYMBOLS and hypotheses.domain(one) == S.Complexes:
            raise Refused(f"{one} may be any complex number, and these have no order")


def depending_on(symbol: Any, hypotheses: Hypotheses) -> set[Any]:
    """Return what is defined by a symbol, and the symbol itself.

    Probabilities and the largest score depend on the number of keys.
    """
    holding = {symbol, *((p, largest) if symbol == n else ())}
    for _ in hypotheses.definitions:
        holding |= {name for name, meaning in hypotheses.definitions if has_any(meaning, holding)}
    return holding


def random_names(hypotheses: Hypotheses, *sides: Any) -> set[Any]:
    """Return what is random: components of the law, and what is defined by them, but not by means of them.

    Where no law is assumed, what is defined by the families inside means: these themselves may be given.
    """
    law = hypotheses.law
    first = set(law.moments) if law else averaged(*sides)
    random = set(first)
    for _ in hypotheses.definitions:
        pairs = ((name, outside_means(meaning)) for name, meaning in hypotheses.definitions)
        random |= {name for name, meaning in pairs if has_any(meaning, random)}
    return random if law else random - first


def averaged(*sides: Any) -> set[Any]:
    """Return the families that stand inside a mean; scores, probabilities and the largest go together."""
    means = [one for side in sides for one in parts_of(side, E, Var)]
    families = {base for one in means for base in parts_of(one, IndexedBase)}
    rows = {p, s, largest}
    return families | rows if any(has_any(one, rows) for one in means) else families


@cache
def outside_means(side: Any) -> Any:
    """Return an expression with 1 for every mean in it."""
    means = parts_of(side, E, Var)
    return side.xreplace(dict.fromkeys(means, S.One)) if means else side


@cache
def bound_in(expression: Any) -> frozenset[Any]:
    """Return the names that sums, integrals and limits of an expression bind."""
    names: set[Any] = set()
    for one in parts_of(expression, Sum, Integral, Limit):
        names.update(one.args[1:2] if isinstance(one, Limit) else one.variables)
    return frozenset(names)


def labels_in(*expressions: Any) -> set[Any]:
    """Return the symbols that name families of entries, or indices, in expressions."""
    return {named.label for one in expressions for named in parts_of(one, IndexedBase, Idx)}


def changed_in(expression: Any) -> frozenset[Any]:
    """Return the names that an expression binds, and those by which it differentiates."""
    by = {one for each in parts_of(expression, Derivative) for one in each.variables}
    return bound_in(expression) | by


def rests_on(meaning: Any, by: Any) -> bool:
    """Return whether a symbol is free in a meaning, or an entry may be one of its family's there."""
    if not isinstance(by, Indexed):
        return by in free_symbols(meaning)
    return has_any(meaning, [by.base, *([p, largest] if by.base == s else [])])


@cache  # a chain of one step is that step
def refuse_malformed(hypotheses: Hypotheses, *sides: Any) -> None:
    """Refuse what could be read in two ways, a rounded number, and moments that no law has.

    An index may be bound on one side and free on the other: it names any one entry there, and no number.

    Raises:
        Refused: a side is not well formed.
    """
    names: dict[str, Any] = {}
    for side in sides:
        for symbol in parts_of(side, Symbol, MatrixSymbol):
            if names.setdefault(symbol.name, symbol) != symbol:
                raise Refused(f"two symbols print as {symbol}; make it once, with one set of assumptions")
        if rounded := parts_of(side, Float):
            raise Refused(f"{min(rounded)} is a rounded number; write a fraction, such as Rational(1, 2)")
        _refuse_ranges_outside(side)
    if isinstance(hypotheses.law, Population):
        _refuse_impossible(Hypotheses(hypotheses.domains), hypotheses.law)
    _refuse_bound_and_free(hypotheses, sides)
    if any(parts_of(side, E, Var) for side in sides):
        _refuse_random_outside(hypotheses, sides)


def _refuse_bound_and_free(hypotheses: Hypotheses, sides: tuple[Any, ...]) -> None:
    bound = {one for side in sides for one in bound_in(side)}
    stated = set().union(*map(free_symbols, (*sides, *hypotheses.conditions)))
    free = {one for one in stated if not isinstance(one, Idx)} | {one for one, _ in hypotheses.domains}
    if both := bound & free:
        raise Refused(f"a name is bound and free: {', '.join(sorted(map(str, both)))}")


def _refuse_random_outside(hypotheses: Hypotheses, sides: tuple[Any, ...]) -> None:
    """Refuse what is random outside every mean; where scores are, probabilities and the largest score are.

    Raises:
        Refused: there is something.
    """
    random = random_names(hypotheses, *sides)
    if s in random:
        random |= {p, largest}
    for one in random:
        if any(has_any(outside_means(side), [one]) for side in sides):
            raise Refused(f"{one} is random, and stands outside every mean")


@cache
def _refuse_impossible(domains: Hypotheses, law: Population) -> None:
    """Refuse moments that no random number has.

    Raises:
        Refused: they are such moments.
    """
    for component, moments in law.laws:
        if moments is None:
            continue
        if moments[:1] != (S.One,):
            raise Refused(f"the mean of 1 is 1, not {moments[:1]}")
        if any(minor.is_negative for minor in _minors(moments)):
            raise Refused(f"no law has the moments of {component}")
        if component in law.normal and not _is_of_normal(moments):
            raise Refused(f"these are no moments of a normal number: {', '.join(map(str, moments))}")
        domain = domains.domain(component) if isinstance(component, Symbol) else S.Reals
        if len(moments) > 1 and domain.contains(moments[1]) is S.false:
            raise Refused(f"the mean of {component} lies outside its domain")


def _minors(moments: tuple[Any, ...]) -> Iterator[Any]:
    """Yield what must not be negative so that there is such a law: means of squares, as determinants."""
    for order in range(1, (len(moments) + 1) // 2 + 1):
        yield expand(Matrix(order, order, lambda row, column: moments[row + column]).det())


def _is_of_normal(moments: tuple[Any, ...]) -> bool:
    """Return whether moments are those of a normal law, as far as they are given."""
    spread = moments[2] - moments[1] ** 2 if len(moments) > len("01") else S.Zero
    orders = range(len("012"), len(moments))
    following = (moments[1] * moments[one - 1] + (one - 1) * spread * moments[one - 2] for one in orders)
    return all(expand(known - other) == 0 for known, other in zip(moments[3:], following, strict=True))


def _refuse_ranges_outside(side: Any) -> None:
    """Refuse a sum or integral over values that its variable, by its own assumptions, does not have.

    Raises:
        Refused: there is one.
    """
    for one in parts_of(side, Sum, Integral):
        for variable, *ends in one.limits:
            if isinstance(variable, Idx) or len(ends) != 2:
                continue
            low, high = ends
            domain = assumed(variable)
            # An integral may run backwards, so that either of its ends may be the lower one.
            lower, upper = (ends, ends) if isinstance(one, Integral) else ([low], [high])
            rooms = [end - domain.inf for end in lower] if domain.inf != -oo else []
            rooms += [domain.sup - end for end in upper] if domain.sup != oo else []
            if domain != S.Complexes and not all(room.is_extended_nonnegative for room in rooms):
                raise Refused(f"{variable} runs from {low} to {high}, and is assumed to be in {domain}")
