"""Whether scaling makes training succeed more often and faster: trained at three scales and many rates."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from sympy import Rational, S

from verify.claim import Claim, Findings
from verify.designs import threshold
from verify.evidence import Assumption, Axis, Figure, Layer
from verify.montecarlo.blocks import Cell
from verify.montecarlo.components import NORMAL
from verify.montecarlo.distribution_free import Bounded
from verify.montecarlo.experiment import (
    Allowance,
    Comparison,
    Control,
    Exact,
    Experiment,
    Prediction,
    Quantity,
    Relation,
    Tolerance,
)
from verify.montecarlo.intervals import student_quantile
from verify.montecarlo.streams import stream
from verify.montecarlo.training import Lookup, TrainingRuns, losses
from verify.symbolic.derivation import Derivation
from verify.symbolic.descent import SCORES, one_step, same_scores

if TYPE_CHECKING:
    from verify.montecarlo.components import Array

NAME = "training-stability"
UNSCALED, ROOT, WHOLE = 0, 1, 2
"""The scales 1, 1/√d and 1/d as the sampler numbers them."""

SCALE_NAMES = ("unscaled", r"over $\sqrt{d_k}$", "over $d_k$")
SUCCESSES, MEAN_STEPS, BEST_STEPS = 0, 1, 2
RATES = tuple(4.0**power for power in range(-2, 5))
STEPS = 120
GOAL = 0.2
MARKS = (0, 1, 2, 3, 5, 7, 10, 14, 19, 26, 36, 49, 67, 91, STEPS - 1)
D = 64
HALF, MOST = Rational(1, 2), Rational(3, 4)


def derive() -> Derivation:
    """Derive that a scale is a choice of initial weights and learning rate, one step at a time."""
    route = one_step()
    return Derivation(
        route.start,
        route.end,
        (route,),
        lemmas=(same_scores(),),
        definitions=(SCORES,),
        beyond="what training comes to, which scale succeeds at more rates and takes fewer steps, is "
        "measured, on one task.",
    )


def rescaled_gap() -> float:
    """Return the largest difference of loss between training at 1/√d and its unscaled counterpart.

    A few steps of five seeds at moderate rates, before rounding could be amplified.
    """
    task, seeds, steps, d = Lookup(), 5, 30, 24
    rng = stream(0, NAME, "rescaled", 0)
    shape, many = (seeds, 1, task.width, d), (seeds, 3, task.width, d)
    start = [np.broadcast_to(NORMAL.draw(rng, shape) / task.width**0.5, many) for _ in range(2)]
    tokens, queries = task.draw(rng, (seeds, steps))
    rates, scale = np.array([0.25, 1.0, 4.0]), d**-0.5

    def run(weights: list[Array], scale: float, rates: Array) -> Array:
        scales = np.full(len(rates), scale)
        return losses(task, (weights[0], weights[1]), tokens, queries, scales, rates)

    smaller = [scale**0.5 * one for one in start]
    gap = run(start, scale, rates) - run(smaller, 1.0, scale * rates)
    return float(np.abs(gap).max())


def _runs(d: int) -> TrainingRuns:
    return TrainingRuns(d, (1.0, d**-0.5, 1 / d), RATES, STEPS, GOAL, MARKS)


def _cell(d: int) -> Cell:
    task = Lookup()
    settings = (
        ("d_k", d),
        ("task", f"find the copied one of {task.keys} tokens of {task.width} dimensions, noise {task.noise}"),
        ("rates", f"{RATES[0]:g} to {RATES[-1]:g}, each 4 times the last"),
        ("steps", STEPS),
        ("success", f"mean loss of the last 20 steps below {GOAL}"),
        ("block", "one seed at all scales and rates"),
    )
    return Cell(f"d{d}", settings, _runs(d))


def _duel(d: int, name: str, measure: int, what: str, other: int = UNSCALED) -> Quantity:
    """Return the check that the root's scale fares better than another in at least half of the seeds."""
    against = "unscaled" if other == UNSCALED else r"$1/d_k$"
    label = rf"share of seeds in which scale $1/\sqrt{{d_k}}$ {what} than {against}, equal ones half"
    estimand = Bounded(_runs(d).better(ROOT, other, measure))
    return Quantity(name, label, _cell(d), estimand, threshold(HALF), relation="≥")


def _gap(name: str, measure: int, what: str) -> Quantity:
    """Return the check that the root's scale is better than none on average over the seeds."""
    estimand = Bounded(_runs(D).difference(ROOT, UNSCALED, measure), signed=True)
    whole = Tolerance(1.0, 1.0, "the whole range")
    return Quantity(name, what, _cell(D), estimand, threshold(S.Zero), whole, relation="≥")


def _any_rate(name: str, scale: int, bound: Any, relation: Relation) -> Quantity:
    label = f"share of seeds that succeed at some rate, {SCALE_NAMES[scale]}"
    estimand = Bounded(_runs(D).any_success(scale))
    return Quantity(name, label, _cell(D), estimand, threshold(bound), relation=relation)


def experiment(derivation: Derivation, tolerance: float) -> Experiment:  # noqa: ARG001  # predicts no value
    """Train at all scales, rates and seeds; compare the scales within each seed."""
    more, fewer = "succeeds at more rates", "takes fewer steps to the goal, averaged over the rates,"
    tuned = "takes fewer steps to the goal, each at its best rate,"
    same = Exact(
        "same-as-rescaled-start",
        "largest difference of loss from the unscaled run of smaller weights and rate",
        (("d_k", 24), ("seeds", 5), ("steps", 30), ("rates", "1/4, 1, 4")),
        Prediction(0.0, "0"),
        rescaled_gap(),
        allowance=Allowance(1e-9),
    )
    checks: list[Comparison] = [
        _duel(D, "success-rate", SUCCESSES, more),
        _duel(D, "steps-to-loss", MEAN_STEPS, fewer),
        _duel(D, "steps-at-best-rate", BEST_STEPS, tuned),
        _any_rate("unscaled-succeeds-when-tuned", UNSCALED, MOST, "≥"),
        _any_rate("over-scaled-succeeds-when-tuned", WHOLE, MOST, "≥"),
        same,
    ]
    controls = [
        Control(
            "without scaling, training fails at every rate",
            _any_rate("unscaled-never-succeeds", UNSCALED, HALF, "≤"),
        ),
        Control(
            "division by $d_k$ makes training impossible",
            _any_rate("over-scaled-never-succeeds", WHOLE, HALF, "≤"),
        ),
        Control(
            "training succeeds at more rates with scaling in every dimension, such as 4",
            _duel(4, "helps-in-every-dimension", SUCCESSES, more),
        ),
    ]
    if tolerance < 0.02:
        checks += [
            _duel(D, "success-rate-over-scaled", SUCCESSES, more, WHOLE),
            _duel(D, "steps-to-loss-over-scaled", MEAN_STEPS, fewer, WHOLE),
            _duel(16, "success-rate-d16", SUCCESSES, more),
            _duel(16, "steps-to-loss-d16", MEAN_STEPS, fewer),
            _duel(16, "steps-at-best-rate-d16", BEST_STEPS, tuned),
            replace(_duel(4, "success-rate-reversed-d4", SUCCESSES, more), relation="≤"),
            _duel(4, "steps-to-loss-d4", MEAN_STEPS, fewer),
        ]
    if tolerance < 0.005:
        checks += [
            _gap(
                "mean-success-rate",
                SUCCESSES,
                r"share of rates that succeed, mean over seeds: $1/\sqrt{d_k}$ minus unscaled",
            ),
            _gap(
                "mean-steps",
                MEAN_STEPS,
                r"share of the steps to the goal, mean over rates and seeds: unscaled minus $1/\sqrt{d_k}$",
            ),
            _duel(256, "success-rate-d256", SUCCESSES, more),
            _duel(256, "steps-at-best-rate-d256", BEST_STEPS, tuned),
        ]
    return Experiment(tuple(checks), tuple(controls))


def _success_by_rate(findings: Findings, scale: int) -> Layer:
    """Return the share of seeds that succeed at each rate, with intervals at the level of the checks."""
    sample, alpha = findings.samples[f"d{D}"], 1 - findings.checks["success-rate"].level
    runs = _runs(D)
    shares = [Bounded(runs.success(scale, rate)).measure(sample, alpha) for rate in range(len(RATES))]
    return Layer(
        kind="points",
        role="measured" if scale == ROOT else "other",
        label=SCALE_NAMES[scale],
        # Moved apart, for many points would hide one another.
        x=tuple(rate * 1.2 ** (scale - 1) for rate in RATES),
        y=tuple(one.value for one in shares),
        lo=tuple(one.interval[0] for one in shares),
        hi=tuple(one.interval[1] for one in shares),
    )


def _loss_at_best_rate(findings: Findings, scale: int) -> Layer:
    """Return the mean loss over the seeds, at the rate of fewest steps, in a band of its standard errors."""
    sample, alpha = findings.samples[f"d{D}"], 1 - findings.checks["success-rate"].level
    runs, mean = _runs(D), sample.mean
    best = min(range(len(RATES)), key=lambda rate: float(mean[runs.steps_taken(scale, rate)]))
    marks = range(len(MARKS))
    losses_ = np.array([mean[runs.loss(scale, best, mark)] for mark in marks])
    squares = np.array([mean[runs.squared_loss(scale, best, mark)] for mark in marks])
    half = student_quantile(alpha, sample.blocks) * np.sqrt((squares - losses_**2) / sample.blocks)
    return Layer(
        kind="band",
        role="measured" if scale == ROOT else "other",
        label=f"{SCALE_NAMES[scale]}, rate {RATES[best]:g}",
        x=tuple(float(mark + 1) for mark in MARKS),
        y=tuple(losses_.tolist()),
        lo=tuple((losses_ - half).tolist()),
        hi=tuple((losses_ + half).tolist()),
    )


def figures(derivation: Derivation, findings: Findings) -> tuple[Figure, ...]:  # noqa: ARG001  # measured
    """Draw success against the learning rate, and the loss of each scale at its best rate."""
    keys = Lookup().keys
    even = ((1 - 1 / keys) ** 2 + (keys - 1) / keys**2) / 2
    everyone = Layer(kind="line", role="truth", label="every seed", x=(RATES[0], RATES[-1]), y=(1.0, 1.0))
    level = Layer(
        kind="line", role="truth", label="attention spread evenly", x=(1.0, float(STEPS)), y=(even, even)
    )
    scales = (ROOT, UNSCALED, WHOLE)
    return (
        Figure(
            id="success-by-rate",
            title="Each scale has its own range of learning rates, and the root’s is the widest",
            alt="Share of seeds that succeed, over the learning rate, in 64 dimensions. All three scales "
            "reach every seed at some rate. Unscaled training does so at low rates only, scaling by the "
            "root over a wider range, division by the dimension at high rates only.",
            x=Axis(label="learning rate", scale="log"),
            y=Axis(label="share of seeds that succeed"),
            layers=(everyone, *(_success_by_rate(findings, scale) for scale in scales)),
        ),
        Figure(
            id="training-curves",
            title="At its best learning rate unscaled training arrives, but later",
            alt="Mean loss over the training steps, each scale at its best learning rate, in 64 dimensions. "
            "Unscaled training starts higher than even attention and falls later than the two scaled ones, "
            "which are nearly alike.",
            x=Axis(label="training step", scale="log"),
            y=Axis(label="mean loss over the seeds"),
            layers=(level, *(_loss_at_best_rate(findings, scale) for scale in scales)),
        ),
    )


CLAIM = Claim(
    id=NAME,
    order=80,
    title="Scaling widens the range of learning rates that work, and speeds training up, in high dimension",
    statement=(
        r"Gradient descent at scale $c$ and rate $\eta$ is unscaled gradient descent from weights $\sqrt{c}$ "
        r"times as large at rate $c\eta$. One head that learns to look up one of 4 tokens, from weights of "
        r"variance one over their rows, at 7 rates: with $d_k = 64$ the scale $1/\sqrt{d_k}$, in most seeds, "
        "succeeds at more rates than scale 1 and takes fewer steps to the same loss, averaged over the "
        "rates and at the best rate of each; at some rate every scale succeeds."
    ),
    meaning=(
        "Training without scaling is slower, and works at fewer learning rates, in 16 and more so in 64 "
        "dimensions; in 4 dimensions it succeeded at more of them. It does not fail as such: with a rate "
        "chosen for it, unscaled training succeeds too, and so does division by $d_k$, which at a high rate "
        "is nearly as fast as the root. A scale is a choice of initial weights and learning rate; that is "
        "all it does to plain gradient descent. One small task; how many rates succeed depends on which were "
        "tried, here a range wide enough for all three scales."
    ),
    assumptions=(
        Assumption(id="descent", text="Plain gradient descent, without momentum or adaptive rates."),
        Assumption(
            id="task",
            text="Fresh normal tokens in every step; each query is a copy of one token with noise, and the "
            "values are fixed unit vectors, so that only the weights of queries and keys are trained.",
        ),
        Assumption(
            id="paired", text="All scales and rates of one seed share its initial weights and its data."
        ),
    ),
    references=(),
    derive=derive,
    experiment=experiment,
    figures=figures,
)
