"""Attention with symbolic shapes, entry by entry, and a check that differentiates it.

Rows of ``Q`` are m queries, of ``K`` and ``V`` n keys and their values, ``P`` holds the probabilities. ``G``
is a loss's gradient at the output PV, so the loss changes like Σ G_ab (PV)_ab. ``DX`` stands for the loss's
derivatives by the entries of X, printed dX; S are the scores.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np
from sympy import Idx, Indexed, IndexedBase, Sum, exp

from verify.symbolic.checks import By
from verify.symbolic.kernel.sums import vanishes
from verify.symbolic.kernel.terms import Families
from verify.symbolic.kernel.words import Ordered, OrderedBase, n
from verify.symbolic.predict import function
from verify.symbolic.scores import d

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

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

_ROW, _KEY, _OTHER_KEY, _ENTRY, _VALUE = (Idx(f"{name}'") for name in "ajklb")
"""Indices that the loss is summed over, under names that occur nowhere else."""

_SIZES = Families(
    sizes={Q: (m, d), K: (n, d), V: (n, d_v), G: (m, d_v)},
    indices={a: m, j: n, h: d, b: d_v},
    made_of={},
)
_BY = {DQ: Q, DK: K, DV: V, DP: P, DS: S_}


def _differentiated(before: Any, after: Any) -> bool:
    """Return whether both sides are the same function of Q, K, V and G."""
    return vanishes(_of_matrices(before) - _of_matrices(after), _SIZES)


DIFFERENTIATED = By(
    "SymPy differentiates the loss, for any number of queries, keys and dimensions", _differentiated
)
"""Both sides are the same once SymPy has differentiated the loss, with symbolic shapes."""


def _of_matrices(expression: Any) -> Any:
    """Return ``expression`` as one of Q, K, V and G, derivatives of the loss as SymPy finds them."""
    entries = expression.atoms(Indexed)
    gradients = {one: _derivative(_BY[one.base], *one.indices) for one in entries if one.base in _BY}
    return _with_scores(_with_weights(expression.xreplace(gradients)))


@cache
def _derivative(by: Any, row: Any, column: Any) -> Any:
    """Return the derivative by an entry of the loss ΣG·PV, with as much of it put in as depends on that."""
    shape = ((_ROW, 1, m), (_VALUE, 1, d_v), (_KEY, 1, n))
    loss = Sum(G[_ROW, _VALUE] * P[_ROW, _KEY] * V[_KEY, _VALUE], *shape)
    if by not in {P, V}:
        loss = _with_weights(loss)
    if by in {Q, K}:
        loss = _with_scores(loss)
    return loss.diff(by[row, column])


def _with_weights(expression: Any) -> Any:
    """Return ``expression`` with every probability as the softmax that it is."""

    def softmax(row: Any, key: Any) -> Any:
        return exp(S_[row, key]) / Sum(exp(S_[row, _OTHER_KEY]), (_OTHER_KEY, 1, n))

    weights = (one for one in expression.atoms(Indexed) if one.base == P)
    return expression.xreplace({one: softmax(*one.indices) for one in weights})


def _with_scores(expression: Any) -> Any:
    """Return ``expression`` with every score as the product that it is, times the factor."""
    scores = (one for one in expression.atoms(Indexed) if one.base == S_)
    return expression.xreplace(
        {
            one: c * Sum(Q[one.indices[0], _ENTRY] * K[one.indices[1], _ENTRY], (_ENTRY, 1, d))
            for one in scores
        }
    )


def value(expression: Any, free: tuple[Any, Any], known: Mapping[Any, Array], factor: float) -> Array:
    """Return ``expression`` for all values of its two ``free`` indices, from matrices and the scale.

    Q, K and V have to be ``known``, for they tell the shape.
    """
    extents = {a: len(known[Q]), j: len(known[K]), h: known[K].shape[1], b: known[V].shape[1]}
    shape = dict(zip((m, n, d, d_v), (extents[index] for index in (a, j, h, b)), strict=True))
    # Indices count from 1.
    matrices = [np.pad(matrix, ((1, 0), (1, 0))) for matrix in known.values()]
    places = np.meshgrid(*(np.arange(1, extents[index] + 1) for index in free), indexing="ij")
    values = function((*known, *free, *shape, c), expression, "numpy")
    return np.asarray(values(*matrices, *places, *shape.values(), factor), np.float64)
