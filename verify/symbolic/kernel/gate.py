"""The gate of well-formedness: names, what is bound and free, random and constant, laws and definitions."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from itertools import pairwise
from typing import Any

from sympy import (
    Derivative,
    Dummy,
    Eq,
    FiniteSet,
    Idx,
    Indexed,
    IndexedBase,
    Integral,
    Interval,
    Limit,
    Matrix,
    Ne,
    Range,
    S,
    Sum,
    Symbol,
    exp,
    expand,
    fraction,
    latex,
    oo,
    simplify,
)  # fmt: skip
from sympy.core.function import AppliedUndef
from sympy.matrices.expressions import MatrixSymbol
from sympy.sets.sets import Union

from verify.symbolic.kernel.hypotheses import (
    SYMBOLS,
    Hypotheses,
    Population,
    Refused,
    Vectors,
    assumed,
    free_symbols,
    has_any,
    kept,
    parts_of,
)
from verify.symbolic.kernel.words import E, Var, largest, n, p, s


@kept
def upwards(total: Any) -> tuple[Any, ...]:
    """Return the conditions under which a sum runs upwards, or is empty; none where it surely does.

    Raises:
        Refused: it never does, or that is not decided.
    """
    found = []
    for index, low, high in total.limits:
        terms = high - low + 1
        if terms.is_integer and terms.is_nonnegative:
            continue
        inner = {one for one in free_symbols(terms) if isinstance(one, Idx) or one in bound_in(total)}
        if inner or not terms.is_integer:
            raise Refused(f"not known: {index} runs upwards, from one whole number to another, in {total}")
        found.append(at_least_0(terms, f"{index} runs backwards in {total}"))
    return tuple(found)


def at_least_0(number: Any, otherwise: str) -> Any:
    """Return that a number is not negative, as a relation.

    Raises:
        Refused: it is, or may be complex.
    """
    if not number.is_real or number.is_negative:
        raise Refused(otherwise)
    return number >= 0


def refuse_hidden_random(law: Any, under: Hypotheses, *sides: Any) -> None:
    """Refuse what would count as a constant under what may be a law, and is random, or made of what is.

    Raises:
        Refused: there is something.
    """
    if not isinstance(law, Population | Vectors):
        return
    hidden = random_names(under if under.law else replace(under, law=law)) - law.moments.keys()
    for one in hidden | ({p, largest} if s in law.moments else set()):
        if any(has_any(side, [one]) for side in sides):
            raise Refused(f"{one} is random, or made of what is, and no constant")


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


def refuse_unless_large(order: tuple[Any, int] | None, found: Hypotheses, *sides: Any) -> None:
    """Refuse first terms for large values of a symbol that is bounded, or does not grow alone.

    Raises:
        Refused: it is such a symbol.
    """
    if order is None:
        return
    large, _ = order
    if found.domain(large).sup != oo:
        raise Refused(f"{large} is bounded")
    if large in dict(found.definitions):
        raise Refused(f"{large} stands for {dict(found.definitions)[large]}")
    for one in depending_on(large, found) - {large}:
        if any(side.has(one) for side in sides):
            raise Refused(f"{one} depends on {large}")
    said = [(one,) for one in found.conditions if not isinstance(one, Ne)]
    for one in (*said, *(tuple(about) for _, *about in found.entries)):
        if any(has_any(part, [large]) for part in one):
            raise Refused(f"not known for large {large}: {', '.join(map(str, one))}")


def depending_on(symbol: Any, found: Hypotheses) -> set[Any]:
    """Return what is defined by a symbol, or has moments by it, and the symbol itself.

    Probabilities and the largest score depend on the number of keys.
    """
    holding = {symbol, *((p, largest) if symbol == n else ())}
    if isinstance(found.law, Population):
        holding |= {one for one, known in found.law.laws if any(has_any(at, [symbol]) for at in known or ())}
    for _ in found.definitions:
        holding |= {_of_all(name) for name, meaning in found.definitions if has_any(meaning, holding)}
    return holding


def _of_all(name: Any) -> Any:
    """Return the function of which one value is defined, for all others may follow; else what is defined."""
    return name.func if isinstance(name, AppliedUndef) else name


def random_names(hypotheses: Hypotheses, *sides: Any) -> set[Any]:
    """Return what is random: components of the law, and what is defined by them, but not by means of them.

    Where no law is assumed, what is defined by the families inside means: these themselves may be given.
    """
    law = hypotheses.law
    first = set(law.moments) if law else averaged(*sides)
    found = set(first)
    for _ in hypotheses.definitions:
        pairs = ((_of_all(name), outside_means(meaning)) for name, meaning in hypotheses.definitions)
        found |= {name for name, meaning in pairs if has_any(meaning, found)}
    return found if law else found - first


def averaged(*sides: Any) -> set[Any]:
    """Return the families that stand inside a mean; scores, probabilities and the largest go together."""
    means = [one for side in sides for one in parts_of(side, E, Var)]
    found = {base for one in means for base in parts_of(one, IndexedBase)}
    rows = {p, s, largest}
    return found | rows if any(has_any(one, rows) for one in means) else found


@kept
def outside_means(side: Any) -> Any:
    """Return an expression with 1 for every mean in it."""
    means = parts_of(side, E, Var)
    return side.xreplace(dict.fromkeys(means, S.One)) if means else side


_BINDERS = (Sum, Integral, Limit)


@kept
def bound_in(expression: Any) -> frozenset[Any]:
    """Return the names that sums, integrals and limits of an expression bind."""
    found: set[Any] = set()
    for one in parts_of(expression, *_BINDERS):
        found.update(one.args[1:2] if isinstance(one, Limit) else one.variables)
    return frozenset(found)


def labels_in(*expressions: Any) -> set[Any]:
    """Return the symbols that name families of entries, or indices, in expressions."""
    return {named.label for one in expressions for named in parts_of(one, IndexedBase, Idx)}


def _refuse_labels_as_numbers(hypotheses: Hypotheses, sides: tuple[Any, ...]) -> None:
    """Refuse a symbol that names a family or an index, and a number, for they would print alike.

    Raises:
        Refused: there is one.
    """
    stated = (*sides, *hypotheses.conditions)
    numbers = {one for one, _ in (*hypotheses.domains, *hypotheses.definitions)}
    for one in stated:
        numbers |= _numbers_in(one)
    if both := labels_in(*stated) & numbers:
        raise Refused(f"names a family or an index, and a number: {', '.join(sorted(map(str, both)))}")


@kept
def _numbers_in(expression: Any) -> frozenset[Any]:
    """Return the symbols of an expression, but for those that name its families and indices."""
    found: set[Any] = set()
    waiting = [expression]
    while waiting:
        node = waiting.pop()
        if isinstance(node, Symbol):
            found.add(node)
        elif not isinstance(node, IndexedBase | Idx):
            waiting.extend(node.args)
    return frozenset(found)


def changed_in(expression: Any) -> frozenset[Any]:
    """Return the names that an expression binds, and those by which it differentiates."""
    by = {one for each in parts_of(expression, Derivative) for one in each.variables}
    return bound_in(expression) | by


@kept  # a chain of one step is that step
def refuse_malformed(hypotheses: Hypotheses, *sides: Any) -> None:
    """Refuse two symbols of one name, a name both bound and free, and what is random outside every mean.

    An index may be bound on one side and free on the other: it names any one entry there, and no number.

    Raises:
        Refused: a side is not well formed.
    """
    names: dict[str, Any] = {}
    for side in sides:
        refuse_names(side)
        for one in parts_of(side, Symbol, MatrixSymbol, Indexed, IndexedBase, AppliedUndef):
            if names.setdefault(_printed(one), one) != one:
                raise Refused(f"two symbols print as {one}")
    _refuse_never(hypotheses)
    _refuse_definitions(hypotheses, *sides)
    defined = Counter(name.func for name, _ in hypotheses.definitions if isinstance(name, AppliedUndef))
    if any(times > 2 for times in defined.values()):  # its first value and its next
        raise Refused("a function is defined by two recursions")
    if hypotheses.law:
        _refuse_impossible(hypotheses, hypotheses.law)
    for side in sides:
        _refuse_ranges_outside(side)
    _refuse_bound_and_free(hypotheses, sides)
    _refuse_labels_as_numbers(hypotheses, sides)
    if any(parts_of(side, E, Var) for side in sides):
        _refuse_random_outside(hypotheses, sides)


@kept
def _printed(one: Any) -> str:
    """Return how a name is printed: d1 as d_1, alpha as a Greek letter, and a family apart from a number."""
    if isinstance(one, IndexedBase):
        return f"[{_printed(one.label)}]"
    plain = Symbol(one.name) if isinstance(one, Symbol | MatrixSymbol) else one
    return re.sub(r"[\s{}]|\\left|\\right", "", latex(plain))


@cache
def _indices_of(name: str) -> frozenset[str]:
    """Return the names in the indices and brackets of a name, and the letters of one of two letters."""
    inside = " ".join(map("".join, re.findall(r"_\{([^{}]*)\}|_([A-Za-z0-9]+)|\(([^()]*)\)", name)))
    found = re.findall("[A-Za-z]+", inside)
    return frozenset([*found, *"".join(one for one in found if len(one) == len("ij"))])


def _refuse_never(hypotheses: Hypotheses) -> None:
    """Refuse a condition that is never true, and a domain of what is no symbol or that rules may misread.

    Raises:
        Refused: there is one.
    """
    for condition in hypotheses.conditions:
        if _is_false(condition) or _is_false(condition.xreplace(dict(hypotheses.definitions))):
            raise Refused(f"never true: {condition}")
    for one, to in hypotheses.domains:
        if type(one) not in SYMBOLS:
            raise Refused("only a symbol has a domain")
        if not (_is_plain(to) and _is_plain(hypotheses.domain(one))):
            raise Refused(f"a domain is of intervals, whole numbers upwards, or single numbers, not {to}")


def _is_plain(domain: Any) -> bool:
    """Return whether a domain is one that rules read: not empty, upwards, and with numbers for its ends."""
    if type(domain) is Union:
        return all(map(_is_plain, domain.args))
    if type(domain) is FiniteSet:
        return all(one.is_number for one in domain)
    if type(domain) is Range:
        return bool(domain.step == 1 and domain.start < domain.stop)
    if type(domain) is Interval:
        return bool(domain.start.is_number and domain.end.is_number)
    return domain in (S.Reals, S.Integers, S.Complexes)


@kept
def _is_false(condition: Any) -> bool:
    """Return whether a relation is false for all values of its symbols, as far as SymPy knows."""
    return bool(condition.func(*condition.args) == False)  # noqa: E712  # SymPy's truth


def _refuse_bound_and_free(hypotheses: Hypotheses, sides: tuple[Any, ...]) -> None:
    bound = {one for side in sides for one in bound_in(side)}
    stated = set().union(*map(free_symbols, (*sides, *hypotheses.conditions)))
    free = {one for one in stated if not isinstance(one, Idx)} | {one for one, _ in hypotheses.domains}
    for one in hypotheses.conditions:
        free |= free_symbols(one.xreplace(dict.fromkeys(parts_of(one, Indexed), S.One)))
    bound &= free
    kinds = (Sum, Integral, Derivative)
    added = {one for side in sides for whole in parts_of(side, *kinds) for one in whole.variables}
    bound |= added & set().union(*map(free_symbols, hypotheses.law.stated if hypotheses.law else ()))
    if any(has_any(side, [p, largest]) for side in sides):
        bound |= added & {n}
    if bound:
        raise Refused(f"a name is bound and free: {', '.join(sorted(map(str, bound)))}")


def _refuse_random_outside(hypotheses: Hypotheses, sides: tuple[Any, ...]) -> None:
    """Refuse what is random outside every mean, and what is assumed to equal something.

    Where scores are random probabilities and the largest score are.

    Raises:
        Refused: there is something.
    """
    random = random_names(hypotheses, *sides)
    if s in random:
        random |= {p, largest}
    given = (one for one in hypotheses.conditions if isinstance(one, Eq)) if hypotheses.law else ()
    outside = [outside_means(one) for one in (*sides, *given)]
    for one in random:
        if any(has_any(part, [one]) for part in outside):
            raise Refused(f"{one} is random, and stands outside every mean")


@kept
def refuse_names(side: Any) -> None:
    """Refuse a name that prints as a number, an expression, a relation or a mean, or looks like another.

    Raises:
        Refused: there is one.
    """
    directions = {one.args[3] for one in parts_of(side, Limit)}
    named = [one.name for one in parts_of(side, Symbol, MatrixSymbol) - directions]
    named += [type(one).__name__ for one in parts_of(side, AppliedUndef)]
    for name in named:
        if not _is_name(name):
            raise Refused(f"{name} is no name of a symbol")
    for whole in parts_of(side, *_BINDERS, Derivative):
        changed = set(map(str, changed_in(whole)))
        for one in parts_of(whole, Symbol) - directions - {largest}:
            if not changed.isdisjoint(_indices_of(one.name)):
                raise Refused(f"{one} prints as if it depended on what {whole} is over")


GREEK = (
    "alpha|beta|gamma|delta|(?:var)?epsilon|zeta|eta|(?:var)?theta|iota|kappa|lambda|mu|nu|xi|(?:var)?rho|"
    "(?:var)?sigma|tau|upsilon|(?:var)?phi|chi|psi|omega|Gamma|Delta|Theta|Lambda|Xi|Sigma|Upsilon|Phi|Psi|Omega"
)
_LETTER = rf"(?:\\(?:{GREEK}|ell)(?![A-Za-z0-9])|[A-Za-z])"
_NAME = re.compile(
    rf"(?:{_LETTER}|\\(?:hat|bar|tilde)(?:\{{{_LETTER}\}}|(?={_LETTER}))"
    rf"|\\(?:max|cdot)(?![A-Za-z0-9])|(?<=[A-Za-z0-9])[0-9]|_(?:[A-Za-z0-9]++|\{{[^{{}}]*\}})"
    rf"|(?<=.)\([^()]*\)|'|\||(?<=.)[ ](?={_LETTER}))+"
)
_MEANING = frozenset({"pi", "oo", "zoo", "log", "ln", "exp", "sqrt"})


def _is_name(name: str) -> bool:
    """Return whether a symbol's name is one: letters with indices, accents and arguments, no expression.

    What stands in an index, or in brackets as the event of a probability does, says nothing about the whole.
    """
    spaced = " " in re.sub(r"\(.*\)", "", name) and "\\" not in name
    return bool(_NAME.fullmatch(name)) and not spaced and name not in _MEANING and name.isascii()


def _refuse_definitions(hypotheses: Hypotheses, *sides: Any) -> None:
    """Refuse that a side binds, or differentiates by, what stands for something, or what that is made of.

    The symbol would be a constant there, and what it stands for is none.

    Raises:
        Refused: one does.
    """
    if not hypotheses.definitions:
        return
    binders = {one for side in sides for one in parts_of(side, *_BINDERS, Derivative)}
    for name, meaning in hypotheses.definitions:
        if not (type(name) in SYMBOLS or isinstance(name, IndexedBase | Indexed | AppliedUndef)):
            raise Refused(f"{name} stands for itself")
        if name == largest or (name == p and not _is_softmax(*meaning.args)):
            raise Refused(f"{name} has a meaning of its own, and is not {meaning}")
        if has_any(meaning, depending_on(name, hypotheses)):
            raise Refused(f"{name} is defined by itself")
        if isinstance(name, IndexedBase):
            continue
        changed = {one for each in binders if has_any(each, [_of_all(name)]) for one in changed_in(each)}
        if name in changed or any(rests_on(meaning, one) for one in changed):
            raise Refused(f"{name} stands for {meaning}, which is no constant here")


def rests_on(meaning: Any, by: Any) -> bool:
    """Return whether a symbol is free in a meaning, or an entry may be one of its family's there."""
    if not isinstance(by, Indexed):
        return by in free_symbols(meaning)
    return has_any(meaning, [by.base, *([p, largest] if by.base == s else [])])


def _is_softmax(indices: Any, weight: Any) -> bool:
    """Return whether a weight is an exponential of what is real over the sum of all."""
    top, total = fraction(weight, exact=True)
    if not (isinstance(top, exp) and isinstance(total, Sum) and len(total.limits) == 1):
        return False
    real = {one: Dummy(real=True) for one in top.atoms(Indexed)}
    each = total.function.xreplace({total.variables[0]: indices[-1]})
    return bool(each == top and top.args[0].xreplace(real).is_real)


def _refuse_impossible(hypotheses: Hypotheses, law: Population | Vectors) -> None:
    """Refuse a law of numbers that no random variable has, or one that is a constant elsewhere.

    Raises:
        Refused: it is.
    """
    _refuse_entries_of(hypotheses, law)
    for one in law.moments.keys() & {p, largest, *dict(hypotheses.definitions)}:
        raise Refused(f"{one} is random by itself, and defined by something else")
    if isinstance(law, Vectors):
        return
    domains = {one: hypotheses.domain(one) for one in law.moments if isinstance(one, Symbol)}
    for group in law.alike:
        if len({(law.moments.get(one), domains.get(one, S.Reals)) for one in group}) > 1:
            raise Refused(f"different laws of what is alike: {', '.join(map(str, group))}")
    given = [moment for _, moments in law.laws for moment in moments or ()]
    if random := next((one for one in law.moments if any(has_any(moment, [one]) for moment in given)), None):
        raise Refused(f"{random} is random, and stands in a moment of a law")
    _refuse_impossible_moments(Hypotheses(hypotheses.domains), law)


def _refuse_entries_of(hypotheses: Hypotheses, law: Population | Vectors) -> None:
    """Refuse what is said of all values of a random number, beside its law; it may be 0 with probability 0.

    Raises:
        Refused: something is.
    """
    random = random_names(hypotheses) | ({p} if s in law.moments else set())
    for one in hypotheses.entries:
        among = getattr(law, "normal", ()) if one[0] == "bounded" else random
        if one[0] in {"constant", "bounded", "ordered"} and one[1] in among:
            raise Refused(f"{one[1]} is random in one part, and {one[0]} in another")
    if any(map(_contradict, _within_bounds(hypotheses))):
        raise Refused("no law within these bounds has these moments")
    given = {one for one, known in law.moments.items() if known is not None or isinstance(law, Vectors)}
    given.update(*getattr(law, "alike", ()))
    for condition in hypotheses.conditions:
        is_rare = isinstance(condition, Ne) or (condition.lhs - condition.rhs).is_extended_nonnegative
        if not is_rare and has_any(outside_means(condition), given):
            raise Refused(f"not known of all that is random: {condition}")


@kept
def _refuse_impossible_moments(hypotheses: Hypotheses, law: Population) -> None:
    for one, moments in law.laws:
        domain = hypotheses.domain(one) if isinstance(one, Symbol) else S.Reals
        if one in law.normal and domain != S.Reals:
            raise Refused(f"a normal number may be any real one, and {one} is in {domain}")
        if one in law.normal and moments is not None and not _is_of_normal(moments):
            raise Refused(f"these are no moments of a normal number: {', '.join(map(str, moments))}")
        if domain != S.Complexes and any(moment.is_real is False for moment in moments or ()):
            raise Refused(f"a moment of {one} is not real")
        if moments is not None:
            _refuse_impossible_on(domain, one, moments)


def _refuse_impossible_on(domain: Any, one: Any, moments: tuple[Any, ...]) -> None:
    """Refuse moments that no law on a domain has, or of which that is not known.

    Raises:
        Refused: they are such moments.
    """
    if moments[:1] != (S.One,):
        raise Refused(f"the mean of 1 is 1, not {moments[:1]}")
    sequences = [moments]
    if len(moments) > len("01") and domain not in (S.Reals, S.Complexes):
        end = domain.start if domain.sup == oo else domain.end if domain.inf == -oo else None
        if type(domain) is not Interval or end is None:
            raise Refused(f"not known whether a law on {domain} has the moments of {one}")
        sign = 1 if domain.sup == oo else -1
        sequences += [tuple(expand(sign * (high - end * low)) for low, high in pairwise(moments))]
    if any(map(_contradict, sequences)):
        raise Refused(f"no law on {domain} has the moments of {one}")
    if len(moments) > 1 and domain.contains(moments[1]) is S.false:
        raise Refused(f"the mean of {one} lies outside its domain")


def _within_bounds(hypotheses: Hypotheses) -> Iterator[tuple[Any, ...]]:
    """Yield the moments of what is bounded by M, times what it falls short of M² by, squared."""
    for kind, *about in hypotheses.entries:
        if kind == "bounded" and isinstance(hypotheses.law, Population):
            known = hypotheses.law.moments.get(about[0]) or ()
            yield tuple(about[1] ** 2 * low - high for low, high in zip(known, known[2:], strict=False))


def moment_minors(hypotheses: Hypotheses) -> Iterator[Any]:
    """Yield what must not be negative so that there is such a law: means of squares, as determinants."""
    given = hypotheses.law.laws if isinstance(hypotheses.law, Population) else ()
    on = [part for one, known in given for part in (known, *_from_ends(one, known, hypotheses))]
    for moments in (*on, *_within_bounds(hypotheses)):
        yield from _minors(tuple(moments or ()))


def _from_ends(one: Any, moments: Any, hypotheses: Hypotheses) -> Iterator[tuple[Any, ...]]:
    """Yield the moments of a number, times how far it lies from a finite end of its domain."""
    domain = hypotheses.domain(one) if isinstance(one, Symbol) else S.Reals
    for sign, end in () if domain == S.Complexes else ((1, domain.inf), (-1, domain.sup)):
        if end.is_finite:
            yield tuple(sign * (high - end * low) for low, high in pairwise(moments or ()))


def _hankel(moments: Any, order: int) -> Any:
    return Matrix(order, order, lambda row, column: moments[row + column])


@cache
def _minors(moments: tuple[Any, ...]) -> tuple[Any, ...]:
    """Return the leading determinants of all orders that moments have."""
    return tuple(expand(_hankel(moments, order).det()) for order in range(1, (len(moments) + 1) // 2 + 1))


@cache
def _is_of_normal(moments: tuple[Any, ...]) -> bool:
    """Return whether moments are those of a normal law, as far as they are given."""
    spread = moments[2] - moments[1] ** 2 if len(moments) > len("01") else S.Zero
    orders = range(len("012"), len(moments))
    following = (moments[1] * moments[one - 1] + (one - 1) * spread * moments[one - 2] for one in orders)
    return all(expand(known - found) == 0 for known, found in zip(moments[3:], following, strict=True))


@cache
def _contradict(moments: tuple[Any, ...]) -> bool:
    """Return whether no random variable has these moments, or none that is weighted by a positive one.

    A square would have a negative mean; or one has the mean 0, and a multiple of it another. All of a law of
    few values follows from as many moments.
    """
    for order, minor in enumerate(_minors(moments), 1):
        if minor.is_negative:
            return True
        if minor == 0:
            # The coefficients of a polynomial, whose square has the mean 0.
            (vanishing,) = _hankel(moments, order).nullspace()
            shifts = range(len(moments) - order + 1)
            means = (sum(c * moments[at + shift] for at, c in enumerate(vanishing)) for shift in shifts)
            return any(simplify(mean) != 0 for mean in means)
    return False


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
