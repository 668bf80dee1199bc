"""Whether scaling makes training succeed more often and faster: trained at three scales and many rates."""

from dataclasses import replace
from typing import Any

import numpy as np
from sympy import Derivative, Dummy, Expr, Idx, IndexedBase, Rational, S, Sum, Symbol, sqrt

from verify.claims.gradients.shared import (
    PlotLayer, Lookup, Relation, TrainingRuns, against_loops, losses, output_name, softmax_over_queries,
    student_quantile,
)  # fmt: skip
from verify.former import (
    NORMAL, Allowance, Array, Bounded, Claim, Comparison, Control, Derivation, Exact, Experiment, Figure,
    Findings, Ordered, Quantity, Route, Step, Tolerance, assume, cell_of, computed, d, estimates, figure,
    largest_difference, latex, line, n, stream, threshold,
)  # fmt: skip
from verify.former.rules import Families, SumIdentity

c, eta = Ordered("c", "b", positive=True), Ordered("eta", "c", positive=True)
m = Symbol("D", integer=True, positive=True)
e, f, a = Symbol("e", integer=True), Idx("f"), Symbol("a", integer=True)
w, v, u, x = (IndexedBase(name) for name in ("w", "v", "u", "x"))
"""Weights of queries and of keys at scale c, and the same times √c: u of queries, x of keys."""

slope = IndexedBase(r"\ell'")
"""ℓ'[e, a]: the loss's derivative with respect to the weight w[e, a]."""

A = IndexedBase("A")
"""A[e, f]: Σ over queries and keys of z_e·(∂ℓ/∂S)·y_f, for tokens z and y; it depends on the scores only."""


_TOKENS, _SLOPES = (IndexedBase("z"), IndexedBase("y")), IndexedBase("L")
"""Tokens of queries and of keys; the loss's derivative by the score of each pair."""

_QUERY, _KEY, _ONE, _TWO, _AT = (Idx(f"{name}'") for name in "rkefa")
_ENTRY, _COLUMN = (Dummy(name, integer=True) for name in "ea")
_SIZES = dict.fromkeys((w, v, u, x, A, slope), (m, m)) | dict.fromkeys(_TOKENS, (n, m)) | {_SLOPES: (n, n)}


def _by_chain_rule(entry: Any, column: Any) -> Any:
    """Return Σ over all scores of the loss's derivative by it, times its derivative by a weight."""
    queries, keys = _TOKENS
    in_weights = queries[_QUERY, _ONE] * w[_ONE, _AT] * v[_TWO, _AT] * keys[_KEY, _TWO]
    score = c * Sum(in_weights, (_ONE, 1, m), (_TWO, 1, m), (_AT, 1, m))
    return Sum(_SLOPES[_QUERY, _KEY] * Derivative(score, w[entry, column]), (_QUERY, 1, n), (_KEY, 1, n))


def _outer(entry: Any, other: Any) -> Any:
    queries, keys = _TOKENS
    return Sum(
        queries[_QUERY, entry] * _SLOPES[_QUERY, _KEY] * keys[_KEY, other], (_QUERY, 1, n), (_KEY, 1, n)
    )


_CHAINED = SumIdentity(
    Families(
        _SIZES,
        indices={e: m, a: m},
        made_of={
            slope: ((_ENTRY, _COLUMN), _by_chain_rule(_ENTRY, _COLUMN)),
            A: ((_ENTRY, _COLUMN), _outer(_ENTRY, _COLUMN)),
        },
    ),
    "tokens and dimensions, and any loss",
)
_RENAMED = SumIdentity(
    Families(
        _SIZES,
        made_of={
            u: ((_ENTRY, _COLUMN), sqrt(c) * w[_ENTRY, _COLUMN]),
            x: ((_ENTRY, _COLUMN), sqrt(c) * v[_ENTRY, _COLUMN]),
        },
    ),
    "dimensions",
)
"""Checks that put derivatives in, or the new weights."""


def _one_step() -> Route:
    """Return the route from a step at scale c to the unscaled step of smaller weights and rate."""
    start = sqrt(c) * (w[e, a] - eta * slope[e, a])
    chained = sqrt(c) * (w[e, a] - eta * c * Sum(A[e, f] * v[f, a], (f, 1, m)))
    renamed = u[e, a] - (c * eta) * Sum(A[e, f] * x[f, a], (f, 1, m))
    return Route.of(
        r"One step on the weights of queries at scale $c$ and rate $\eta$, times $\sqrt{c}$",
        start,
        Step(
            chained,
            "Chain rule: the score is the scale times a product that is linear in each weight",
            _CHAINED,
        ),
        Step(
            renamed,
            r"With $u = \sqrt{c}\,w$ and $x = \sqrt{c}\,v$: the unscaled step at the rate $c\eta$",
            _RENAMED,
        ),
    )


def _same_scores() -> Route:
    """Return the route that shows the scores unchanged."""
    scores = c * Sum(w[e, a] * v[f, a], (a, 1, m))
    words = r"$u = \sqrt{c}\,w$ and $x = \sqrt{c}\,v$: each weight takes a root of the scale"
    return Route.of(
        "The scores, and with them the loss, are the same",
        scores,
        Step(Sum(u[e, a] * x[f, a], (a, 1, m)), words, _RENAMED),
        defines="what one pair of entries adds to a score",
    )


UNSCALED, ROOT, WHOLE = "unscaled", r"over $\sqrt{d_k}$", "over $d_k$"
SCALES = {UNSCALED: S.One, ROOT: 1 / sqrt(d), WHOLE: 1 / d}
"""The scales by name, in the order in which the sampler numbers them."""

MORE = "succeeds at more rates"
FEWER = "takes fewer steps to the goal, averaged over the rates,"
TUNED = "takes fewer steps to the goal, each at its best rate,"
MEASURES = {MORE: "success-rate", FEWER: "steps-to-loss", TUNED: "steps-at-best-rate"}
"""In what scales are compared, with the checks' names, in the order in which the sampler numbers them."""

RATES, STEPS, GOAL = tuple(4.0**power for power in range(-2, 5)), 120, 0.2
MARKS = (0, 1, 2, 3, 5, 7, 10, 14, 19, 26, 36, 49, 67, 91, STEPS - 1)
D, HIGH, SMALL = 64, 512, 24
HALF, MOST, NEARLY_ALL = S.Half, Rational(3, 4), Rational(7, 8)
OWN_RATE = {UNSCALED: 1.0, ROOT: 4.0, WHOLE: 16.0}
"""A rate for each scale, fixed before the draws."""


def derive() -> Derivation:
    """Derive that a scale is a choice of initial weights and learning rate, one step at a time."""
    beyond = ("what training comes to, which scale succeeds at more rates and takes fewer steps, is "
              "measured, on one task.")  # fmt: skip
    return Derivation.of(_one_step(), lemmas=(_same_scores(),), beyond=beyond)


def _rescaled_gap(of_rates: float) -> float:
    """Return the largest difference of loss between training at 1/√d and unscaled from smaller weights.

    Whose rates are the first's times ``of_rates``. A few steps of five seeds at moderate rates, before
    rounding could be amplified.
    """
    task, seeds, steps, rates = Lookup(), 5, 30, np.array([0.25, 1.0, 4.0])
    rng = stream(0, "training-stability", "rescaled", 0)
    shape, many = (seeds, 1, task.width, SMALL), (seeds, 3, task.width, SMALL)
    start = [np.broadcast_to(NORMAL.draw(rng, shape) / task.width**0.5, many) for _ in range(2)]
    tokens, queries = task.draw(rng, (seeds, steps))
    scale = SMALL**-0.5

    def run(weights: list[Array], scale: float, rates: Array) -> Array:
        scales = np.full(len(rates), scale)
        return losses(task, (weights[0], weights[1]), tokens, queries, scales, rates)

    smaller = [scale**0.5 * one for one in start]
    return largest_difference(run(start, scale, rates), run(smaller, 1.0, of_rates * rates))


def _rescaled(name: str, of_rates: Expr) -> Exact:
    factor, times, near = latex(of_rates), float(of_rates.subs(d, SMALL)), Allowance(1e-9)
    label = f"largest difference of loss from the unscaled run of smaller weights, rates times ${factor}$"
    settings: dict[str, int | str] = {"d_k": SMALL, "seeds": 5, "steps": 30, "rates": "1/4, 1, 4"}
    return computed(name, label, settings, S.Zero, _rescaled_gap, times, allowance=near)


def _runs(dimension: int) -> TrainingRuns:
    # Division by the dimension is of interest in one dimension alone; it is the last scale.
    compared = [*SCALES.values()][: len(SCALES) if dimension == D else -1]
    scales = tuple(float(scale.subs(d, dimension)) for scale in compared)
    return TrainingRuns(dimension, scales, RATES, STEPS, GOAL, MARKS)


def _number(scale: str) -> int:
    """Return the number that the sampler knows a scale by."""
    return list(SCALES).index(scale)


def _share(name: str, dimension: int, output: str, label: str, bound: Expr, relation: Relation) -> Quantity:
    """Return the check of a share of seeds, one of what the training runs in a dimension put out."""
    cell, words = cell_of(f"d{dimension}", _runs(dimension)), f"share of seeds {label}"
    return Quantity(name, words, cell, Bounded(output), threshold(bound), relation=relation)


def _duel(dimension: int, name: str, measure: str, least: Expr, other: str = UNSCALED) -> Quantity:
    """Return the check that the root's scale fares better than another in at least that share of seeds."""
    label = f"in which the scale {ROOT} {measure} than {other}, ties counted as half"
    better = output_name("better", _number(ROOT), _number(other), list(MEASURES).index(measure))
    return _share(name, dimension, better, label, least, "≥")


def _gap(name: str, measure: str, what: str) -> Quantity:
    """Return the check that the root's scale is better than none on average over the seeds."""
    difference = output_name("difference", _number(ROOT), _number(UNSCALED), list(MEASURES).index(measure))
    cell, estimand = cell_of(f"d{D}", _runs(D)), Bounded(difference, signed=True)
    return Quantity(name, what, cell, estimand, threshold(0), Tolerance(1.0, 1.0, "the whole range"), "≥")


def _never(name: str, scale: str) -> Quantity:
    """Return the check that most seeds succeed at no rate."""
    succeeds, label = output_name("any-success", _number(scale)), f"that succeed at some rate, {scale}"
    return _share(f"{name}-never-succeeds", D, succeeds, label, HALF, "≤")


def _at_rate(name: str, scale: str, rate: float, relation: Relation) -> Quantity:
    """Return the check that nearly all seeds succeed at a rate, or that hardly any does."""
    succeeds, label = output_name("success", _number(scale), RATES.index(rate)), f"the rate {rate:g}, {scale}"
    bound = NEARLY_ALL if relation == "≥" else 1 - NEARLY_ALL
    return _share(name, D, succeeds, f"that succeed at {label}", bound, relation)


def experiment(tolerance: float) -> Experiment:
    """Train at all scales, rates and seeds; compare the scales within each seed."""
    checks: list[Comparison] = [
        *(_duel(D, name, measure, MOST) for measure, name in MEASURES.items()),
        _at_rate("unscaled-succeeds-when-tuned", UNSCALED, OWN_RATE[UNSCALED], "≥"),
        _at_rate("unscaled-fails-at-others-rate", UNSCALED, OWN_RATE[WHOLE], "≤"),
        _at_rate("root-succeeds", ROOT, OWN_RATE[ROOT], "≥"),
        _at_rate("over-scaled-succeeds-when-tuned", WHOLE, OWN_RATE[WHOLE], "≥"),
        _at_rate("over-scaled-fails-at-others-rate", WHOLE, OWN_RATE[UNSCALED], "≤"),
        _rescaled("same-as-rescaled-start", SCALES[ROOT]),
        against_loops(),
    ]
    if tolerance < 0.02:
        checks += [
            _duel(D, "success-rate-over-scaled", MORE, MOST, WHOLE),
            _duel(D, "steps-to-loss-over-scaled", FEWER, MOST, WHOLE),
            *(_duel(HIGH, f"{name}-d{HIGH}", measure, MOST) for measure, name in MEASURES.items()),
            *(_duel(16, f"{name}-d16", measure, HALF) for measure, name in MEASURES.items()),
            replace(_duel(4, "success-rate-reversed-d4", MORE, HALF), relation="≤"),
            _duel(4, "steps-to-loss-d4", FEWER, HALF),
        ]
    if tolerance < 0.005:
        more = r"share of rates that succeed, mean over seeds: $1/\sqrt{d_k}$ minus unscaled"
        fewer = r"share of the steps to the goal, mean over rates and seeds: unscaled minus $1/\sqrt{d_k}$"
        checks += [_gap("mean-success-rate", MORE, more), _gap("mean-steps", FEWER, fewer)]
    return Experiment(tuple(checks), _controls())


def _controls() -> tuple[Control, ...]:
    low, same_rate = _duel(4, "helps-in-every-dimension", MORE, HALF), _rescaled("same-rate", S.One)
    return (
        Control("without scaling, training fails at every rate", _never("unscaled", UNSCALED)),
        Control("division by {d_k} makes training impossible", _never("over-scaled", WHOLE)),
        Control("training succeeds at more rates with scaling in every dimension, such as {cell:d_k}", low),
        Control("one rate serves all scales: unscaled training succeeds at that of division by {d_k}",
                _at_rate("unscaled-at-others-rate", UNSCALED, OWN_RATE[WHOLE], "≥")),
        Control("one rate serves all scales: division by {d_k} succeeds at that of unscaled training",
                _at_rate("over-scaled-at-others-rate", WHOLE, OWN_RATE[UNSCALED], "≥")),
        Control("a scale is a choice of initial weights alone, at the same rate", same_rate),
        softmax_over_queries(),
    )  # fmt: skip


def _success_by_rate(findings: Findings, scale: str) -> PlotLayer:
    """Return the share of seeds that succeed at each rate, with intervals at the level of the checks."""
    outputs = (output_name("success", _number(scale), rate) for rate in range(len(RATES)))
    found = findings.estimated(f"d{D}", map(Bounded, outputs), like="success-rate")
    return estimates(scale, RATES, found, "measured" if scale == ROOT else "other")


def _loss_at_best_rate(findings: Findings, scale: str) -> PlotLayer:
    """Return the mean loss over the seeds, at the rate of fewest steps, in a band of its standard errors."""
    sample, alpha = findings.samples[f"d{D}"], 1 - findings.checks["success-rate"].level
    mean, number = sample.outputs, _number(scale)
    best = min(range(len(RATES)), key=lambda rate: float(mean[output_name("steps", number, rate)]))
    marks = range(len(MARKS))
    losses_ = np.array([mean[output_name("loss", number, best, mark)] for mark in marks])
    squares = np.array([mean[output_name("squared-loss", number, best, mark)] for mark in marks])
    half = student_quantile(alpha, sample.blocks) * np.sqrt((squares - losses_**2) / sample.blocks)
    found = zip(losses_, zip(losses_ - half, losses_ + half, strict=True), strict=True)
    steps, label = [mark + 1 for mark in MARKS], f"{scale}, rate {RATES[best]:g}"
    return estimates(label, steps, found, "measured" if scale == ROOT else "other", kind="band")


def figures(findings: Findings) -> tuple[Figure, ...]:
    """Draw success against the learning rate, and the loss of each scale at its best rate."""
    keys = Lookup().keys
    even = ((1 - 1 / keys) ** 2 + (keys - 1) / keys**2) / 2
    scales = (ROOT, UNSCALED, WHOLE)
    return (
        figure(
            "success-by-rate",
            "Each scale has its own range of learning rates, and the root’s is the widest",
            "Share of seeds that succeed, over the learning rate, in {success-rate:d_k} dimensions; success "
            "is a {success-rate:success}. All three scales reach every seed at some rate. Unscaled training "
            "does so at low rates only, scaling by the root over a wider range, division by the dimension at "
            "high rates only.",
            "share of seeds with a {success-rate:success}",
            line("every seed", 1.0, at=(RATES[0], RATES[-1])),
            line("wrong: unscaled, none at any rate", 0.0, "control", at=(RATES[0], RATES[-1])),
            *(_success_by_rate(findings, scale) for scale in scales),
            x="learning rate (at one rate, side by side)",
            y_scale="linear",
        ),
        figure(
            "training-curves",
            "At its best learning rate unscaled training reaches the goal, but later",
            "Mean loss over the training steps, each scale at its best learning rate, in "
            "{success-rate:d_k} dimensions. Unscaled training starts higher than uniform attention and falls "
            "later than the two scaled ones, which are nearly alike.",
            "mean loss over the seeds",
            line("attention spread evenly", even, at=(1.0, STEPS)),
            *(_loss_at_best_rate(findings, scale) for scale in scales),
            x="training step",
            y_scale="linear",
        ),
    )


CLAIM = Claim(
    title="On one task, scaling widens the range of usable learning rates and speeds up training in high "
    "dimension",
    statement="Gradient descent at scale {c} and rate {eta} is unscaled gradient descent from weights {root} "
    "times as large at rate {rate}. One head learning to look up one of four tokens, from weights of "
    "variance one over their number of rows, at seven rates: with {success-rate:d_k=} and "
    "with eight times as many dimensions, division by {root_d}, in most seeds, succeeds at more rates than "
    "no scale and takes fewer steps to the same loss, averaged over the rates and at the best of each; every "
    "scale succeeds at some rate.",
    meaning="Without scaling, training is slower and succeeds at fewer learning rates in sixteen dimensions "
    "and more so in {success-rate:d_k} and in eight times as many; in four it succeeded at more. It does not "
    "fail as such: with a rate chosen for it, unscaled training succeeds too, and so does division by {d_k}, "
    "at a high rate nearly as fast as the root. A scale is a choice of initial weights and learning rate; "
    "that is all it does to plain gradient descent. One small task; how many rates succeed depends on which "
    "were tried: at the lowest here unscaled training still succeeds, at the highest division by {d_k}.",
    symbols={"c": c, "eta": eta, "root": sqrt(c), "rate": c * eta},
    assumptions=assume(
        descent="Plain gradient descent, without momentum or adaptive rates.",
        task="Fresh normal tokens in every step; each query is a copy of one token with noise, and the "
        "values are fixed unit vectors, so that only the weights of queries and keys are trained.",
        paired="All scales and rates of one seed share its initial weights and its data.",
    ),
)
