"""Attention with symbolic shapes, entry by entry, and a check that differentiates it for small ones.

Rows of ``Q`` are m queries, of ``K`` and ``V`` n keys and their values, ``P`` holds the probabilities. ``G``
is a loss's gradient at the output PV, so the loss changes like Σ G_ab (PV)_ab. ``DX`` stands for the loss's
derivatives by the entries of X, printed dX; S are the scores.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from itertools import product
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from sympy import Add, Float, Idx, IndexedBase, Integer, Mul, Symbol, exp

from verify.symbolic.jacobian import is_rational_zero, without_sums
from verify.symbolic.printing import Ordered, OrderedBase
from verify.symbolic.scores import d
from verify.symbolic.softmax import n

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from verify.symbolic.derivation import Reach

    Array = NDArray[np.float64]

m = Ordered("m", "m", integer=True, positive=True)
d_v = Ordered("d_v", "d", integer=True, positive=True)
c = Ordered("c", "a", positive=True)
"""The number of queries, the dimension of the values, and the factor on the scores."""

Q, K, V = (OrderedBase(Ordered(name, rank)) for name, rank in (("Q", "y"), ("K", "z"), ("V", "w")))
P, G = (OrderedBase(Ordered(name, rank)) for name, rank in (("P", "h"), ("G", "v")))
S_ = IndexedBase("S")
DQ, DK, DV, DP, DS = (OrderedBase(Ordered(f"d{name}", f"i{name}")) for name in "QKVPS")
a, b, j, k, h = (Idx(name) for name in "abjkl")
"""Indices of queries, of the values' dimensions, of keys (two), and of the queries' dimensions (l)."""

Shape = tuple[int, int, int, int]
SHAPES: tuple[Shape, ...] = ((1, 2, 1, 1), (1, 3, 2, 1), (2, 2, 1, 2))
"""Values of m, n, d and d_v."""

PLACES: tuple[Shape, ...] = ((1, 1, 1, 1), (1, 2, 1, 2), (2, 3, 2, 1))
"""Values of the free indices a, j, l and b, as far as the shape goes: no two of them always alike."""


@dataclass(frozen=True)
class Differentiated:
    """Both sides are the same once SymPy has differentiated the loss, written out for a few shapes."""

    shapes: tuple[Shape, ...] = SHAPES
    reach: ClassVar[Reach] = "examples"

    @property
    def label(self) -> str:
        """How the step is checked, in words."""
        queries, keys, *dimensions = map(max, zip(*self.shapes, strict=True))
        return (
            f"SymPy, the loss differentiated at {len(self.shapes)} shapes of up to {queries} queries, "
            f"{keys} keys and {max(dimensions)} dimensions"
        )

    def holds(self, before: Any, after: Any) -> bool:
        """Return whether both sides are the same function of Q, K, V and G at every shape and place."""
        return all(
            is_rational_zero(written_out(before, shape, place) - written_out(after, shape, place))
            for shape, place in product(self.shapes, PLACES)
        )


@cache  # a step's expression is the next step's start
def written_out(expression: Any, shape: Shape, place: Shape) -> Any:
    """Return ``expression`` at a shape and a place: a rational function of plain symbols.

    The exponential of each product c·Q_al·K_jl is a symbol of its own.
    """
    within = (Integer(min(pair)) for pair in zip(place, shape, strict=True))
    concrete = without_sums(expression.subs(dict(zip((m, n, d, d_v), shape, strict=True))))
    entry = concrete.xreplace(dict(zip((a, j, h, b), within, strict=True)))
    return entry.xreplace(_entries(shape)).replace(exp, _factors)


def _factors(exponent: Any) -> Any:
    """Return the exponential as a product of symbols, one for each monomial of the exponent."""
    parts = (term.as_coeff_Mul() for term in Add.make_args(exponent.expand()))
    return Mul(*(Symbol(f"exp({monomial})", positive=True) ** power for power, monomial in parts))


@cache
def _entries(shape: Shape) -> dict[Any, Any]:
    """Return what every entry of every matrix is; derivatives are SymPy's, of the loss written out."""
    rows, keys, dimension, values = (range(1, extent + 1) for extent in shape)
    scores = {S_[r, o]: c * Add(*(Q[r, e] * K[o, e] for e in dimension)) for r, o in product(rows, keys)}
    weights = {
        P[r, o]: exp(S_[r, o]) / Add(*(exp(S_[r, other]) for other in keys)) for r, o in product(rows, keys)
    }
    of_weights = Add(*(G[r, e] * P[r, o] * V[o, e] for r, o, e in product(rows, keys, values)))
    of_scores = of_weights.xreplace(weights)
    whole = of_scores.xreplace(scores)
    sizes = {Q: (rows, dimension), K: (keys, dimension), V: (keys, values), P: (rows, keys), S_: (rows, keys)}
    losses = {DQ: (Q, whole), DK: (K, whole), DV: (V, whole), DP: (P, of_weights), DS: (S_, of_scores)}
    derivatives = {
        gradient[place]: loss.diff(by[place]).xreplace(weights)
        for gradient, (by, loss) in losses.items()
        for place in product(*sizes[by])
    }
    return {entry: one.xreplace(scores) for entry, one in (derivatives | weights).items()}


def value(expression: Any, free: tuple[Any, Any], known: Mapping[Any, Array], factor: float) -> Array:
    """Return ``expression`` for all values of its two ``free`` indices, from matrices and the scale.

    Q, K and V have to be ``known``, for they tell the shape.
    """
    extents = {a: len(known[Q]), j: len(known[K]), h: known[K].shape[1], b: known[V].shape[1]}
    shape = dict(zip((m, n, d, d_v), (extents[index] for index in (a, j, h, b)), strict=True))
    concrete = without_sums(expression.subs(shape)).xreplace({c: Float(factor)})
    entries = {
        base[row + 1, column + 1]: Float(number)
        for base, matrix in known.items()
        for (row, column), number in np.ndenumerate(matrix)
    }
    found = np.empty([extents[index] for index in free])
    for place in np.ndindex(*found.shape):
        chosen = {index: Integer(number + 1) for index, number in zip(free, place, strict=True)}
        found[place] = float(concrete.xreplace(chosen).xreplace(entries))
    return found
