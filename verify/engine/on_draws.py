"""Evaluates what a theorem says on draws: its means are taken over all vectors that were drawn."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, reduce
from typing import TYPE_CHECKING, Any

import numpy as np
from sympy import (
    Abs,
    Add,
    Float,
    Idx,
    Indexed,
    KroneckerDelta,
    Max,
    Mul,
    Pow,
    Sum,
    Symbol,
    Trace,
    cos,
    cosh,
    exp,
    log,
    sign,
    sin,
    sinh,
    tanh,
)
from sympy.matrices.expressions import Transpose
from sympy.matrices.expressions.matexpr import MatrixElement

from verify.symbolic.kernel.words import E, Var

if TYPE_CHECKING:
    from collections.abc import Mapping

    from verify.montecarlo.distributions import Array
    from verify.montecarlo.sources import Source

_FUNCTIONS = {
    exp: np.exp,
    log: np.log,
    tanh: np.tanh,
    cosh: np.cosh,
    sinh: np.sinh,
    cos: np.cos,
    sin: np.sin,
    sign: np.sign,
    Abs: np.abs,
}
_LEAD = 6
"""Axes of any part: blocks, queries, keys, other queries, other keys, and the values of a lone variable."""

Bound = tuple[tuple[Any, int, int], ...]
"""The indices that sums have bound so far: each with its least value, and how many values it has."""


class UnknownError(Exception):
    """Nothing here evaluates that on draws."""


def numbers(values: Mapping[Any, Any]) -> dict[Any, Any]:
    """Return the values of symbols that stand for single numbers."""
    return {one: value for one, value in values.items() if isinstance(one, Symbol)}


@dataclass(frozen=True)
class Draws:
    """What each random name of a theorem stands for, and the values of all its other symbols.

    ``given`` pairs a name with a source and 0, or with 1 for another vector from the same source: the mean
    is then over all two that differ.
    """

    given: Mapping[Any, tuple[Source, int]]
    values: Mapping[Any, Any]

    @cached_property
    def _numbers(self) -> dict[Any, Any]:
        return numbers(self.values)

    def value(self, expression: Any) -> float:
        """Return an expression with its means taken over the draws."""
        means = {one: Float(self._mean(one)) for one in expression.atoms(E, Var)}
        return float(expression.xreplace(means).subs(self._numbers))

    def _mean(self, one: Any) -> float:
        argument = one.args[0]
        if argument.has(E, Var):
            raise UnknownError("a mean in a mean")
        found = self._each(argument, ())
        differ = np.ones((1,) * _LEAD)
        for first in (1, 2):
            size = found.shape[first]
            if size > 1 and found.shape[first + 2] > 1:
                differ = differ * (1 - np.eye(size)).reshape(
                    [size if axis in {first, first + 2} else 1 for axis in range(_LEAD)]
                )
        weights = np.broadcast_to(differ, found.shape)
        mean = np.average(found, weights=weights)
        return float(np.average((found - mean) ** 2, weights=weights) if isinstance(one, Var) else mean)

    def _each(self, part: Any, bound: Bound) -> Any:
        """Return a part for everything drawn, with an axis for every bound index behind the leading ones."""
        for kind, read in _READERS.items():
            if isinstance(part, kind):
                return read(self, part, bound)
        if part in self.given:
            lone = np.moveaxis(self._vectors(part), -1, -2)[..., 0]
            return lone.reshape(*lone.shape, *(1,) * len(bound))
        return np.full((1,) * (_LEAD + len(bound)), float(part.subs(self._numbers)))

    def _sum(self, part: Any, bound: Bound) -> Any:
        for index, *ends in part.limits:
            low, high = (int(end.subs(self._numbers)) for end in ends)
            if any(index == one for one, _, _ in bound):
                raise UnknownError(f"{index} is bound twice")
            bound = (*bound, (index, low, high - low + 1))
        many = len(part.limits)
        found = self._each(part.function, bound)
        shape = (*found.shape[:-many], *(size for _, _, size in bound[-many:]))
        return np.broadcast_to(found, shape).sum(axis=tuple(range(-many, 0)))

    def _combined(self, part: Any, bound: Bound) -> Any:
        operation = {Add: np.add, Mul: np.multiply, Max: np.maximum}[part.func]
        return reduce(operation, (self._each(one, bound) for one in part.args))

    def _power(self, part: Any, bound: Bound) -> Any:
        return self._each(part.base, bound) ** float(part.exp.subs(self._numbers))

    def _function(self, part: Any, bound: Bound) -> Any:
        return _FUNCTIONS[part.func](self._each(part.args[0], bound))

    def _index(self, part: Any, bound: Bound) -> Array:
        """Return the values of a bound index."""
        low, size = next(about for one, *about in bound if one == part)
        return self._placed(np.arange(float(low), low + size).reshape(*(1,) * _LEAD, -1), (part,), bound, low)

    def _equal(self, part: Any, bound: Bound) -> Any:
        one, other = (self._each(index, bound) for index in part.args[:2])
        return np.equal(one, other)

    def _entry(self, part: Any, bound: Bound) -> Array:
        """Return a component of a vector, of the one that a first index says where there are two."""
        if part.base not in self.given:
            raise UnknownError(str(part.base))
        if len(part.indices) == 1:
            return self._placed(self._vectors(part.base), part.indices, bound, 1)
        vectors = self.given[part.base][0].vectors.astype(float)
        blocks, *sizes = vectors.shape
        return self._placed(vectors.reshape(blocks, *(1,) * (_LEAD - 1), *sizes), part.indices, bound, 1)

    def _element(self, part: Any, bound: Bound) -> Array:
        """Return an element of a matrix of one column: of a random vector, or of a given one."""
        if part.parent in self.given:
            column = self._vectors(part.parent)
        else:
            column = np.reshape(self.values[part.parent], (*(1,) * _LEAD, -1))
        if part.j != 0:
            raise UnknownError(str(part))
        return self._placed(column, (part.i,), bound, 0)

    def _trace(self, part: Any, bound: Bound) -> Array:
        """Return the inner product of two random vectors, which is the trace of a matrix of one entry."""
        turned, other = part.arg.args
        if part.arg != Transpose(turned.T) * other:
            raise UnknownError(str(part))
        product: Array = (self._vectors(turned.T) * self._vectors(other)).sum(axis=-1)
        return product.reshape(*product.shape, *(1,) * len(bound))

    def _vectors(self, name: Any) -> Array:
        """Return the vectors that a name stands for, their components behind the leading axes."""
        source, other = self.given[name]
        vectors = source.vectors.astype(float)
        blocks, many, size = vectors.shape
        if other and many == 1:
            raise UnknownError("there is no other")
        axes = [blocks, *(1,) * (_LEAD - 1), size]
        axes[1 + source.place + 2 * other] = many
        return vectors.reshape(axes)

    @staticmethod
    def _placed(array: Array, indices: tuple[Any, ...], bound: Bound, first: int) -> Array:
        """Return an array, whose last axes are ``indices`` from ``first`` on, with axes for those bound.

        Raises:
            UnknownError: an index runs elsewhere.
        """
        places: list[int] = []
        for index in reversed(indices):
            axis = _LEAD + indices.index(index)
            if index.is_Integer:
                array = np.take(array, [int(index) - first], axis=axis).squeeze(axis)
                continue
            place, low, size = next((at, *about) for at, (one, *about) in enumerate(bound) if one == index)
            if (low, size) != (first, array.shape[axis]) or place in places:
                raise UnknownError(f"{index} runs elsewhere")
            places.insert(0, place)
        order = np.argsort(places)
        array = array.transpose(*range(_LEAD), *(_LEAD + order))
        sizes = [1] * len(bound)
        for place in places:
            sizes[place] = bound[place][2]
        return array.reshape(*array.shape[:_LEAD], *sizes)


_READERS = {
    Indexed: Draws._entry,
    MatrixElement: Draws._element,
    Trace: Draws._trace,
    Sum: Draws._sum,
    Idx: Draws._index,
    KroneckerDelta: Draws._equal,
    Add | Mul | Max: Draws._combined,
    Pow: Draws._power,
    tuple(_FUNCTIONS): Draws._function,
}
