"""Equations: the same by canonical forms, with symbols unfolded, put in, replaced or summed."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import Any, ClassVar

from sympy import (
    Add,
    Derivative,
    Dummy,
    Eq,
    Idx,
    Indexed,
    IndexedBase,
    Integral,
    Interval,
    Limit,
    Mul,
    Pow,
    S,
    Sum,
    Symbol,
    diff,
    exp,
    expand,
    factorial,
    gamma,
    gammasimp,
    oo,
    powsimp,
    together,
)  # fmt: skip
from sympy import E as EULER
from sympy.matrices.expressions.matexpr import MatrixElement

from verify.symbolic.kernel.algebra import differs_somewhere, is_zero, vanishes_in_exponentials
from verify.symbolic.kernel.core import FLIPPED, Conclusion, Existence, Rule, Theorem
from verify.symbolic.kernel.gate import bound_in, changed_in, random_names, rests_on
from verify.symbolic.kernel.hypotheses import Hypotheses, Population, Refused, Vectors, assumed
from verify.symbolic.kernel.signs import (
    everywhere,
    is_known,
    lies_in,
    refuse_unless_smooth,
    where_defined,
)
from verify.symbolic.kernel.words import OPAQUE, E, Var, largest, p, s

_ORDERED = {"≤", "≥", "<", ">"}


@cache  # lemmas that several claims share
def same(one: Any, other: Any) -> bool:
    """Return whether two expressions are equal by canonical forms, with derivatives taken.

    These are quotients of polynomials, of exponentials and of gamma functions. Means, sums, integrals and
    limits are symbols there. Nothing is equal to what divides by 0 whatever its symbols are.
    """
    if _divides_by_zero(one) or _divides_by_zero(other):
        return False
    gap = differentiated(one) - differentiated(other)
    outer = [part for part in gap.atoms(*OPAQUE) if not is_inside(part, gap)]
    gap = gap.xreplace({part: Dummy(real=part.is_real, positive=part.is_positive) for part in outer})
    if is_zero(gap):
        return True
    if all(one.has(part) and other.has(part) for part in outer) and differs_somewhere(gap):
        return False
    if gap.has(gamma, factorial) and gammasimp(together(gap.rewrite(gamma))) == S.Zero:
        return True
    return _same_products(one, other) or vanishes_in_exponentials(gap)


def _divides_by_zero(expression: Any) -> bool:
    below = (one.base for one in expression.atoms(Pow) if one.exp.could_extract_minus_sign())
    return any(isinstance(one, Add) and is_zero(one) for one in below)


def is_inside(part: Any, whole: Any) -> bool:
    """Return whether a part stands under another mean, sum, integral or limit of a whole."""
    return any(other != part and other.has(part) for other in whole.atoms(*OPAQUE))


def differentiated(expression: Any) -> Any:
    """Return an expression with its derivatives taken, but for those under a mean, sum, integral or limit.

    One by a score stays where the probabilities or the largest score are not written out in scores.
    """
    parts = [one for one in expression.atoms(Derivative) if not (one.expr.has(*OPAQUE) or _is_by_scores(one))]
    return expression.xreplace({one: diff(one.expr, *one.variable_count) for one in parts})


def _is_by_scores(derivative: Any) -> bool:
    return bool(derivative.expr.has(p, largest) and any(one.has(s) for one in derivative.variables))


def _same_products(one: Any, other: Any) -> bool:
    """Return whether two products of powers of what is positive, and of gamma functions, are equal.

    Factorials are gamma functions, Γ(x + 1) is x Γ(x), and the exponents of every base must cancel.
    """
    if other == 0:
        return False
    ratio = (one / other).rewrite(gamma)
    ratio = gammasimp(ratio) if ratio.has(gamma) else ratio
    exponents: dict[Any, Any] = {}
    for factor in Mul.make_args(powsimp(ratio.replace(lambda e: isinstance(e, Pow), _together))):
        if not _collect(factor, S.One, exponents):
            return False
    left = {base: power for base, power in exponents.items() if expand(power) != 0}
    return not left or _is_one(left)


def _is_one(exponents: dict[Any, Any]) -> bool:
    """Return whether bases with one exponent, or its opposite, multiply to 1."""
    power = next(iter(exponents.values()))
    signs = {base: next((sign for sign in (1, -1) if expand(sign * other - power) == 0), 0)
             for base, other in exponents.items()}  # fmt: skip
    return all(signs.values()) and is_zero(Mul(*(base**sign for base, sign in signs.items())) - 1)


def _together(power: Any) -> Any:
    return Pow(together(power.base), power.exp)


def _collect(factor: Any, power: Any, exponents: dict[Any, Any]) -> bool:
    """Add the exponents of a factor's prime bases; False if one is not known to be positive.

    A power of a power is the power of the product where the base is positive, or the outer power is whole.
    """
    whole = power.is_integer
    if isinstance(factor, exp) and (whole or factor.args[0].is_real):
        factor, power = EULER, power * factor.args[0]
    if isinstance(factor, Mul):
        return all(_collect(part, power, exponents) for part in factor.args)
    if isinstance(factor, Pow) and (whole or (factor.base.is_positive and factor.exp.is_real)):
        return _collect(factor.base, power * factor.exp, exponents)
    if factor.is_Rational and factor > 0:
        for prime, times in factor.factors().items():
            exponents[prime] = exponents.get(prime, 0) + power * times
        exponents.pop(1, None)
        return True
    if not (factor.is_positive or power.is_integer):
        return False
    exponents[factor] = exponents.get(factor, 0) + power
    return True


@dataclass(frozen=True)
class Identity(Rule):
    """Both sides are the same by canonical forms, where both are defined."""

    label = "algebra: the difference of the sides is 0"

    def conclude(self, before: Any, after: Any, under: Hypotheses) -> Conclusion:
        """Return the equation."""
        if not same(before, after):
            raise Refused(f"not known to be equal: {before} and {after}")
        return Conclusion(hypotheses=where_defined(after, where_defined(before, under)))


@dataclass(frozen=True)
class Unfolded(Rule):
    """Both sides are the same once symbols stand for what they are defined as."""

    definitions: Mapping[Any, Any]
    label = "definitions put in"

    def conclude(self, before: Any, after: Any, under: Hypotheses) -> Conclusion:
        """Return the equation, with the definitions among its hypotheses."""
        for name, meaning in self.definitions.items():
            inside = {one for other in self.definitions.values() for one in other.free_symbols}
            if not name.is_Symbol or name in inside:
                raise Refused(f"{name} cannot be defined by itself")
            if not lies_in(meaning, under.domain(name), under):
                raise Refused(f"not known: {meaning} lies in {under.domain(name)}, where {name} does")
            _refuse_dependent(name, meaning, before, after)
        sides = [differentiated(side.xreplace(dict(self.definitions))) for side in (before, after)]
        if not same(*sides):
            raise Refused("the sides differ")
        defined = where_defined(after, where_defined(before, under))
        return Conclusion(hypotheses=defined.defining(*self.definitions.items()))


def _refuse_dependent(name: Any, meaning: Any, *sides: Any) -> None:
    """Refuse a name under a derivative, sum, integral, mean or limit by what it is defined by.

    Elsewhere such a name is a constant there.

    Raises:
        Refused: there is one.
    """
    for one in set().union(*(side.atoms(Derivative, *OPAQUE) for side in sides)):
        moving = set(one.variables) if isinstance(one, Derivative) else bound_in(one)
        if one.has(name) and any(rests_on(meaning, by) for by in moving):
            raise Refused(f"{name} depends on what {one} is over; write it out there")


@dataclass(frozen=True)
class Assuming(Rule):
    """Parts are replaced by what they are assumed to equal: the ``equations`` become hypotheses.

    They are about constants, so that no such part may stand under a mean, integral, derivative or limit.
    """

    equations: tuple[Any, ...]
    label = "what parts of it are assumed to be is put in"

    def conclude(self, before: Any, after: Any, under: Hypotheses) -> Conclusion:
        """Return the equation, with what is assumed among its hypotheses."""
        for one in self.equations:
            _refuse_unassumable(one, under)
        holes = {one.lhs: (Dummy(), one.rhs) for one in self.equations}
        opened = before.xreplace({part: hole for part, (hole, _) in holes.items()})
        if not all(opened.has(hole) for hole, _ in holes.values()):
            raise Refused("a part does not stand in it")
        if any(one.has(*dict(holes.values())) for one in opened.atoms(E, Var, Integral, Derivative, Limit)):
            raise Refused("a part stands under a mean, an integral, a derivative or a limit")
        if not same(opened.xreplace(dict(holes.values())), after):
            raise Refused("the other side is not this with the parts replaced")
        free = {name for one in self.equations for name in one.free_symbols}
        if free & (bound_in(before) | bound_in(after)) or any(isinstance(one, Idx) for one in free):
            raise Refused("a name in what is assumed is bound")
        found = where_defined(after, where_defined(before, under))
        for one in self.equations:
            found = found.having(one)
        return Conclusion(hypotheses=found)


def _has_own_value(part: Any) -> bool:
    """Return whether a part is a symbol, an entry, a mean of a symbol, or a sum of squares of entries."""
    if isinstance(part, Sum) and isinstance(part.function, Pow) and part.function.exp == 2:
        return _has_own_value(part.function.base)
    if isinstance(part, E):
        return bool(part.args[0].is_Symbol)
    return isinstance(part, Symbol | Indexed | MatrixElement)


def _refuse_unassumable(equation: Any, under: Hypotheses) -> None:
    """Refuse what gives no part a value of its own, or a covariance that is more than both vectors vary.

    Raises:
        Refused: it is so, or not known.
    """
    if not isinstance(equation, Eq):
        raise Refused("only an equation replaces a part")
    part, value = equation.args
    if not _has_own_value(part):
        raise Refused(f"{part} has no value of its own: assume one of a symbol, an entry or a mean")
    spreads = under.law.covariances if isinstance(under.law, Vectors) else ()
    own = {one: matrix for one, other, matrix in spreads if one == other}
    for one, other, matrix in spreads:
        if one == other or not (isinstance(part, MatrixElement) and part.parent == matrix):
            continue
        places = zip((one, other), (part.i, part.j), strict=True)
        spread = Mul(*(own[at][i, i] if own[at].is_Matrix else own[at] for at, i in places))
        sizes = {each: Dummy(nonnegative=True) for each in spread.atoms(MatrixElement)}
        if not is_known((spread - value**2).xreplace(sizes), under):
            raise Refused(f"not known to be a covariance: {value} may be more than both vary")


@dataclass(frozen=True)
class Replaced(Rule):
    """A part of an expression is replaced by what a ``theorem`` says of it.

    An equation replaces it anywhere; a bound where the whole moves one way with that part, by the sign of the
    slope.
    """

    theorem: Theorem
    label = "what was derived for a part of it is put in"

    def conclude(self, before: Any, after: Any, under: Hypotheses) -> Conclusion:
        """Return the relation of both sides."""
        holes = _holes_for(self.theorem, under)
        try:
            return self._filled(next(holes), before, after, under)
        except Refused:
            return self._filled(next(holes), before, after, under)

    def _filled(self, hole: Any, before: Any, after: Any, under: Hypotheses) -> Conclusion:
        given = self.theorem
        opened = before.xreplace({given.lhs: hole})
        if opened == before:
            raise Refused(f"{given.lhs} does not stand in it")
        if not same(opened.xreplace({hole: given.rhs}), after):
            raise Refused("the other side is not this with the part replaced")
        moving = {v for one in opened.atoms(Derivative) if one.has(hole) for v in one.variables}
        _refuse_restricted(moving | (bound_in(before) - bound_in(given.lhs)), given)
        _refuse_beyond(before, given)
        hypotheses = where_defined(after, where_defined(before, under.merged(given.hypotheses)))
        if given.relation in {"=", "~"} and (given.relation == "=" or opened == hole):
            return Conclusion(given.relation, hypotheses, order=given.order)
        if any(one.has(hole) for one in opened.atoms(Derivative, *OPAQUE)):
            raise Refused("the part stands under a mean, a sum, an integral, a derivative or a limit")
        if given.relation not in FLIPPED:
            raise Refused(f"{given.relation} replaces nothing")
        return Conclusion(_moved(opened, hole, given.relation, hypotheses), hypotheses)


def _is_under_one(hole: Any, whole: Any) -> bool:
    """Return whether a symbol stands under a mean, a sum, an integral or a limit."""
    return any(one.has(hole) for one in whole.atoms(*OPAQUE))


def _holes_for(known: Theorem, under: Hypotheses) -> Iterator[Any]:
    """Yield symbols for what both sides of a theorem are, and all between: positive only if both are.

    The first, of which nothing is known, mostly does.
    """
    yield Dummy()
    sides, under = (known.lhs, known.rhs), under.merged(known.hypotheses)
    if all(lies_in(side, Interval.open(0, oo), under) for side in sides):
        yield Dummy(positive=True)
    else:
        yield Dummy(real=all(side.is_real for side in sides) or None)


def _moved(whole: Any, hole: Any, relation: str, under: Hypotheses) -> str:
    """Return how the whole compares where a part does as ``relation`` says, by the sign of the slope."""
    everywhere(whole, hole, under)
    refuse_unless_smooth(whole, hole, under)
    slope = diff(whole, hole)
    weak = {"<": "≤", ">": "≥"}.get(relation, relation)
    if is_known(slope, under):
        return weak
    if is_known(-slope, under):
        return FLIPPED[weak]
    raise Refused(f"not known to move one way: its slope is {slope}")


def _refuse_restricted(bound: Iterable[Any], known: Theorem) -> None:
    """Refuse that a name is bound of which a theorem holds for some values only."""
    limited = (*known.hypotheses.conditions, *dict(known.hypotheses.domains))
    for one in bound:
        if any(rests_on(part, one) for part in limited):
            raise Refused(f"it holds for some values of {one} only")
        if any(rests_on(meaning, one) for _, meaning in known.hypotheses.definitions):
            raise Refused(f"a definition depends on {one}")


def _refuse_beyond(whole: Any, known: Theorem) -> None:
    """Refuse a binder over an index of a theorem that is no sum over just the values it holds for.

    Raises:
        Refused: there is one.
    """
    ranges = known.hypotheses.ranges
    for one in whole.atoms(Sum, Integral, Limit):
        limits = (one.args[1:3],) if isinstance(one, Limit) else one.limits
        for index, *ends in limits:
            if index in ranges and not (isinstance(one, Sum) and tuple(ends) == (1, ranges[index])):
                raise Refused(f"it holds for {index} from 1 to {ranges[index]} only")


@dataclass(frozen=True)
class PutIn(Rule):
    """What holds for all values of some symbols holds at ``values`` of theirs, on both sides.

    A random symbol of any law may become a function of other random ones.
    """

    values: Mapping[Any, Any]
    known: Any = None
    moves: ClassVar[bool] = True

    def put(self, part: Any) -> Any:
        """Return a part at these values."""
        return part.xreplace(dict(self.values))

    label = "what holds for all values holds for these"

    def conclude(self, before: Any, after: Any, under: Hypotheses) -> Conclusion:
        """Return the theorem at these values."""
        known, values = self.known, dict(self.values)
        if known.order:
            raise Refused("first terms hold for large values only")
        hypotheses, needed = known.hypotheses, []
        bound = changed_in(known.lhs) | changed_in(known.rhs)
        constants = _constants_beside(values, known)
        for name, value in values.items():
            if not name.is_Symbol or name in {*dict(hypotheses.definitions), *hypotheses.ranges}:
                raise Refused(f"{name} is no symbol that may have any value")
            if name in bound or value.free_symbols & bound:
                raise Refused(f"{name} or a name in {value} is bound")
            _refuse_random(name, value, hypotheses)
            domain = hypotheses.domain(name)
            needed += _needed(value, domain, hypotheses)
            if any(name in one.free_symbols for _, one in hypotheses.definitions):
                raise Refused(f"{name} stands in a definition")
        lhs, rhs = (side.xreplace(values) for side in (known.lhs, known.rhs))
        if not same(rhs, after):
            raise Refused(f"with these values it is {rhs}")
        found = Hypotheses(
            tuple((one, domain) for one, domain in hypotheses.domains if one not in values),
            frozenset(),
            _law_at(hypotheses.law, values),
            hypotheses.definitions,
            frozenset(_at(one, values) for one in hypotheses.entries) | constants,
        )
        for condition in (*needed, *(one.xreplace(values) for one in hypotheses.conditions)):
            found = found.having(condition)
        return Conclusion(known.relation, found, lhs=lhs)


def _at(entry: tuple[Any, ...], values: Mapping[Any, Any]) -> tuple[Any, ...]:
    kind, *parts = entry
    return kind, *(one.xreplace(values) for one in parts)


def _constants_beside(values: Mapping[Any, Any], known: Theorem) -> frozenset[tuple[Any, ...]]:
    """Return that what stands beside a random symbol is constant, once that becomes a function of others.

    Random symbols are independent of each other, so that one is no function of another, nor two of a third.

    Raises:
        Refused: one is.
    """
    law = known.hypotheses.law
    random = set(law.moments) if law else set()
    replaced = [name for name in values if name in random]
    if not replaced:
        return frozenset()
    free = _free(known.lhs) | _free(known.rhs)
    within = [_free(values[name]) for name in replaced]
    others = random & free - set(replaced)
    together = [one & other for place, one in enumerate(within) for other in within[:place]]
    shared = {one for each in together for one in each if not one.is_integer}
    if others & set().union(*within) or shared:
        raise Refused("independent random symbols become functions of the same")
    return frozenset(("constant", one) for one in free - random)


def _free(expression: Any) -> set[Any]:
    """Return the symbols and the families in an expression, but not their indices or names."""
    families = expression.atoms(IndexedBase)
    labels = {one.label for one in families}
    found = {one for one in expression.free_symbols if not isinstance(one, Idx | Indexed)}
    free: set[Any] = (found - labels - bound_in(expression)) | families
    return free


def _needed(value: Any, domain: Any, under: Hypotheses) -> list[Any]:
    """Return what must hold so that a value lies in a domain, nothing where it surely does.

    Raises:
        Refused: that is not known, and the domain is not that of positive numbers.
    """
    if lies_in(value, domain, under):
        return []
    if domain != Interval.open(0, oo) or not value.is_real:
        raise Refused(f"not known: {value} lies in {domain}")
    return [value > 0]


def _refuse_random(name: Any, value: Any, under: Hypotheses) -> None:
    law = under.law
    if law is None:
        return
    if name in law.moments:
        if law.moments[name] is not None:
            raise Refused(f"{name} has a law of its own")
    elif value.has(*random_names(under)):
        raise Refused(f"{value} is random, and {name} is not")


def _law_at(law: Population | Vectors | None, values: Mapping[Any, Any]) -> Population | Vectors | None:
    """Return a law with values put in for the symbols of its moments; what became a function is left out."""
    if law is None:
        return None
    if isinstance(law, Vectors):
        given = (matrix for parts in (*law.means, *law.covariances) for matrix in parts)
        if any(S(one).has(*values) for one in given):
            raise Refused("a size or covariance of random vectors is put in")
        return law
    put = dict(values)
    moments = {
        one: None if known is None else tuple(moment.xreplace(put) for moment in known)
        for one, known in law.laws
        if one not in values
    }
    return Population(moments, law.dimension, law.alike, law.normal) if moments else None


def _changing(context: Any) -> set[Any]:
    """Return by what is differentiated in a context.

    Raises:
        Refused: it has values that have no others all around them.
    """
    found = {one for part in context.atoms(Derivative) for one in part.variables}
    if any(one.is_integer or (one.is_nonnegative and not one.is_positive) for one in found):
        raise Refused("a derivative is by what has values all around each")
    return found


def _refuse_outside(hole: Any, known: Theorem, under: Hypotheses) -> None:
    """Refuse a symbol that assumes more than is known of both sides of a theorem, for which it stands.

    Raises:
        Refused: it does.
    """
    for side in (known.lhs, known.rhs):
        if not lies_in(side, assumed(hole), under):
            raise Refused(f"not known: {side} lies in {assumed(hole)}, where {hole} does")


@dataclass(frozen=True)
class Applied(Rule):
    """From l = r the same of a ``context`` of both, in which the symbol ``hole`` stands for either.

    A sum, derivative or mean over what is free in the theorem may be taken where it holds for all values.
    A bound passes under a mean or a sum, or where the context moves one way with the hole.
    """

    context: Any
    hole: Any
    known: Any = None
    moves: ClassVar[bool] = True
    label = "the same is done to both sides"

    @property
    def existence(self) -> Existence:  # type: ignore[override]
        """That both contexts exist where one does, if both sides are equal."""
        return "alike" if self.known.relation == "=" else ""

    def conclude(self, before: Any, after: Any, under: Hypotheses) -> Conclusion:
        """Return the relation of the contexts."""
        known, hole = self.known, self.hole
        taken = known.lhs.free_symbols | known.rhs.free_symbols
        if not hole.is_Symbol or hole in taken | bound_in(self.context):
            raise Refused(f"{hole} must be a symbol of its own")
        changing = _changing(self.context)
        _refuse_restricted(bound_in(self.context) | changing, known)
        _refuse_beyond(self.context, known)
        if self.context.has(E, Var) and known.hypotheses.law is None:
            _refuse_restricted(taken, known)
        lhs, rhs = (self.context.xreplace({hole: side}) for side in (known.lhs, known.rhs))
        if rhs != after and not same(rhs, after):
            raise Refused(f"done to the other side it is {rhs}")
        hypotheses = where_defined(lhs, known.hypotheses)
        if known.relation == "=":
            return Conclusion("=", hypotheses, lhs=lhs)
        if known.relation not in _ORDERED or changing:
            raise Refused(f"{known.relation} does not pass")
        if isinstance(self.context, E | Sum) and self.context.args[0] == hole:
            return Conclusion({"<": "≤", ">": "≥"}.get(known.relation, known.relation), hypotheses, lhs=lhs)
        if _is_under_one(hole, self.context):
            raise Refused("a bound passes under one mean or sum at a time")
        _refuse_outside(hole, known, hypotheses)
        return Conclusion(_moved(self.context, hole, known.relation, hypotheses), hypotheses, lhs=lhs)


@dataclass(frozen=True)
class Turned(Rule):
    """The same with its sides exchanged, or moved over: a ≤ b from l ≤ r where b - a is r - l."""

    known: Any = None
    start: Any = None
    moves: ClassVar[bool] = True
    label = "the sides are moved over"

    def conclude(self, before: Any, after: Any, under: Hypotheses) -> Conclusion:
        """Return the relation of the new sides."""
        known = self.known
        if known.relation not in FLIPPED or known.relation == "⇔":
            raise Refused(f"{known.relation} has no other side")
        lhs = known.rhs if self.start is None else self.start
        hypotheses = where_defined(after, where_defined(lhs, known.hypotheses))
        for relation, sign in ((known.relation, 1), (FLIPPED[known.relation], -1)):
            if same(after - lhs, sign * (known.rhs - known.lhs)):
                return Conclusion(relation, hypotheses, lhs=lhs)
        raise Refused("the sides differ by something else")


@dataclass(frozen=True)
class ClosedSums(Rule):
    """Sums up to a symbolic size are put in closed form, each right by induction over the size.

    ``closed`` are the sums with their closed forms; without any, the step turns one sum into its own. From
    one size to the next a sum grows by its last term alone, so the size may stand in its limit only.
    """

    closed: Mapping[Any, Any] = field(default_factory=dict)
    label = "induction: the first value and the next term"

    def conclude(self, before: Any, after: Any, under: Hypotheses) -> Conclusion:
        """Return the equation."""
        closed = dict(self.closed) or {before: after}
        for total, form in closed.items():
            _refuse_unless_inductive(total, form, under)
        put_in = before.xreplace(closed)
        if put_in != after and not same(put_in, after):
            raise Refused("the other side is not this with the closed forms")
        return Conclusion(hypotheses=where_defined(after, where_defined(before, under)))


def _refuse_unless_inductive(total: Any, form: Any, under: Hypotheses) -> None:
    if not isinstance(total, Sum) or len(total.limits) != 1:
        raise Refused(f"{total} is no sum over one index")
    ((index, low, size),) = total.limits
    if total.function.has(size) or form.has(index):
        raise Refused(f"the size {size} stands in the summand; take it out of the sum first")
    if not (size.is_Symbol and size.is_integer and low.is_Integer and under.domain(size).inf >= low):
        raise Refused(f"{size} must be a whole number from {low} on")
    first = form.subs(size, low) - total.function.subs(index, low)
    step = form.subs(size, size + 1) - form - total.function.subs(index, size + 1)
    for gap in (first, step):
        if not same(gap, S.Zero):
            raise Refused(f"the induction fails: {gap}")


@dataclass(frozen=True)
class Equivalent(Rule):
    """Two equations with equal sides, or one the other times what is never 0, have the same solutions."""

    factor: Any = S.One
    sides: Theorem | None = None
    label = "an equation times what is never 0"

    def conclude(self, before: Any, after: Any, under: Hypotheses) -> Conclusion:
        """Return the equivalence."""
        if not (isinstance(before, Eq) and isinstance(after, Eq)):
            raise Refused("an equivalence is of two equations")
        gap = before.lhs - before.rhs
        if self.sides is not None:
            if self.sides.relation != "=":
                raise Refused("only an equation replaces a side")
            _refuse_restricted(changed_in(before), self.sides)
            _refuse_beyond(before, self.sides)
            gap = gap.xreplace({self.sides.lhs: self.sides.rhs})
        if not (is_known(self.factor, under, strict=True) or self.factor.is_nonzero):
            raise Refused(f"not known to differ from 0: {self.factor}")
        if not same(gap, self.factor * (after.lhs - after.rhs)):
            raise Refused("the equations differ by more than a factor")
        for side in (*before.args, *after.args):
            under = where_defined(side, under)
        return Conclusion("⇔", under)
