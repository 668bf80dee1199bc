"""Gradients on their way back through residual layers of even attention, where scores hardly vary."""

from __future__ import annotations

from sympy import Function, IndexedBase, S, Sum, Symbol, symbols

from verify.symbolic.derivation import Derivation
from verify.symbolic.kernel.entries import Induction
from verify.symbolic.kernel.sums import SumIdentity
from verify.symbolic.kernel.terms import Families
from verify.symbolic.kernel.words import E, n
from verify.symbolic.routes import one_step
from verify.symbolic.softmax import i, j

m = Symbol("D", integer=True, positive=True)
layers, depth = Symbol("L", integer=True, positive=True), Symbol("l", integer=True, nonnegative=True)
a, b = symbols("a b", integer=True, positive=True)
g, w = IndexedBase("g"), IndexedBase("w")
Gamma, Shared = Function(r"\Gamma"), Function(r"\bar\Gamma")
"""Γ(L): the gradient's mean square at the input of L layers, over that at their output; and what of it all
tokens share."""

BACK = g[i, a] + Sum(w[a, b] * Sum(g[j, b], (j, 1, n)) / n, (b, 1, m))
"""One entry of the gradient after one layer back: the residual path, and even attention's value path."""

TOTAL, MEAN_PART = (
    Sum(g[i, a] ** 2, (i, 1, n), (a, 1, m)),
    Sum(Sum(g[j, b], (j, 1, n)) ** 2, (b, 1, m)) / n,
)


_SIZES = {g: (n, m), w: (m, m)}
_OVER_WEIGHTS = SumIdentity(Families(sizes=_SIZES, variances={w: 1 / m}), "tokens and dimensions")
"""Averages over weights, independent with mean 0 and a variance of one over their number of rows."""

_OVER_GRADIENTS = SumIdentity(Families(sizes=_SIZES, variances={g: S.One}), "tokens and dimensions")
"""Averages over a fresh gradient, whose entries are independent with mean 0 and variance 1."""


def even_attention() -> Derivation:
    """Return the derivation of the gradient's growth through layers of even attention."""
    layer_back = "one layer back, averaged over weights"
    total = one_step(
        "The sum of squares after one layer back",
        E(Sum(BACK**2, (i, 1, n), (a, 1, m))),
        TOTAL + MEAN_PART,
        "Weights have mean 0, and variance one over their number of rows",
        _OVER_WEIGHTS,
        defines=f"{layer_back}: the sum of squares",
    )
    mean_part = one_step(
        "The part of it that all tokens share, after one layer back",
        E(Sum(Sum(BACK, (i, 1, n)) ** 2, (a, 1, m)) / n),
        2 * MEAN_PART,
        "The value path adds to it as much as the residual path brings",
        _OVER_WEIGHTS,
        defines=f"{layer_back}: the part that tokens share",
    )
    fresh = one_step(
        "The same of a fresh gradient",
        E(TOTAL),
        n * m,
        "All entries have the variance 1",
        _OVER_GRADIENTS,
        defines="a fresh gradient: the sum of squares",
    )
    fresh_part = one_step(
        "and the part of it that all tokens share",
        E(MEAN_PART),
        m,
        "One in as many as there are tokens",
        _OVER_GRADIENTS,
        defines="a fresh gradient: the part that tokens share",
    )
    start = {Gamma(0): fresh.end / (n * m), Shared(0): fresh_part.end / (n * m)}
    now = {TOTAL: Gamma(depth), n * MEAN_PART: n * Shared(depth)}
    following = {Gamma(depth + 1): total.end.xreplace(now), Shared(depth + 1): mean_part.end.xreplace(now)}
    closed = {Gamma(depth): 1 + (2**depth - 1) / n, Shared(depth): 2**depth / n}
    route = one_step(
        "Sum of squares and shared part, layer by layer",
        Gamma(layers),
        1 + (2**layers - 1) / n,
        "Each layer has weights of its own: the shared part doubles, and the sum grows by what was shared",
        Induction(depth, start, following, closed),
    )
    return Derivation.of(route, lemmas=(total, mean_part, fresh, fresh_part))
