"""What a theorem speaks of exists: its integrals and limits converge, and its means are numbers.

X - X is 0 for a number X alone: of an infinite one 0 = 1 would follow. So whatever a side names is known to
exist: by a small criterion, as its rule shows, or as a premise has it. What is not is *open*. It stands among
the hypotheses, as ("exists", X), or with another Y by which it would, until something shows that it exists; a
derivation that ends with one is not proved. Under a law of which nothing is assumed, that means exist is the
hypothesis, and printed.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields, replace
from functools import cache, partial
from typing import Any

from sympy import (
    Abs,
    Add,
    Derivative,
    Dummy,
    I,
    IndexedBase,
    Integral,
    Limit,
    Max,
    Min,
    Mul,
    Pow,
    Sum,
    Symbol,
    Trace,
    Transpose,
    cos,
    diff,
    erf,
    exp,
    log,
    oo,
    sign,
    sin,
    tanh,
)
from sympy.matrices.expressions import MatAdd, MatMul
from sympy.matrices.expressions.matexpr import MatrixElement

from verify.symbolic.kernel.core import Rule, Same, Theorem, premises_of
from verify.symbolic.kernel.gate import random_names
from verify.symbolic.kernel.hypotheses import (
    NOTHING,
    Hypotheses,
    Refused,
    Vectors,
    component,
    has_any,
    parts_of,
)
from verify.symbolic.kernel.limits import limit_at_infinity
from verify.symbolic.kernel.ranges import is_nonzero, range_from
from verify.symbolic.kernel.signs import is_known, is_real, refuse_unless_smooth, visibly
from verify.symbolic.kernel.special_integrals import ByFormula
from verify.symbolic.kernel.words import E, Var, largest, p, s

_EXISTS = "exists"
_KINDS = (Integral, Limit, Derivative, E, Var)
_OF_VECTORS = 2
"""The order of the moments that covariances say."""


def open_in(theorem: Theorem) -> list[Any]:
    """Return what a theorem speaks of and is not known to exist, in a fixed order."""
    return sorted({one[1] for one in _open(theorem.hypotheses)}, key=str)


def _open(under: Hypotheses) -> set[tuple[Any, ...]]:
    return {one for one in under.entries if one[0] == _EXISTS}


def where_all_exists(rule: Rule, under: Hypotheses, lhs: Any, rhs: Any) -> Hypotheses:
    """Return hypotheses, among them that there is what the sides name, unless that is known.

    Raises:
        Refused: an integral has no ends, or is one of numbers alone that is not known to converge.
    """
    named = parts_of(lhs, *_KINDS) | parts_of(rhs, *_KINDS)
    if isinstance(rule, Same) or not (named or _open(under)):  # a chain begins with its start
        return under
    names = {name: meaning for name, meaning in under.definitions if isinstance(name, Symbol)}

    def plain(one: Any) -> Any:
        return plain(new) if (new := one.xreplace(names)) != one else one

    sides = plain(lhs), plain(rhs)
    left, right = (parts_of(side, *_KINDS) for side in sides)
    given = replace(under, entries=under.entries - _open(under))
    shown = _by_premises(rule, under, plain) | _by_rule(rule, sides, given)
    doubted = {one for one in (left | right) - shown if not _is_there(one, given)}
    alike, by_others = _alike(rule, sides, (doubted - right, doubted - left), given)
    found = {(_EXISTS, *map(plain, about)) for _, *about in _open(under)} | by_others
    found |= {(_EXISTS, one) for one in doubted - alike - {about[0] for _, *about in found}}
    shown |= alike
    while settled := {
        one for one in found if any(part in shown or _is_there(part, given) for part in one[1:])
    }:
        found -= settled
        shown |= {about[0] for _, *about in settled}
    for _, one, *_ in found:
        if isinstance(one, Integral) and _is_of_numbers(one):
            raise Refused(f"not known to converge: {one}")
    return replace(given, entries=given.entries | found)


def _by_premises(rule: Rule, under: Hypotheses, plain: Callable[[Any], Any]) -> set[Any]:
    """Return what premises name without doubt, of means those under laws that are the same here."""
    shown: set[Any] = set()
    for known in premises_of(rule):
        if not isinstance(known.rule, Same):
            doubted = {plain(part) for one in _open(known.hypotheses) for part in one[1:]}
            named = parts_of(plain(known.lhs), *_KINDS) | parts_of(plain(known.rhs), *_KINDS)
            law = known.hypotheses.law
            kept = {one for one in named - doubted if law == under.law or _is_under(law, one, under.law)}
            shown |= {plain(rule.put(one)) for one in kept} if rule.moves else kept
    return shown


def _is_under(law: Any, part: Any, now: Any) -> bool:
    """Return whether a law says as much of what is random in a part as another does, which may say more."""
    if now is None or not parts_of(part, E, Var):
        return True
    assumed = dict(law.moments) if law else {}
    return not any(assumed.get(one) is None for one in now.moments if has_any(part, [one]))


def _by_rule(rule: Rule, sides: tuple[Any, Any], under: Hypotheses) -> set[Any]:
    """Return what a rule shows to exist: integrals over variables in its fields, and the limit that it finds.

    A formula does every such integral; other rules those that stand by themselves in what they start at, and
    what comes of it does depend on.
    """
    if not rule.integrates:
        return set()
    given = [getattr(rule, part.name) for part in fields(rule)]  # type: ignore[arg-type]
    over = {one for each in given for one in (each if isinstance(each, tuple) else (each,))}
    shown = {one for one in sides[:1] if isinstance(one, Limit)}
    for at, side in enumerate(sides):
        for one in parts_of(side, Integral):
            done = over.issuperset(one.variables)
            if done and (isinstance(rule, ByFormula) or _moves(side, one, under, surely=at > 0)):
                shown.add(one)
    return shown


def _moves(side: Any, part: Any, under: Hypotheses, *, surely: bool = True) -> bool:
    """Return whether a side is a part times something, ``surely`` not 0, plus what is free of it."""
    hole = Dummy()
    slope = diff(side.xreplace({part: hole}), hole)
    return slope != 0 and not slope.has(hole) and (not surely or is_nonzero(slope, under))


def _alike(
    rule: Rule, sides: tuple[Any, Any], doubted: tuple[set[Any], set[Any]], under: Hypotheses
) -> tuple[set[Any], set[tuple[Any, ...]]]:
    """Return what exists of that which is doubted on one side alone, and which does by what on the other.

    That is so if a rule makes one of the other. What stands inside goes with the whole.
    """
    outer = [
        [one for one in each if not any(other != one and other.has(one) for other in each)]
        for each in doubted
    ]
    if not rule.existence or max(map(len, outer)) > 1:
        return set(), set()
    alike, by_others = set[Any](), set[tuple[Any, ...]]()
    for side, parts, mine, others in zip(sides, doubted, outer, reversed(outer), strict=True):
        if mine and _moves(side, mine[0], under):
            if others and rule.existence == "alike":
                by_others |= {(_EXISTS, one, *others) for one in parts}
            else:
                alike |= parts
    return alike, by_others


def _is_of_numbers(one: Integral) -> bool:
    """Return whether an integral depends on nothing, up to a factor."""
    function = one.function.as_independent(*one.variables, as_Add=False)[1]
    ends = [end for _, *both in one.limits for end in both]
    return function.free_symbols <= {*one.variables} and all(end.is_number for end in ends)


def _is_there(one: Any, under: Hypotheses) -> bool:
    """Return whether something surely exists, by itself."""
    if isinstance(one, E | Var):
        inside = one.args[0] ** 2 if isinstance(one, Var) else one.args[0]
        return _has_mean(inside, Hypotheses(law=under.law, definitions=under.definitions))
    return _is_number(one, replace(under, law=None, entries=NOTHING.entries))


@cache
def _is_number(one: Any, under: Hypotheses) -> bool:
    """Return whether an integral, a limit or a derivative surely exists."""
    if isinstance(one, Limit):
        return one.args[2] == oo and _refuses_nothing(limit_at_infinity, *one.args[:2], under)
    if isinstance(one, Derivative):
        smooth = partial(refuse_unless_smooth, ends=True)
        return all(_refuses_nothing(smooth, one.expr, by, under) for by in one.variables)
    if any(len(limit) != len("xab") for limit in one.limits):
        raise Refused(f"{one} has no ends")
    ((variable, low, high), *outer) = one.limits
    if outer:
        return False
    function = one.function.as_independent(variable, as_Add=False)[1]
    try:
        on = range_from(low, high, under)
    except Refused:
        return False
    return on.converges(function.xreplace({variable: on.at}))


def _refuses_nothing(rule: Callable[..., Any], *given: Any) -> bool:
    try:
        rule(*given)
    except Refused:
        return False
    return True


@cache
def _has_mean(inside: Any, under: Hypotheses) -> bool:
    """Return whether something has a mean: as is assumed, or for it grows no faster than moments allow."""
    if under.law is None:
        return True
    growth = _Growth(under)
    powers = growth.of(inside)
    return powers is not None and all(power <= growth.orders[one] for one, power in powers.items())


class _Growth:
    """Bounds by products of powers of what is random, and of exponentials of normal numbers."""

    def __init__(self, under: Hypotheses) -> None:
        law: Any = under.law
        self.meanings = dict(under.definitions)
        if isinstance(law, Vectors):
            self.names = {one: group for group in law.groups() for one in group}
            self.orders: dict[Any, Any] = dict.fromkeys(law.groups(), oo if law.normal else _OF_VECTORS)
        else:
            known = {one: moments for one, moments in law.laws if moments is not None}
            self.names = {one: one for one in known}
            self.orders = {one: oo if one in law.normal else len(known[one]) - 1 for one in known}
        # What may have any law for which means exist counts as a number.
        self.random = random_names(under) - (law.moments.keys() - self.names.keys())
        if s in self.random:
            self.random |= {p, largest}

    def of(self, part: Any) -> dict[Any, Any] | None:
        """Return the powers of such a bound, none for what is bounded; None where no bound is known.

        Components count by their family, vectors by all that depend on each other.
        """
        base = component(part)
        if base in self.names:
            return {self.names[base]: 1}
        if not has_any(part, self.random) or base == p:
            return {}
        if base in self.meanings:
            meaning = self.meanings[base]
            return self.of(meaning.args[1] if isinstance(base, IndexedBase) else meaning)
        if part == largest:
            return self.of(s[1])
        found = next((bound for kinds, bound in _BOUNDS.items() if isinstance(part, kinds)), None)
        return found and found(self, *part.args)

    def _sum(self, *parts: Any) -> dict[Any, Any] | None:
        return self._joined(parts, max)

    def _product(self, *parts: Any) -> dict[Any, Any] | None:
        found = self._joined(parts, lambda one, other: one + other)
        if found is None and is_known(whole := Mul(*parts), NOTHING) and is_known(1 - whole, NOTHING):
            return {}
        return found

    def _joined(self, parts: tuple[Any, ...], join: Any) -> dict[Any, Any] | None:
        found: dict[Any, Any] = {}
        for one in parts:
            if (powers := self.of(one)) is None:
                return None
            for name, power in powers.items():
                found[name] = join(found.get(name, 0), power)
        return found

    def _total(self, term: Any, *about: Any) -> dict[Any, Any] | None:
        """Return that of a sum, or of a matrix's element; none of a random number of terms is known."""
        return None if any(has_any(one, self.random) for one in about) else self.of(term)

    def _power(self, base: Any, power: Any) -> dict[Any, Any] | None:
        if not power.is_number:
            return None
        if power.is_nonnegative:
            powers = self.of(base)
            return powers and {one: order * power for one, order in powers.items()}
        return {} if self._is_away(base) else None

    def _is_away(self, base: Any) -> bool:
        """Return whether one over something is bounded, which is a sum of what is not negative."""
        terms = Add.make_args(base)
        apart = all(visibly(one) or is_known(one, NOTHING) for one in terms)
        return apart and any(map(self._is_term_away, terms))

    def _is_term_away(self, term: Any) -> bool:
        """Return whether what is not negative is a positive number, or has terms exp(x) of normal numbers."""
        if not has_any(term, self.random):
            return is_known(term, NOTHING, strict=True)
        inside = term.function if isinstance(term, Sum) else term
        return isinstance(inside, exp) and self._is_linear(inside.args[0])

    def _is_linear(self, exponent: Any) -> bool:
        powers = self.of(exponent)
        normal = powers is not None and all(self.orders[one] == oo for one in powers)
        return normal and sum(powers.values()) <= 1  # type: ignore[union-attr]

    def _bounded(self, argument: Any) -> dict[Any, Any] | None:
        """Return that for what is bounded wherever its argument is real, sums of squares being positive."""
        positive = {one: Dummy(positive=True) for one in argument.atoms(Sum) if visibly(one)}
        return {} if is_real(argument.xreplace(positive)) else None

    def _exponential(self, exponent: Any) -> dict[Any, Any] | None:
        if visibly(-exponent) or is_known(-exponent, NOTHING) or self._is_linear(exponent):
            return {}
        return self._bounded(exponent / I)

    def _logarithm(self, inside: Any) -> dict[Any, Any] | None:
        if component(inside) == p:
            return self.of(s[1])
        if isinstance(inside, Sum) and isinstance(inside.function, exp):
            return self.of(inside.function.args[0])
        return self.of(inside) if self._is_away(inside) else None


_BOUNDS: dict[Any, Any] = {
    (Add, MatAdd, Max, Min): _Growth._sum,
    (Mul, MatMul, Trace, Transpose, Abs): _Growth._product,
    (Sum, MatrixElement): _Growth._total,
    Pow: _Growth._power,
    (sign, cos, sin, tanh, erf): _Growth._bounded,
    exp: _Growth._exponential,
    log: _Growth._logarithm,
}
