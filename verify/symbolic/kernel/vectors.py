"""Sums over many vectors that are independent and alike, by which of their indices coincide."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from sympy import Add, Dummy, Idx, Indexed, Integer, KroneckerDelta, Mul, Poly, Sum

from verify.symbolic.kernel.algebra import is_zero, replaced
from verify.symbolic.kernel.core import Conclusion, Hypotheses, Population, Refused, Rule, rule
from verify.symbolic.kernel.moments import any_moments, evaluate, refuse_nested
from verify.symbolic.kernel.special_integrals import outermost
from verify.symbolic.kernel.words import E

if TYPE_CHECKING:
    from collections.abc import Iterator


@rule
@dataclass(frozen=True)
class WhichCoincide(Rule):
    """Means of products of sums over a ``number`` of vectors, by which of the summed indices coincide.

    The entries x_ic of the family ``vectors`` are independent and alike. A product of sums over vectors is
    one sum over several indices; each way in which these name b different vectors occurs
    N(N - 1)…(N - b + 1) times, with the same mean as for the ``letters``, families of one index with the
    same law. Then both sides have one value in the moments, for any law.
    """

    law: Population
    vectors: Any
    number: Any
    letters: tuple[Any, ...]
    label = "which of the vectors coincide; then the moment calculus, for any moments"

    def conclude(self, before: Any, after: Any, under: Hypotheses) -> Conclusion:
        """Return the equation, with the population as its law."""
        refuse_nested(before)
        if after.has(self.vectors) or before.has(*self.letters):
            raise Refused("a step goes from sums over vectors to single ones")
        if not any({self.vectors, *self.letters} <= set(group) for group in self.law.alike):
            raise Refused(f"{self.vectors} and its letters are not known to be alike")
        expanded = replaced(before, E, self._mean)
        law = any_moments(self.law)
        if not is_zero(evaluate(expanded, law) - evaluate(after, law)):
            raise Refused(f"by which coincide, it is {expanded}")
        return Conclusion(hypotheses=Hypotheses(law=self.law.of_any_law()))

    def _mean(self, inside: Any) -> Any:
        """Return the mean of a polynomial in sums over vectors."""
        sums = [one for one in outermost(inside, Sum) if one.has(self.vectors)]
        stand_ins = [Dummy() for _ in sums]
        outside = inside.xreplace(dict(zip(sums, stand_ins, strict=True)))
        if outside.has(self.vectors):
            raise Refused(f"{outside}: an entry stands outside the sums over vectors")
        terms = Poly(outside, *stand_ins).terms() if sums else [((), outside)]
        found = []
        for powers, coefficient in terms:
            factors = [one for one, power in zip(sums, powers, strict=True) for _ in range(power)]
            found.append(coefficient * self._of_product(factors))
        return Add(*found)

    def _of_product(self, sums: list[Any]) -> Any:
        """Return the mean of a product of sums over vectors, by which indices coincide."""
        indices: list[Any] = []
        inside = [self._with_own_names(one, indices) for one in sums]
        cases: Counter[Any] = Counter()
        for blocks in _partitions(len(indices)):
            term = self._named(Mul(*inside), dict(zip(indices, blocks, strict=True)))
            cases[term, max(blocks, default=0)] += 1
        found = []
        for (term, different), times in cases.items():
            if term == 0:
                continue
            if different > len(self.letters):
                raise Refused(f"{different} vectors are different, and there are {len(self.letters)} letters")
            occurs = (self.number - one for one in range(different))
            found.append(Mul(times, *occurs) * E(self._in_letters(term)))
        return Add(*found)

    def _with_own_names(self, one: Any, indices: list[Any]) -> Any:
        """Return what a sum over vectors adds up, with new names for its indices, which are put down."""
        over = [limit for limit in one.limits if limit[1:] == (1, self.number)]
        within = [limit for limit in one.limits if limit not in over]
        names = {index: Dummy(integer=True) for index, *_ in over}
        fixed = not any(end.has(*names) for _, *ends in within for end in ends)
        if not (names and fixed and all(isinstance(index, Idx) for index in names)):
            raise Refused(f"{one} is no sum over all vectors")
        indices.extend(names.values())
        function = Sum(one.function, *within) if within else one.function
        inside = function.xreplace(names)
        places = {entry: Dummy() for entry in inside.atoms(Indexed) if entry.base == self.vectors}
        for entry in places:
            if len(entry.indices) != len(("vector", "component")) or entry.indices[0] not in names.values():
                raise Refused(f"{entry} is no component of a vector that is summed over")
            if entry.indices[1].has(*names.values()):
                raise Refused(f"the component of {entry} depends on the vector")
        deltas = {one: Dummy() for one in inside.atoms(KroneckerDelta) if set(one.args) <= {*names.values()}}
        if inside.xreplace(places | deltas).has(*names.values()):
            raise Refused(f"{one} depends on its indices by more than entries")
        return inside

    def _named(self, term: Any, blocks: dict[Any, int]) -> Any:
        """Return a product for indices that name that many different vectors, numbered from 1 on."""
        numbers = {index: Integer(block) for index, block in blocks.items()}
        return term.xreplace(numbers)

    def _in_letters(self, term: Any) -> Any:
        entries = (one for one in term.atoms(Indexed) if one.base == self.vectors)
        return term.xreplace({one: self.letters[int(one.indices[0]) - 1][one.indices[1]] for one in entries})


def _partitions(count: int) -> Iterator[tuple[int, ...]]:
    """Yield for every way to part a number of things into groups the number of the group that each is in."""
    if count == 0:
        yield ()
        return
    for rest in _partitions(count - 1):
        for group in range(1, max(rest, default=0) + 2):
            yield (*rest, group)
