"""Identities and bounds over any number of keys, by a normal form of sums; and over a few, written out.

An expression is multiplied out into terms: a coefficient, and a product of entries whose bound indices run
from 1 to their size. Each rewriting holds for every size: a product of sums is a double sum; a Kronecker
delta picks one term; what does not depend on an index is taken as often as the index has values; a sum of
exponentials is a symbol of its own, so that probabilities sum to 1; names of bound indices do not matter.
So expressions with the same normal form are equal for all sizes that have the entries named by number, such
as p₁ and p₂. But for `FewKeys`, nothing is written out, and no size is tried.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cache
from itertools import count, islice, permutations, product
from typing import Any

from sympy import (
    Abs,
    Add,
    Derivative,
    Dummy,
    Idx,
    Indexed,
    Integer,
    KroneckerDelta,
    Max,
    Min,
    Mul,
    Ne,
    Pow,
    Sum,
    Tuple,
    exp,
    factor,
    fraction,
    log,
    together,
)

from verify.symbolic.kernel.algebra import is_rational_zero
from verify.symbolic.kernel.core import Conclusion, Rule
from verify.symbolic.kernel.equations import same
from verify.symbolic.kernel.hypotheses import Hypotheses, Population, Refused
from verify.symbolic.kernel.moments import pointwise, unfold
from verify.symbolic.kernel.signs import is_real, parametrised, stand_in, where_defined
from verify.symbolic.kernel.terms import ROW, SOFTMAX, Families, Reader, Terms, key
from verify.symbolic.kernel.words import E, M, largest, n, p, s, x


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


@dataclass(frozen=True)
class Surplus(Rule):
    """The larger side is the smaller one plus ``surplus``, which is visibly never negative.

    That the sides differ by the surplus is shown by the normal form of sums, for any number of keys. The
    surplus must be made of squares, of what is positive, and of sums of terms that are not negative whichever
    keys their indices name. There the probabilities are weights over their sum, in which the other keys'
    stand as one number; the first key's is the largest and the second key's the next if ``ordered``. If
    ``bounded``, the entries of x lie between -M and M. Scores are below the largest by what is not negative.

    Where the sides hold expectations, the bound is one of what is averaged, and so of the means.
    """

    surplus: Any
    relation: str = "≤"
    ordered: bool = False
    bounded: bool = False
    label = "any number of keys: the difference is a sum of terms that are not negative"

    def conclude(self, before: Any, after: Any, under: Hypotheses) -> Conclusion:
        """Return the bound."""
        if self.relation not in {"≤", "≥"}:
            raise Refused(f"a surplus shows ≤ or ≥, not {self.relation}")
        less, more = (after, before) if self.relation == "≥" else (before, after)
        surplus = pointwise(self.surplus)
        ranges = where_zero(pointwise(more - less) - surplus)
        named, indices = self._named(surplus), _indices_in(surplus)
        free = sorted(
            (one for one in surplus.free_symbols if one in indices or isinstance(one, Idx)), key=str
        )
        signs = surplus.xreplace({one: parametrised(one, under) for one, _ in under.domains})
        for case in _cases(signs, free, named):
            if not self._is_never_negative(case, named):
                raise Refused(f"not known to be nowhere negative: {case}")
        found = ROW.hypotheses(before, after, surplus).merged(ranges)
        for side in (before, after, surplus):
            found = where_defined(side, found)
        entries: set[tuple[Any, ...]] = {("ordered", p)} if self.ordered else set()
        entries |= {("bounded", x, M)} if self.bounded else set()
        return Conclusion(self.relation, found.merged(Hypotheses(entries=frozenset(entries))))

    def _named(self, expression: Any) -> tuple[Any, ...]:
        """Return the keys that an expression names by number; with an order, those before them as well."""
        found = {one for one in _indices_in(expression) if one.is_Integer}
        if self.ordered and found:
            return tuple(map(Integer, range(1, int(max(found)) + 1)))
        return tuple(sorted(found))

    def _is_never_negative(self, expression: Any, named: tuple[Any, ...]) -> bool:
        """Return whether an expression is not negative where different indices name different keys."""
        if isinstance(expression, Sum):
            indices = [limit[0] for limit in expression.limits]
            cases = _cases(expression.function, indices, named)
            return all(self._is_never_negative(one, named) for one in cases)
        if isinstance(expression, Pow) and expression.exp.is_even and is_real(expression.base):
            return True
        if isinstance(expression, Add | Mul) and all(
            self._is_never_negative(one, named) for one in expression.args
        ):
            return True
        if expression.has(Sum):
            return False
        return all(map(_is_visibly_nonnegative, self._with_signs(expression, named)))

    def _with_signs(self, expression: Any, named: tuple[Any, ...]) -> Iterator[Any]:
        """Yield the expression in symbols that say what is known of them, for each order of its keys."""
        expression = expression.replace(KroneckerDelta, lambda one, other: Integer(one == other))
        indices = {one for entry in expression.atoms(Indexed) for one in entry.indices}
        others = sorted((one for one in indices if not one.is_Integer), key=str)
        for order in permutations(others) if self.ordered else [others]:
            keys = (*named, *order)
            parts = [stand_in(p[key], positive=True) for key in keys]
            weights = [Add(*parts[place:]) for place in range(len(keys))] if self.ordered else parts
            total = Add(*weights, stand_in(p, nonnegative=True))
            entries = {p[key]: weight / total for key, weight in zip(keys, weights, strict=True)}
            entries |= {x[key]: self._of_vector(x[key]) for key in keys}
            entries |= {s[key]: largest - stand_in(s[key], nonnegative=True) for key in keys}
            yield expression.xreplace(entries)

    def _of_vector(self, entry: Any) -> Any:
        """Return an entry of x; if bounded M(1 - r)/(1 + r), from M down to -M as r runs from 0 on."""
        ratio = stand_in(entry, nonnegative=True)
        return M * (1 - ratio) / (1 + ratio) if self.bounded else stand_in(entry, real=True)


def _indices_in(expression: Any) -> set[Any]:
    """Return all indices of entries and of Kronecker deltas.

    Raises:
        Refused: one is neither a number nor a symbol.
    """
    found = {one for entry in expression.atoms(Indexed) for one in entry.indices}
    found |= {one for delta in expression.atoms(KroneckerDelta) for one in delta.args}
    if any(not (one.is_Integer or one.is_Symbol or isinstance(one, Idx)) for one in found):
        raise Refused(f"an index is no symbol: {expression}")
    return found


def _cases(expression: Any, indices: list[Any], named: tuple[Any, ...]) -> Iterator[Any]:
    """Yield the expression for every choice of keys: those in ``named``, each other's, and others."""
    present = {one for one in _indices_in(expression) if not one.is_Integer}
    known = (*named, *sorted(present - set(indices), key=str))
    others = (one for place in count() if (one := stand_in(place, integer=True)) not in present)
    new = list(islice(others, len(indices)))
    for keys in product(*((*known, *new[: place + 1]) for place in range(len(indices)))):
        yield expression.xreplace(dict(zip(indices, keys, strict=True)))


@cache  # of each case and each order again
def _is_visibly_nonnegative(expression: Any) -> bool:
    """Return whether sums and products of what is never negative make up the expression."""
    if (known := expression.is_nonnegative) is not None:
        return bool(known)
    if factor(expression).is_nonnegative:
        return True
    return isinstance(expression, Add | Mul) and all(map(_is_visibly_nonnegative, expression.args))


_MOST = 8
"""The largest number of keys that is written out."""


@dataclass(frozen=True)
class FewKeys(Rule):
    """Both sides are the same function of the scores, for a number of ``keys``.

    Their sums over 1 to that number are written out, and a probability is an exponential over the sum of all
    of them. The larger of two is half their sum and half their distance, the smaller is that much less.
    Where the sides hold expectations, what is averaged is equal, and so are the means.
    """

    keys: int

    @property
    def label(self) -> str:
        """How the step follows, in words."""
        return f"written out for {self.keys} keys"

    def conclude(self, before: Any, after: Any, under: Hypotheses) -> Conclusion:
        """Return the equation, with what a probability is for that many keys."""
        if not 1 < self.keys <= _MOST:
            raise Refused(f"from 2 up to {_MOST} keys are written out")
        scores = {s[key]: Dummy(f"s_{key}", real=True) for key in range(1, self.keys + 1)}
        pointwise(before - after)  # refuses what is averaged on one side and not on the other
        sides = [self._written_out(pointwise(side), scores) for side in (before, after)]
        if not same(*_with_sizes(*map(_halved, sides))):
            raise Refused(f"the sides are {sides[0]} and {sides[1]}")
        found = where_defined(sides[0], where_defined(sides[1], under))
        named = {one for condition in found.conditions for one in condition.free_symbols}
        if (named | {one for one, _ in found.domains}) & set(scores.values()):
            raise Refused("not known to be defined for all scores")
        return Conclusion(hypotheses=found.defining(*self._definitions(before, after)))

    def _definitions(self, *sides: Any) -> list[tuple[Any, Any]]:
        if not any(one.base == p for side in sides for one in side.atoms(Indexed)):
            return []
        indices, meaning = SOFTMAX
        return [(p, Tuple(Tuple(*indices), meaning.xreplace({n: Integer(self.keys)})))]

    def _written_out(self, expression: Any, scores: dict[Any, Any]) -> Any:
        """Return an expression in the exponents of the scores, which are real numbers."""
        while sums := expression.atoms(Sum):
            inner = {one: self._added(one) for one in sums if not one.function.has(Sum)}
            expression = expression.xreplace(inner)
        if expression.has(n, largest):
            raise Refused(f"the number of keys is {self.keys}, and stands there as a symbol")
        weights = {key: exp(score) for key, score in enumerate(scores.values(), 1)}
        total = Add(*weights.values())
        known = {p[key]: weight / total for key, weight in weights.items()} | scores
        for one in expression.atoms(Indexed):
            if one.base in {p, s} and one not in known:
                raise Refused(f"{one} is none of {self.keys} keys'")
        return expression.xreplace(known)

    def _added(self, total: Sum) -> Any:
        """Return a sum over all keys written out."""
        indices = [index for index, *_ in total.limits]
        if any(tuple(ends) != (1, self.keys) for _, *ends in total.limits):
            raise Refused(f"{total} does not run over {self.keys} keys")
        places = product(range(1, self.keys + 1), repeat=len(indices))
        return Add(
            *(total.function.xreplace(dict(zip(indices, map(Integer, one), strict=True))) for one in places)
        )


def _halved(expression: Any) -> Any:
    """Return an expression with the larger and the smaller of two by their sum and their distance."""
    while pairs := [one for one in expression.atoms(Max, Min) if len(one.args) == 2]:
        put = {}
        for one in pairs:
            first, second = one.args
            distance = Abs(first - second)
            put[one] = (first + second + (distance if isinstance(one, Max) else -distance)) / 2
        expression = expression.xreplace(put)
    return expression


def _with_sizes(*sides: Any) -> list[Any]:
    """Return expressions with a symbol for each size, one for those of what is equal but for its sign."""
    known: list[tuple[Any, Any]] = []
    put = {}
    for one in set().union(*(side.atoms(Abs) for side in sides)):
        inside = one.args[0]
        alike = (stand_in for other, stand_in in known if same(inside, other) or same(inside, -other))
        if (stand_in := next(alike, None)) is None:
            stand_in = Dummy("size", nonnegative=True)
            known.append((inside, stand_in))
        put[one] = stand_in
    return [side.xreplace(put) for side in sides]
