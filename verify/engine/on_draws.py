"""Evaluates what a theorem says on draws: its means are taken over all vectors that were drawn.

Products of means have two readings, as estimators of them have: of the means themselves, and without bias as
the mean over vectors that all differ.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache, reduce
from typing import Any

import numpy as np
from flint import arb, arb_mat, ctx
from sympy import (
    Abs,
    Add,
    Dummy,
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
from sympy.matrices.expressions import MatrixSymbol, Transpose
from sympy.matrices.expressions.matexpr import MatrixElement

from verify.montecarlo.distributions import Array, VectorSource
from verify.symbolic.arithmetics import FLOATS
from verify.symbolic.balls import Scene, value
from verify.symbolic.kernel.hypotheses import free_symbols
from verify.symbolic.kernel.words import E, Var

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

_BITS = 128  # the precision at which expressions of numbers are evaluated

Bound = tuple[tuple[Any, int, int], ...]
"""The indices that sums have bound so far: each with its least value, and how many values it has."""


class UnknownError(Exception):
    """Nothing here evaluates that on draws."""


class OtherLawError(Exception):
    """What is drawn does not have the law that a theorem assumes."""


def numbers(values: Mapping[Any, Any]) -> dict[Any, Any]:
    """Return the values of symbols that stand for single numbers."""
    return {one: value for one, value in values.items() if isinstance(one, Symbol)}


def evaluated(expression: Any, values: Mapping[Any, Any]) -> float:
    """Return the value of an expression without means, at values of its symbols and matrices.

    Raises:
        Unknown: nothing evaluates it.
        Undefined: it has no value there.
        UnknownError: it has a mean in it, or is no real number.
    """
    if expression.is_Rational:
        return float(expression)
    with ctx.workprec(_BITS):
        found = value(expression, _scene(expression, values))
    if not isinstance(found, arb):
        raise UnknownError("a complex number")
    return float(found.mid())


def in_floats(expression: Any, symbol: Any, values: Mapping[Any, Any]) -> Callable[[Any], Any]:
    """Return an expression without means as a function of one symbol's values, at values of the others.

    Raises:
        UnknownError: it has a mean in it.
    """
    scene = _scene(expression, values)
    return lambda at: value(expression, scene.having({symbol: at}, arithmetic=FLOATS))


def _scene(expression: Any, values: Mapping[Any, Any]) -> Scene:
    """Return single numbers and matrices as FLINT's; a whole number may be an index or a size."""
    if expression.has(E, Var):
        raise UnknownError("a mean")
    found: dict[Any, Any] = {}
    for one in free_symbols(expression) & values.keys():
        given = values[one]
        if isinstance(one, MatrixSymbol):
            found[one] = arb_mat(np.reshape(given, (len(given), -1)).astype(float).tolist())
        elif not np.ndim(given):
            found[one] = int(given) if np.isfinite(given) and given == int(given) else arb(float(given))
    return Scene(found)


@lru_cache(maxsize=256)
def _with_names(expression: Any, unbiased: bool) -> tuple[Any, dict[Any, Any], dict[Any, Any]]:
    """Return an expression with a symbol for each mean, and if ``unbiased`` for each product of two.

    And what the symbols stand for: the products, and the means.
    """
    products: dict[Any, Any] = {}
    if unbiased:
        expression = expression.replace(Var, lambda one: E(one**2) - E(one) ** 2)
        products = {one: Dummy() for one in expression.atoms(Mul, Pow) if len(_means_of(one)) == 2}
    rest = expression.xreplace(products)
    means = {one: Dummy() for one in rest.atoms(E, Var)}
    return rest.xreplace(means), products, means


def _means_of(product: Any) -> list[Any]:
    """Return the means that are factors of a product, or twice that of a square."""
    if isinstance(product, Pow):
        return [product.base] * 2 if isinstance(product.base, E) and product.exp == 2 else []
    return [one for one in product.args if isinstance(one, E)]


def _by_query_and_key(found: Array) -> Array:
    """Return values for everything drawn with an axis each for blocks, queries and keys.

    Raises:
        UnknownError: they need more axes.
    """
    blocks, queries, keys, more_queries, more_keys, lone = found.shape
    if min(queries, more_queries) > 1 or min(keys, more_keys) > 1 or lone > 1:
        raise UnknownError("a mean over two queries, two keys or other numbers")
    return found.transpose(0, 1, 3, 2, 4, 5).reshape(blocks, queries * more_queries, keys * more_keys)


@dataclass(frozen=True)
class Draws:
    """What each random name of a theorem stands for, and the values of all its other symbols.

    ``given`` pairs a name with a source and 0, or with 1 for another vector from the same source: the mean
    is then over all two that differ.
    """

    given: Mapping[Any, tuple[VectorSource, int]]
    values: Mapping[Any, Any]

    def both(self, expression: Any) -> Iterator[float]:
        """Yield an expression with its means taken over the draws, and again with products without bias.

        Raises:
            UnknownError: nothing here evaluates it.
        """
        for unbiased in (False, True):
            rest, products, means = _with_names(expression, unbiased)
            if products or not unbiased:
                values = {name: self._unbiased(one) for one, name in products.items()}
                values |= {name: self._mean(one) for one, name in means.items()}
                yield evaluated(rest, {**self.values, **values})

    def _mean(self, one: Any) -> float:
        found = self._sample(one)
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

    def _unbiased(self, product: Any) -> float:
        """Return a product of two means, over pairs that share neither a query nor a key (a U-statistic)."""
        one, other = np.broadcast_arrays(
            *(_by_query_and_key(self._sample(mean)) for mean in _means_of(product))
        )
        pairs = [1 - np.eye(size) if size > 1 else np.ones((1, 1)) for size in one.shape[1:]]
        total = np.sum(one * (pairs[0] @ other @ pairs[1]))
        rest = Mul(*(factor for factor in Mul.make_args(product) if not factor.has(E)))
        return self._number(rest) * float(total / (len(one) * pairs[0].sum() * pairs[1].sum()))

    def _sample(self, mean: Any) -> Array:
        """Return what a mean is of, for everything drawn.

        Raises:
            UnknownError: it has means in it.
        """
        if mean.args[0].has(E, Var):
            raise UnknownError("a mean in a mean")
        found: Array = self._each(mean.args[0], ())
        return found

    def _each(self, part: Any, bound: Bound) -> Any:
        """Return a part for everything drawn, with an axis for every bound index behind the leading ones."""
        for kind, read in _READERS.items():
            if isinstance(part, kind):
                return read(self, part, bound)
        if part in self.given:
            lone = np.moveaxis(self._vectors(part), -1, -2)[..., 0]
            return lone.reshape(*lone.shape, *(1,) * len(bound))
        return np.full((1,) * (_LEAD + len(bound)), self._number(part))

    def _number(self, part: Any) -> float:
        return float(self.values[part]) if part in self.values else evaluated(part, self.values)

    def _sum(self, part: Any, bound: Bound) -> Any:
        for index, *ends in part.limits:
            low, high = (int(self._number(end)) for end in ends)
            if any(index == one for one, _, _ in bound):
                raise UnknownError(f"{index} is bound twice")
            bound = (*bound, (index, low, high - low + 1))
        many = len(part.limits)
        found = [self._each(one, bound) for one in Mul.make_args(part.function)]
        found[0] = np.broadcast_to(
            found[0], (*found[0].shape[:-many], *(size for _, _, size in bound[-many:]))
        )
        axes = list(range(found[0].ndim))
        return np.einsum(*(given for one in found for given in (one, axes)), axes[:-many])

    def _combined(self, part: Any, bound: Bound) -> Any:
        operation = {Add: np.add, Mul: np.multiply, Max: np.maximum}[part.func]
        return reduce(operation, (self._each(one, bound) for one in part.args))

    def _power(self, part: Any, bound: Bound) -> Any:
        return self._each(part.base, bound) ** self._number(part.exp)

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
