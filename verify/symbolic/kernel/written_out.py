"""Identities for a few keys: sums written out, probabilities as functions of the scores."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product
from typing import Any

from sympy import Abs, Add, Dummy, Indexed, Integer, Max, Min, Sum, Tuple, exp

from verify.symbolic.kernel.core import Conclusion, Hypotheses, Refused, Rule, rule
from verify.symbolic.kernel.equations import same
from verify.symbolic.kernel.moments import pointwise
from verify.symbolic.kernel.signs import where_defined
from verify.symbolic.kernel.terms import SOFTMAX
from verify.symbolic.kernel.words import largest, n, p, s

_MOST = 8
"""The largest number of keys that is written out."""


@rule
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
