"""Rotary positions keep lengths and the variance of scores; they turn means, and mix what is correlated."""

from collections.abc import Callable
from typing import Any

import numpy as np
from sympy import S, Symbol, cos, sin, sqrt, symbols

from verify.spec import (
    NORMAL, SU, Claim, Derivation, E, Evaluation, Experiment, Figure, Findings, Linked, Ordered, Population,
    Prediction, Quantity, RotatedScores, Route, SameExponentials, Step, Var, assume, biased, cell_of,
    component, d, figure, function, line, measured, of_deviation, rotation_angles, variance, wrong,
)  # fmt: skip

PAIRS, SIDE, DISTANCES = 8, 16, (0, 1, 10)
MEANS, MIXED = (0.5, -1.0, 1.0, -0.5), 0.8
"""Pairs of components of a head; the means of a pair of q and k; the correlation within a pair."""

VARIANCE, MEAN = r"$\operatorname{Var}(q\cdot k)$", r"$\mathbb{E}[q\cdot k]$"
q1, q2, k1, k2, u, w = symbols("q_1 q_2 k_1 k_2 u w", real=True)
a, b, turn = (Symbol(name, real=True) for name in ("a", "b", "theta"))
mu, nu = symbols("mu_1:3", real=True), symbols("nu_1:3", real=True)
tau, kappa = Ordered("sigma_q", "s1", positive=True), Ordered("sigma_k", "s2", positive=True)
rho = Ordered("rho", "r", real=True)


def _turned(one: Any, two: Any, angle: Any) -> tuple[Any, Any]:
    return one * cos(angle) - two * sin(angle), one * sin(angle) + two * cos(angle)


def _score(query: Any, key: Any) -> Any:
    return query[0] * key[0] + query[1] * key[1]


def derive() -> Derivation:
    """Derive for one pair of components what a rotation does; pairs are independent and add up."""
    known = zip((q1, q2, k1, k2), (*mu, *nu), (tau, tau, kappa, kappa), strict=True)
    laws = {one: (S.One, mean, mean**2 + deviation**2) for one, mean, deviation in known}
    moments = Evaluation(Population(laws, d), assumed=True)
    apart = _score((q1, q2), _turned(k1, k2, turn))
    one = _score(_turned(q1, q2, a), _turned(k1, k2, b))
    spread = tau**2 * kappa**2 * 2 + kappa**2 * _score(mu, mu) + tau**2 * _score(nu, nu)
    variance = Route.of("Variance", Var(apart), Step(spread, "The angle cancels: cos² + sin² = 1", moments))
    turned = Step(_score(mu, _turned(nu[0], nu[1], turn)), "The mean key is turned", moments)
    mean = Route.of("Mean", E(apart), turned).defining("the mean of a pair’s part of a score")
    length = sum(part**2 for part in _turned(q1, q2, a))
    kept = Route.of("Length", length, Step(q1**2 + q2**2, "cos² + sin² = 1", SameExponentials()))
    kept = kept.defining("the squared length of a turned pair")
    distance = Step(apart.subs(turn, b - a), "Only the distance counts", SameExponentials())
    relative = Route.of("Two positions", one, distance)
    relative = relative.defining("a pair’s part of a score of positions with angles a and b")
    standard = dict.fromkeys((q1, u, k1, w), (S.One, S.Zero, S.One))
    query, key = ((x, rho * x + sqrt(1 - rho**2) * y) for x, y in ((q1, u), (k1, w)))
    mixed = _score(query, _turned(*key, turn))
    unmixed = Evaluation(Population(standard, d), assumed=True)
    swings = Step(2 * (1 + rho**2 * cos(2 * turn)), "The angle stays", unmixed)
    correlated = Route.of("Variance, components of a pair correlated by ρ", Var(mixed), swings)
    correlated = correlated.defining("the variance where both components of a pair are correlated")
    return Derivation.of(variance, lemmas=(mean, kept, relative, correlated))


_OWN = ((1.0, 0.0), (MIXED, (1 - MIXED**2) ** 0.5))
WORLDS = {
    "means": Linked(PAIRS, SIDE, NORMAL, tuple(map(tuple, np.eye(4).tolist())), MEANS),
    "mixed": Linked(PAIRS, SIDE, NORMAL, (*((*row, 0.0, 0.0) for row in _OWN),
                                          *((0.0, 0.0, *row) for row in _OWN)), (0.0,) * 4),
}  # fmt: skip


def _over_pairs(of_pair: Any) -> Callable[[float], float]:
    """Return what the pairs add up to at a distance; the query is ahead, so that keys turn back."""
    given = {tau: 1, kappa: 1, rho: MIXED, **dict(zip((*mu, *nu), MEANS, strict=True))}
    of_angle = function((turn,), of_pair.subs(given))
    return lambda distance: sum(of_angle(-distance * angle) for angle in rotation_angles(PAIRS))


def _at(of_pair: Any, distance: float) -> Prediction:
    value = _over_pairs(of_pair)(distance)
    return Prediction(value, f"{value:.6g}")


def experiment(derivation: Derivation, tolerance: float) -> Experiment:
    """Measure mean and variance at several distances, for components with means and for correlated ones."""
    mean, *_, correlated = (lemma.end for lemma in derivation.lemmas)
    spread = _at(derivation.result, 0)
    near, of_mixed, checks = of_deviation(spread.value), f"{VARIANCE}, pairs correlated", {}
    for m in DISTANCES:
        free, mixed = (
            cell_of(f"{name}-at{m}", drawn, RotatedScores(m), m=m) for name, drawn in WORLDS.items()
        )
        checks["spread", m] = Quantity(f"variance-at{m}", VARIANCE, free, variance(), spread)
        checks["mean", m] = Quantity(f"mean-at{m}", MEAN, free, component("mean"), _at(mean, m), near)
        checks["mixed", m] = Quantity(f"correlated-at{m}", of_mixed, mixed, variance(), _at(correlated, m))
    first, *_, far = DISTANCES
    controls = (
        wrong(checks["spread", far], "variance-turns", "the variance is lower by what the means lose",
              spread.value - checks["mean", first].prediction.value + checks["mean", far].prediction.value),
        wrong(checks["mean", far], "mean-stays", "the mean of a score is the same at every distance",
              checks["mean", first].prediction),
        wrong(checks["mean", 1], "turned-the-other-way", "keys are turned against the queries, not with them",
              _at(mean, -1)),
        wrong(checks["mixed", far], "variance-stays", "correlated pairs, too, keep their variance",
              checks["mixed", first].prediction),
        biased(checks["spread", 1], tolerance, at="m"),
    )  # fmt: skip
    return Experiment(tuple(checks.values()), controls)


def figures(derivation: Derivation, findings: Findings) -> Figure:
    """Draw mean and both variances over the distance."""
    mean, *_, correlated = (lemma.end for lemma in derivation.lemmas)
    at = np.linspace(0, DISTANCES[-1], 61)
    return figure(
        "turning",
        "Rotary positions turn the mean of a score and leave the variance of independent components",
        "Over the distance of query and key the variance of scores stays level where components are "
        "independent, with means or without; the mean falls and swings; where the two components of a pair "
        "are correlated, the variance swings as well.",
        "mean and variance of a score",
        line("variance, components with means", _over_pairs(derivation.result), at=at),
        line("mean", _over_pairs(mean), at=at),
        line("variance, correlated pairs", _over_pairs(correlated), at=at),
        measured(findings.matching("variance-at*"), "", "m"),
        measured(findings.matching("mean-at*"), "measured", "m"),
        measured(findings.matching("correlated-at*"), "", "m"),
        x="distance $m$ of query and key", x_scale="linear", y_scale="linear",
    )  # fmt: skip


CLAIM = Claim(
    title="Rotary positions leave the variance of scores as it is, and turn their mean",
    statement="Turning pairs of components by an angle in proportion to the position keeps every length, "
    "and scores depend on the distance alone. For independent components, with one variance for all of a "
    "vector and any means, the variance of a score is the same at every distance; its mean is that of the "
    "mean query and the turned mean key. Where both components of a pair, of mean 0 and variance 1, have "
    r"correlation $\rho$, a pair adds $2(1 + \rho^2\cos 2\theta)$ to the variance at the angle $\theta$ "
    "between query and key.",
    meaning=r"The divisor $\sqrt{d_k}$ needs no change for rotary positions at the start of training. What "
    "depends on the distance is the mean: it is how a head prefers near keys or far ones, and it takes "
    "means, or correlation of query and key, which training makes. Then the variance may depend on the "
    "distance too.",
    assumptions=assume(
        independent="Query and key are independent, and so are different pairs.",
        alike="Components of a query have one variance, those of a key another.",
    ),
    references=(SU,),
)
