"""Identities of sums over symbolically many indices, by a normal form that does not depend on how many.

An expression is multiplied out into terms: a coefficient, and a product of entries whose bound indices run
from 1 to their size. Each rewriting holds for every size: a product of sums is a double sum; a Kronecker
delta picks one term; what does not depend on an index is taken as often as the index has values; a sum of
exponentials is a symbol of its own, so that probabilities sum to 1; names of bound indices do not matter.
So expressions with the same normal form are equal for all sizes that have the entries named by number, such
as p₁ and p₂. Nothing is written out, and no size is tried.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from sympy import (
    Add,
    Derivative,
    Dummy,
    Indexed,
    KroneckerDelta,
    Mul,
    Ne,
    Pow,
    Sum,
    exp,
    factor,
    fraction,
    log,
    together,
)

from verify.symbolic.kernel.algebra import is_rational_zero
from verify.symbolic.kernel.core import (
    Conclusion,
    Hypotheses,
    Population,
    Refused,
    Rule,
    refuse_hidden_random,
    rule,
)
from verify.symbolic.kernel.moments import pointwise, unfold
from verify.symbolic.kernel.multiplied_out import Reader
from verify.symbolic.kernel.signs import where_defined
from verify.symbolic.kernel.terms import ROW, Families, Terms, key
from verify.symbolic.kernel.words import E

if TYPE_CHECKING:
    from collections.abc import Mapping


@rule
@dataclass(frozen=True)
class SumIdentity(Rule):
    """Both sides have the same normal form, and so are equal for any number of keys.

    Expectations are averaged where the ``families`` say how; else what is averaged must be equal.
    """

    families: Families = ROW
    what: str = "keys"

    @property
    def label(self) -> str:
        """How the step follows, in words."""
        return f"any number of {self.what}: sums multiplied out, with symbolic limits"

    def conclude(self, before: Any, after: Any, under: Hypotheses) -> Conclusion:
        """Return the equation, which holds where every entry that is named by number is there."""
        drawn = self.families.variances
        gap = unfold(before - after) if drawn else pointwise(before - after)
        found = where_zero(gap, self.families)
        found = found.merged(self.families.hypotheses(before, after))
        found = found.merged(under)
        for side in (before, after):
            found = where_sums_are_defined(side, found, self.families)
        if drawn:
            law = Population({base: (1, 0, variance) for base, variance in drawn.items()})
            refuse_hidden_random(law, found, before, after)
            found = found.merged(Hypotheses(law=law))
        return Conclusion(hypotheses=found)


def where_zero(
    expression: Any, families: Families = ROW, squares: Mapping[Any, Any] | None = None
) -> Hypotheses:
    """Return hypotheses under which an expression is 0 for every size, by the normal form of its numerator.

    ``squares`` are what the squares of all entries of a family are.

    Raises:
        Refused: terms are left over, or it has no normal form.
    """
    numerator = _numerator(expression, families)
    reader = Reader(families, numerator, squares)
    if left := _collected(reader.terms(numerator)):
        raise Refused(f"terms are left over: {', '.join(map(str, list(left)[:3]))}")
    return Hypotheses(entries=frozenset(("runs", index, size) for index, size in reader.ranges.items()))


def where_sums_are_defined(expression: Any, under: Hypotheses, families: Families = ROW) -> Hypotheses:
    """Return ``where_defined``, in which sums with a closed form count as that.

    Raises:
        Refused: a denominator is 0.
    """
    found = where_defined(expression, under)
    for condition in found.conditions - under.conditions:
        closed = closed_form(condition.lhs, families) if isinstance(condition, Ne) else None
        if closed == 0:
            raise Refused(f"{condition.lhs} is 0")
        if closed is not None:
            found = where_defined(1 / closed, replace(found, conditions=found.conditions - {condition}))
    return found


def closed_form(expression: Any, families: Families = ROW) -> Any:
    """Return an expression without its sums, None where they have no closed form in single entries."""
    reader = Reader(replace(families, made_of={}), expression)
    try:
        terms = reader.terms(expression)
    except Refused:
        return None
    entries = {one for term in terms for one in term.powers}
    if (
        reader.ranges
        or any(term.bound for term in terms)
        or not all(isinstance(one, Indexed) for one in entries)
    ):
        return None
    parts = (Mul(term.coefficient, *(one**power for one, power in term.powers.items())) for term in terms)
    return factor(Add(*parts))


def vanishes(expression: Any, families: Families = ROW) -> bool:
    """Return whether an expression is 0 for every size, by the normal form of its numerator.

    Raises:
        Refused: it has no normal form.
    """
    return not normal_form(_numerator(expression, families), families)


def normal_form(expression: Any, families: Families = ROW) -> dict[Any, Any]:
    """Return the coefficient of every product that is left of an expression, by the product.

    Raises:
        Refused: an expression is none of numbers, entries, exponentials, sums from 1 to a size, and
            what can be made of them by adding, multiplying and differentiating.
    """
    return _collected(Reader(families, expression).terms(expression))


def _collected(terms: Terms) -> dict[Any, Any]:
    found: dict[Any, list[Any]] = {}
    for term in terms:
        found.setdefault(key(term), []).append(term.coefficient)
    totals = {factors: Add(*parts) for factors, parts in found.items()}
    return {factors: total for factors, total in totals.items() if not is_rational_zero(total)}


def _numerator(expression: Any, families: Families) -> Any:
    """Return the numerator over a common denominator, sums and what depends on indices as they stand.

    Raises:
        Refused: a denominator is 0, by its normal form.
    """
    kinds = (Sum, Derivative, E, Indexed, exp, log, KroneckerDelta)
    parts = {one: Dummy() for one in expression.atoms(*kinds)}
    back = {stand_in: one for one, stand_in in parts.items()}
    outside = expression.xreplace(parts)
    below = [one.base for one in outside.atoms(Pow) if one.exp.could_extract_minus_sign()]
    if not below:
        return expression
    for one in below:
        if not normal_form(_numerator(one.xreplace(back), families), families):
            raise Refused(f"divided by what is 0: {one.xreplace(back)}")
    top, _ = fraction(together(outside))
    return top.xreplace(back)
