"""Bounds by calculus: by the sign of a slope or of a curvature, and by derivatives from a point on."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from sympy import Dummy, Eq, Interval, S, diff, erfinv, expand, oo, tanh

from verify.symbolic.kernel.core import Conclusion, Rule, Theorem
from verify.symbolic.kernel.equations import same
from verify.symbolic.kernel.gate import bound_in
from verify.symbolic.kernel.hypotheses import Hypotheses, Population, Refused
from verify.symbolic.kernel.moments import pointwise
from verify.symbolic.kernel.signs import (
    everywhere,
    is_known,
    lies_in,
    never_negative,
    refuse_unless_smooth,
    signed,
    where_defined,
)
from verify.symbolic.kernel.words import E


def _on_an_interval(variable: Any, under: Hypotheses) -> Interval:
    """Return the domain of a variable.

    Raises:
        Refused: it is no symbol, or its domain is no interval.
    """
    domain = under.domain(variable) if variable.is_Symbol else None
    if domain == S.Reals:
        return Interval(-oo, oo)
    if not isinstance(domain, Interval):
        raise Refused(f"the domain {domain} of {variable} is no interval")
    return domain


@dataclass(frozen=True)
class Jensen(Rule):
    """The mean of a function of one random ``variable`` is bounded by the function of its mean.

    The function is curved one way on the variable's whole domain, an interval: SymPy knows the sign of its
    second derivative, or ``curvature`` shows it.
    """

    variable: Any
    relation: str = "≤"
    curvature: Theorem | None = None

    @property
    def label(self) -> str:
        """How the step follows, in words."""
        return f"{'concave' if self.relation == '≤' else 'convex'}: the sign of the second derivative"

    def conclude(self, before: Any, after: Any, under: Hypotheses) -> Conclusion:
        """Return the bound, for any law of the variable."""
        if self.relation not in {"≤", "≥"}:
            raise Refused(f"{self.relation} is no bound")
        _on_an_interval(self.variable, under)
        inside = pointwise(before)
        under = everywhere(inside, self.variable, under)
        sign = -1 if self.relation == "≤" else 1
        refuse_unless_smooth(inside, self.variable, under)
        signed(sign * diff(inside, self.variable, 2), under, self.curvature)
        if not same(inside.subs(self.variable, E(self.variable)), after):
            raise Refused("the other side is not the function of the mean")
        law = Hypotheses(law=Population({self.variable: None}))
        return Conclusion(self.relation, under.merged(law))


@dataclass(frozen=True)
class AtItsLeast(Rule):
    """An expression falls, or rises, as an ``argument`` in it grows, and is put where that is ``least``."""

    argument: Any
    least: Any
    relation: str = "≤"

    @property
    def label(self) -> str:
        """How the step follows, in words."""
        moves = "falls" if self.relation == "≤" else "rises"
        return f"it {moves} as a part of it grows, which is put at its least"

    def conclude(self, before: Any, after: Any, under: Hypotheses) -> Conclusion:
        """Return the bound."""
        if self.relation not in {"≤", "≥"}:
            raise Refused(f"{self.relation} is no bound")
        if not is_known(self.argument - self.least, under):
            raise Refused(f"not known: {self.argument} is at least {self.least}")
        if self.argument.free_symbols & bound_in(before):
            raise Refused(f"a name in {self.argument} is bound, so that it is several things")
        at, beyond = Dummy(real=True), Dummy(nonnegative=True)
        moved = before.subs(self.argument, at)
        if not same(moved.xreplace({at: self.argument}), before) or moved.has(E):
            raise Refused(f"{before} is no function of {self.argument}")
        refuse_unless_smooth(moved.subs(at, self.least + beyond), beyond, under)
        everywhere(moved.subs(at, self.least + beyond), beyond, under)
        sign = -1 if self.relation == "≤" else 1
        if not is_known(sign * diff(moved, at).subs(at, self.least + beyond), under):
            raise Refused(f"not known to move one way as {self.argument} grows")
        if not same(moved.subs(at, self.least), after):
            raise Refused("the other side is not the value there")
        return Conclusion(self.relation, where_defined(before, where_defined(after, under)))


@dataclass(frozen=True)
class AtItsMost(Rule):
    """A concave function of a ``variable`` on an interval is put where it is level, ``at`` its most."""

    variable: Any
    at: Any
    curvature: Theorem | None = None
    label = "concave, and level there"

    def conclude(self, before: Any, after: Any, under: Hypotheses) -> Conclusion:
        """Return the bound."""
        domain = _on_an_interval(self.variable, under)
        if not lies_in(self.at, domain, under):
            raise Refused(f"not known: {self.at} lies in {domain}")
        refuse_unless_smooth(before, self.variable, under)
        under = everywhere(before, self.variable, under)
        signed(-diff(before, self.variable, 2), under, self.curvature)
        if not same(diff(before, self.variable).subs(self.variable, self.at), S.Zero):
            raise Refused(f"it is not level at {self.at}")
        if not same(before.subs(self.variable, self.at), after):
            raise Refused("the other side is not the value there")
        return Conclusion("≤", under)


@dataclass(frozen=True)
class Compared(Rule):
    """One side is at most, or at least, the other, by the sign of what they differ by.

    That is known by ``Sign``, or is what the theorem ``sign`` says: 0 is at most the larger less the smaller.
    """

    relation: str = "≤"
    sign: Theorem | None = None
    label = "the sign of the difference"

    def conclude(self, before: Any, after: Any, under: Hypotheses) -> Conclusion:
        """Return the bound."""
        if self.relation not in {"≤", "≥", "<", ">"}:
            raise Refused(f"{self.relation} is no bound")
        more = after - before if self.relation in {"≤", "<"} else before - after
        known = signed(more, under, self.sign, strict=self.relation in {"<", ">"})
        hypotheses = under.merged(known.hypotheses)
        return Conclusion(self.relation, where_defined(before, where_defined(after, hypotheses)))


@dataclass(frozen=True)
class OnRange(Rule):
    """A polynomial bound in a ``variable`` from ``low``, where the sides are equal, to ``high``.

    By Sturm's theorem, which counts roots exactly: a proof for the whole range, not for points of it. At
    ``beyond`` the bound fails, so that the range is about as long as it can be.
    """

    variable: Any
    low: Any
    high: Any
    beyond: Any
    relation: str = "≤"
    label = "Sturm’s theorem: the difference has no root inside the range"

    def conclude(self, before: Any, after: Any, under: Hypotheses) -> Conclusion:
        """Return the bound for the range."""
        if self.relation not in {"≤", "≥"}:
            raise Refused(f"{self.relation} is no bound")
        gap = after - before if self.relation == "≤" else before - after
        if gap.subs(self.variable, self.low) != S.Zero or not gap.subs(self.variable, self.beyond) < 0:
            raise Refused(f"not equal at {self.low}, or still right at {self.beyond}")
        if not never_negative(gap, self.variable, self.low, self.high):
            raise Refused("the difference changes its sign inside")
        return Conclusion(self.relation, under.restricted(self.variable, Interval(self.low, self.high)))


@dataclass(frozen=True)
class FromZero(Rule):
    """A bound in an even function of a real ``variable``, by derivatives in ``variable``/``unit``.

    Both sides differ by what is 0 where the variable is 0, as are its derivatives up to one that is a
    polynomial in the tanh alone and nowhere negative; so no smaller constant would do. Where the sides hold
    expectations, the bound is one of what is averaged, and so of the means.
    """

    variable: Any
    unit: Any = S.One
    most: int = 8
    label = "the gap and its derivatives are 0 at 0, and the last of them is nowhere negative"

    def conclude(self, before: Any, after: Any, under: Hypotheses) -> Conclusion:
        """Return the bound."""
        x, t = Dummy(real=True), Dummy(real=True)
        if under.domain(self.variable) != S.Reals or not is_known(self.unit, under, strict=True):
            raise Refused(f"{self.variable} must be any real number, and {self.unit} positive")
        outside = [side.xreplace(dict.fromkeys(side.atoms(E), S.One)) for side in (before, after)]
        if any(side.has(E) for side in (before, after)) and any(one.has(self.variable) for one in outside):
            raise Refused(f"{self.variable} stands inside a mean and outside")
        gap = expand(pointwise(after - before).subs(self.variable, self.unit * x) / self.unit**2)
        if expand(gap - gap.subs(x, -x)) != S.Zero:
            raise Refused("the difference is not even")
        for _ in range(self.most):
            polynomial = gap.subs(tanh(x), t)
            if gap.subs(x, 0) != S.Zero:
                raise Refused("a derivative is not 0 at 0")
            if not polynomial.has(x):
                if polynomial.free_symbols != {t} or not never_negative(polynomial, t, S.Zero, S.One):
                    raise Refused("the last derivative changes its sign")
                return Conclusion("≤", where_defined(before, where_defined(after, under)))
            gap = expand(diff(gap, x))
        raise Refused(f"{self.most} derivatives are not enough")


@dataclass(frozen=True)
class Rising(Rule):
    """f(low) ≤ f(x) on [low, …), for a ``slope`` that is shown to be nowhere negative there."""

    variable: Any
    slope: Theorem | None = None
    label = "the slope is nowhere negative"

    def conclude(self, before: Any, after: Any, under: Hypotheses) -> Conclusion:
        """Return the bound of the value by that at the low end."""
        domain = _on_an_interval(self.variable, under)
        if domain.left_open or domain.start == -oo:
            raise Refused(f"the domain {domain} of {self.variable} has no low end")
        refuse_unless_smooth(after, self.variable, under)
        under = everywhere(after, self.variable, under)
        signed(diff(after, self.variable), under, self.slope)
        if not same(after.subs(self.variable, domain.start), before):
            raise Refused("the smaller side is not the value at the low end")
        return Conclusion("≤", under)


@dataclass(frozen=True)
class Solved(Rule):
    """f(x) = c exactly where x = a, for a function f that rises, or falls, all over the domain of x.

    That is an interval, on all of which f is defined. Its slope has one sign, strictly, and f(a) is c.
    """

    variable: Any
    label = "it moves one way all over, and has the value there"

    def conclude(self, before: Any, after: Any, under: Hypotheses) -> Conclusion:
        """Return the equivalence."""
        x = self.variable
        if not (isinstance(before, Eq) and isinstance(after, Eq) and after.lhs == x):
            raise Refused("an equation is solved by an equation of the variable")
        domain = under.domain(x) if x.is_Symbol else S.EmptySet
        if before.rhs.has(x) or after.rhs.has(x) or not (domain == S.Reals or isinstance(domain, Interval)):
            raise Refused(f"{x} must stand on the left alone, and have an interval as its domain")
        refuse_unless_smooth(before.lhs, x, under)
        # Such an inverse is a real number, which SymPy does not say.
        inverses = {one: Dummy(real=True) for one in after.rhs.atoms(erfinv) if abs(one.args[0]).is_number}
        put = {one: real for one, real in inverses.items() if (1 - abs(one.args[0])).is_positive}
        if not same(before.lhs.subs(x, after.rhs), before.rhs):
            raise Refused(f"{after.rhs} is no solution")
        if not lies_in(after.rhs.xreplace(put), domain, under):
            raise Refused(f"not known: {after.rhs} lies in {domain}")
        slope = diff(before.lhs, x)
        if not (is_known(slope, under, strict=True) or is_known(-slope, under, strict=True)):
            raise Refused(f"not known to move one way: its slope is {slope}")
        return Conclusion("⇔", everywhere(before.lhs, x, under))
