"""Attention concentrates as the scores' spread passes the root of 2 ln n: raw scores around d_k = 2 ln n."""

import math
from dataclasses import replace
from functools import partial

from sympy import Eq, Float, Range, Rational, S, Sum, Symbol, log, oo, sqrt

from verify.claims.softmax.shared import attention_cell, complement
from verify.former import (
    E, NORMAL, SQUARES, WEIGHTED_SCORE, Claim, Control, Derivation, Exact, Experiment, Fact, Figure, Findings,
    NormalRows, Route, Step, Tolerance, capped, cell_of, cite, component, computed, d, fact, figure,
    integrated, j, line, measured, n, one_step, over_cells, p, row_integrals, row_means, s,
    score_law, sharper, sigma, threshold, wrong,
)  # fmt: skip
from verify.former.rules import ByParts, Hypotheses, LargestScore, Solved, Surplus, largest

ROWS = ((16, 4), (16, 16), (1024, 8))
"""Numbers of keys and standard deviations of independent normal scores."""
RAW = {16: (1, 6, 11, 64, 256), 256: (4, 11, 22, 32, 64, 256)}
"""Dimensions for each number of keys: 2 ln n is 5.5 and 11.1."""

t = Symbol("t", positive=True)
LABEL, REST = r"$\mathbb{E}\sum p_j^2$", r"$1 - \mathbb{E}\sum p_j^2$"


def derive() -> Derivation:
    """Derive the bound from the largest of n scores."""
    route = Route.of(
        r"Independent normal scores of standard deviation $\sigma$",
        1 - E(SQUARES),
        Step(E(WEIGHTED_SCORE) / sigma**2, "Integration by parts (Stein)", ByParts(p[j])),
        Step(E(largest) / sigma**2, "No average of scores exceeds the largest",
             Surplus(Sum(p[j] * (largest - s[j]), (j, 1, n)) / sigma**2)),
        Step(sqrt(2 * log(n)) / sigma,
             r"The largest of $n$ normal scores is at most $\sigma\sqrt{2\ln n}$ on average", LargestScore()),
    )  # fmt: skip
    freezing = one_step(
        "Where the bound comes into force",
        Eq(sqrt(2 * log(n)) / sqrt(t), 1),
        Eq(t, 2 * log(n)),
        "It falls as the scores spread",
        Solved(t),
        defines="that the bound is one for scores of variance $t$",
        under=Hypotheses().restricted(n, Range(2, oo)),
    )
    raw = score_law.over_length(sqrt(2 * log(n))).defining("the bound at the length of the query, averaged")
    return Derivation.of(route, lemmas=(freezing, raw.called("raw")))


def _exact(keys: int, d_k: float, scale: float = 1.0, within: float = row_integrals.PRECISE) -> float:
    """Return attention's mean concentration, integrated over the scores and the query's length."""
    return row_integrals.over_lengths(row_integrals.mean_squares, keys, d_k, scale, within).value


def _largest(keys: int) -> float:
    """Return the mean of the largest of ``keys`` standard normal scores."""
    return row_integrals.mean_largest(keys).value


def _of_largest(name: str, bound: Rational) -> Exact:
    """Return the comparison of the largest of very many scores with √(bound·ln n)."""
    label, many = "mean of the largest of standard normal scores", row_means.KEYS[-1]
    return computed(name, label, {"n": many}, sqrt(bound * log(S(many))), _largest, many, relation="≤")


def experiment(derivation: Derivation, tolerance: float) -> Experiment:
    """Measure both bounds where they are tight, and real attention below, at and beyond 2 ln n."""
    rows = {(keys, one): NormalRows(keys, 16, float(one), NORMAL, ("squares",)) for keys, one in ROWS}
    cells = {at: cell_of(f"rows-n{at[0]}-s{at[1]}", drawn) for at, drawn in rows.items()}
    left, near = complement("squares"), capped(0.5, tolerance)
    bounds = over_cells("bound-n{n}-s{sigma:g}", REST, cells, left, derivation.result, near, "≤")
    first = derivation.routes[0].steps[1].expression.subs(E(largest), sigma * _largest(16))
    most = integrated(float(first.subs(sigma, 16)))
    tight = replace(bounds[16, 16], id="by-the-largest-n16-s16", prediction=most)
    grid = [(keys, one) for keys, dimensions in RAW.items() for one in dimensions]
    unscaled = {at: attention_cell(*at, S.One, "squares") for at in grid}
    scaled = {keys: attention_cell(keys, 64, 1 / sqrt(d), "squares") for keys in RAW}
    mean, wide = component("squares", positive=True), Tolerance(2.0)
    raw = over_cells("{cell}", LABEL, unscaled, mean, _exact, wide)
    even = over_cells("{cell}", LABEL, scaled, mean, lambda keys: _exact(keys, 64, 1 / 8), wide)
    exact = _of_largest("largest-n1000000", S(2))
    too_small = _of_largest("largest-too-small", Rational(3, 2))
    return Experiment((*bounds.values(), tight, exact, *raw.values(), *even.values()), (
        sharper(tight, 0.97, 1 - row_integrals.mean_squares(16, 16.0).value),
        sharper(bounds[1024, 8], 0.83, 1 - row_integrals.mean_squares(1024, 8.0).value),
        Control("the mean of the largest is at most {value}, a bound with a smaller constant", too_small),
        wrong(raw[256, 64], "freezes-at-d-equal-n",
              "attention freezes only when there are more dimensions than keys: {cell:n} keys, {cell:d_k} "
              "dimensions",
              threshold(0.2)),
        wrong(raw[256, 11], "freezes-at-once", "all weight is on one key as soon as {d_k} reaches {freezing}",
              threshold(S.One)),
        wrong(even[256], "scaled-concentrates", "scaled attention concentrates as well", raw[256, 64]),
    ))  # fmt: skip


def facts(derivation: Derivation) -> tuple[Fact, ...]:
    """Return where raw attention begins to concentrate, and how much is left of the bounds at most."""
    dimensions = (
        fact(f"freezing-dimension-n{keys}", rf"$2\ln n$ at $n = {keys}$", 2 * log(keys))
        for keys in (16, 256, 4096)
    )
    bound = derivation.result * sigma
    reached = (
        fact(f"largest-reached-n{keys}",
             rf"mean of the largest of {keys} standard normal scores over $\sqrt{{2\ln n}}$",
             Float(_largest(keys) / float(bound.subs(n, keys)), 6))
        for keys in (2, 1024, row_means.KEYS[-1])
    )  # fmt: skip
    return (*dimensions, *reached)


def figures(findings: Findings) -> Figure:
    """Draw the concentration of raw attention over the dimension, beside a sudden one at 2 ln n."""
    layers = []
    for keys, dimensions in RAW.items():
        freezing, span = 2 * math.log(keys), (dimensions[0], dimensions[-1])
        layers.append(
            line("exact", partial(_exact, keys, within=row_integrals.ON_PAPER), over=span, points=17)
        )
        layers.append(measured(findings.matching(f"raw-n{keys}-d*"), f"$n = {keys}$"))
        sudden = (span[0], freezing, freezing + 1e-6, span[1])
        words = rf"wrong: at once at $2\ln {keys}$"
        layers.append(line(words, (1 / keys, 1 / keys, 1.0, 1.0), "control", at=sudden))
    return figure(
        "freezing",
        "Unscaled attention concentrates as the dimension passes twice the logarithm of the length",
        "The mean sum of squared weights of unscaled attention over the dimension, for two numbers of "
        "keys: it rises steadily, is a quarter to a third where the dimension is twice the logarithm of "
        "the number of keys, about a half at two to three times that, and nears one far beyond.",
        "mean of {squares}",
        *layers,
        y_scale="linear",
    )


CLAIM = Claim(
    title="Unscaled attention concentrates on few keys as the dimension passes {freezing}",
    headline="raw-n256-d64",
    statement="For independent normal scores of standard deviation {sigma} over {n} keys, {theorem}. Raw "
    "scores of one query with standard normal keys are such scores, and {sigma} is the length of the query; "
    "on average over standard normal queries of three dimensions or more, the bound is at most {raw:result}.",
    meaning="How many dimensions saturate the softmax depends on the number of keys, but only through its "
    "logarithm: {freezing-dimension-n16:2} dimensions for sixteen keys, {freezing-dimension-n4096:2} for "
    "four thousand. The transition is gradual. Over {raw-n256-d11:n} keys the mean of {squares} is "
    "{raw-n256-d11:prediction.2} at {raw-n256-d11:d_k=}, {raw-n256-d22:prediction.2} at {raw-n256-d22:d_k}, "
    "{raw-n256-d64:prediction.2} at {raw-n256-d64:d_k} and {raw-n256-d256:prediction.2} at "
    "{raw-n256-d256:d_k}; scaled, in {scaled-n256-d64:d_k} dimensions, it is {scaled-n256-d64:prediction.1}. "
    "Heads in use have {scaled-n256-d64:d_k} dimensions and more: without scaling, their attention would "
    "start out as a lookup of a few random keys.",
    symbols={"sigma": sigma, "n": n, "freezing": 2 * log(n), "squares": SQUARES},
    references=cite(
        "derrida1981",
        "B. Derrida, Random-energy model: An exactly solvable model of disordered systems, Phys. Rev. "
        "B 24 (1981), 2613-2626: the freezing point, for ever more keys.",
    ),
)
