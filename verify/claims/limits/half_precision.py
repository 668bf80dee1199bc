"""In half precision, unscaled scores overflow the exponential."""

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from verify.spec import Allowance, Chain, Check, Claim, Computed, Derivation, E, Indicator, Integral, Items
from verify.spec import Plot, Rational, Symbol, Threshold, Wrong, assume, d, erfc, fact, log, m, n, oo, score
from verify.spec import sqrt
from verify.spec.arrays import softmax
from verify.spec.lemmas import CHI_SQUARE, SQUARES, below, of_normals, w

OVERFLOW = log(65520)  # of the least number that IEEE 754 half precision rounds to infinity
# The least bound that a sample of affordable size shows for a share of 0; and the bound by the law.
RARE, NEVER = Threshold(Rational(1, 1000)), Threshold(Rational(1, 10**13))
b = Symbol("b", positive=True)  # a bound that scores exceed


def derive() -> Chain:
    given_query = "given the query a score is normal, its variance the query’s squared length"
    mixture = Integral(CHI_SQUARE * erfc(b / sqrt(2 * w)) / 2, (w, 0, oo))
    return Chain(E(Indicator(score - b)), title="The share of scores above $b$").through(
        (E(erfc(b / sqrt(2 * SQUARES)) / 2), given_query, of_normals("conditioning")),
        (mixture, "the squared length is chi-square", of_normals("chi-square")),
    )


def overflowing(dimension: float, power: float = 0.0) -> float:
    """Return the share of scores d^power·q·k whose exponential overflows, by the derived law."""
    return below(dimension, -float(OVERFLOW) * dimension**-power)


def last_finite(floats: type) -> float:
    """Return the largest number of half precision whose exponential is finite in an arithmetic."""
    numbers = np.arange(0x7C00, dtype=np.uint16).view(np.float16)  # all that are positive and finite
    with np.errstate(over="ignore"):
        return float(numbers[np.isfinite(np.exp(numbers.astype(floats)))].max())


def experiment(derived: Derivation) -> Items:
    def not_finite(formula: Callable[[Any], Any]) -> int:
        with np.errstate(over="ignore", invalid="ignore"):
            return int(np.count_nonzero(~np.isfinite(formula(np.array([200, 190, 0], dtype=np.float16)))))

    what = r"$P(c\,q\cdot k > \ln 65520)$, by the derived law"
    for size, factor in ((16, 2), (64, 1), (256, 0.4)):  # a rare event is known less well
        at, scaled = {d: size, b: OVERFLOW}, E(Indicator(score / sqrt(d) - b))
        yield Check(f"raw-d{size}", derived, at, tolerance=factor)
        # Blocks count, not scores.
        yield Check(f"scaled-d{size}", scaled, at, at_most=RARE, shape={m: 2, n: 2})
        name, settings = f"scaled-law-d{size}", {"d_k": size, "power of d_k": -0.5}
        yield Computed(name, what, overflowing, (size, -0.5), at_most=NEVER, settings=settings)
    says = "at {cell:d_k} dimensions raw scores overflow as rarely as at {raw-d16:d_k}"
    yield Wrong("raw-as-rarely", of="raw-d256", equals=derived.end.subs(d, 16), says=says)
    yield Wrong("raw-rare", derived, {d: 16, b: OVERFLOW}, at_most=RARE, says="raw scores rarely overflow")
    says = "division by the fourth root is enough: by the derived law hardly any score overflows"
    root = {Symbol("power of d_k"): -0.25}
    yield Wrong("fourth-root-law", of="scaled-law-d16", at=root, arguments=(16, -0.25), says=says)
    what, half = "largest score with a finite exponential", {"arithmetic": "IEEE 754 binary16"}
    near, given = Allowance(2.0**-7, "the spacing of half-precision numbers there"), (np.float16,)
    yield Computed("overflow-point", what, last_finite, given, OVERFLOW, settings=half, allowance=near)
    says, at = "single precision overflows at the same score", {Symbol("arithmetic"): "IEEE 754 binary32"}
    yield Wrong("single-precision", of="overflow-point", at=at, arguments=(np.float32,), says=says)
    what, row = "weights that are not finite, in half precision", {"scores": "200, 190, 0"}
    yield Computed("subtracting-helps", what, not_finite, (softmax,), equals=0, settings=row)
    says = "half precision needs no care: the plain formula gives finite weights for {cell:scores}"
    plainly = (lambda scores: np.exp(scores) / np.exp(scores).sum(),)
    yield Wrong("plain-formula-is-safe", of="subtracting-helps", arguments=plainly, says=says)
    yield fact("overflow-score", "score whose exponential leaves half precision", OVERFLOW)
    curves = {"over {root_d}": partial(overflowing, power=-0.5), "unscaled": overflowing}
    plot = Plot.sharing("overflow", "raw-d*", d, span=(4, 1024), y="share of scores that overflow")
    yield plot(curves=curves, wrong={"wrong: as rarely as at {raw-d16:d_k}": overflowing(16)}, linear="y")


CLAIM = Claim(
    statement="From a score of {overflow-score} on, about {overflow-score:4}, the exponential is infinite in "
    "half precision, where a number between 65504, the largest, and 65520 is still rounded to 65504. For "
    "standard normal components, {raw-d16:prediction.1%} of the raw scores are above that score at "
    "{raw-d16:d_k} dimensions, {raw-d64:prediction.1%} at {raw-d64:d_k} and {raw-d256:prediction.2%} at "
    "{raw-d256:d_k}; of scaled scores it is less than {scaled-law-d16:prediction.1} at any of these by the "
    "derived law, where a sample shows only that it is less than one in a thousand.",
    meaning="Programs subtract each row's largest score before they take exponentials, and then nothing "
    "overflows at any scale: saturation is a matter of statistics, overflow one of arithmetic. Where a "
    "kernel omits the subtraction to save time, half precision works only because of scaling.",
    assumptions=assume(half="Arithmetic is IEEE 754 binary16, which rounds to infinity from 65520 on."),
)
