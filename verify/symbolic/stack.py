"""Gradients on their way back through residual layers of even attention, where scores hardly vary."""

from __future__ import annotations

from typing import Any

from sympy import (
    Function,
    Indexed,
    IndexedBase,
    MatMul,
    MatPow,
    Matrix,
    Mul,
    Poly,
    S,
    Sum,
    Symbol,
    expand,
    simplify,
    symbols,
)

from verify.symbolic.derivation import By, Definition, Derivation, Route, Step
from verify.symbolic.expectation import E
from verify.symbolic.softmax import i, j, n

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


def _averaged(expression: Any, width: int) -> Any:
    """Return E over the entries of w, independent with mean 0 and variance 1/width."""

    def mean(inside: Any) -> Any:
        entries = sorted((x for x in inside.atoms(Indexed) if x.base == w), key=str)
        total = S.Zero
        for powers, coefficient in Poly(expand(inside), *entries).terms():
            moments = {0: S.One, 1: S.Zero, 2: S.One / width}
            total += coefficient * Mul(*[moments[power] for power in powers])
        return total

    return expression.replace(E, mean)


def _written_out(before: Any, after: Any) -> bool:
    """Write every entry out and average over the weights entry by entry."""
    for tokens, width in ((1, 2), (2, 1), (2, 2), (3, 2)):
        one, other = (side.subs({n: tokens, m: width}).doit() for side in (before, after))
        if simplify(_averaged(one, width) - _averaged(other, width)) != S.Zero:
            return False
    return True


def _exact_growth(tokens: int, width: int, depth: int) -> Any:
    """Return Γ of a small stack from explicit matrices, averaged over all weights and the gradient."""
    start = Matrix(tokens, width, lambda row, column: Symbol(f"g{row}_{column}"))
    even = Matrix(tokens, tokens, lambda *_: S.One / tokens)
    back, weights = start, []
    for layer in range(depth):
        one = Matrix(width, width, lambda row, column, at=layer: Symbol(f"w{at}_{row}_{column}"))
        weights += list(one)
        back = back + even * back * one.T
    squares = Poly(expand(sum(entry**2 for entry in back)), *weights, *list(start))
    variances = [S.One / width] * len(weights) + [S.One] * (tokens * width)
    total = S.Zero
    for powers, coefficient in squares.terms():
        if all(power in {0, 2} for power in powers):
            total += coefficient * Mul(*[v for v, p in zip(variances, powers, strict=True) if p])
    return total / (tokens * width)


def _is_the_stack(before: Any, after: Any) -> bool:
    cases = ((1, 1, 1), (2, 1, 1), (2, 1, 3), (2, 2, 2), (3, 1, 2))
    return before == Gamma(layers) and all(
        simplify(_entry(after, depth).subs(n, tokens) - _exact_growth(tokens, width, depth)) == S.Zero
        for tokens, width, depth in cases
    )


def _entry(product: Any, depth: int) -> Any:
    """Return the only entry of the row times the matrix to the power ``depth`` times the column."""
    (entry,) = Matrix(product.subs(layers, depth).doit())
    return entry


def _power_by_power(before: Any, after: Any) -> bool:
    """Multiply the matrices for the first depths; both sides obey one recurrence of order 2."""
    return all(simplify(_entry(before, depth) - after.subs(layers, depth)) == S.Zero for depth in range(1, 8))


def even_attention() -> Derivation:
    """Return the derivation of the gradient's growth through layers of even attention."""
    check = By(
        "SymPy, every entry written out for 1 to 3 tokens of 1 and 2 dimensions", _written_out, "examples"
    )
    total = Route(
        "The sum of squares after one layer back",
        E(Sum(BACK**2, (i, 1, n), (a, 1, m))),
        (Step(TOTAL + MEAN_PART, "Weights have mean 0, and variance one over their number of rows", check),),
    )
    mean_part = Route(
        "The part of it that all tokens share, after one layer back",
        E(Sum(Sum(BACK, (i, 1, n)) ** 2, (a, 1, m)) / n),
        (Step(2 * MEAN_PART, "The value path adds to it as much as the residual path brings", check),),
    )
    product = MatMul(
        Matrix([[1, 0]]), MatPow(Matrix([[1, 1], [0, 2]]), layers), Matrix([1, 1 / n]), evaluate=False
    )
    result = 1 + (2**layers - 1) / n
    route = Route(
        "Sum of squares and shared part, layer by layer",
        Gamma(layers),
        (
            Step(
                product,
                "A fresh gradient’s shared part is one in so many tokens; both recursions as a matrix",
                By(
                    "SymPy, small stacks with all their weights written out, up to three layers",
                    _is_the_stack,
                    "examples",
                ),
            ),
            Step(
                result,
                "The power of the matrix",
                By("SymPy multiplies the matrices for L = 1…7", _power_by_power, "examples"),
            ),
        ),
    )
    layer_back = "one layer back, averaged over weights: "
    definitions = (
        Definition(E(Sum(BACK**2, (i, 1, n), (a, 1, m))), layer_back + "the sum of squares"),
        Definition(
            E(Sum(Sum(BACK, (i, 1, n)) ** 2, (a, 1, m)) / n), layer_back + "the part that tokens share"
        ),
    )
    return Derivation(Gamma(layers), result, (route,), (total, mean_part), definitions=definitions)
