"""Half precision: how often a softmax that does not subtract the largest score overflows."""

from collections.abc import Callable
from typing import Any

import numpy as np
from sympy import Expr, Integral, Rational, S, Sum, Symbol, log, oo, sign, sqrt

from verify.claims.limits.shared import SINGLE_SCORES, even_dimensions
from verify.former import (
    E, EVEN, NORMAL, NORMAL_VECTORS, Allowance, Bounded, Claim, Comparison, Control, Derivation, Exact,
    Experiment, Fact, Figure, Findings, PairShares, Prediction, Quantity, Route, Simulated, Step, Tolerance,
    assume, cell_of, characteristic, computed, d, fact, figure, integrated, k, line, measured, one_step,
    scaled, score, score_law, softmax, threshold, wrong,
)  # fmt: skip
from verify.former.rules import NormalGiven, SplitAt, Unfolded, exceeds, normal_density

DIMENSIONS = (16, 64, 256)
LARGEST = 65504
"""The largest finite number of IEEE 754 half precision."""

LABEL = r"$P(c\,q\cdot k > \ln 65504)$"
RARE = Rational(1, 1000)
"""More than that a sample of affordable size cannot show of shares that come out as 0."""

NEVER = Rational(1, 10**13)
"""What the derived law says of them."""

ROOT = 1 / sqrt(d)

b, w, x, v = even_dimensions.b, score_law.w, Symbol("x", real=True), characteristic.v
ABOVE = exceeds(score, b)


def _normal_tail(variance: Expr) -> Expr:
    return Integral(normal_density(x, variance), (x, b, oo))


def derive() -> Derivation:
    """Derive the tail as a mixture of normal tails, and in even dimensions as a finite sum."""
    normal = one_step("A normal number of variance v", Integral((1 + sign(x - b)) / 2 * normal_density(x, v),
                      (x, -oo, oo)), _normal_tail(v), "Where it exceeds b", SplitAt(x, b))  # fmt: skip
    mixture = Route.of(
        "Given the query", even_dimensions.TAIL,
        Step(ABOVE, "As a mean", Unfolded({even_dimensions.TAIL: ABOVE})),
        Step(E(_normal_tail(score_law.SQUARES)),
             "Given the query, the score is normal, its variance the squared length of the query",
             NormalGiven(NORMAL_VECTORS, k, score, normal.proved(), v)),
        Step(Integral(score_law.CHI_SQUARE * _normal_tail(w), (w, 0, oo)), "which is chi-square",
             score_law.SQUARES_ARE_CHI_SQUARE),
    )  # fmt: skip
    return Derivation.of(mixture, lemmas=(even_dimensions.tail(),))


def _overflow(patterns: type[np.unsignedinteger[Any]], floats: type[np.floating[Any]]) -> float:
    """Return the largest number of a format whose exponential is finite in it.

    Positive numbers are ordered like the bit patterns that write them, so halving finds the place.
    """
    low, high = (int(np.array(end, dtype=floats).view(patterns)) for end in (1.0, 1000.0))
    with np.errstate(over="ignore"):
        while high - low > 1:
            middle = (low + high) // 2
            finite = np.isfinite(np.exp(np.array(middle, dtype=patterns).view(floats)))
            low, high = (middle, high) if finite else (low, middle)
    return float(np.array(low, dtype=patterns).view(floats))


def _tail(dimension: float, power: float) -> float:
    """Return the share of scores d^power·q·k whose exponential overflows, in any dimension by the mixture."""
    return score_law.below(dimension, -float(log(LARGEST)) * dimension**-power)


def _exactly(total: Sum, dimension: int, power: float) -> float:
    """Return the same share in an even dimension, by the derived sum."""
    above = float(log(LARGEST)) * dimension**-power
    return even_dimensions.value(total, {even_dimensions.m: dimension // 2, b: above})


def _share(dimension: int, expected: Prediction, scale: Any = None, **claimed: Any) -> Quantity:
    """Return the comparison of the share of scores that overflow."""
    point = float(log(LARGEST)) / (1.0 if scale is None else scaled(scale, dimension))
    name = f"{'raw' if scale is None else 'scaled'}-d{dimension}"
    # By symmetry the share below the mirrored point.
    drawn = Simulated(NORMAL, NORMAL, 1, 1, dimension)
    cell = cell_of(name, drawn, PairShares((-point,)), scale=scale)
    return Quantity(name, LABEL, cell, Bounded("share-0"), expected, **claimed)


def _never(name: str, total: Sum, dimension: int, power: float) -> Exact:
    """Return the comparison of a share by the derived law with what is said of scaled scores."""
    label, settings = f"{LABEL}, by the derived law", {"d_k": dimension, "power of d_k": power}
    return computed(name, label, settings, threshold(NEVER), _exactly, total, dimension, power, relation="≤")


def _overflow_point(name: str, words: str, *formats: type[np.generic]) -> Exact:
    label, near = "largest score with a finite exponential", "the spacing of half-precision numbers there"
    settings, allowance = {"arithmetic": words}, Allowance(2.0**-7, near)
    return computed(name, label, settings, log(LARGEST), _overflow, *formats, allowance=allowance)


def _plainly(scores: Any) -> Any:
    """Return the exponentials over their sum, as the formula has it."""
    with np.errstate(over="ignore", invalid="ignore"):
        return np.exp(scores) / np.exp(scores).sum()


def _not_finite(formula: Callable[[Any], Any], row: Any) -> int:
    """Return how many weights of a row are not finite."""
    return int(np.count_nonzero(~np.isfinite(formula(row))))


def _spoilt(name: str, formula: Callable[[Any], Any]) -> Exact:
    """Return the comparison of how many weights a formula spoils, in half precision, with none."""
    label, row = "weights that are not finite, in half precision", np.array([200, 190, 0], dtype=np.float16)
    return computed(name, label, {"scores": "200, 190, 0"}, S.Zero, _not_finite, formula, row)


def experiment(derivation: Derivation) -> Experiment:
    """Measure the share of scores whose exponential overflows, and try the arithmetic itself."""
    total = derivation.lemmas[0].end
    few, _, many = DIMENSIONS
    # Few dimensions have few that overflow.
    bands = {n: Tolerance(10.0 if n == few else 5.0, because=SINGLE_SCORES) for n in DIMENSIONS}
    raw = {n: _share(n, integrated(_exactly(total, n, 0.0), 4), tolerance=bands[n]) for n in DIMENSIONS}
    checks: tuple[Comparison, ...] = (
        *raw.values(),
        *(_share(n, threshold(RARE), ROOT, relation="≤") for n in DIMENSIONS),
        *(_never(f"scaled-law-d{n}", total, n, -0.5) for n in DIMENSIONS),
        _overflow_point("overflow-point", "IEEE 754 binary16", np.uint16, np.float16),
        _spoilt("subtracting-helps", softmax),
    )
    return Experiment(checks, (
        wrong(raw[many], "raw-as-rarely",
              "at {cell:d_k} dimensions raw scores overflow as rarely as at {raw-d16:d_k}", raw[few]),
        wrong(raw[few], "raw-rare",
              "raw scores overflow as rarely as scaled: under one in a thousand, at {cell:d_k} dimensions",
              threshold(RARE), tolerance=EVEN, relation="≤"),
        Control("division by the fourth root is enough: by the derived law hardly any score overflows",
                _never("fourth-root-law", total, few, -0.25)),
        Control("single precision overflows at the same score",
                _overflow_point("single-precision", "IEEE 754 binary32", np.uint32, np.float32)),
        Control("half precision needs no care: the plain formula gives finite weights for {cell:scores}",
                _spoilt("plain-formula-is-safe", _plainly)),
    ))  # fmt: skip


def facts() -> Fact:
    """Return the overflow point and shares at 64 dimensions."""
    return fact("overflow-score", "score whose exponential leaves half precision", log(LARGEST))


def figures(findings: Findings) -> Figure:
    """Draw the shares over the dimension."""
    span = (4.0, 1024.0)
    return figure(
        "overflow",
        "Raw scores overflow the exponential in half precision, scaled ones do not",
        "The share of scores whose exponential leaves half precision, over the dimension: for raw scores it "
        "rises to a quarter at {raw-d256:d_k} dimensions, for scaled ones it is practically zero.",
        "share of scores that overflow",
        line("raw", lambda n: _tail(n, 0.0), over=span, points=25),
        line("scaled", lambda n: _tail(n, -0.5), "other", over=span, points=25),
        line("wrong: as rarely as at {raw-d16:d_k}", _tail(DIMENSIONS[0], 0.0), "control", at=span),
        measured(findings.matching("raw-d*")),
        y_scale="linear",
    )


CLAIM = Claim(
    title="In half precision, unscaled scores overflow the exponential",
    statement="The exponential of a score above {overflow-score}, about {overflow-score:4}, is infinite in "
    "half precision. For standard normal components, {raw-d16:prediction.1%} of the raw scores are above it "
    "at {raw-d16:d_k} dimensions, {raw-d64:prediction.1%} at {raw-d64:d_k} and {raw-d256:prediction.2%} at "
    "{raw-d256:d_k}; of scaled scores it is less than {scaled-law-d16:prediction.1} at any of these by the "
    "derived law, where a sample shows only that it is less than one in a thousand.",
    meaning="Programs subtract each row's largest score before they take exponentials, and then nothing "
    "overflows at any scale: saturation is a matter of statistics, overflow one of arithmetic. Where a "
    "kernel omits the subtraction to save time, half precision works only because of scaling.",
    assumptions=assume(half="Arithmetic is that of IEEE 754 binary16, with 65504 as its largest number."),
)
