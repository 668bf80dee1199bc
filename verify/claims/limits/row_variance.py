"""The variance within a row, not the total one, is what the softmax sees."""

from __future__ import annotations

from typing import Any

from sympy import Rational, S, Sum, Symbol, exp, simplify, sqrt

from verify.spec import (
    FINITE_VARIANCE, GENERAL, INDEPENDENT, NORMAL, UNIT_INTERVAL, Assumption, Cell, Claim, Control,
    Definition, Derivation, Distribution, E, Evaluation, Expansion, Experiment, Figure, Findings, Identity,
    Ordered, OrderedBase, Population, Quantity, Route, RowVariance, Simulated, Smooth, Step, Tolerance, Var,
    WithTotal, against_dimension, biased, block_variances, by_component, by_index, by_moments, cell_of,
    component, d, evaluate, formula, index, j, k, measured, mu_k, mu_q, n, p, prediction, q, s, score,
    sigma_k, sigma_q,
)  # fmt: skip


DIMENSIONS = (1, 8, 64, 256)
LABEL = "mean variance of the scores within a row"
QUERIES, KEYS = 16, 32
COARSE = Tolerance(2.0)
"""The keys' mean direction decides how a block's rows vary, so that draws are dear."""

other = OrderedBase(Ordered("k'", "q3"))
_KEY = GENERAL.moments[k]
POPULATION = Population({**GENERAL.moments, other: _KEY}, d, alike=((k, other),))
sibling = Sum(q[index] * other[index], (index, 1, d))
"""The score of the same query with another key."""

c = Symbol("c", real=True)
"""What is added to all scores of one query."""


def derive() -> Derivation:
    """Derive the expected variance of one query's scores from the product of two of them."""
    check, moments = Expansion(POPULATION), Expansion(POPULATION, assumed=True)
    start = E(score**2) - E(score * sibling)
    split = by_index(start, POPULATION)
    known = by_moments(by_component(split, POPULATION), POPULATION)
    result = d * (sigma_q**2 + mu_q**2) * sigma_k**2
    route = Route.of(
        "The same query, two keys",
        start,
        Step(split, "Equal and different indices apart", check),
        Step(known, "Independence, and the moments of the components", moments),
        Step(result, "Collecting terms", Identity()),
    )
    between = E(score * sibling) - E(score) * E(sibling)
    total = Route.of(
        "The total variance: within rows, and between the rows' own means",
        Var(score),
        Step(
            start + between,
            r"Given the query, two scores of its row are independent and both have the mean "
            r"$q\cdot\mathbb{E}[k]$: their covariance is the variance of that mean",
            check,
        ),
        Step(
            result + d * sigma_q**2 * mu_k**2,
            "Moments of the components",
            Evaluation(POPULATION, assumed=True),
        ),
    )
    shift = Route.of(
        "A softmax does not see a shift of its row",
        exp(s[1] + c) / Sum(exp(s[j] + c), (j, 1, n)),
        Step(p[1], "The factor $e^c$ cancels", WithTotal()),
    )
    shifted = exp(s[1] + c) / Sum(exp(s[j] + c), (j, 1, n))
    definitions = (
        Definition(Var(score), "the variance over all queries and keys"),
        Definition(shifted, "the first weight of a row whose scores are all shifted"),
    )
    return Derivation.of(route, lemmas=(total, shift), definitions=definitions)


Moments = tuple[Any, Any]
"""Mean and variance of a component, written out: a prediction asks nothing of the law that is drawn."""

OF_UNIFORM: Moments = (Rational(1, 2), Rational(1, 12))
OF_NORMAL: Moments = (S(0), S(1))


def _at(expression: Any, moments: Moments) -> Any:
    """Return ``expression`` for components of this mean and variance, in queries and keys."""
    mean, spread = moments
    given = {mu_q: mean, mu_k: mean, sigma_q: sqrt(spread), sigma_k: sqrt(spread)}
    return simplify(expression.subs(given))


def _cell(dimension: int, distribution: Distribution, prefix: str) -> Cell:
    drawn = Simulated(distribution, distribution, QUERIES, KEYS, dimension)
    return cell_of(f"{prefix}d{dimension}", drawn, RowVariance())


def _spread(dimension: int, distribution: Distribution, expected: Any) -> Smooth:
    """Return the mean row variance as an estimand, with its derived block variance."""
    moments = (distribution.mean, *distribution.central_moments(4)[2:])
    absolute = block_variances.row_variance(dimension, QUERIES, KEYS, moments, moments)
    return component("row-variance", block_variance=absolute / float(expected) ** 2, positive=True)


def experiment(derivation: Derivation, tolerance: float) -> Experiment:
    """Measure the variance within rows for components with and without a mean."""
    checks = []
    for prefix, distribution, of_distribution in (
        ("uniform-", UNIT_INTERVAL, OF_UNIFORM),
        ("normal-", NORMAL, OF_NORMAL),
    ):
        expected = _at(derivation.result, of_distribution)
        checks += [
            Quantity(
                f"{prefix}row-d{one}",
                LABEL,
                _cell(one, distribution, prefix),
                _spread(one, distribution, expected.subs(d, one)),
                prediction(expected.subs(d, one)),
                COARSE,
            )
            for one in DIMENSIONS
        ]
    at64 = checks[DIMENSIONS.index(64)]
    total = _at(evaluate(Var(score), GENERAL), OF_UNIFORM).subs(d, 64)
    row = _at(derivation.result, OF_UNIFORM).subs(d, 64)
    spread = OF_UNIFORM[1] ** 2 * 64
    controls = (
        Control(
            r"rows vary as much as all scores together: $7d_k/144$ for $U(0, 1)$",
            Quantity("total-variance", LABEL, at64.cell, at64.estimand, prediction(total)),
            truth=float(row),
        ),
        Control(
            r"rows vary by $d_k\sigma_q^2\sigma_k^2$, whatever the means",
            Quantity("without-means", LABEL, at64.cell, at64.estimand, prediction(spread)),
            truth=float(row),
        ),
        biased(at64, tolerance),
    )
    return Experiment(tuple(checks), controls)


def figures(derivation: Derivation, findings: Findings) -> tuple[Figure, ...]:
    """Draw the row variance of uniform components below the total one."""
    span = (DIMENSIONS[0], DIMENSIONS[-1])
    row = _at(derivation.result, OF_UNIFORM)
    total = _at(evaluate(Var(score), GENERAL), OF_UNIFORM)
    return (
        against_dimension(
            "rows-and-total",
            "Rows vary less than the whole matrix",
            "For components from U(0, 1) the measured variance within rows lies on d over 36, below the "
            "total variance of 7 d over 144.",
            "variance of the scores",
            (
                formula("within a row", "truth", row, span),
                formula("total", "control", total, span),
                measured((findings.checks[f"uniform-row-d{one}"] for one in DIMENSIONS), "measured"),
            ),
        ),
    )


CLAIM = Claim(
    title="The softmax sees the variance within a row, not the total one",
    statement=(
        r"The scores of one query vary by $d_k(\sigma_q^2 + \mu_q^2)\sigma_k^2$ on average; the rest of the "
        r"total variance, $d_k\sigma_q^2\mu_k^2$, shifts whole rows, and a softmax over a row does not see "
        r"it. For components from $U(0, 1)$: $d_k/36$ of $7d_k/144$."
    ),
    meaning=(
        "Adding a number to all scores of a query changes no softmax weight, so the part of the variance "
        "that comes from the keys' mean does nothing. For centred keys both variances agree. With positive "
        "components, such as those of demonstrations with U(0, 1), the total variance overstates what the "
        "softmax feels: there by three quarters."
    ),
    assumptions=(
        INDEPENDENT,
        Assumption(id="alike", text="The components of queries have one law, those of keys another."),
        FINITE_VARIANCE,
    ),
    derive=derive,
    experiment=experiment,
    figures=figures,
)
