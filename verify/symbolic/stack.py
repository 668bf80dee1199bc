"""Gradients on their way back through residual layers of even attention, where scores hardly vary."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sympy import Function, IndexedBase, MatMul, MatPow, Matrix, S, Sum, Symbol, symbols

from verify.symbolic.checks import By
from verify.symbolic.derivation import Derivation
from verify.symbolic.kernel.algebra import is_zero
from verify.symbolic.kernel.sums import SumIdentity, vanishes
from verify.symbolic.kernel.terms import Families
from verify.symbolic.kernel.words import E, n
from verify.symbolic.routes import Route, Step
from verify.symbolic.softmax import i, j

if TYPE_CHECKING:
    from collections.abc import Sequence

m = Symbol("D", integer=True, positive=True)
layers = Symbol("L", integer=True, positive=True)
a, b = symbols("a b", integer=True, positive=True)
g, w = IndexedBase("g"), IndexedBase("w")
Gamma = Function(r"\Gamma")
"""Γ(L): the gradient's mean square at the input of L layers, over that at their output."""

BACK = g[i, a] + Sum(w[a, b] * Sum(g[j, b], (j, 1, n)) / n, (b, 1, m))
"""One entry of the gradient after one layer back: the residual path, and even attention's value path."""

TOTAL, MEAN_PART = (
    Sum(g[i, a] ** 2, (i, 1, n), (a, 1, m)),
    Sum(Sum(g[j, b], (j, 1, n)) ** 2, (b, 1, m)) / n,
)


_SIZES = {g: (n, m), w: (m, m)}
_OVER_WEIGHTS = SumIdentity(Families(sizes=_SIZES, variances={w: 1 / m}), "tokens and dimensions")
"""Averages over weights, independent with mean 0 and a variance of one over their number of rows."""

_START = Matrix([1, 1 / n])
"""Sum of squares and shared part of a fresh gradient, per entry: all entries have the variance 1."""


def _is_the_recursion(ends: Sequence[Any]) -> By:
    """Return the check that a product starts at a fresh gradient and has what ``ends`` say in each layer."""

    def holds(before: Any, after: Any) -> bool:
        total, shared = symbols("total shared")
        in_both = Matrix([end.xreplace({TOTAL: total, n * MEAN_PART: n * shared}) for end in ends])
        step = in_both.jacobian([total, shared])
        fresh = Families(sizes=_SIZES, variances={g: S.One})
        starts = all(
            vanishes(E(part) - n * m * value, fresh)
            for part, value in zip((TOTAL, MEAN_PART), _START, strict=True)
        )
        expected = MatMul(Matrix([[1, 0]]), MatPow(step, layers), _START, evaluate=False)
        linear = in_both == step * Matrix([total, shared])
        return before == Gamma(layers) and linear and starts and bool(after == expected)

    return By("SymPy averages a fresh gradient, and compares with both recursions", holds)


def _power(before: Any, after: Any) -> bool:
    """Compare the first two entries and the recurrence that any entry of a matrix's powers obeys."""
    first, power, last = before.args
    matrix = power.base
    entries = [(first * matrix**depth * last)[0] for depth in (0, 1)]
    begins = all(is_zero(one - after.subs(layers, depth)) for depth, one in enumerate(entries))
    ahead = [after.subs(layers, layers + more) for more in (2, 1, 0)]
    rest = ahead[0] - matrix.trace() * ahead[1] + matrix.det() * ahead[2]
    return power.exp == layers and begins and is_zero(rest)


def even_attention() -> Derivation:
    """Return the derivation of the gradient's growth through layers of even attention."""
    layer_back = "one layer back, averaged over weights"
    total = Route(
        "The sum of squares after one layer back",
        E(Sum(BACK**2, (i, 1, n), (a, 1, m))),
        (
            Step(
                TOTAL + MEAN_PART,
                "Weights have mean 0, and variance one over their number of rows",
                _OVER_WEIGHTS,
            ),
        ),
    ).defining(f"{layer_back}: the sum of squares")
    mean_part = Route(
        "The part of it that all tokens share, after one layer back",
        E(Sum(Sum(BACK, (i, 1, n)) ** 2, (a, 1, m)) / n),
        (
            Step(
                2 * MEAN_PART, "The value path adds to it as much as the residual path brings", _OVER_WEIGHTS
            ),
        ),
    ).defining(f"{layer_back}: the part that tokens share")
    product = MatMul(Matrix([[1, 0]]), MatPow(Matrix([[1, 1], [0, 2]]), layers), _START, evaluate=False)
    result = 1 + (2**layers - 1) / n
    route = Route(
        "Sum of squares and shared part, layer by layer",
        Gamma(layers),
        (
            Step(
                product,
                "A fresh gradient’s shared part is one in so many tokens; both recursions as a matrix",
                _is_the_recursion((total.end, mean_part.end)),
            ),
            Step(
                result,
                "The power of the matrix",
                By("Cayley and Hamilton’s recurrence, and the first two entries", _power),
            ),
        ),
    )
    return Derivation.of(route, lemmas=(total, mean_part))
