"""Array code that claims compare with formulas, and second sources for it.

Array, Draws          NumPy's arrays; those that a program gets, by the names of their families
stream                the random generator of a claim's cell
softmax               softmax over the last axis, as a program computes it
probabilities         the weights of queries and keys; ``attention`` their mean values
gradients             the gradients at queries, keys and values
entries               an expression at all places of its indices, for families given as arrays
complex_step          derivatives of array code, without any formula
loops                 second sources: attention and its gradients in plain loops
in_single_precision   array code that computes with half as many digits
largest_difference    the largest absolute difference of two arrays
rounded               the nearest numbers of few bits, ties to even, whatever the exponent
Rounded               the same as an expression: ``E((Rounded(score, 8) - score)**2)``
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from sympy import Expr, Function, S

from verify.montecarlo.compiling import BLOCK, Compiler
from verify.montecarlo.distributions import Array, stream
from verify.montecarlo.softmax import softmax
from verify.spec import loops
from verify.spec.loops import complex_step
from verify.symbolic.vocabulary import Index, Made, families_of, unnamed

__all__ = ["Array", "complex_step", "loops", "softmax", "stream"]  # what it imports for claims

Draws = Mapping[str, Array]
"""The draws of a block that a program gets: arrays by the names of their families."""


class Gradients(NamedTuple):
    """The gradients of a loss with respect to each array of the attention."""

    queries: Array
    keys: Array
    values: Array
    scores: Array
    probabilities: Array


def probabilities(queries: Array, keys: Array, scale: float | Array, mask: Array | None = None) -> Array:
    """Return the attention weights softmax(c·QKᵀ + mask), shape (…, queries, keys).

    ``queries`` has shape (…, m, d), ``keys`` (…, n, d); ``mask`` is added to the scores and holds 0 or -∞.
    The scale may be an array that broadcasts, (…, 1, 1), for several at once.
    """
    scores = scale * (queries @ np.swapaxes(keys, -1, -2))
    return softmax(scores if mask is None else scores + mask)


def attention(
    queries: Array, keys: Array, values: Array, scale: float | Array, mask: Array | None = None
) -> Array:
    """Return softmax(c·QKᵀ + mask)·V, shape (…, queries, d_v).

    Source: A. Vaswani et al., Attention Is All You Need, NeurIPS 2017, equation 1.
    """
    return probabilities(queries, keys, scale, mask) @ values


def gradients(
    queries: Array, keys: Array, values: Array, weights: Array, upstream: Array, scale: float | Array
) -> Gradients:
    """Return the gradients that ``upstream``, the gradient at the output, sends back through the attention.

    ``weights`` are the probabilities of the forward pass. dV = PᵀG, dP = GVᵀ, dS = P∘(dP - rowsum(P∘dP)),
    dQ = c·dS·K, dK = c·dSᵀ·Q; the claim on attention's gradients derives them.
    """
    of_probabilities = upstream @ np.swapaxes(values, -1, -2)
    inner = np.einsum("...mn,...mn->...m", weights, of_probabilities)
    of_scores: Array = weights * (of_probabilities - inner[..., None])
    # Weights may be in double precision, for the digits of 1 - p; their products with vectors need not be.
    scaled, weights = (part.astype(upstream.dtype, copy=False) for part in (scale * of_scores, weights))
    of_keys, of_values = (np.swapaxes(part, -1, -2) for part in (scaled, weights))
    return Gradients(scaled @ keys, of_keys @ queries, of_values @ upstream, of_scores, of_probabilities)


def entries(
    expression: Expr, places: Sequence[Index], families: Mapping[str, Array], at: Mapping[Any, Any]
) -> Array:
    """Return an expression at all places of its free indices, an axis for each, with values of its symbols.

    ``families`` are arrays by the names of the expression's families.

    Example:
        >>> entries(c * score, (a, j), {"q": queries, "k": keys}, {c: 0.5})
    """
    opened = unnamed(expression)
    used = families_of(opened)
    sizes = {
        extent: length
        for family in used
        for extent, length in zip(family.ranges, families[str(family.label)].shape, strict=True)
    }
    compiler = Compiler(sizes, {**sizes, **at}, used)
    compiler.learn(opened)
    node = compiler.view(compiler.node(opened), (BLOCK, *places))
    draws = {str(family.label): families[str(family.label)][None] for family in used}
    values: Array = compiler.compiled([node]).run(draws, np.random.default_rng(0))[0, 0]
    return values


def in_single_precision(code: Callable[..., Any]) -> Callable[..., Any]:
    """Return array code that computes with half as many digits: a distance that is not yet rounding."""

    def single(*arguments: Any) -> Any:
        narrow = (np.asarray(x, np.complex64 if np.iscomplexobj(x) else np.float32) for x in arguments)
        result = np.asarray(code(*narrow))
        return result.astype(np.complex128 if np.iscomplexobj(result) else np.float64)

    return single


def largest_difference(first: Array, second: Array) -> float:
    """Return the largest absolute difference of two arrays' entries, not a number where any entry is none.

    Raises:
        ValueError: the shapes differ, so that an array could be compared with copies of a part of itself.
    """
    if np.shape(first) != np.shape(second):
        raise ValueError(f"arrays of shapes {np.shape(first)} and {np.shape(second)} cannot be compared")
    return float(np.max(np.abs(np.subtract(first, second)), initial=0.0))


def rounded(values: Array, bits: int) -> Array:
    """Return the nearest numbers of ``bits`` significant bits, ties to even; no exponent is out of range."""
    values = np.asarray(values, order="C")
    patterns = values.view(f"u{values.itemsize}")
    dropped = patterns.dtype.type(np.finfo(values.dtype).nmant + 1 - bits)
    unit = patterns.dtype.type(1)
    # Add half of the last bit that stays, less 1 where that is even; a carry into the exponent is right.
    moved = patterns + ((unit << (dropped - unit)) - unit + ((patterns >> dropped) & unit))
    nearest: Array = (moved >> dropped << dropped).view(values.dtype)
    return nearest


class Rounded(Function):  # type: ignore[misc]  # SymPy has no types
    """``Rounded(x, bits)``: the number of so many significant bits that is nearest to x."""

    nargs = 2
    is_extended_real = True

    @property
    def drawn(self) -> Any:
        """The number of unknown law that stands for it where a line is checked."""
        return Made(str(self), S.One)[1]

    @staticmethod
    def numpy(values: Array, bits: float) -> Array:
        """Return it for arrays."""
        return rounded(values, int(bits))

    def _latex(self, printer: Any) -> str:
        x, bits = map(printer._print, self.args)
        return rf"\operatorname{{fl}}_{{{bits}}}\left({x}\right)"
