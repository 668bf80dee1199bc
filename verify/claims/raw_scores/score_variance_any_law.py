"""Only the first two moments of the components matter for the variance of a score."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any

from sympy import S, symbols

from verify.spec import (
    LAPLACE, NORMAL, RADEMACHER, STANDARD, STANDARD_COMPONENTS, STANDARD_DISTRIBUTIONS, UNIFORM, Axis, Claim,
    Comparison, Distribution, Control, Definition, Derivation, E, Experiment, Figure, Findings, Population,
    Quantity, ScorePowers, Var, against_dimension, biased, capped, cell_of, d, exactly, exponent, fits,
    formula, k, kurtosis, kurtosis_route, linear_law, measured, prediction, q, score, score_cell,
    variance_route, variances, wrong_fits,
)  # fmt: skip


DIMENSIONS = (1, 8, 128)
LABEL = r"$\operatorname{Var}(q\cdot k)$"
KURTOSIS = r"$\mathbb{E}[(q\cdot k)^4]/\operatorname{Var}(q\cdot k)^2$"
EIGHT = 8
"""The dimension in which the kurtosis is measured."""

kappa_q, kappa_k = symbols("kappa_q kappa_k", positive=True)
skew_q, skew_k = symbols("gamma_q gamma_k", real=True)
FOUR_MOMENTS = Population(
    {q: (S.One, S.Zero, S.One, skew_q, kappa_q), k: (S.One, S.Zero, S.One, skew_k, kappa_k)}, d
)


def derive() -> Derivation:
    """Derive the variance from two moments; the kurtosis, as a lemma, from four."""
    route = variance_route(score, STANDARD, "From mean 0 and variance 1 alone")
    lemma = kurtosis_route(FOUR_MOMENTS, "What does depend on the law: the kurtosis")
    kurtosis = Definition(E(score**4) / E(score**2) ** 2, "the kurtosis of a score, whose mean is 0")
    return Derivation(Var(score), route.end, (route,), lemmas=(lemma,), definitions=(kurtosis,))


def _slug(distribution: Distribution) -> str:
    return distribution.name.split()[-1].replace("(", "").replace(")", "").lower()


def _kurtosis(derivation: Derivation, query: Distribution, key: Distribution) -> Any:
    of_distributions = {kappa_q: exactly(query.kurtosis), kappa_k: exactly(key.kurtosis), d: EIGHT}
    return derivation.lemmas[0].end.subs(of_distributions)


def _kurtosis_check(
    query: Distribution, key: Distribution, expected: Any, name: str, tolerance: float
) -> Quantity:
    distributions = _slug(query) if query == key else f"{_slug(query)}-{_slug(key)}"
    cell = cell_of(f"{distributions}-powers", ScorePowers(EIGHT, 32, query, key, (2, 4)))
    # Fourth powers are so skewed that a coarse tolerance would not take fewer blocks.
    band = capped(1.0, tolerance)
    return Quantity(name, KURTOSIS, cell, kurtosis(), prediction(expected), band)


def _mixed(derivation: Derivation, tolerance: float) -> tuple[tuple[Quantity, ...], tuple[Control, ...]]:
    """Return the comparisons where query and key follow different laws, and what they must refute.

    One law's kurtosis counted twice is right wherever both laws are alike.
    """
    cells = [score_cell(n, LAPLACE, UNIFORM, tolerance, prefix="mixed-") for n in DIMENSIONS[:2]]
    label = f"{LABEL}, {LAPLACE.name} queries and {UNIFORM.name} keys"
    points = variances(cells, label, partial(derivation.result.subs, d), name="mixed-variance")
    pair = UNIFORM, RADEMACHER
    right = _kurtosis(derivation, *pair)
    fourth = _kurtosis_check(*pair, right, "mixed-kurtosis", tolerance)
    wrong = (
        ("of the query twice", "query-counted-twice", UNIFORM),
        ("of the key twice", "key-counted-twice", RADEMACHER),
    )
    controls = tuple(
        Control(
            f"the kurtosis of a score takes that {words}",
            replace(
                fourth, id=name, prediction=prediction(_kurtosis(derivation, distribution, distribution))
            ),
            truth=float(right),
        )
        for words, name, distribution in wrong
    )
    return (*points, fourth), controls


def experiment(derivation: Derivation, tolerance: float) -> Experiment:
    """Fit one line for each law, and measure the kurtosis for two."""
    result = derivation.result
    checks: list[Comparison] = []
    for distribution in STANDARD_DISTRIBUTIONS:
        slug = _slug(distribution)
        cells = [score_cell(n, distribution, distribution, tolerance, prefix=f"{slug}-") for n in DIMENSIONS]
        label = f"{LABEL}, {distribution.name} components"
        points = variances(cells, label, partial(result.subs, d), name=f"{slug}-variance")
        slope = linear_law(result, (DIMENSIONS[0], DIMENSIONS[-1]), f"{slug}-")[0]
        through = fits(points, DIMENSIONS, label, (slope, exponent(result, f"{slug}-")))
        checks += [*points, *through]
        if distribution is LAPLACE:
            laplace, lines = points[-1], through
    checks += [
        _kurtosis_check(
            distribution,
            distribution,
            _kurtosis(derivation, distribution, distribution),
            f"{_slug(distribution)}-kurtosis",
            tolerance,
        )
        for distribution in (UNIFORM, RADEMACHER)
    ]
    mixed, counted_twice = _mixed(derivation, tolerance)
    of_last = result.subs(d, DIMENSIONS[-1])
    ratio = exactly(LAPLACE.kurtosis / NORMAL.kurtosis)
    controls = (
        Control(
            "a law with twice the fourth moment has scores of twice the variance (Laplace components)",
            replace(laplace, id="fourth-moment-matters", prediction=prediction(ratio * of_last)),
            truth=float(of_last),
        ),
        Control(
            "the law does not matter for the kurtosis either: random signs have that of normal components",
            _kurtosis_check(
                RADEMACHER, RADEMACHER, _kurtosis(derivation, NORMAL, NORMAL), "same-kurtosis", tolerance
            ),
            truth=float(_kurtosis(derivation, RADEMACHER, RADEMACHER)),
        ),
        *counted_twice,
        biased(laplace, tolerance),
        *wrong_fits(lines, tolerance),
    )
    return Experiment((*checks, *mixed), controls)


def figures(derivation: Derivation, findings: Findings) -> tuple[Figure, ...]:
    """Draw the variances under all laws over the dimension, relative to the derived line."""
    span = (DIMENSIONS[0], DIMENSIONS[-1])
    layers = [formula("derived", "truth", derivation.result, span)]
    for number, one in enumerate(STANDARD_DISTRIBUTIONS):
        of_distribution = (findings.checks[f"{_slug(one)}-variance-d{n}"] for n in DIMENSIONS)
        # The points lie on one another: one label names them all.
        layers.append(
            measured(of_distribution, "" if number else f"measured, {len(STANDARD_DISTRIBUTIONS)} laws")
        )
    drawn = against_dimension(
        "six-laws",
        "Six laws of the components, one line",
        "Measured variances of q·k for normal, uniform, sign, Laplace, Student t and exponential components "
        "lie on one another, on the line variance = d.",
        r"variance of $q\cdot k$",
        layers,
    )
    return (drawn.model_copy(update={"x": Axis(label="dimension $d_k$, six component laws", scale="log")}),)


CLAIM = Claim(
    title="The law of the components does not matter, only their mean and variance",
    statement=(
        r"For independent components with mean 0 and variance 1 of whatever law, "
        r"$\operatorname{Var}(q\cdot k) = d_k$; the kurtosis does depend on the law: it is "
        r"$3 + (\kappa_q\kappa_k - 3)/d_k$."
    ),
    meaning=(
        "Nobody's activations are exactly normal, and for the variance that is no loss: uniform, skewed or "
        "heavy-tailed components with the same two moments give the same line. What the law does change are "
        "the extremes of single scores, and this fades like $1/d_k$."
    ),
    assumptions=STANDARD_COMPONENTS,
    derive=derive,
    experiment=experiment,
    figures=figures,
)
