"""Attention with symbolic shapes, entry by entry, and the derivatives of a loss.

Rows of ``Q`` are m queries, of ``K`` and ``V`` n keys and their values, ``P`` holds the probabilities. ``G``
is a loss's gradient at the output PV, so the loss changes like Σ G_ab (PV)_ab. ``DX`` stands for the loss's
derivatives by the entries of X, printed dX; S are the scores.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from sympy import Derivative, Dummy, Idx, IndexedBase, Sum, exp

from verify.symbolic.kernel.sums import SumIdentity
from verify.symbolic.kernel.terms import Families
from verify.symbolic.kernel.words import Ordered, OrderedBase, n
from verify.symbolic.printing import function
from verify.symbolic.scores import d

if TYPE_CHECKING:
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

_AT = Dummy("row", integer=True), Dummy("column", integer=True)


def _loss(weights: Any) -> Any:
    """Return the loss ΣG·PV for ``weights``, a function of a query and a key."""
    shape = ((_ROW, 1, m), (_VALUE, 1, d_v), (_KEY, 1, n))
    return Sum(G[_ROW, _VALUE] * weights(_ROW, _KEY) * V[_KEY, _VALUE], *shape)


def _weight(row: Any, key: Any) -> Any:
    """Return the softmax of the scores of a row at a key."""
    return exp(S_[row, key]) / Sum(exp(S_[row, _OTHER_KEY]), (_OTHER_KEY, 1, n))


def _score(row: Any, key: Any) -> Any:
    """Return the product of a query and a key, times the factor."""
    return c * Sum(Q[row, _ENTRY] * K[key, _ENTRY], (_ENTRY, 1, d))


def _written_out(row: Any, key: Any) -> Any:
    """Return a weight as a function of queries and keys."""
    return exp(_score(row, key)) / Sum(exp(_score(row, _OTHER_KEY)), (_OTHER_KEY, 1, n))


def _derivative(by: Any, weights: Any) -> tuple[Any, Any]:
    """Return indices and the loss's derivative by that entry, with ``weights`` written out in what moves."""
    return _AT, Derivative(_loss(weights), by[_AT])


MATRICES = Families(
    sizes={
        **dict.fromkeys((Q, DQ), (m, d)),
        **dict.fromkeys((K, DK), (n, d)),
        **dict.fromkeys((V, DV), (n, d_v)),
        **dict.fromkeys((P, S_, DP, DS), (m, n)),
        G: (m, d_v),
    },
    made_of={
        P: (_AT, _weight(*_AT)),
        S_: (_AT, _score(*_AT)),
        DP: _derivative(P, lambda row, key: P[row, key]),
        DV: _derivative(V, lambda row, key: P[row, key]),
        DS: _derivative(S_, _weight),
        DQ: _derivative(Q, _written_out),
        DK: _derivative(K, _written_out),
    },
)
"""What every matrix stands for in the end, and the sizes of all: m queries, n keys, two dimensions."""

DIFFERENTIATED = SumIdentity(MATRICES, "queries, keys and dimensions")
"""Both sides are the same once the loss is differentiated, with symbolic shapes."""


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
