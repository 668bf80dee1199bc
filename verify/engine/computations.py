"""Computations of parts of statements: an expression in the words of a question, at a dimension."""

import math
from functools import cache
from typing import NamedTuple

from sympy import Expr, N

from verify.errors import ClaimError
from verify.symbolic.calculus import expected
from verify.symbolic.grammar import parse_value
from verify.symbolic.vocabulary import NORMAL_COMPONENTS, STANDARD, Cov, E, Quantile, Var, d

_DIGITS = 30


class Computed(NamedTuple):
    """A number, in words, and the claim whose derivation it needs."""

    value: float
    words: str
    claim: str


@cache
def compute(text: str, dimension: int | None = None) -> Computed:
    """Return the value of an expression, such as ``Var(q·k/sqrt(d_k))`` or ``softmax([2, 1], 1)``.

    Args:
        text: The expression; its components have mean 0 and variance 1, or are normal where that matters.
        dimension: The value of d_k.

    Raises:
        ValueError: it cannot be read or computed; the text says what to correct, in one line.
    """
    try:
        expression = parse_value(text)
        derived = _derived(expression)
    except ClaimError as error:
        raise ValueError(f"has a mistake: {str(error).splitlines()[0]}; correct it") from error
    if d in derived.free_symbols and dimension is None:
        raise ValueError("needs a dimension; add d_k = 64, or whatever it is")
    at = derived if dimension is None else derived.subs(d, dimension)
    if at.free_symbols:
        unknown = ", ".join(map(str, at.free_symbols))
        raise ValueError(f"has {unknown}, which has no value; put a number there")
    # By SymPy, in more digits than a float has: what is printed may lie just beside a tie.
    value = N(at, _DIGITS)
    if not value.is_real or not math.isfinite(float(value)):
        raise ValueError("is no finite number; correct it")
    words = text if dimension is None else f"{text} at d_k = {dimension}"
    return Computed(float(value), words, _claim(text, expression))


def _derived(expression: Expr) -> Expr:
    """Return an expression without means: by the first two moments alone, else those of normal components."""
    if not expression.has(E, Var, Cov, Quantile):
        return expression
    try:
        return expected(expression, STANDARD)
    except ClaimError:
        return expected(expression, NORMAL_COMPONENTS)


def _claim(text: str, expression: Expr) -> str:
    """Return the claim of the catalogue that derives an expression."""
    # By its words: whoever follows the link reads how such a value is derived.
    if expression.has(E, Var, Cov, Quantile):
        return "score-variance"
    if "entropy" in text or "H(" in text:
        return "attention-entropy"
    return "softmax-saturation" if "softmax" in text else "worked-dot-products"
