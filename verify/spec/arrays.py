"""Array code that claims compare with formulas, and second sources for it.

The second sources are derivatives by complex steps, attention in plain loops, and a search for a worst row.
"""

from collections.abc import Callable, Mapping, Sequence
from functools import cache, partial
from typing import Any, NamedTuple

import numpy as np
import scipy
from sympy import Expr, Function, S

from verify.montecarlo.compiling import BLOCK, Compiler
from verify.montecarlo.distributions import Array, stream
from verify.montecarlo.operations import Draws, softmax
from verify.symbolic.vocabulary import Index, Made, families_of, unnamed

__all__ = ["Array", "Draws", "softmax", "stream"]  # what it imports for claims


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
    # The compiler of what is measured, on a single block: an expression means here what it means there.
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


Sees = Callable[[int, int], bool]  # whether a query, by its number, may see a key


def fixed_normals(*shape: int) -> Array:
    """Return standard normal numbers in an array of this shape, the same each time."""
    return np.random.default_rng(1).normal(size=shape)


def attention_in_loops(
    queries: Array, keys: Array, values: Array, scale: float, sees: Sees = lambda _row, _place: True
) -> Array:
    """Return softmax(c·QKᵀ)·V entry by entry, over the keys that each query ``sees``, shape (queries, d_v).

    Source: A. Vaswani et al., Attention Is All You Need, NeurIPS 2017, equation 1. Complex arrays stay
    complex, so that the loops can be differentiated by complex steps.
    """
    output = np.zeros((len(queries), values.shape[1]), np.result_type(queries, keys, values))
    for row, query in enumerate(queries):
        seen = [place for place in range(len(keys)) if sees(row, place)]
        weights = [np.exp(scale * sum(x * y for x, y in zip(query, keys[j], strict=True))) for j in seen]
        for column in range(values.shape[1]):
            weighted = sum(weight * values[j, column] for weight, j in zip(weights, seen, strict=True))
            output[row, column] = weighted / sum(weights)
    return output


_STEP = 1e-30  # so small that the error, of the order of its square, is nothing; and no difference is taken


def complex_step(function: Callable[[Any], Any], at: Array) -> Array:
    """Return the derivatives of ``function`` by every entry of ``at``, shape ``at.shape`` + output's shape.

    ``function`` must be analytic, and treat axes before those of ``at`` as a batch. Source: W. Squire and
    G. Trapp, Using Complex Variables to Estimate Derivatives of Real Functions, SIAM Rev. 40 (1998).

    Raises:
        TypeError: ``function`` returns real numbers, so its derivative cannot be read off.
    """
    directions = np.eye(at.size).reshape(at.size, *at.shape)
    moved = np.asarray(function(at + 1j * _STEP * directions))
    if not np.iscomplexobj(moved):
        raise TypeError("a function whose gradient is needed must be analytic: no absolute values, no parts")
    derivatives: Array = moved.imag / _STEP
    return derivatives.reshape(*at.shape, *derivatives.shape[1:])


def gradients_of_loops(
    queries: Array, keys: Array, values: Array, upstream: Array, scale: float
) -> tuple[Array, ...]:
    """Return dQ, dK and dV of the loss ΣG·output of the loops, by complex steps, without any formula."""
    given: dict[str, Any] = {"queries": queries, "keys": keys, "values": values}

    def losses(name: str, steps: Array) -> Array:
        outputs = (attention_in_loops(**{**given, name: step}, scale=scale) for step in steps)
        return np.array([np.sum(upstream * output) for output in outputs])

    return tuple(complex_step(partial(losses, name), part) for name, part in given.items())


def over_queries(scores: Array) -> Array:
    """Return the softmax along the wrong axis: every key's weights over the queries sum to 1."""
    return np.swapaxes(softmax(np.swapaxes(scores, -1, -2)), -1, -2)


OfRows = Callable[[Array], Array]  # a function of sorted rows of probabilities

REACH = 5.0  # the search is over scores up to this size: beyond, eigenvalues near 0 lose digits to rounding


@cache  # the same whatever the tolerance
def largest_ratio(over: OfRows, under: OfRows, keys: int) -> float:
    """Return the largest over/under that differential evolution finds among rows of ``keys`` probabilities.

    Both functions get sorted rows, largest first, shape (rows, keys), and return shape (rows,).
    Source: R. Storn and K. Price, Differential Evolution, J. Global Optimization 11 (1997), 341-359.
    """

    def negative(scores: Array) -> Array:
        rows = -np.sort(-softmax(scores.T), axis=-1)
        return -over(rows) / under(rows)

    # A fixed seed and number of generations: the same row each time, on every machine.
    search = scipy.optimize.differential_evolution(
        negative,  # type: ignore[arg-type]  # SciPy's stubs know no vectorised functions
        scipy.optimize.Bounds([-REACH] * keys, [REACH] * keys),
        maxiter=40,
        popsize=max(4, 32 // keys),
        seed=keys,
        tol=0,
        polish=False,
        vectorized=True,
        updating="deferred",
    )
    return -float(negative(search.x[:, None])[0])


def spectral_norms(weights: Array) -> Array:
    """Return the largest eigenvalue of diag(p) - ppᵀ for each row of ``weights``, shape (rows,)."""
    matrices = weights[:, :, None] * np.eye(weights.shape[1]) - weights[:, :, None] * weights[:, None, :]
    return np.asarray(np.linalg.eigvalsh(matrices)[:, -1], np.float64)
