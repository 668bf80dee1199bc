"""Rotary positions keep lengths and the variance of scores; they turn means, and mix what is correlated."""

from collections.abc import Callable

import numpy as np
from sympy import Expr, Matrix, S, cos, sin, sqrt, symbols

from verify.spec import (
    E, NORMAL, SU, Array, Claim, Derivation, Evaluation, Experiment, Figure, Findings, Linked, Ordered,
    Population, RotatedScores, Route, SameExponentials, Step, Var, assume, biased, cell_of, component, d,
    figure, function, in_turn, integrated, line, measured, of_deviation, over_cells, rotation_angles,
    variance, wrong,
)  # fmt: skip

PAIRS, SIDE, DISTANCES = 8, 16, (0, 1, 10)
MEANS, MIXED = (0.5, -1.0, 1.0, -0.5), 0.8
"""Pairs of components of a head; the means of a pair of q and k; the correlation within a pair."""

VARIANCE, MEAN = r"$\operatorname{Var}(q\cdot k)$", r"$\mathbb{E}[q\cdot k]$"
query, key = (Matrix(symbols(f"{name}_1:3", real=True)) for name in "qk")
mu, nu = (Matrix(symbols(f"{name}_1:3", real=True)) for name in ("mu", "nu"))
a, b, turn = symbols("a b theta", real=True)
tau, kappa = Ordered("sigma_q", "s1", positive=True), Ordered("sigma_k", "s2", positive=True)
rho = Ordered("rho", "r", real=True)


def _turn(angle: Expr) -> Matrix:
    return Matrix([[cos(angle), -sin(angle)], [sin(angle), cos(angle)]])


def derive() -> Derivation:
    """Derive for one pair of components what a rotation does; pairs are independent and add up."""
    known = zip((*query, *key), (*mu, *nu), (tau, tau, kappa, kappa), strict=True)
    laws = {one: (S.One, mean, mean**2 + deviation**2) for one, mean, deviation in known}
    moments = Evaluation(Population(laws, d), assumed=True)
    apart = query.dot(_turn(turn) * key)
    spread = tau**2 * kappa**2 * 2 + kappa**2 * mu.dot(mu) + tau**2 * nu.dot(nu)
    variance = Route.of("Variance", Var(apart), Step(spread, "The angle cancels: cos² + sin² = 1", moments))
    turned = Step(mu.dot(_turn(turn) * nu), "The mean key is turned", moments)
    mean = Route.of("Mean", E(apart), turned).defining("the mean of a pair’s part of a score")
    length = sum(part**2 for part in _turn(a) * query)
    kept = Step(query.dot(query), "cos² + sin² = 1", SameExponentials())
    lengths = Route.of("Length", length, kept).defining("the squared length of a turned pair")
    distance = Step(apart.subs(turn, b - a), "Only the distance counts", SameExponentials())
    relative = Route.of("Two positions", (_turn(a) * query).dot(_turn(b) * key), distance)
    relative = relative.defining("a pair’s part of a score of positions with angles a and b")
    fresh, mixing = symbols("q_1 u k_1 w", real=True), Matrix([[1, 0], [rho, sqrt(1 - rho**2)]])
    unmixed = Evaluation(Population(dict.fromkeys(fresh, (S.One, S.Zero, S.One)), d), assumed=True)
    swings = Step(2 * (1 + rho**2 * cos(2 * turn)), "The angle stays", unmixed)
    mixed_query, mixed_key = mixing * Matrix(fresh[:2]), mixing * Matrix(fresh[2:])
    start = Var(mixed_query.dot(_turn(turn) * mixed_key))
    correlated = Route.of("Variance, components of a pair correlated by ρ", start, swings)
    correlated = correlated.defining("the variance where both components of a pair are correlated")
    return Derivation.of(variance, lemmas=(mean, lengths, relative, correlated))


def _linked(own: Array, means: tuple[float, ...]) -> Linked:
    """Return queries and keys whose pairs are made by ``own`` of two fresh components each."""
    return Linked(PAIRS, SIDE, NORMAL, tuple(map(tuple, np.kron(np.eye(2), own).tolist())), means)


WORLDS = {"means": _linked(np.eye(2), MEANS),
          "mixed": _linked(np.array([[1, 0], [MIXED, (1 - MIXED**2) ** 0.5]]), (0.0,) * 4)}  # fmt: skip


def _over_pairs(of_pair: Expr) -> Callable[[float], float]:
    """Return what the pairs add up to at a distance; the query is ahead, so that keys turn back."""
    given = {tau: 1, kappa: 1, rho: MIXED, **dict(zip((*mu, *nu), MEANS, strict=True))}
    of_angle = function((turn,), of_pair.subs(given))
    return lambda distance: sum(of_angle(-distance * angle) for angle in rotation_angles(PAIRS))


def experiment(derivation: Derivation, tolerance: float) -> Experiment:
    """Measure mean and variance at several distances, for components with means and for correlated ones."""
    mean, *_, correlated = (_over_pairs(lemma.end) for lemma in derivation.lemmas)
    spread = _over_pairs(derivation.result)
    free, tied = (
        {m: cell_of(f"{name}-at{m}", drawn, RotatedScores(m), m=m) for m in DISTANCES}
        for name, drawn in WORLDS.items()
    )
    near, label = of_deviation(spread(0)), f"{VARIANCE}, pairs correlated"
    spreads = over_cells("variance-at{m}", VARIANCE, free, variance(), spread)
    means = over_cells("mean-at{m}", MEAN, free, component("mean"), mean, near)
    mixed = over_cells("correlated-at{m}", label, tied, variance(), correlated)
    first, *_, far = DISTANCES
    controls = (
        wrong(spreads[far], "variance-turns", "the variance is lower by what the means lose",
              spread(far) - mean(first) + mean(far)),
        wrong(means[far], "mean-stays", "the mean of a score is the same at every distance", means[first]),
        wrong(means[1], "turned-the-other-way", "keys are turned against the queries, not with them",
              integrated(mean(-1))),
        wrong(mixed[far], "variance-stays", "correlated pairs, too, keep their variance", mixed[first]),
        biased(spreads[1], tolerance, at="m"),
    )  # fmt: skip
    return Experiment(in_turn(spreads, means, mixed), controls)


def figures(derivation: Derivation, findings: Findings) -> Figure:
    """Draw mean and both variances over the distance."""
    mean, *_, correlated = (_over_pairs(lemma.end) for lemma in derivation.lemmas)
    at = np.linspace(0, DISTANCES[-1], 61)
    return figure(
        "turning",
        "Rotary positions turn the mean of a score and leave the variance of independent components",
        "Over the distance of query and key the variance of scores stays level where components are "
        "independent, with means or without; the mean falls and swings; where the two components of a pair "
        "are correlated, the variance swings as well.",
        "mean and variance of a score",
        line("variance, components with means", _over_pairs(derivation.result), at=at),
        line("mean", mean, at=at),
        line("variance, correlated pairs", correlated, at=at),
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
    "mean query and the turned mean key. Where in queries and in keys the two components of a pair, of mean "
    r"0 and variance 1, have correlation $\rho$, a pair adds $2(1 + \rho^2\cos 2\theta)$ to the variance at "
    r"the angle $\theta$ between query and key.",
    meaning=r"The divisor $\sqrt{d_k}$ needs no change for rotary positions at the start of training. What "
    "depends on the distance is the mean: a head can prefer near keys or far ones once queries and keys "
    "have means. Where a pair is correlated in both, the variance depends on the distance too.",
    assumptions=assume(
        independent="Query and key are independent, and so are different pairs.",
        alike="Components of a query have one variance, those of a key another.",
    ),
    references=(SU,),
)
