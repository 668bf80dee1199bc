"""Rotary positions keep lengths and the variance of scores; they turn means, and mix what is correlated."""

from collections.abc import Callable, Mapping
from functools import partial

from sympy import Expr, Idx, Interval, Matrix, MatrixSymbol, S, Sum, cos, rot_givens, sqrt, symbols

from verify.claims.modern.shared import RotatedScores, rotation_angles
from verify.former import (
    E, NORMAL, Claim, Derivation, Experiment, Figure, Findings, Linked, Population, Route, Step, Var, beside,
    biased, cells_of, cite, component, d, figure, function, in_turn, of_deviation, one_step, ordered,
    over_cells, sigma_k, sigma_q, variance, wrong,
)  # fmt: skip
from verify.former.rules import Evaluation, Hypotheses, Identity, VectorMoments, Vectors

PAIRS, MEANS, MIXED = 8, (0.5, -1.0, 1.0, -0.5), 0.8
"""Pairs of components of a head; the means of a pair of q and k; the correlation within a pair."""
APART = Linked.separate(PAIRS, 16, NORMAL, ((1.0, 0.0), (0.0, 1.0)), MEANS)
TIED = Linked.separate(PAIRS, 16, NORMAL, ((1.0, 0.0), (MIXED, (1 - MIXED**2) ** 0.5)))
VARIANCE, MEAN = r"$\operatorname{Var}(q\cdot k)$", r"$\mathbb{E}[q\cdot k]$"
query, key, mu, nu = (Matrix(symbols(f"{name}_1:3", real=True)) for name in ("q", "k", "mu", "nu"))
(a, b, turn), rho = symbols("a b theta", real=True), ordered("rho:r", real=True)
turned = partial(rot_givens, 1, 0, dim=2)  # the matrix that turns a pair by an angle
fresh = Matrix(symbols("q_1 u k_1 w", real=True))
j, m = Idx("j"), ordered("m", integer=True, positive=True)
angles = MatrixSymbol("theta", m, 1)
"""The angles of a vector of m pairs."""


def _vectors(names: str) -> tuple[MatrixSymbol, ...]:
    return tuple(MatrixSymbol(name, m, 1) for name in names.split())


def _added_up(of_pair: Expr, of_vectors: Mapping[Expr, MatrixSymbol]) -> Sum:
    """Return the sum over pairs of what is given for one, its symbols as entries of vectors."""
    entries = {one: vector[j, 0] for one, vector in {**of_vectors, turn: angles}.items()}
    return Sum(of_pair.xreplace(entries), (j, 0, m - 1))


def _over_pairs(variance: Route, mean: Route, correlated: Route) -> tuple[Route, ...]:
    """Derive that what holds for a pair adds up over the m pairs of a vector."""
    firsts, others, independent = _vectors("q q' k k'"), _vectors(r"mu \mu' nu \nu'"), _vectors("q u k w")
    variances = zip(firsts, firsts, (sigma_q**2, sigma_q**2, sigma_k**2, sigma_k**2), strict=True)
    law = Vectors(tuple(zip(firsts, others, strict=True)), tuple(variances))
    alike = Vectors(tuple((one, 0) for one in independent), tuple((one, one, 1) for one in independent))
    of_pair = dict(zip((*query, *key, *mu, *nu), (*firsts, *others), strict=True))
    unmixed = dict(zip(fresh, independent, strict=True))
    words = "Different pairs are independent, and each adds its own"
    return tuple(
        Route.of(f"{route.title}, all pairs", kind(_added_up(route.start.args[0], vectors)),
                 Step(_added_up(route.end, vectors), words, VectorMoments(given)), under=route.under,
                 defines=f"{what} of a score of m turned pairs")
        for route, kind, vectors, given, what in (
            (variance, Var, of_pair, law, "the variance"),
            (mean, E, of_pair, law, "the mean"),
            (correlated, Var, unmixed, alike, "the variance, pairs correlated,"),
        )
    )  # fmt: skip


def derive() -> Derivation:
    """Derive for one pair of components what a rotation does, and that independent pairs add up."""
    known = zip((*query, *key), (*mu, *nu), (sigma_q, sigma_q, sigma_k, sigma_k), strict=True)
    laws = {one: (S.One, mean, mean**2 + deviation**2) for one, mean, deviation in known}
    moments, apart = Evaluation(Population(laws, d), assumed=True), query.dot(turned(turn) * key)
    spread = sigma_q**2 * sigma_k**2 * 2 + sigma_k**2 * mu.dot(mu) + sigma_q**2 * nu.dot(nu)
    variance = one_step("Variance", Var(apart), spread, "The angle cancels: cos² + sin² = 1", moments)
    mean = one_step("Mean", E(apart), mu.dot(turned(turn) * nu), "The mean key is turned", moments,
                    defines="the mean of a pair’s part of a score")  # fmt: skip
    lengths = one_step("Length", sum(part**2 for part in turned(a) * query), query.dot(query),
                       "cos² + sin² = 1", Identity(),
                       defines="the squared length of a turned pair")  # fmt: skip
    relative = one_step("Two positions", (turned(a) * query).dot(turned(b) * key), apart.subs(turn, b - a),
                        "Only the distance counts", Identity(),
                        defines="a pair’s part of a score of positions with angles a and b")  # fmt: skip
    mixing = Matrix([[1, 0], [rho, sqrt(1 - rho**2)]])
    mixed_query, mixed_key = mixing * fresh[:2, :], mixing * fresh[2:, :]
    unmixed = Evaluation(Population(dict.fromkeys(fresh, (S.One, S.Zero, S.One)), d), assumed=True)
    product, varies = mixed_query.dot(turned(turn) * mixed_key), 2 * (1 + rho**2 * cos(2 * turn))
    correlated = one_step("Variance, components of a pair correlated by ρ", Var(product), varies,
                          "The angle stays", unmixed, under=Hypotheses().restricted(rho, Interval(-1, 1)),
                          defines="the variance where both components of a pair are correlated",
                          name="correlated")  # fmt: skip
    added_up = _over_pairs(variance, mean, correlated)
    return Derivation.of(variance, lemmas=(mean, lengths, relative, *added_up, correlated))


def _laws(derivation: Derivation) -> list[Callable[[float], float]]:
    """Return variance, mean, and variance of correlated pairs, each over the distance m; keys turn back."""
    given = {sigma_q: 1, sigma_k: 1, rho: MIXED, **dict(zip((*mu, *nu), MEANS, strict=True))}
    ends = derivation.result, derivation.lemmas[0].end, derivation.lemmas[-1].end
    of_pairs = [function((turn,), one.subs(given)) for one in ends]

    def of_vector(of_pair: Callable[[float], float]) -> Callable[[float], float]:
        return lambda m: sum(of_pair(-m * angle) for angle in rotation_angles(PAIRS))

    return [of_vector(of_pair) for of_pair in of_pairs]


def experiment(derivation: Derivation, tolerance: float) -> Experiment:
    """Measure mean and variance at several distances, for components with means and for correlated ones."""
    spread, mean, correlated = _laws(derivation)
    free = cells_of("means-at{m}", (0, 1, 10), lambda m: (APART, RotatedScores(m)))
    tied = cells_of("mixed-at{m}", (0, 1, 10), lambda m: (TIED, RotatedScores(m)))
    spreads = over_cells("variance-at{m}", VARIANCE, free, variance(), spread)
    means = over_cells("mean-at{m}", MEAN, free, component("mean"), mean, of_deviation(spread(0)))
    mixed = over_cells("correlated-at{m}", f"{VARIANCE}, pairs correlated", tied, variance(), correlated)
    return Experiment(in_turn(spreads, means, mixed), (
        wrong(spreads[10], "variance-turns", "the variance is lower by what the means lose",
              spread(10) - mean(0) + mean(10)),
        wrong(means[10], "mean-stays", "the mean of a score is the same at every distance", means[0]),
        wrong(means[1], "turned-the-other-way", "keys turn against the queries, not with them", mean(-1)),
        wrong(mixed[10], "variance-stays", "correlated pairs, too, keep their variance", mixed[0]),
        biased(spreads[1], tolerance, at="m"),
    ))  # fmt: skip


def figures(derivation: Derivation, findings: Findings) -> Figure:
    """Draw mean and both variances over the distance."""
    spread, mean, correlated = _laws(derivation)
    return figure(
        "turning",
        "Rotary positions turn the mean of a score and leave the variance of independent components",
        "Over the distance of query and key the variance of scores stays level where components are "
        "independent, with means or without; the mean falls and swings; where the two components of a pair "
        "are correlated, the variance swings as well.",
        "mean and variance of a score", *beside(findings.matching("mean-at*"), "mean", mean, "m"),
        *beside(findings.matching("variance-at*"), "variance, components with means", spread, "m"),
        *beside(findings.matching("correlated-at*"), "variance, correlated pairs", correlated, "m"),
        x="distance of query and key", x_scale="linear", y_scale="linear",
    )  # fmt: skip


CLAIM = Claim(
    title="Rotary positions leave the variance of scores unchanged and rotate their mean",
    statement="Turning pairs of components by an angle in proportion to the position keeps every length, and "
    "positions enter scores through their distance alone. For independent components, with one variance for "
    "all of a vector and any means, the variance of a score is the same at every distance; its mean is that "
    "of the mean query and the turned mean key. Where in queries and in keys the two components of a pair, "
    "of mean zero and unit variance, have correlation {rho}, a pair adds {correlated:result} to the variance "
    "at the angle {theta} between query and key.",
    meaning="The divisor {root_d} needs no change for rotary positions at the start of training. What "
    "depends on the distance is the mean: a head can prefer near keys or far ones once queries and keys "
    "have means. Where a pair is correlated in both, the variance depends on the distance too.",
    symbols={"rho": rho, "theta": turn},
    references=cite(
        "su2021",
        "J. Su et al., RoFormer: Enhanced Transformer with Rotary Position Embedding, 2021.",
        "https://arxiv.org/abs/2104.09864",
    ),
)
