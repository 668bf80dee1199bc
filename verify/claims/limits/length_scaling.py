"""At a fixed scale attention thins out over longer texts; a spread that grows like √(ln n) keeps it."""

from __future__ import annotations

from typing import Any

from sympy import Rational, S, Sum, exp, log, simplify, sqrt

from verify.claim import Claim, Findings
from verify.designs import prediction, threshold
from verify.evidence import Assumption, Axis, Figure, Layer, Reference
from verify.montecarlo.blocks import Cell
from verify.montecarlo.components import NORMAL
from verify.montecarlo.distribution_free import Bounded
from verify.montecarlo.experiment import Control, Experiment, Prediction, Quantity, Relation, Tolerance
from verify.montecarlo.rows import NormalRows
from verify.symbolic.derivation import By, Derivation, Route, Step
from verify.symbolic.expectation import E
from verify.symbolic.row_means import RowMeans
from verify.symbolic.softmax import i, largest, n, p, s, sigma

KEYS = (4, 64, 1024)
TIMES = 2
"""The growing spread is so many times √(2 ln n)."""

LABEL = r"$\mathbb{E}\sum p_j^2$"
WEIGHT = Tolerance(1.0, 1.0, "a probability of 1")
SQUARES = Sum(p[i] ** 2, (i, 1, n))


def _keeps(before: Any, after: Any) -> bool:
    return bool(simplify(before.subs(sigma, TIMES * sqrt(2 * log(n))) - after) == S.Zero)


def derive() -> Derivation:
    """Derive that a spread of a multiple of √(2 ln n) keeps a share of the weight on few keys."""
    subject = E(SQUARES)
    route = Route(
        r"Independent normal scores of standard deviation $\sigma$",
        subject,
        (
            Step(1 - E(Sum(p[i] * s[i], (i, 1, n))) / sigma**2, "Integration by parts (Stein)", RowMeans()),
            Step(
                1 - E(largest) / sigma**2,
                "No average of scores exceeds the largest",
                RowMeans("≥", reaches=0.999, for_each=True, base=S.One),
                relation="≥",
            ),
            Step(
                1 - sqrt(2 * log(n)) / sigma,
                "The largest of $n$ normal scores",
                RowMeans("≥", reaches=0.925, base=S.One),
                relation="≥",
            ),
        ),
    )
    choice = Route(
        rf"With $\sigma = {TIMES}\sqrt{{2\ln n}}$",
        route.end,
        (
            Step(
                1 - Rational(1, TIMES),
                "The number of keys cancels",
                By("SymPy puts the spread in", _keeps, "general"),
                "⇒",
            ),
        ),
    )
    return Derivation(
        subject,
        route.end,
        (route,),
        lemmas=(choice,),
        relation="≥",
        beyond="that attention thins out at a fixed spread, which is measured here against thresholds set in "
        "advance; its limit is derived with the effective number of keys.",
    )


def _spread(keys: int) -> float:
    return float(TIMES * sqrt(2 * log(keys)))


def _rows(
    keys: int, deviation: float, name: str, bound: Prediction, relation: Relation, kind: str
) -> Quantity:
    settings = (("n", keys), ("sigma", round(deviation, 3)), ("scores", "independent normal"))
    cell = Cell(f"{kind}-n{keys}", settings, NormalRows(keys, 8, deviation, NORMAL, ("squares",)))
    return Quantity(name, LABEL, cell, Bounded(0), bound, WEIGHT, relation)


def experiment(derivation: Derivation, tolerance: float) -> Experiment:  # noqa: ARG001  # a bound is a bound
    """Measure concentration over the number of keys, at one fixed and at a growing spread."""
    kept = prediction(derivation.lemmas[0].end)
    growing = tuple(_rows(keys, _spread(keys), f"growing-n{keys}", kept, "≥", "growing") for keys in KEYS)
    few = threshold(0.1)
    fixed = (
        _rows(4, 1.0, "fixed-n4", threshold(0.3), "≥", "fixed"),
        _rows(64, 1.0, "fixed-n64", few, "≤", "fixed"),
        _rows(1024, 1.0, "fixed-n1024", few, "≤", "fixed"),
    )
    last = KEYS[-1]
    controls = (
        Control(
            "a fixed scale keeps attention as concentrated over 1024 keys as over 4",
            _rows(last, 1.0, "fixed-keeps", threshold(0.3), "≥", "fixed"),
        ),
        Control(
            "with the growing spread, too, attention thins out",
            _rows(last, _spread(last), "growing-thins-out", few, "≤", "growing"),
        ),
    )
    return Experiment((*growing, *fixed), controls)


def figures(derivation: Derivation, findings: Findings) -> tuple[Figure, ...]:
    """Draw both over the number of keys."""
    kept = float(derivation.lemmas[0].end)
    e_over_n = exp(S.One)

    def layer(kind: str, label: str) -> Layer:
        checks = [findings.checks[f"{kind}-n{keys}"] for keys in KEYS]
        return Layer(
            kind="points",
            role="measured",
            label=label,
            x=tuple(map(float, KEYS)),
            y=tuple(check.estimate for check in checks),
            lo=tuple(max(check.interval[0], 1e-4) for check in checks),
            hi=tuple(check.interval[1] for check in checks),
        )

    ends = (float(KEYS[0]), float(KEYS[-1]))
    return (
        Figure(
            id="thinning-out",
            title=r"A spread that grows like the root of $\ln n$ keeps attention concentrated",
            alt="The mean sum of squared weights over the number of keys: with a spread of twice the root of "
            "two ln n it stays above one half, with a fixed spread it falls like e over n.",
            x=Axis(label="number of keys $n$", scale="log"),
            y=Axis(label=LABEL, scale="log"),
            layers=(
                Layer(kind="line", role="truth", label="bound: ½", x=ends, y=(kept, kept)),
                Layer(
                    kind="line",
                    role="other",
                    label="$e/n$",
                    x=ends,
                    y=tuple(float(e_over_n / x) for x in ends),
                ),
                layer("growing", r"$\sigma = 2\sqrt{2\ln n}$"),
                layer("fixed", r"$\sigma = 1$"),
            ),
        ),
    )


CLAIM = Claim(
    id="length-scaling",
    order=80,
    title="Longer texts thin attention out unless the scale grows with their logarithm",
    statement=(
        r"At a fixed spread $\sigma$ of the scores $\mathbb{E}\sum p_j^2$ falls towards 0 as the number of "
        r"keys grows; with $\sigma = 2\sqrt{2\ln n}$ it stays above $\tfrac12$ for every $n$."
    ),
    meaning=(
        r"$1/\sqrt{d_k}$ makes attention independent of the dimension, not of the length: ten times as "
        r"many keys share "
        r"the same weight. A factor that grows with $\ln n$ on the scores undoes this, which is what "
        r"log-length scaling of "
        "long contexts does. (Here the root of it acts on the spread of random scores; trained scores are "
        "not random.)"
    ),
    assumptions=(
        Assumption(id="normal", text=r"Scores are independent and normal with standard deviation $\sigma$."),
    ),
    references=(
        Reference(
            key="chiang2022",
            text="D. Chiang and P. Cholak, Overcoming a Theoretical Limitation of Self-Attention, ACL 2022.",
            url="https://arxiv.org/abs/2202.12172",
        ),
    ),
    derive=derive,
    experiment=experiment,
    figures=figures,
)
