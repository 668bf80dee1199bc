"""At a fixed scale attention thins out over longer texts; a spread that grows like √(ln n) keeps it."""

import math
from collections.abc import Callable
from dataclasses import replace

from sympy import Float, Range, Rational, Sum, log, oo, sqrt

from verify.former import (
    E, NORMAL, SQUARES, WEIGHTED_SCORE, Claim, Derivation, Experiment, Fact, Figure, Findings, NormalRows,
    Notation, Quantity, Route, Step, Tolerance, capped, cell_of, cite, component, effective_keys, fact,
    figure, integrated, j, line, measured, n, p, prediction, row_integrals, row_means, s, sharper,
    sigma, wrong,
)  # fmt: skip
from verify.former.rules import ByParts, Hypotheses, LargestScore, PutIn, Replaced, Surplus, largest

KEYS, TIMES = (4, 64, 1024), 2
"""Numbers of keys; the growing spread, as a multiple of √(2 ln n)."""
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
    thinning = effective_keys.for_many().defining(finite).called("many")
    return Derivation.of(route, lemmas=(choice.called("growing"), *effective_keys.lemmas(), thinning))


def _rows(keys: int, deviation: float, kind: str) -> Quantity:
    """Return the comparison of rows' concentration with its integral."""
    cell = cell_of(f"{kind}-n{keys}", NormalRows(keys, 8, deviation, NORMAL, ("squares",)))
    exact, mean = (
        integrated(row_integrals.mean_squares(keys, deviation).value),
        component("squares", positive=True),
    )
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
        wrong(thin, "fixed-keeps",
              "a fixed scale keeps attention as concentrated over {cell:n} keys as over {fixed-n4:n}", dense),
        wrong(last, "growing-thins-out", "with the growing spread, too, attention thins out", thin),
    ))  # fmt: skip


def facts() -> tuple[Fact, ...]:
    """Return what the growing spread keeps of few and of many keys, beside the bound of one half."""
    return tuple(
        fact(f"kept-by-n{keys}", rf"mean of $\sum p_j^2$ over {keys} keys at the growing spread, integrated",
             Float(row_integrals.mean_squares(keys, float(GROWING.subs(n, keys))).value, 6))
        for keys in (KEYS[0], KEYS[-1], row_means.KEYS[-1])
    )  # fmt: skip


def figures(derivation: Derivation, findings: Findings) -> Figure:
    """Draw both over the number of keys."""
    kept = float(derivation.lemmas[0].end)

    def exact(deviation: Callable[[float], float]) -> Callable[[float], float]:
        return lambda keys: row_integrals.mean_squares(round(keys), deviation(round(keys))).value

    return figure(
        "thinning-out",
        "A spread that grows like the root of {log} keeps attention concentrated",
        "The mean sum of squared weights over the number of keys: with a spread of twice the root of "
        "two ln n it stays above one half, with a fixed spread it falls like one over n.",
        "{mean}",
        line("bound: {growing:result}", kept, "other", points=2),
        line("exact", exact(lambda keys: TIMES * math.sqrt(2 * math.log(keys))), points=13),
        line("", exact(lambda _: 1.0), points=13),
        line("wrong: a fixed spread keeps it", exact(lambda _: 1.0)(KEYS[0]), "control", points=2),
        measured(findings.matching("growing-n*"), rf"$\sigma = {TIMES}\sqrt{{2\ln n}}$", "n"),
        measured(findings.matching("fixed-n*"), "{fixed-n4:sigma=}", "n"),
        x="number of keys {n}",
    )


CLAIM = Claim(
    title="Attention dilutes with length unless scores spread like {root_log}",
    statement="At a fixed spread {sigma} of the scores {mean} falls towards zero as the number of keys "
    "grows; with a spread of twice {spread} it is at least {growing:result} for every {n} from two on.",
    meaning="The growing spread leaves {mean} at {kept-by-n4:2} for {kept-n4:n} keys, {kept-by-n1024:2} for "
    "{kept-n1024:n} and {kept-by-n1000000:2} for a million. Division by {root_d} frees attention from growth "
    "with the dimension, not from dilution with the length: ten times as many keys share the same weight. "
    "For random scores a spread that grows like {root_log} is enough to prevent it; log-length scaling of "
    "long contexts multiplies scores by a factor that grows with {log} itself. Trained scores are not "
    "random.",
    symbols={"n": n, "sigma": sigma, "log": log(n), "root_log": sqrt(log(n)), "mean": E(SQUARES),
             "spread": Notation(r"\sqrt{2\ln n}", sqrt(2 * log(n)))},
    references=cite("chiang2022", "D. Chiang and P. Cholak, Overcoming a Theoretical Limitation of "
                     "Self-Attention, ACL 2022.", "https://arxiv.org/abs/2202.12172"),
)  # fmt: skip
