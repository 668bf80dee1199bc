"""Means over some families, given functions of others: of weights p and centred values, E(Σpv)² = E Σp².

Families are independent of each other. So where a mean holds softmax, a maximum or another function of some
of them, these are given, as the entries of a matrix are; the mean over the others follows from their moments,
and what is left is averaged over those that were given.
"""

from __future__ import annotations

from typing import Any

from sympy import Expr, Function, Indexed, Max, Min, Mul, Pow, Sum

from verify.symbolic.calculus import NotDerived, expected
from verify.symbolic.vocabulary import BINDERS, Cov, Dot, E, Family, Given, Laws, Made, Named, Var
from verify.symbolic.vocabulary import families_of, free_indices, range_of, unnamed


class _Over(Function):  # type: ignore[misc]  # SymPy has no types
    """What is to be averaged over the families that are given."""

    nargs = 1


def conditional(expression: Any, laws: Laws) -> Expr:
    """Return an expression whose means are taken over families that stand in no function, given the others.

    Raises:
        NotDerived: a mean is of no polynomial of the others, or one of their moments is not given.
    """

    def averaged(over: Any) -> Any:
        # The families that were given are drawn again.
        bases = {part.base for part in over.args[0].atoms(Indexed) if type(part.base) is Given}
        drawn = {base: Family(base.label, *base.ranges) for base in bases}
        return E(over.args[0].replace(_is_of(bases), lambda part: drawn[part.base][part.indices]))

    written = unnamed(expression).replace(lambda x: isinstance(x, Var | Cov), lambda x: x.definition)
    marked = written.replace(lambda x: isinstance(x, E), lambda x: _given(x.args[0], laws))
    value = expected(marked, laws, short=False).replace(lambda x: isinstance(x, _Over), averaged)
    return value.replace(lambda x: isinstance(x, Sum) and len(x.limits) > 1, _nested)


def _given(x: Any, laws: Laws) -> Expr:
    """Return E x, families that are given as numbers, and the mean over these marked.

    Given are those that stand in functions, those without a law, and where a program's columns are among
    them, which depend on all families, every one.
    """
    functions = {part for part in x.atoms(Function, Max, Min) if not isinstance(part, Dot | E | Named)}
    functions |= {part for part in x.atoms(Pow) if not (part.exp.is_Integer and part.exp.is_positive)}
    for of, key in (part.args for part in functions if isinstance(part, BINDERS)):
        # Put at one place, it would be another function.
        if any(place != key and range_of(of, place) == range_of(of, key) for place in free_indices(of)):
            raise NotDerived(f"{of} depends on {key} and on another place of its range")
    everything = families_of(x)
    families = set[Family]().union(*map(families_of, functions)) | (everything - set(laws))
    if any(isinstance(family, Made) for family in everything):
        families = set(everything)
    if not families:
        return E(x)
    opened = x.replace(
        lambda part: isinstance(part, Dot) and not families.isdisjoint(part.args),
        lambda part: as_entry(part) if families >= set(part.args[::2]) else part.definition,
    )
    families |= families_of(opened) - everything
    given = {family: Given(family.label, *family.ranges) for family in families}
    return _Over(E(opened.replace(_is_of(families), lambda part: given[part.base][part.indices])))


def as_entry(score: Any) -> Any:
    """Return a score as the entry of a row: what holds of any rows holds of those of vectors."""
    left, first, right, second = score.args
    if left == right:
        return score.definition
    return Family(f"{left}{right}", left.ranges[0], right.ranges[0])[first, second]


def _nested(x: Any) -> Expr:
    """Return a sum over several indices as sums within each other, each of what depends on its index."""
    factors, limits = list(Mul.make_args(x.function)), list(x.limits)
    while limits:
        limit = min(limits, key=lambda each: sum(factor.has(each[0]) for factor in factors))
        limits.remove(limit)
        inside = [factor for factor in factors if factor.has(limit[0])]
        factors = [*(factor for factor in factors if factor not in inside), Sum(Mul(*inside), limit)]
    return Mul(*factors)


def _is_of(families: Any) -> Any:
    return lambda part: isinstance(part, Indexed) and part.base in families
