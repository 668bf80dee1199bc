"""Differential attention p - λr: the noise of a weight can fall, its noise over its mean never does."""

from functools import partial

from sympy import Eq, Expr, Float, Interval, MatrixSymbol, Rational, S, exp, sqrt

from verify.claims.newer.shared import DifferentialRows, correlation_of_two
from verify.former import (
    E, Claim, Derivation, Experiment, Fact, Figure, Findings, Route, Smooth, Step, Tolerance, Var, beside,
    biased, cell_of, characteristic, cite, fact, figure, line, one_step, ordered, over_cells, wrong,
)  # fmt: skip
from verify.former.rules import Assuming, Compared, Hypotheses, Identity, VectorMoments, Vectors

factor, rho = ordered("lambda", nonnegative=True), ordered("rho", real=True)
first, second, m, v, c = (MatrixSymbol(one, 1, 1) for one in ("p", "r", "m", "V", "C"))
"""A weight of either map, their means, variances and covariance."""
PAIR = Vectors(((first, m), (second, m)), ((first, first, v), (second, second, v), (first, second, c)))
SETTINGS = ((2, 0, 0.5), (64, 0, 0.5), (2, 0.9, 0.5))
"""Numbers of keys, correlations of scores, and factors."""
NOISE = "variance of a weight over that of a plain one"
RELATIVE = "variance of a weight over its squared mean, over that of a plain one"
LESS = first[0, 0] - factor * second[0, 0]


def derive() -> Derivation:
    """Derive the noise of a difference, and the same over its mean."""
    possible = Hypotheses().restricted(rho, Interval(-1, 1))
    noise = Route.of(
        "Two maps of equal means and variances", Var(LESS) / v[0, 0],
        Step(1 + factor**2 - 2 * factor * c[0, 0] / v[0, 0], "By means and covariances", VectorMoments(PAIR)),
        Step(1 + factor**2 - 2 * factor * rho, "With the correlation of both weights",
             Assuming((Eq(c[0, 0], rho * v[0, 0]),))),
        under=possible,
    )  # fmt: skip
    mean = one_step("The mean", E(LESS) / m[0, 0], 1 - factor, "By linearity", VectorMoments(PAIR),
                    defines="the mean of a difference over that of a weight", name="mean")  # fmt: skip
    relative = Route.of(
        "The noise over the square of the mean", noise.end / mean.end**2,
        Step(1 + 2 * factor * (1 - rho) / (1 - factor) ** 2, "The square of the mean taken out", Identity()),
        defines="the variance of a weight over the square of its mean, over that of a plain one",
        name="relative", under=possible.restricted(factor, Interval.Ropen(0, 1)),
    )  # fmt: skip
    never = relative.then(Step(S.One, "No correlation is above 1", Compared("≥"))).called("never")
    product = characteristic.of_normal(exp(characteristic.y), exp(characteristic.v / 2))
    product = product.defining("the mean of the exponential of a normal score")
    return Derivation.of(noise, lemmas=(mean, relative, never, product))


def _correlation(correlation: float) -> float:
    """Return the correlation of two weights: none if scores have none, integrated for two keys."""
    return correlation_of_two(correlation) if correlation else 0.0


def _law(expression: Expr, _keys: int, correlation: float, times: float) -> float:
    return float(expression.subs({rho: _correlation(correlation), factor: times}))


def experiment(derivation: Derivation, tolerance: float) -> Experiment:
    """Measure both noises, for independent and for correlated scores."""
    cells = {at: cell_of(f"n{at[0]}-r{round(10 * at[1])}", DifferentialRows(*at)) for at in SETTINGS}
    wide = Tolerance(2.0)
    noise = over_cells("noise-{cell}", NOISE, cells, VARIANCES, partial(_law, derivation.result), wide)
    relative = over_cells(
        "relative-{cell}", RELATIVE, cells, RELATIVES, partial(_law, derivation.lemmas[1].end), wide
    )
    many = cell_of("many", DifferentialRows(64, 0.9, 0.5))
    limit = over_cells("many", NOISE, {0: many}, VARIANCES, _limit(derivation), wide, "≤")
    return Experiment((*noise.values(), *relative.values(), *limit.values()), (
        wrong(noise[2, 0.9, 0.5], "less-correlation", "the correlation counts a twentieth less",
              _law(derivation.result, 2, 0.9, 0.5) + 0.05 * _correlation(0.9)),
        wrong(noise[64, 0, 0.5], "noise-cancels", "the noise of independent maps partly cancels, too",
              S.One, relation="≤"),
        wrong(relative[64, 0, 0.5], "mean-kept", "over the mean, noise changes as the noise alone does",
              noise[64, 0, 0.5]),
        wrong(limit[0], "ever-less", "with many keys the noise falls below seven tenths of its derived limit",
              _limit(derivation) * 0.7),
        biased(noise[64, 0, 0.5], tolerance, at="n"),
    ))  # fmt: skip


VARIANCES = Smooth(
    lambda mean: (mean["square"] - mean["mean"] ** 2) / (mean["own-square"] - mean["own-mean"] ** 2),
    positive=True,
)
RELATIVES = Smooth(
    lambda mean: (mean["square"] / mean["mean"] ** 2 - 1) / (mean["own-square"] / mean["own-mean"] ** 2 - 1),
    positive=True,
)


def _limit(derivation: Derivation) -> float:
    """Return the noise with the correlation of exponentials, which that of weights of many keys tends to."""
    # The sum of two scores of variance 1 and correlation r has the variance 2(1 + r).
    product = derivation.lemmas[-1].end
    shared, none, all_of_it = (
        product.subs(characteristic.v, 2 * (1 + one)) for one in (Rational(9, 10), S.Zero, S.One)
    )
    correlation = (shared - none) / (all_of_it - none)
    return float(derivation.result.subs({factor: S.Half, rho: correlation}))


def facts(derivation: Derivation) -> tuple[Fact, ...]:
    """Return the noise over the mean at independent maps, and the limit of many keys at correlated ones."""
    independent = derivation.lemmas[1].end.subs({rho: 0, factor: S.Half})
    return (
        fact(
            "independent",
            "relative standard deviation at λ = ½, over that of a plain weight",
            sqrt(independent),
        ),
        fact(
            "many-keys",
            "noise for correlated scores with the correlation of exponentials",
            Float(_limit(derivation), 6),
        ),
    )


def figures(derivation: Derivation, findings: Findings) -> Figure:
    """Draw both noises over the factor, for independent maps."""
    at = {rho: 0}
    found = findings.matching("*n64-r0")
    return figure(
        "noise",
        "Subtracting an independent map adds noise and lowers the mean",
        "Variance of a weight over the factor, for independent maps: it rises slowly, and over the square of "
        "the mean it rises steeply; measured points at a factor of one half lie on both curves.",
        "variance over that of a plain weight", *beside(found, "of a weight", derivation.result.subs(at),
                                                        "lambda", over=(0.01, 0.8)),
        line("over its mean", derivation.lemmas[1].end.subs(at), "other", over=(0.01, 0.8)),
        x="factor {factor} of the second map", x_scale="linear",
    )  # fmt: skip


CLAIM = Claim(
    title="Differential attention can lower the noise of a weight, but never relative to its mean",
    statement="Let two attention maps have weights of equal means and variances with correlation {rho}, and "
    "let {factor} times the second be subtracted from the first. The mean of a weight, and so the sum of a "
    "row, is multiplied by {mean:result} and the variance of a weight by {theorem:result}, which is a "
    "reduction only for {factor} below twice {rho}. For {factor} below one, the variance over the squared "
    "mean is multiplied by {relative:result}, which is never less than one: {never}.",
    meaning="The idea is that noise common to both maps cancels, as in a differential amplifier. It does so "
    "to the extent that the maps are alike, but the signal is subtracted too. Two independent maps at "
    "{noise-n64-r0:lambda=} have {noise-n64-r0:prediction.3} times the variance, and {independent:3} times "
    "the standard deviation relative to the mean. With scores correlated at {noise-n2-r9:r}, the variance "
    "falls to {noise-n2-r9:prediction.3} of its value for two keys, to {many:estimate.3} as measured for "
    "{many:n}, and to {many-keys:4} if weights are correlated like exponentials, as they are for very many "
    "keys. Any gain has to come from training, which can make the two maps differ where it matters; random "
    "maps show none of it.",
    symbols={"rho": rho, "factor": factor},
    references=cite(
        "ye2025",
        "T. Ye et al., Differential Transformer, ICLR 2025.",
        "https://arxiv.org/abs/2410.05258",
    ),
)
