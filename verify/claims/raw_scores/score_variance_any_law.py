"""Only the first two moments of the components matter for the variance of a score."""

from collections.abc import Sequence

from sympy import Expr, Rational, symbols

from verify.claims.raw_scores.shared import STANDARD_DISTRIBUTIONS
from verify.former import (
    LAPLACE, NORMAL, RADEMACHER, STANDARD, STANDARD_COMPONENTS, UNIFORM, Claim, Comparison, Derivation,
    Distribution, Experiment, Figure, Findings, Population, Quantity, ScorePowers, Simulated, biased, capped,
    cell_of, d, figure, fits, fitting, k, kurtosis, kurtosis_route, line, measured, prediction, q, score,
    score_cell, variance_route, variances, wrong, wrong_fits,
)  # fmt: skip

DIMENSIONS = (1, 8, 128)
LABEL = r"$\operatorname{Var}(q\cdot k)$"
KURTOSIS = r"$\mathbb{E}[(q\cdot k)^4]/\operatorname{Var}(q\cdot k)^2$"
EIGHT = 8
"""The dimension in which the kurtosis is measured."""

kappa_q, kappa_k = symbols("kappa_q kappa_k", positive=True)
skew_q, skew_k = symbols("gamma_q gamma_k", real=True)
FOUR_MOMENTS = Population({q: (1, 0, 1, skew_q, kappa_q), k: (1, 0, 1, skew_k, kappa_k)}, d)


def derive() -> Derivation:
    """Derive the variance from two moments; the kurtosis, as a lemma, from four."""
    route = variance_route(score, STANDARD, "From mean 0 and variance 1 alone")
    lemma = kurtosis_route(FOUR_MOMENTS, "What does depend on the law: the kurtosis")
    defined = lemma.defining("the kurtosis of a score, whose mean is 0").called("kurtosis")
    return Derivation.of(route, lemmas=(defined,))


def _slug(distribution: Distribution) -> str:
    return distribution.name.split()[-1].replace("(", "").replace(")", "").lower()


def _kurtosis(derivation: Derivation, query: Distribution, key: Distribution) -> Expr:
    of_laws = {kappa_q: Rational(query.kurtosis), kappa_k: Rational(key.kurtosis), d: EIGHT}
    return derivation.lemmas[0].end.subs(of_laws)


def _fourth(derivation: Derivation, query: Distribution, key: Distribution, tolerance: float) -> Quantity:
    """Return the comparison of a kurtosis: so skewed that a coarse tolerance takes no fewer blocks."""
    name, of_cell = (_slug(query),) * 2 if query == key else ("mixed", f"{_slug(query)}-{_slug(key)}")
    cell = cell_of(f"{of_cell}-powers", Simulated(query, key, 32, 32, EIGHT), ScorePowers((2, 4)))
    expected = prediction(_kurtosis(derivation, query, key))
    return Quantity(f"{name}-kurtosis", KURTOSIS, cell, kurtosis(), expected, capped(1.0, tolerance))


def experiment(derivation: Derivation, tolerance: float) -> Experiment:
    """Fit one line for each law; measure the kurtosis for two, and both where query and key differ."""
    result = derivation.result

    def points(
        name: str, components: str, query: Distribution, key: Distribution, dimensions: Sequence[int]
    ) -> tuple[Quantity, ...]:
        cells = [score_cell(n, query, key, tolerance, prefix=f"{name}-") for n in dimensions]
        return variances(cells, f"{LABEL}, {components}", result)

    checks: list[Comparison] = []
    for one in STANDARD_DISTRIBUTIONS:
        slug = _slug(one)
        of_one = points(slug, f"{one.name} components", one, one, DIMENSIONS)
        through = fits(of_one, fitting.slope_of(result, f"{slug}-"), fitting.exponent(result, f"{slug}-"))
        checks += [*of_one, *through]
        if one is LAPLACE:
            laplace, lines = of_one[-1], through
    words = f"{LAPLACE.name} queries and {UNIFORM.name} keys"
    mixed = points("mixed", words, LAPLACE, UNIFORM, DIMENSIONS[:2])
    pairs = (UNIFORM, UNIFORM), (RADEMACHER, RADEMACHER), (UNIFORM, RADEMACHER)
    uniform, signs, of_both = (_fourth(derivation, *laws, tolerance) for laws in pairs)
    # One law's kurtosis counted twice is right wherever both laws are alike.
    return Experiment((*checks, uniform, signs, *mixed, of_both), (
        wrong(laplace, "fourth-moment-matters",
              "a law with twice the fourth moment has scores of twice the variance (Laplace components)",
              Rational(LAPLACE.kurtosis / NORMAL.kurtosis) * result.subs(d, DIMENSIONS[-1])),
        wrong(signs, "same-kurtosis",
              "the law does not matter for the kurtosis either: random signs have that of normal components",
              _kurtosis(derivation, NORMAL, NORMAL)),
        wrong(of_both, "query-counted-twice", "the kurtosis of a score takes that of the query twice",
              _kurtosis(derivation, UNIFORM, UNIFORM)),
        wrong(of_both, "key-counted-twice", "the kurtosis of a score takes that of the key twice",
              _kurtosis(derivation, RADEMACHER, RADEMACHER)),
        biased(laplace, tolerance),
        *wrong_fits(lines, tolerance),
    ))  # fmt: skip


def figures(derivation: Derivation, findings: Findings) -> Figure:
    """Draw the variances under all laws over the dimension, relative to the derived line."""
    # The points lie on one another: one label names them all.
    points = [findings.matching(f"{_slug(one)}-variance-d*") for one in STANDARD_DISTRIBUTIONS]
    return figure(
        "six-laws",
        "Six laws of the components, one line",
        "Measured variances of q·k for normal, uniform, sign, Laplace, Student t and exponential components "
        "lie on one another, on the line of the dimension itself.",
        "variance of {score}",
        line("derived", derivation.result),
        *(measured(found, "measured, all laws") for found in points),
        x="dimension {d_k}, six component laws",
    )


CLAIM = Claim(
    title="The law of the components does not matter, only their mean and variance",
    statement="For independent components with mean zero and unit variance of whatever law, {theorem}; the "
    "kurtosis, if it is finite, does depend on the law: it is {kurtosis:result}.",
    meaning="Real activations are never exactly normal, and for the variance this does not matter: uniform, "
    "skewed or heavy-tailed components with the same two moments give the same line. What the law does "
    "change are the extremes of single scores, and this fades as the dimension grows.",
    assumptions=STANDARD_COMPONENTS,
)
