"""Half precision: how often a softmax that does not subtract the largest score overflows."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
from sympy import Integral, Symbol, exp, gamma, integrate, log, oo, pi, simplify, sqrt

from verify.claim import Claim, Findings
from verify.conditions import INDEPENDENT, NORMAL_COMPONENTS
from verify.designs import capped, fact, prediction
from verify.evidence import Assumption, Fact, Figure
from verify.montecarlo.attention import softmax
from verify.montecarlo.blocks import Cell
from verify.montecarlo.components import NORMAL
from verify.montecarlo.distribution_free import Bounded
from verify.montecarlo.experiment import (
    Allowance,
    Control,
    Exact,
    Experiment,
    Prediction,
    Quantity,
    Tolerance,
)
from verify.montecarlo.scores import ScorePairs
from verify.pictures import against_dimension, curve, measured
from verify.symbolic.characteristic import OF_SCORE, t
from verify.symbolic.derivation import By, Derivation, Route, Step
from verify.symbolic.integrals import runs_over
from verify.symbolic.law import below
from verify.symbolic.printing import Ordered
from verify.symbolic.scores import d

DIMENSIONS = (16, 64, 256)
LARGEST = 65504
"""The largest finite number of IEEE 754 half precision."""

LABEL = r"$P(c\,q\cdot k > \ln 65504)$"
SHARE = Tolerance(1.0, 1.0, "a probability of 1")
RARE = Tolerance(0.1, 1.0, "a probability of 1")
"""For shares that come out as 0: a sample can only show how small they are."""

b = Ordered("b", "b", positive=True)
w = Symbol("w", positive=True)
x = Symbol("x", real=True)
TAIL = Symbol(r"P(q\cdot k > b)")
MIXTURE = Integral(
    w ** (d / 2 - 1) * exp(-w / 2) / (2 ** (d / 2) * gamma(d / 2))
    * Integral(exp(-(x**2) / (2 * w)) / sqrt(2 * pi * w), (x, b, oo)),
    (w, 0, oo),
)  # fmt: skip


def _has_the_right_law(before: Any, after: Any) -> bool:
    """Inside is the tail of the normal law of variance w, and the weights give the score's own function.

    A normal law of variance w has exp(-t²w/2); averaged over w, that is the score's characteristic function.
    """
    if before != TAIL or not runs_over(after, (x, b, oo), (w, 0, oo)):
        return False
    (inner,) = after.function.atoms(Integral)
    positive = Symbol("t", positive=True)
    weight = simplify(after.function / inner)
    average = integrate(exp(-(positive**2) * w / 2) * weight, (w, 0, oo), meijerg=True, conds="none")
    return bool(
        simplify(inner.function - exp(-(x**2) / (2 * w)) / sqrt(2 * pi * w)) == 0
        and simplify(average - OF_SCORE.subs(t, positive)) == 0
    )


def derive() -> Derivation:
    """Derive the tail as a mixture of normal tails over the squared length of the query."""
    step = Step(
        MIXTURE,
        "Given the query, the score is normal, its variance the squared length of the query, which is "
        "chi-square",
        By(
            "SymPy: the tail is a normal law's, the mixture has the score's characteristic function",
            _has_the_right_law,
            "general",
        ),
    )
    return Derivation(
        TAIL,
        MIXTURE,
        (Route("Given the query", TAIL, (step,)),),
        beyond="the shares in each dimension, which are computed numerically from the derived law and "
        "measured; those of scaled scores are too small to be measured.",
    )


@cache
def _overflow() -> float:
    """Return the largest number of half precision whose exponential is finite in half precision."""
    numbers = np.arange(0x4800, 0x4B00, dtype=np.uint16).view(np.float16)
    with np.errstate(over="ignore"):
        finite = np.isfinite(np.exp(numbers))
    return float(numbers[finite][-1])


def _tail(dimension: float, power: float) -> float:
    return below(dimension, -float(log(LARGEST)) * dimension**-power)


def _cell(dimension: int, *, scaled: bool) -> Cell:
    point = float(log(LARGEST)) * (dimension**0.5 if scaled else 1.0)
    name = r"$1/\sqrt{d_k}$" if scaled else "1"
    settings = (("d_k", dimension), ("components", NORMAL.name), ("scale", name))
    return Cell(
        f"{'scaled' if scaled else 'raw'}-d{dimension}",
        settings,
        ScorePairs(dimension, 1, NORMAL, NORMAL, (-point,)),
    )


def _share(dimension: int, name: str, expected: float, *, scaled: bool, band: Tolerance = SHARE) -> Quantity:
    # By symmetry the share below the mirrored point.
    shown = Prediction(expected, f"{expected:.4g}")
    return Quantity(name, LABEL, _cell(dimension, scaled=scaled), Bounded(0), shown, band)


def _raw_band(dimension: int, tolerance: float) -> Tolerance:
    """Return a band that does not reach 0: in few dimensions a quarter of the small share itself."""
    return capped(25.0, tolerance) if dimension == DIMENSIONS[0] else SHARE


def experiment(derivation: Derivation, tolerance: float) -> Experiment:  # noqa: ARG001  # by the law alone
    """Measure the share of scores whose exponential overflows, and try the arithmetic itself."""
    raw = tuple(
        _share(n, f"raw-d{n}", _tail(n, 0.0), scaled=False, band=_raw_band(n, tolerance)) for n in DIMENSIONS
    )
    scaled = tuple(_share(n, f"scaled-d{n}", _tail(n, -0.5), scaled=True, band=RARE) for n in DIMENSIONS)
    threshold = Exact(
        "overflow-point",
        "largest half-precision score with a finite exponential",
        (("arithmetic", "IEEE 754 binary16"),),
        prediction(log(LARGEST)),
        _overflow(),
        allowance=Allowance(2.0**-7, "the spacing of half-precision numbers there"),
    )
    row = np.array([200.0, 190.0, 0.0])
    safe = Exact(
        "subtracting-helps",
        "weights that are not finite after subtracting the largest score",
        (("scores", "200, 190, 0"),),
        Prediction(0.0, "0"),
        float(np.count_nonzero(~np.isfinite(softmax(row)))),
    )
    with np.errstate(over="ignore", invalid="ignore"):
        plain = np.exp(row.astype(np.float16)) / np.exp(row.astype(np.float16)).sum()
    controls = (
        Control(
            "at 256 dimensions raw scores overflow as rarely as scaled ones",
            _share(256, "raw-as-rarely", _tail(256, -0.5), scaled=False),
            truth=_tail(256, 0.0),
        ),
        Control(
            "half precision needs no care: the plain formula gives finite weights for 200, 190 and 0",
            Exact(
                "plain-formula-is-safe",
                "weights that are not finite by the plain formula",
                (("scores", "200, 190, 0"),),
                Prediction(0.0, "0"),
                float(np.count_nonzero(~np.isfinite(plain))),
            ),
        ),
    )
    return Experiment((*raw, *scaled, threshold, safe), controls)


def facts(derivation: Derivation) -> tuple[Fact, ...]:
    """Return the overflow point and shares at 64 dimensions."""
    del derivation
    return (fact("overflow-score", "score whose exponential leaves half precision", log(LARGEST)),)


def figures(_: Derivation, findings: Findings) -> tuple[Figure, ...]:
    """Draw the shares over the dimension."""
    span = (4.0, 1024.0)
    return (
        against_dimension(
            "overflow",
            "Raw scores overflow the exponential in half precision, scaled ones do not",
            "The share of scores whose exponential leaves half precision, over the dimension: for raw "
            "scores it rises to a quarter at 256 dimensions, for scaled ones it is practically zero.",
            "share of scores that overflow",
            (
                curve("raw", "truth", lambda n: _tail(n, 0.0), span, points=25),
                curve("scaled", "other", lambda n: _tail(n, -0.5), span, points=25),
                measured((findings.checks[f"raw-d{n}"] for n in DIMENSIONS), "measured"),
            ),
            y_scale="linear",
        ),
    )


CLAIM = Claim(
    id="half-precision",
    order=100,
    title="In half precision, unscaled scores overflow the exponential",
    statement=(
        r"The exponential of a score above $\ln 65504 \approx 11.09$ is infinite in half precision. For "
        r"standard normal components that befalls 0.4% of the raw scores at 16 dimensions, 8% at 64 and 24% "
        r"at 256. Of scaled scores it befalls less than one in $10^{13}$ at any of these by the derived law; "
        r"a sample can show only that it is rare."
    ),
    meaning=(
        "Programs subtract each row's largest score before they take exponentials, and then nothing "
        "overflows at any "
        "scale: saturation is a matter of statistics, overflow one of arithmetic. Where a kernel leaves "
        "the subtraction out to save time, scaling is what keeps half precision alive."
    ),
    assumptions=(
        INDEPENDENT,
        NORMAL_COMPONENTS,
        Assumption(
            id="half", text="Arithmetic is that of IEEE 754 binary16, with 65504 as its largest number."
        ),
    ),
    references=(),
    derive=derive,
    experiment=experiment,
    facts=facts,
    figures=figures,
)
