"""Limits by continuity and between bounds; the normal law of many terms, and the first terms of a mean.

No limit is taken of an expression that is not understood, and none is exchanged with a sum without end, a
mean or an integral: a limit of means is found between bounds of the means themselves.

Source: W. Feller, An Introduction to Probability Theory and Its Applications, volume II, chapter VIII.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar

from sympy import (
    Abs,
    Add,
    Dummy,
    Ge,
    Gt,
    Indexed,
    Interval,
    Limit,
    Mul,
    Ne,
    Poly,
    Pow,
    Range,
    Rational,
    S,
    Sum,
    cos,
    cosh,
    diff,
    erf,
    exp,
    expand,
    fraction,
    log,
    oo,
    powsimp,
    series,
    sign,
    sin,
    sinh,
    sqrt,
    tanh,
    together,
)

from verify.symbolic.kernel.core import FLIPPED, Conclusion, Rule, Theorem
from verify.symbolic.kernel.equations import same
from verify.symbolic.kernel.gate import bound_in, depending_on
from verify.symbolic.kernel.hypotheses import Hypotheses, Population, Refused
from verify.symbolic.kernel.laws import is_nowhere_negative, of_means, positive_symbol
from verify.symbolic.kernel.moments import evaluate
from verify.symbolic.kernel.signs import is_known, visibly, where_defined
from verify.symbolic.kernel.words import E, Var, largest, p

_CONTINUOUS = (Add, Mul, Abs, exp, sin, cos, sinh, cosh, tanh)


@dataclass(frozen=True)
class AtLimit(Rule):
    """A limit at a point, of an expression that is continuous there, is its value there.

    Sums and products of what is continuous are, and exponentials, sines, cosines and finite sums of it; a
    power is, where its base is not 0 or its exponent not negative, and where the base is positive or the
    exponent whole; so is a logarithm of what is positive. Where a sign is not known, it becomes a hypothesis.
    """

    integrates: ClassVar[bool] = True
    label = "everything is continuous there, so the point is put in"

    def conclude(self, before: Any, after: Any, under: Hypotheses) -> Conclusion:
        """Return the equation of the limit and the value."""
        if not isinstance(before, Limit):
            raise Refused(f"{before} is no limit")
        expression, variable, at, side = before.args
        _refuse_unless_near(variable, at, str(side), under)
        if {variable, *at.free_symbols} & bound_in(expression):
            raise Refused(f"{variable} or a name in {at} is bound")
        _refuse_hidden(expression, variable, under, E, Var)
        hypotheses = _continuous(expression, variable, at, where_defined(after, under))
        value = expression.xreplace({variable: at})
        if not same(value, after):
            raise Refused(f"the value there is {value}")
        return Conclusion(hypotheses=hypotheses)


def _refuse_hidden(expression: Any, variable: Any, under: Hypotheses, *kinds: Any) -> None:
    """Refuse what may depend on a variable that is not seen in it: some kinds, and what is defined by it.

    Raises:
        Refused: there is such a part.
    """
    hidden = {*kinds, *depending_on(variable, under)} - {variable}
    for one in hidden:
        if expression.has(one):
            raise Refused(f"{one} in {expression} may depend on {variable}")


def _refuse_unless_near(variable: Any, at: Any, side: str, under: Hypotheses) -> None:
    """Refuse a limit at a point that the variable does not come to from that side.

    Raises:
        Refused: it is such a limit, or that is not known.
    """
    domain = Interval(-oo, oo) if (known := under.domain(variable)) == S.Reals else known
    if not (isinstance(domain, Interval) and at.is_number and at.is_finite):
        raise Refused(f"{variable} does not come to {at} through an interval")
    if ("+" in side and not domain.start <= at < domain.end) or (
        "-" in side and not domain.start < at <= domain.end
    ):
        raise Refused(f"{variable} is in {domain}, and does not come to {at} from that side")


def _continuous(
    expression: Any, variable: Any, at: Any, under: Hypotheses, *, alone: bool = True
) -> Hypotheses:
    """Return hypotheses under which an expression is continuous at a point; inside a sum there are no more.

    Raises:
        Refused: it is not known to be.
    """
    if expression == variable:
        return under
    if not expression.has(variable):
        defined = where_defined(expression, under)
        if defined != under and not alone:
            raise Refused(f"not known to be defined: {expression}")
        return defined
    if isinstance(expression, Sum):
        _refuse_endless(expression, variable)
        return _continuous(expression.function, variable, at, under, alone=False)
    if not isinstance(expression, (*_CONTINUOUS, Pow, log)):
        raise Refused(f"not known to be continuous: {expression}")
    for one in expression.args:
        under = _continuous(one, variable, at, under, alone=alone)
    needed = _needed(expression, variable, at, under)
    if needed is not None and not alone:
        raise Refused(f"not known in a sum: {needed}")
    return under if needed is None else under.having(needed)


def _refuse_endless(total: Any, variable: Any) -> None:
    if any(end.has(variable) or end.is_infinite for _, *ends in total.limits for end in ends):
        raise Refused(f"{total} has no fixed number of terms")


def _needed(expression: Any, variable: Any, at: Any, under: Hypotheses) -> Any:
    """Return what must hold at a point, so that a function of what is continuous there is so as well."""
    if not isinstance(expression, Pow | log):
        return None
    base = expression.args[0]
    value = base.xreplace({variable: at})
    if is_known(value, under, strict=True):
        return None
    power = expression.exp if isinstance(expression, Pow) else None
    if power is not None and power.is_integer:
        if power.is_nonnegative or is_known(-value, under, strict=True) or value.is_nonzero:
            return None
        return Ne(value, 0)
    if power is not None and visibly(base) and is_known(power.xreplace({variable: at}), under, strict=True):
        return None
    return Gt(value, 0)


@dataclass(frozen=True)
class Between(Rule):
    """What lies between two bounds that have one limit for ever larger values of a ``variable`` has it too.

    The chain has come to one bound, ``other`` is that of the other side. Both bounds are quotients of sums
    of powers of the variable, whose limits their leading powers decide. The bound that the chain has come to
    may hold for large values only: a lower end of the variable, and conditions that hold from some value on,
    are none of the limit's hypotheses.
    """

    integrates: ClassVar[bool] = True
    variable: Any
    other: Theorem
    known: Any = None
    moves: ClassVar[bool] = True
    label = "it lies between two bounds that have this limit"

    def conclude(self, before: Any, after: Any, under: Hypotheses) -> Conclusion:
        """Return the equation of the limit and its value."""
        known, other, variable = self.known, self.other, self.variable
        sides = {"≤": "above", "<": "above", "≥": "below", ">": "below"}
        quantity = known.lhs
        if other.lhs != quantity:
            if other.rhs != quantity:
                raise Refused("the other bound is of something else")
            relation, bound = FLIPPED.get(other.relation, ""), other.lhs
        else:
            relation, bound = other.relation, other.rhs
        if {sides.get(known.relation), sides.get(relation)} != {"above", "below"}:
            raise Refused("these are not one bound from above and one from below")
        if not variable.is_Symbol or variable in bound_in(quantity) | bound_in(after) or after.has(variable):
            raise Refused(f"{variable} must be free")
        for one in (known.rhs, bound):
            _refuse_hidden(one, variable, known.hypotheses, E, Var, Indexed, largest)
            if not same(limit_at_infinity(one, variable, known.hypotheses), after):
                raise Refused(f"another limit: that of {one}")
        return Conclusion("=", _eventually(known.hypotheses, variable), lhs=Limit(quantity, variable, oo))


def leading(expression: Any, variable: Any, under: Hypotheses) -> tuple[Any, Any]:
    """Return c and r of the leading c·x^r of a quotient of sums of powers, for ever larger positive x.

    A coefficient may be 0 unseen above a fraction, and never below one.

    Raises:
        Refused: the expression is no such quotient, or what is below may vanish.
    """
    found = []
    for part in fraction(together(expression)):
        terms: dict[Any, Any] = {}
        for term in Add.make_args(expand(part)):
            coefficient, power = term, S.One
            if term.has(variable):
                coefficient, power = term.as_independent(variable, as_Add=False)
            base, order = power.as_base_exp() if power != 1 else (variable, S.Zero)
            if base != variable or not isinstance(order, Rational):
                raise Refused(f"{term} is no power of {variable}")
            terms[order] = terms.get(order, S.Zero) + coefficient
        found.append(max(terms.items()))
    (high, above), (low, below) = found
    if not (is_known(below, under, strict=True) or is_known(-below, under, strict=True)):
        raise Refused(f"not known to differ from 0: {below}")
    return above / below, high - low


def limit_at_infinity(expression: Any, variable: Any, under: Hypotheses) -> Any:
    """Return the limit of a quotient of sums of powers, for ever larger values of a positive variable.

    Raises:
        Refused: it is none, or its limit is infinite or not known.
    """
    domain = under.domain(variable)
    whole = isinstance(domain, Range) and domain.step == 1 and variable.is_integer
    if not (whole or isinstance(domain, Interval)) or domain.inf < 0 or domain.sup != oo:
        raise Refused(f"{variable} must have all large values, and be positive")
    coefficient, order = leading(expression, variable, under)
    if order > 0 and coefficient != 0:
        raise Refused(f"{expression} has no limit")
    return coefficient if order == 0 else S.Zero


def _eventually(found: Hypotheses, variable: Any) -> Hypotheses:
    """Return hypotheses without those that all large values of a variable fulfil.

    Raises:
        Refused: one is not known to hold for all large values.
    """
    domains = tuple((one, domain) for one, domain in found.domains if one != variable)
    kept = set()
    for condition in found.conditions:
        if variable not in condition.free_symbols:
            kept.add(condition)
        elif not isinstance(condition, Gt | Ge | Ne):
            raise Refused(f"not known for large {variable}: {condition}")
        else:
            _refuse_hidden(condition, variable, found, E, Var, Indexed, largest)
            _refuse_unless_eventual(condition, variable, found)
    return replace(found, domains=domains, conditions=frozenset(kept))


def _refuse_unless_eventual(condition: Any, variable: Any, under: Hypotheses) -> None:
    coefficient, _ = leading(condition.lhs - condition.rhs, variable, under)
    signs = (coefficient, -coefficient) if isinstance(condition, Ne) else (coefficient,)
    if not any(is_known(one, under, strict=True) for one in signs):
        raise Refused(f"not known for large {variable}: {condition}")


@dataclass(frozen=True)
class TimesPositive(Rule):
    """Both sides times a positive ``factor``; where its sign is not known, that becomes a hypothesis."""

    factor: Any
    known: Any = None
    moves: ClassVar[bool] = True
    label = "both sides times something positive"

    def conclude(self, before: Any, after: Any, under: Hypotheses) -> Conclusion:
        """Return the relation of the products."""
        known, factor = self.known, self.factor
        if known.relation not in FLIPPED or known.relation == "⇔":
            raise Refused(f"{known.relation} has no sides to multiply")
        if not all(one.is_real for one in fraction(factor)):
            raise Refused(f"not known to be real: {factor}")
        if not same(known.rhs * factor, after):
            raise Refused(f"times {factor} it is {known.rhs * factor}")
        hypotheses = known.hypotheses
        for one in fraction(factor):
            if not is_known(one, hypotheses, strict=True):
                hypotheses = hypotheses.having(Gt(one, 0))
        return Conclusion(known.relation, hypotheses, lhs=known.lhs * factor)


@dataclass(frozen=True)
class CentralLimit(Rule):
    """Sums of ever more terms, independent and alike, of finite variance, become normal (Lindeberg, Lévy).

    The chance that a sum of d of them, less its mean and over its standard deviation, is at most x tends to
    (1 + erf(x/√2))/2. The mean and the variance of a term are those of the ``law``, by the moment calculus.
    """

    integrates: ClassVar[bool] = True
    law: Population
    label = "the central limit theorem"

    def conclude(self, before: Any, after: Any, under: Hypotheses) -> Conclusion:
        """Return the limit, with the population as its law."""
        size, sums = self.law.dimension, sorted(before.atoms(Sum), key=str)
        if len(sums) != 1:
            raise Refused("there is not one sum")
        term = _term(sums[0], self.law)
        mean, variance = (evaluate(kind(term), self.law) for kind in (E, Var))
        if mean.has(size) or variance.has(size):
            raise Refused("the law depends on the number of terms")
        if not is_known(variance, under, strict=True):
            raise Refused(f"not known to be positive: {variance}")
        x = _place(after)
        deviation = (sums[0] - size * mean) / sqrt(size * variance)
        inside = (
            before.args[0].args[0] if isinstance(before, Limit) and isinstance(before.args[0], E) else S.Zero
        )
        if before != Limit(E(inside), size, oo) or not same(
            *map(_sign_of, (inside, (1 + sign(x - deviation)) / 2))
        ):
            raise Refused(f"{before} is not the limit of that chance")
        return Conclusion(hypotheses=where_defined(before, under).merged(Hypotheses(law=self.law)))


@dataclass(frozen=True)
class FirstTerms(Rule):
    """The terms for a ``large`` symbol, up to one over its power ``order``: "~", and never "=" or "≤"."""

    large: Any
    order: int

    @property
    def label(self) -> str:
        """How the step follows, in words."""
        return f"series in one over {self.large}, up to the power {self.order}"

    def conclude(self, before: Any, after: Any, under: Hypotheses) -> Conclusion:
        """Return the first terms."""
        if before.has(p, largest):
            raise Refused(f"what depends on {self.large}, and how, is not seen in {before}")
        if under.domain(self.large).sup != oo:
            raise Refused(f"{self.large} is bounded")
        small = Dummy("small", positive=True)
        terms = series(before.subs(self.large, 1 / small), small, 0, self.order + 1).removeO()
        if terms == S.Zero:
            raise Refused("nothing is left up to that power: what is left out is no smaller")
        if expand(terms - after.subs(self.large, 1 / small)) != S.Zero:
            raise Refused(f"the first terms are {terms.subs(small, 1 / self.large)}")
        return Conclusion("~", where_defined(before, under), order=(self.large, self.order))


@dataclass(frozen=True)
class AboutTheMean(Rule):
    """The first terms, for many of them, of the mean of a function h of the mean U of d terms.

    The terms are independent and alike, nowhere negative, with mean m > 0, variance σ² and a finite fourth
    moment, which the ``law`` says; ``value`` is a positive symbol for U. If the third derivative of h is
    bounded for positive values, then E h(U) is h(m) + h''(m)·σ²/(2d) up to a multiple of E|U - m|³, which is
    at most (E(U - m)⁴)^(3/4) and so falls like d^(-3/2): the rest is smaller than 1/d.
    """

    law: Population
    total: Any
    value: Any
    label = "Taylor’s series about the mean, with a bounded third derivative"

    def conclude(self, before: Any, after: Any, under: Hypotheses) -> Conclusion:
        """Return the first terms."""
        size: Any = self.law.dimension
        u = positive_symbol(self.value, before)
        term = _term(self.total, self.law)
        mean, spread, _ = (evaluate(one, self.law) for one in (E(term), Var(term), E(term**4)))
        if not (is_nowhere_negative(term.xreplace(_as_real(term))) and is_known(mean, under, strict=True)):
            raise Refused(f"not known to be positive: {term}, or its mean {mean}")
        if mean.has(size) or spread.has(size) or under.domain(size).sup != oo:
            raise Refused("the law depends on the number of terms, or that is bounded")

        def turned(inside: Any) -> Any:
            h = inside.xreplace({self.total: size * u})
            if h == inside or h.has(size) or self.law.randoms(h):
                return None
            if not _is_bounded_from_zero(diff(h, u, 3), u):
                raise Refused(f"the third derivative of {h} is not known to be bounded")
            return h.xreplace({u: mean}) + diff(h, u, 2).xreplace({u: mean}) * spread / (2 * size)

        opened = of_means(before, turned)
        if opened.has(E) or not same(opened, after):
            raise Refused(f"the first terms are {opened}")
        self._refuse_steep(before)
        law = Hypotheses(law=self.law)
        return Conclusion("~", under.merged(law), order=(size, 1))

    def _refuse_steep(self, before: Any) -> None:
        """Refuse a mean that something multiplies which grows with the number of terms."""
        means = {one: Dummy() for one in before.atoms(E)}
        opened = before.xreplace(means)
        if any(diff(opened, one).has(self.law.dimension, *means.values()) for one in means.values()):
            raise Refused("the mean may only be added to, and multiplied by what does not grow")


def _as_real(term: Any) -> dict[Any, Any]:
    return {one: Dummy(real=True) for one in term.atoms(Indexed)}


def _is_bounded_from_zero(expression: Any, u: Any) -> bool:
    """Return whether an expression is visibly bounded for all positive values of u.

    That is so if in s, with u = s² or 1/s², it is a sum of polynomials in s, each times an exponential of a
    polynomial that falls to -∞: then it is continuous for s ≥ 0, and goes to 0.
    """
    s = Dummy(positive=True)
    for power in (2, -2):
        terms = Add.make_args(expand(powsimp(expand(expression.xreplace({u: s**power})))))
        if all(_falls_away(one, s) for one in terms):
            return True
    return False


def _falls_away(term: Any, s: Any) -> bool:
    exponent = sum((one.args[0] for one in Mul.make_args(term) if isinstance(one, exp)), S.Zero)
    rest = term / exp(exponent)
    if not (rest.is_polynomial(s) and exponent.is_polynomial(s)) or not exponent.has(s):
        return False
    leading = Poly(exponent, s).LC()
    return bool(leading.is_negative)


def _term(total: Any, law: Population) -> Any:
    """Return the term of a sum of independent ones that are alike, over all entries.

    Raises:
        Refused: it is no such sum.
    """
    if not isinstance(total, Sum) or len(total.limits) != 1:
        raise Refused(f"{total} is no sum over one index")
    index, *ends = total.limits[0]
    entries = law.randoms(total.function)
    if (
        ends != [1, law.dimension]
        or not entries
        or any(getattr(e, "indices", ()) != (index,) for e in entries)
    ):
        raise Refused(f"the terms of {total} are not independent and alike")
    if total.function.xreplace(dict.fromkeys(entries, S.One)).has(index, law.dimension):
        raise Refused(f"the terms of {total} are not alike")
    return total.function


def _sign_of(inside: Any) -> Any:
    """Return X where an expression is (1 + sign X)/2.

    Raises:
        Refused: it has another form.
    """
    signs = list(inside.atoms(sign))
    if len(signs) != 1 or not same(inside, (1 + signs[0]) / 2):
        raise Refused(f"{inside} is no chance")
    return signs[0].args[0]


def _place(after: Any) -> Any:
    """Return x where an expression is the normal law's (1 + erf(x/√2))/2.

    Raises:
        Refused: it has another form.
    """
    found = list(after.atoms(erf))
    x = found[0].args[0] * sqrt(2) if len(found) == 1 else S.Zero
    if not (x.is_Symbol and x.is_real) or not same(after, (1 + erf(x / sqrt(2))) / 2):
        raise Refused(f"{after} is not the normal law")
    return x
