"""At a fixed scale attention thins out over longer texts; a spread that grows like √(ln n) keeps it."""

import math
from collections.abc import Callable
from dataclasses import replace

from sympy import Float, Range, Rational, Sum, log, oo, sqrt

from verify.spec import (
    CHIANG, E, KEYS as LENGTHS, NORMAL, SQUARES, WEIGHTED_SCORE, ByParts, Claim, Derivation, Experiment, Fact,
    Figure, Findings, Hypotheses, LargestScore, NormalRows, PutIn, Quantity, Replaced, Route, Step, Surplus,
    Tolerance, assume, capped, cell_of, component, effective_keys, fact, figure, integrated, j, largest, line,
    mean_squares, measured, n, p, prediction, s, sharper, sigma, wrong,
)  # fmt: skip

KEYS = (4, 64, 1024)
TIMES = 2
"""The growing spread is so many times √(2 ln n)."""
GROWING = TIMES * sqrt(2 * log(n))

LABEL = r"$\mathbb{E}\sum p_j^2$"


def derive() -> Derivation:
    """Derive that a spread of a multiple of √(2 ln n) keeps a share of the weight on few keys."""
    route = Route.of(
        r"Independent normal scores of standard deviation $\sigma$",
        E(SQUARES),
        Step(1 - E(WEIGHTED_SCORE) / sigma**2, "Integration by parts (Stein)", ByParts(-p[j])),
        Step(1 - E(largest) / sigma**2, "No average of scores exceeds the largest",
             Surplus(Sum(p[j] * (largest - s[j]), (j, 1, n)) / sigma**2, "≥")),
        Step(1 - sqrt(2 * log(n)) / sigma, "The largest of $n$ normal scores", LargestScore()),
    )  # fmt: skip
    choice = Route.of(
        rf"With $\sigma = {TIMES}\sqrt{{2\ln n}}$",
        E(SQUARES),
        Step(route.end, "The bound for any spread", Replaced(route.proved())),
        Step(1 - Rational(1, TIMES), "The number of keys cancels", PutIn({sigma: GROWING})),
        under=Hypotheses().restricted(n, Range(2, oo)),
    )
    finite = "what stays finite at a fixed spread, so that E Σp² falls to 0"
    thinning = effective_keys.for_many().defining(finite)
    return Derivation.of(route, lemmas=(choice, *effective_keys.lemmas(), thinning))


def _rows(keys: int, deviation: float, kind: str) -> Quantity:
    """Return the comparison of rows' concentration with its integral."""
    cell = cell_of(f"{kind}-n{keys}", NormalRows(keys, 8, deviation, NORMAL, ("squares",)))
    exact, mean = integrated(mean_squares(keys, deviation).value), component("squares", positive=True)
    return Quantity(f"{kind}-n{keys}", LABEL, cell, mean, exact, Tolerance(0.75))


def experiment(derivation: Derivation, tolerance: float) -> Experiment:
    """Measure concentration over the number of keys, at one fixed and at a growing spread."""
    kept, near = prediction(derivation.lemmas[0].end), capped(0.5, tolerance)
    growing = [_rows(keys, float(GROWING.subs(n, keys)), "growing") for keys in KEYS]
    dense, *_, thin = fixed = [_rows(keys, 1.0, "fixed") for keys in KEYS]
    bounds = [
        replace(one, id=one.id.replace("growing", "kept"), prediction=kept, tolerance=near, relation="≥")
        for one in growing
    ]
    last = growing[-1]
    return Experiment((*growing, *bounds, *fixed), (
        sharper(bounds[-1], 1.18, last.prediction.value),
        wrong(thin, "fixed-keeps", "a fixed scale keeps attention as concentrated over 1024 keys as over 4",
              dense),
        wrong(last, "growing-thins-out", "with the growing spread, too, attention thins out", thin),
    ))  # fmt: skip


def facts() -> tuple[Fact, ...]:
    """Return what the growing spread keeps of few and of many keys, beside the bound of one half."""
    return tuple(
        fact(f"kept-by-n{keys}", rf"mean of $\sum p_j^2$ over {keys} keys at the growing spread, integrated",
             Float(mean_squares(keys, float(GROWING.subs(n, keys))).value, 6))
        for keys in (KEYS[0], KEYS[-1], LENGTHS[-1])
    )  # fmt: skip


def figures(derivation: Derivation, findings: Findings) -> Figure:
    """Draw both over the number of keys."""
    kept = float(derivation.lemmas[0].end)

    def exact(deviation: Callable[[float], float]) -> Callable[[float], float]:
        return lambda keys: mean_squares(round(keys), deviation(round(keys))).value

    return figure(
        "thinning-out",
        r"A spread that grows like the root of $\ln n$ keeps attention concentrated",
        "The mean sum of squared weights over the number of keys: with a spread of twice the root of "
        "two ln n it stays above one half, with a fixed spread it falls like one over n.",
        LABEL,
        line("bound: ½", kept, "other", points=2),
        line("exact", exact(lambda keys: TIMES * math.sqrt(2 * math.log(keys))), points=13),
        line("", exact(lambda _: 1.0), points=13),
        measured(findings.matching("growing-n*"), r"$\sigma = 2\sqrt{2\ln n}$", "n"),
        measured(findings.matching("fixed-n*"), r"$\sigma = 1$", "n"),
        x="number of keys $n$",
    )


CLAIM = Claim(
    title=r"Longer texts thin attention out unless scores spread like $\sqrt{\ln n}$",
    statement=r"At a fixed spread $\sigma$ of the scores $\mathbb{E}\sum p_j^2$ falls towards 0 as the "
    r"number of keys grows; with $\sigma = 2\sqrt{2\ln n}$ it stays above $\tfrac12$ for every $n$.",
    meaning=r"The growing spread leaves a mean $\sum p_j^2$ of 0.71 for 4 keys, 0.57 for 1024 and 0.54 for a "
    r"million. $1/\sqrt{d_k}$ makes attention independent of the dimension, not of the length: ten times as "
    r"many keys share the same weight. For random scores a spread that grows like $\sqrt{\ln n}$ is enough "
    r"to prevent it; log-length scaling of long contexts multiplies scores by a factor that grows with "
    r"$\ln n$ itself. Trained scores are not random.",
    assumptions=assume(normal=r"Scores are independent and normal with standard deviation $\sigma$."),
    references=(CHIANG,),
)
