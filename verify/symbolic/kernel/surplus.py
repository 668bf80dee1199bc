"""Bounds over any number of keys: what the sides differ by is a sum of what is never negative."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import permutations, product
from typing import TYPE_CHECKING, Any

from sympy import Add, Dummy, Idx, Indexed, Integer, KroneckerDelta, Mul, Pow, Sum, factor

from verify.symbolic.kernel.core import Conclusion, Hypotheses, Refused, Rule, rule
from verify.symbolic.kernel.moments import pointwise
from verify.symbolic.kernel.signs import is_real, parametrised, where_defined
from verify.symbolic.kernel.sums import where_zero
from verify.symbolic.kernel.terms import ROW
from verify.symbolic.kernel.words import M, largest, p, s, x

if TYPE_CHECKING:
    from collections.abc import Iterator


@rule
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
            parts = [Dummy(positive=True) for _ in keys]
            weights = [Add(*parts[place:]) for place in range(len(keys))] if self.ordered else parts
            total = Add(*weights, Dummy(nonnegative=True))
            entries = {p[key]: weight / total for key, weight in zip(keys, weights, strict=True)}
            entries |= {x[key]: self._of_vector() for key in keys}
            entries |= {s[key]: largest - Dummy(nonnegative=True) for key in keys}
            yield expression.xreplace(entries)

    def _of_vector(self) -> Any:
        """Return an entry of x; if bounded M(1 - r)/(1 + r), from M down to -M as r runs from 0 on."""
        ratio = Dummy(nonnegative=True)
        return M * (1 - ratio) / (1 + ratio) if self.bounded else Dummy(real=True)


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
    new = [Dummy(f"i{place}", integer=True) for place in range(len(indices))]
    for keys in product(*((*known, *new[: place + 1]) for place in range(len(indices)))):
        yield expression.xreplace(dict(zip(indices, keys, strict=True)))


def _is_visibly_nonnegative(expression: Any) -> bool:
    """Return whether sums and products of what is never negative make up the expression."""
    if (known := expression.is_nonnegative) is not None:
        return bool(known)
    if factor(expression).is_nonnegative:
        return True
    return isinstance(expression, Add | Mul) and all(map(_is_visibly_nonnegative, expression.args))
