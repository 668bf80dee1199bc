"""Computations of parts of statements: an expression in the words of a question, at a dimension.

Means are derived as ``ask`` derives them. With a number of scores, the printed figure is that of one sample,
and the value that it scatters around is computed, with its law.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache

from scipy import special
from sympy import Expr, N, Pow, Rational, S, sqrt

from verify.errors import ClaimError
from verify.symbolic.calculus import expected
from verify.symbolic.grammar import parse_value
from verify.symbolic.vocabulary import (
    NORMAL_COMPONENTS,
    STANDARD,
    Cov,
    E,
    Quantile,
    Var,
    d,
    families_of,
    score,
)

_DIGITS = 30
INCOMPATIBLE = 0.001
"""Below this probability of a sample as extreme, a single sample contradicts the derivation."""

FEWEST_SCORES = 100
"""For a sample of fewer scores the law is not evaluated."""


@dataclass(frozen=True, slots=True)
class SampleLaw:
    """The expected scatter of a sample's statistic: its standard deviation, for words, and its law.

    ``below`` gives the probability that the statistic is at most so large.
    """

    deviation: float
    below: Callable[[float], float]

    def probability(self, low: float, high: float) -> float:
        """Return twice the smaller of the probabilities of at most ``high`` and of at least ``low``.

        A printed figure stands for all numbers from ``low`` to ``high`` that round to it.
        """
        return min(1.0, 2 * self.below(high), 2 * (1 - self.below(low)))


@dataclass(frozen=True, slots=True)
class Computed:
    """A number, in words, and the claim whose derivation it needs; for a sample, with the sample's law."""

    value: float
    words: str
    claim: str
    sample: SampleLaw | None = None


@cache
def compute(text: str, dimension: int | None = None, scores: int | None = None) -> Computed:
    """Return the value of an expression, such as ``Var(q·k/sqrt(d_k))`` or ``softmax([2, 1], 1)``.

    Args:
        text: The expression; its components have mean 0 and variance 1, or are normal where that matters.
        dimension: The value of d_k.
        scores: How many independent scores the sample has of which it is a mean, a variance or a deviation.

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
        raise ValueError(
            f"has {', '.join(map(str, at.free_symbols))}, which has no value; put a number there"
        )
    words = text if dimension is None else f"{text} at d_k = {dimension}"
    if scores is None:
        return Computed(_value(at), words, _claim(text, expression))
    law = _sample_law(expression, dimension, scores)
    return Computed(_value(at), f"{words}, of {scores} scores,", "score-variance", law)


def _derived(expression: Expr) -> Expr:
    """Return an expression without means: by the first two moments alone, else those of normal components."""
    if not expression.has(E, Var, Cov, Quantile):
        return expression
    try:
        return expected(expression, STANDARD)
    except ClaimError:
        return expected(expression, NORMAL_COMPONENTS)


def _value(expression: Expr) -> float:
    value = N(expression, _DIGITS)
    if not value.is_real or not math.isfinite(float(value)):
        raise ValueError("is no finite number; correct it")
    return float(value)


def _claim(text: str, expression: Expr) -> str:
    """Return the claim of the catalogue that derives an expression."""
    if expression.has(E, Var, Cov, Quantile):
        return "score-variance"
    if "entropy" in text or "H(" in text:
        return "attention-entropy"
    return "softmax-saturation" if "softmax" in text else "worked-dot-products"


def _sample_law(expression: Expr, dimension: int | None, scores: int) -> SampleLaw:
    """Return the law of the mean, the variance or the standard deviation of a sample of normal components.

    With n scores of variance σ² and kurtosis κ, the sample mean has variance σ²/n, and the sample variance
    has σ⁴(κ - (n - 3)/(n - 1))/n. They are taken as normal and as gamma distributed, by which probabilities
    are off by less than 0.006 for 100 scores of 8 dimensions. The root of a sample variance has about half
    its relative spread.
    """
    is_root = isinstance(expression, Pow) and expression.exp == S.Half
    statistic = expression.base if is_root else expression
    factor = statistic.args[0] / score if isinstance(statistic, E | Var) else score
    if families_of(factor) or dimension is None or (is_root and not isinstance(statistic, Var)):
        raise ValueError("with scores it is E(…), Var(…) or sd(…) of q·k or a multiple of it, at some d_k")
    variance = _value(
        expected(Var(score), NORMAL_COMPONENTS).subs(d, dimension) * factor.subs(d, dimension) ** 2
    )
    if isinstance(statistic, E):
        deviation = math.sqrt(variance / scores)
        return SampleLaw(deviation, lambda at: float(special.ndtr(at / deviation)))
    kurtosis = expected(E(score**4) / Var(score) ** 2, NORMAL_COMPONENTS).subs(d, dimension)
    spread = _value(sqrt((kurtosis - Rational(scores - 3, scores - 1)) / scores))

    def below(at: float) -> float:
        return float(special.gammainc(spread**-2, spread**-2 * max(at, 0.0) / variance))

    if not is_root:
        return SampleLaw(variance * spread, below)
    return SampleLaw(math.sqrt(variance) * spread / 2, lambda at: below(max(at, 0.0) ** 2))
