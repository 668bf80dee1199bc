"""Entries: families put in, signs of products, absolute values of signs, and induction over recursions."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar

from sympy import (
    Abs,
    Derivative,
    Dummy,
    Function,
    Indexed,
    KroneckerDelta,
    Pow,
    sign,
)
from sympy.core.function import AppliedUndef

from verify.symbolic.kernel.core import Conclusion, Rule, Theorem
from verify.symbolic.kernel.equations import same
from verify.symbolic.kernel.gate import bound_in, changed_in
from verify.symbolic.kernel.hypotheses import Hypotheses, Population, Refused, has_any, parts_of
from verify.symbolic.kernel.moments import pointwise
from verify.symbolic.kernel.signs import everywhere, is_known, is_real, where_defined
from verify.symbolic.kernel.sums import where_sums_are_defined, where_zero
from verify.symbolic.kernel.terms import ROW
from verify.symbolic.kernel.words import E


def with_entries(expression: Any, families: Mapping[Any, tuple[tuple[Any, ...], Any]]) -> Any:
    """Return an expression with every entry of some families as the function of its indices given.

    Raises:
        Refused: a family is differentiated by, or a name would be bound that is not.
    """
    bound, put = changed_in(expression), {}
    for one in expression.atoms(Indexed):
        if one.base in families:
            indices, value = families[one.base]
            free = value.free_symbols - set(indices)
            if len(indices) != len(one.indices) or free & bound or bound_in(value) & one.free_symbols:
                raise Refused(f"{one} is no entry of that family, or a name in {value} is bound")
            put[one] = value.xreplace(dict(zip(indices, one.indices, strict=True)))
    if any(one in put for part in expression.atoms(Derivative) for one in part.variables):
        raise Refused("a family is differentiated by")
    return expression.xreplace(put)


@dataclass(frozen=True)
class FamilyPutIn(Rule):
    """What holds for all values of a family's entries holds where they are a function of their indices.

    ``families`` give indices and the function of these by family. Nothing may be assumed of such a family: it
    is neither random nor defined, ordered or bounded, and no definition rests on it. Its entries are real.
    """

    families: Mapping[Any, tuple[tuple[Any, ...], Any]]
    known: Any = None
    moves: ClassVar[bool] = True
    label = "what holds for all entries holds for these"

    def put(self, part: Any) -> Any:
        """Return a part with these entries."""
        return with_entries(part, self.families)

    def conclude(self, before: Any, after: Any, under: Hypotheses) -> Conclusion:
        """Return the theorem with these entries."""
        known, found = self.known, self.known.hypotheses
        if known.order:
            raise Refused("first terms hold for large values only")
        for base, (_, value) in self.families.items():
            _refuse_assumed(base, found)
            if found.law and value.has(*found.law.moments):
                raise Refused(f"{value} is random, and {base} is not")
            if not is_real(value.replace(KroneckerDelta, _some_number)):
                raise Refused(f"not known to be a real number: {value}")
        lhs, rhs = (with_entries(side, self.families) for side in (known.lhs, known.rhs))
        if rhs != after and not same(rhs, after):
            raise Refused(f"with these entries it is {rhs}")
        conditions = [one.func(*(with_entries(side, self.families) for side in one.args))
                      for one in found.conditions]  # fmt: skip
        found = replace(found, conditions=frozenset())
        for condition in conditions:
            found = found.having(condition)
        for side in (lhs, rhs):
            found = where_sums_are_defined(side, found)
        return Conclusion(known.relation, found, lhs=lhs)


def _some_number(*_indices: Any) -> Any:
    return Dummy(real=True)


def _refuse_assumed(base: Any, known: Hypotheses) -> None:
    """Refuse a family of which anything is assumed.

    Raises:
        Refused: something is.
    """
    if any(has_any(part, [base]) for _, *about in known.entries for part in about):
        raise Refused(f"something is assumed of {base}")
    if known.law and base in known.law.moments:
        raise Refused(f"{base} is random")
    for name, meaning in known.definitions:
        if base == name or meaning.has(base):
            raise Refused(f"{base} is defined, or {name} rests on it")


@dataclass(frozen=True)
class PositiveFactor(Rule):
    """The sign of a product with a positive ``factor`` is that of the rest."""

    factor: Any
    label = "a positive factor leaves the sign"

    def conclude(self, before: Any, after: Any, under: Hypotheses) -> Conclusion:
        """Return the equation of the signs."""
        if not (isinstance(before, sign) and isinstance(after, sign)):
            raise Refused("that are no two signs")
        if not is_known(self.factor, under, strict=True):
            raise Refused(f"not known to be positive: {self.factor}")
        if not same(before.args[0], self.factor * after.args[0]):
            raise Refused("the sides differ by more than the factor")
        return Conclusion(hypotheses=where_sums_are_defined(before, where_sums_are_defined(after, under)))


@dataclass(frozen=True)
class OfSigns(Rule):
    """The absolute value of what is made of random signs is ``value``'s right side, inside means.

    The entries of a ``family`` are independent, with the moments 1, 0, M², 0 and M⁴ for the ``size`` M > 0.
    So the variance of their squares is 0: each is M or -M. What stands in the absolute value and the right
    side of the theorem 0 ≤ b have equal squares once every square of an entry is M².
    """

    family: Any
    size: Any
    value: Theorem
    label = "signs: the squares are equal, and neither is negative"

    def conclude(self, before: Any, after: Any, under: Hypotheses) -> Conclusion:
        """Return the equation of the means, with the law of the signs."""
        inside, given = pointwise(before), self.value
        several = inside.atoms(Abs)
        if len(several) != 1 or given.lhs != 0 or given.relation not in {"≤", "<"}:
            raise Refused("that takes one absolute value, and a theorem that something is not negative")
        if given.rhs.has(E, Abs) or any(one.has(self.family) for one in given.hypotheses.conditions):
            raise Refused("the theorem must hold for all signs")
        if not is_known(self.size, under, strict=True) or self.size.has(self.family):
            raise Refused(f"not known to be positive: {self.size}")
        (whole,) = several
        gap = whole.args[0] ** 2 - given.rhs**2
        found = where_zero(gap, squares={self.family: self.size**2})
        found = found.merged(where_zero(inside.xreplace({whole: given.rhs}) - pointwise(after)))
        found = found.merged(ROW.hypotheses(before, after, given.rhs)).merged(under)
        for side in (before, after, given.rhs):
            found = where_sums_are_defined(side, found)
        law = Population({self.family: (1, 0, self.size**2, 0, self.size**4)})
        return Conclusion(hypotheses=found.merged(Hypotheses(law=law)))


@dataclass(frozen=True)
class Induction(Rule):
    """What is defined by recursion has a closed form: the first value and the next one are right.

    ``starts`` are the values of functions at one whole number, ``steps`` what they are at ``at`` + 1 in terms
    of the values at ``at``, and ``closed`` forms of the latter. Starts and steps are definitions, for all
    whole numbers from the first on.
    """

    at: Any
    starts: Mapping[Any, Any]
    steps: Mapping[Any, Any]
    closed: Mapping[Any, Any]
    label = "induction: the first value and the next"

    def conclude(self, before: Any, after: Any, under: Hypotheses) -> Conclusion:
        """Return the equation, with the recursion among its definitions."""
        low, kinds = self._first()
        number = low + Dummy(integer=True, nonnegative=True)
        for kind in kinds:
            form = self.closed[kind(self.at)]
            step = self.steps[kind(self.at + 1)]
            following = step.xreplace(dict(self.closed)).xreplace({self.at: number})
            # Each part of a step by itself, for what is divided by 0 may be 0.
            parts = (one.xreplace(dict(self.closed)) for one in (form, step, *parts_of(step, Pow, Function)))
            for one in parts:
                under = everywhere(one.xreplace({self.at: number}), number - low, under)
            if not same(form.xreplace({self.at: low}), self.starts[kind(low)]):
                raise Refused(f"the induction fails at {low}")
            if not same(form.xreplace({self.at: number + 1}), following):
                raise Refused(f"the induction fails for {kind(self.at + 1)}")
        put = self._put(before, low, kinds, under)
        if not put or not same(before.xreplace(put), after):
            raise Refused("the other side is not this with the closed forms")
        found = under.defining(*self.starts.items(), *self.steps.items())
        for side in (before, after, *self.starts.values()):
            found = where_defined(side, found)
        return Conclusion(hypotheses=found)

    def _put(self, before: Any, low: Any, kinds: tuple[Any, ...], under: Hypotheses) -> dict[Any, Any]:
        """Return the closed form of every value in an expression.

        Raises:
            Refused: it is one at no whole number from the first on.
        """
        found = {}
        for one in before.atoms(AppliedUndef):
            if one.func in kinds:
                (place,) = one.args
                if not (place.is_integer and is_known(place - low, under)):
                    raise Refused(f"not known to be a whole number from {low} on: {place}")
                found[one] = self.closed[one.func(self.at)].xreplace({self.at: place})
        return found

    def _first(self) -> tuple[Any, tuple[Any, ...]]:
        """Return the number that the recursion starts at, and the functions that it defines.

        Raises:
            Refused: they start at different numbers.
        """
        lows = {one.args for one in self.starts}
        if len(lows) != 1:
            raise Refused("a recursion starts at one value of each function")
        ((low,),) = lows
        return low, tuple({one.func: None for one in self.starts})
