"""Binds what is derived to what is measured, on the draws that the statistic reduces.

A prediction is called derived only where some theorem of the claim says it, under a law that the drawn
components have, and where that theorem's start is, on the statistic's own queries and keys, what the estimand
makes of the statistic's own output. Other predictions were computed, however rightly: nothing holds them to
what is measured but their author's word.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import reduce
from typing import TYPE_CHECKING, Any

import numpy as np
from sympy import (
    Abs,
    Add,
    Float,
    Indexed,
    Integral,
    Limit,
    Max,
    Mul,
    Pow,
    S,
    Sum,
    Symbol,
    cos,
    cosh,
    exp,
    log,
    sin,
    sinh,
    sqrt,
    sympify,
    tanh,
)

from verify.montecarlo.distributions import NORMAL
from verify.montecarlo.estimands import Smooth
from verify.montecarlo.experiment import Fit, Quantity
from verify.montecarlo.inputs import SharedVectors, Simulated
from verify.montecarlo.reduced import Reduced
from verify.montecarlo.statistics.pairs import OwnKeys
from verify.symbolic.kernel.core import Population
from verify.symbolic.kernel.words import E, Var, largest, n, p, s
from verify.symbolic.scores import d, k, q

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from verify.montecarlo.distributions import Array
    from verify.montecarlo.experiment import Comparison
    from verify.symbolic.kernel.core import Theorem

_SEED, _BLOCKS, _FEW = 7, 3, 6
"""Of the draws, how many blocks there are, and how many queries or keys where any number will do."""
_CLOSE = 2e-5
"""How far both may lie apart, relative: the draws are in single precision."""
_FUNCTIONS = {
    exp: np.exp,
    log: np.log,
    tanh: np.tanh,
    cosh: np.cosh,
    sinh: np.sinh,
    cos: np.cos,
    sin: np.sin,
    Abs: np.abs,
}


class _Unknown(Exception):  # noqa: N818  # an answer, not an error
    """Nothing here evaluates that on draws."""


def bound(theorems: Iterable[Theorem], checks: Iterable[Comparison]) -> tuple[str, ...]:
    """Return the ids of the checks whose predictions a theorem says of just what they measure.

    A fit is bound where all the quantities that it goes through are.
    """
    known = tuple(theorems)
    found: dict[str, bool] = {}

    def is_bound(check: Quantity) -> bool:
        if check.id not in found:
            found[check.id] = any(_binds(one, check) for one in known)
        return found[check.id]

    return tuple(
        check.id
        for check in checks
        if (isinstance(check, Quantity) and is_bound(check))
        or (isinstance(check, Fit) and all(map(is_bound, check.members)))
    )


def _binds(theorem: Theorem, check: Quantity) -> bool:
    """Return whether a theorem says the check's prediction, of what the check measures."""
    if (
        theorem.relation not in {check.relation, "="}
        or theorem.rhs.has(Integral, Limit)
        or not isinstance(check.estimand, Smooth)
    ):
        return False
    sampler = check.cell.sampler
    if not isinstance(sampler, Reduced) or not isinstance(sampler.input, Simulated | SharedVectors):
        return False
    try:
        values = _values(theorem, sampler, dict(check.cell.settings))
        if not _near(float(theorem.rhs.subs(values)), check.prediction.value):
            return False
        derived, measured = _on_draws(theorem, check, sampler, values)
    except (_Unknown, TypeError, ValueError, ZeroDivisionError, KeyError, IndexError):
        return False
    return _near(derived, measured)


def _near(one: float, other: float) -> bool:
    return bool(abs(one - other) <= _CLOSE * max(abs(one), abs(other), 1e-6))


def _values(theorem: Theorem, sampler: Reduced, settings: Mapping[str, Any]) -> dict[Any, Any]:
    """Return values of a theorem's symbols: from the shape, the cell's settings, and the drawn laws' moments.

    Raises:
        _Unknown: what is drawn does not have the law of the hypotheses.
    """
    shape = sampler.input.shape
    values: dict[Any, Any] = {d: shape.d, n: shape.n}
    free = theorem.lhs.free_symbols | theorem.rhs.free_symbols
    numbers = {name: value for name, value in settings.items() if isinstance(value, int | float)}
    values |= {one: numbers[one.name] for one in free if isinstance(one, Symbol) and one.name in numbers}
    law = theorem.hypotheses.law or Population({})
    if not isinstance(law, Population):
        raise _Unknown("components of vectors are not drawn one by one")
    for component, moments in law.laws:
        drawn = _distribution(component, sampler)
        if component in law.normal and replace(drawn, loc=NORMAL.loc, scale=NORMAL.scale) != NORMAL:
            raise _Unknown(f"{component} is not normal")
        if component == s and (moments is not None or s in law.normal):
            raise _Unknown("scores of queries and keys have no law of their own")
        if moments is not None:
            _read_off(moments, drawn.moments(len(moments) - 1), values)
    _refuse_outside(theorem, values)
    return values


def _refuse_outside(theorem: Theorem, values: Mapping[Any, Any]) -> None:
    """Refuse values of which the theorem says nothing.

    Raises:
        _Unknown: one lies outside its domain, or a condition does not hold.
    """
    for one, domain in theorem.hypotheses.domains:
        if one in values and domain.contains(sympify(values[one])) is S.false:
            raise _Unknown(f"{one} is {values[one]}, outside {domain}")
    for condition in theorem.hypotheses.conditions:
        if condition.subs(values) is S.false:
            raise _Unknown(f"{condition} does not hold")


def _distribution(component: Any, sampler: Reduced) -> Any:
    drawn: Any = sampler.input
    if isinstance(drawn, SharedVectors):
        return drawn.distribution
    if drawn.correlation:
        raise _Unknown("correlated components")
    if component == s:
        return drawn.key
    return {q: drawn.query, k: drawn.key}[component]


def _read_off(assumed: tuple[Any, ...], exact: tuple[Any, ...], values: dict[Any, Any]) -> None:
    """Add to ``values`` the symbols that stand for moments, where all others are those of the drawn law."""
    for order, (moment, true) in enumerate(zip(assumed, exact, strict=True)):
        left = moment.subs(values)
        if left.is_Symbol:
            values[left] = float(true)
        elif len(left.free_symbols) == 1 and order == 2:
            (one,) = left.free_symbols
            values[one] = float(sqrt(float(true) - float(left.subs(one, 0))))
        elif left.free_symbols or not _near(float(left), float(true)):
            raise _Unknown(f"the moment of order {order} is {true}")


def _on_draws(
    theorem: Theorem, check: Quantity, sampler: Reduced, values: dict[Any, Any]
) -> tuple[float, float]:
    """Return a theorem's start on the draws of a check's statistic, and what the check estimates there."""
    rows = theorem.lhs.has(s, p, largest)
    paired = isinstance(sampler.statistic, OwnKeys)
    few = {"m": _FEW} if rows or isinstance(sampler.input, SharedVectors) else {"m": _FEW, "n": _FEW}
    whole: Any = sampler.input
    drawn = replace(whole, **{name: min(most, getattr(whole, name)) for name, most in few.items()})
    queries, keys = drawn.draw(np.random.default_rng(_SEED), _BLOCKS, columns=sampler.statistic.columns)
    output = sampler.statistic.reduce(queries, keys).mean(axis=0)
    estimand: Any = check.estimand
    measured = estimand.value(dict(zip(sampler.statistic.names, output, strict=True)))
    scale = float(getattr(sampler.statistic, "scale", 1.0))
    draws = _Draws(queries.astype(float), keys.astype(float), scale, paired, values | {n: keys.shape[1]})
    return draws.value(theorem.lhs), measured


@dataclass(frozen=True)
class _Draws:
    """Queries (blocks, m, d) and keys (blocks, n, d), and the values of all other symbols.

    Where they are ``paired``, each query goes with the key of its own place alone.
    """

    queries: Array
    keys: Array
    scale: float
    paired: bool
    values: Mapping[Any, Any]

    def value(self, expression: Any) -> float:
        """Return an expression with its means taken over all pairs, or rows, of the draws."""
        means = {one: Float(self._mean(one)) for one in expression.atoms(E, Var)}
        if not means:
            raise _Unknown("no mean")
        return float(expression.xreplace(means).subs(self.values))

    def _mean(self, one: Any) -> float:
        argument = one.args[0]
        if argument.has(E, Var):
            raise _Unknown("a mean in a mean")
        found = self._each(argument, ())
        return float(np.var(found) if isinstance(one, Var) else np.mean(found))

    def _each(self, part: Any, bound: tuple[Any, ...]) -> Any:
        """Return a part for every pair or row: axes for blocks, queries, keys, then one a bound index."""
        for kind, read in _READERS.items():
            if isinstance(part, kind):
                return read(self, part, bound)
        if part == largest:
            return self._scores().max(axis=-1)[..., None]
        if part.has(Indexed, Sum):
            raise _Unknown(type(part).__name__)
        return np.full((1, 1, 1) + (1,) * len(bound), float(part.subs(self.values)))

    def _sum(self, part: Any, bound: tuple[Any, ...]) -> Any:
        indices = tuple(limit[0] for limit in part.limits)
        if any(limit[1] != 1 for limit in part.limits):
            raise _Unknown("a sum from elsewhere")
        found = self._each(part.function, (*bound, *indices))
        wanted = tuple(int(limit[2].subs(self.values)) for limit in part.limits)
        shape = (*np.shape(found)[: 3 + len(bound)], *wanted)
        return np.broadcast_to(found, shape).sum(axis=tuple(range(-len(indices), 0)))

    def _combined(self, part: Any, bound: tuple[Any, ...]) -> Any:
        operation = {Add: np.add, Mul: np.multiply, Max: np.maximum}[part.func]
        return reduce(operation, (self._each(one, bound) for one in part.args))

    def _power(self, part: Any, bound: tuple[Any, ...]) -> Any:
        return self._each(part.base, bound) ** float(part.exp.subs(self.values))

    def _function(self, part: Any, bound: tuple[Any, ...]) -> Any:
        return _FUNCTIONS[part.func](self._each(part.args[0], bound))

    def _scores(self) -> Array:
        scores: Array = self.scale * self.queries @ self.keys.swapaxes(1, 2)
        return scores

    def _entry(self, part: Any, bound: tuple[Any, ...]) -> Array:
        """Return an entry of a query, a key, the scores of a row or its probabilities."""
        if part.base in {s, p}:
            of_row = self._scores()
            if part.base == p:
                of_row = np.exp(of_row - of_row.max(axis=-1, keepdims=True))
                of_row /= of_row.sum(axis=-1, keepdims=True)
            return self._placed(of_row[:, :, None], part.indices, bound)
        if part.base == q:
            return self._placed(self.queries[:, :, None], part.indices, bound)
        if part.base == k:
            keys = self.keys[:, :, None] if self.paired else self.keys[:, None]
            return self._placed(keys, part.indices, bound)
        raise _Unknown(str(part.base))

    @staticmethod
    def _placed(vectors: Array, indices: tuple[Any, ...], bound: tuple[Any, ...]) -> Array:
        """Return vectors, whose last axis is their index, with that axis where the index is bound."""
        (index,) = indices
        if index.is_Integer:
            return vectors[..., int(index) - 1].reshape(*vectors.shape[:3], *(1,) * len(bound))
        place = bound.index(index)
        return vectors.reshape(*vectors.shape[:3], *(1,) * place, -1, *(1,) * (len(bound) - place - 1))


_READERS = {
    Indexed: _Draws._entry,
    Sum: _Draws._sum,
    Add | Mul | Max: _Draws._combined,
    Pow: _Draws._power,
    tuple(_FUNCTIONS): _Draws._function,
}
