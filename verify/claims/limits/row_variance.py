"""The variance within a row, not the total one, is what the softmax sees."""

from typing import Any

from sympy import Rational, S, Sum, Symbol, exp, simplify, sqrt

from verify.spec import (
    E, EVEN, FINITE_VARIANCE, GENERAL, INDEPENDENT, NORMAL, UNIT_INTERVAL, Claim, Definition, Derivation,
    Distribution, Evaluation, Expansion, Experiment, Figure, Findings, Ordered, OrderedBase, Population,
    Quantity, Route, RowVariance, Simulated, Step, SumIdentity, Tolerance, Var, assume, biased,
    block_variances, cell_of, component, d, evaluate, figure, in_dimension, index, j, k, line, measured,
    moment_steps, mu_k, mu_q, n, p, prediction, q, s, score, sigma_k, sigma_q, wrong,
)  # fmt: skip

DIMENSIONS, QUERIES, KEYS = (1, 8, 64, 256), 16, 32
LABEL = "mean variance of the scores within a row"
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
    start = E(score**2) - E(score * sibling)
    result = d * (sigma_q**2 + mu_q**2) * sigma_k**2
    route = Route.of("The same query, two keys", start, *moment_steps(start, POPULATION, result))
    between = E(score * sibling) - E(score) * E(sibling)
    total = Route.of(
        "The total variance: within rows, and between the rows' own means",
        Var(score),
        Step(start + between,
             r"Given the query, two scores of its row are independent and both have the mean "
             r"$q\cdot\mathbb{E}[k]$: their covariance is the variance of that mean", Expansion(POPULATION)),
        Step(result + d * sigma_q**2 * mu_k**2, "Moments of the components",
             Evaluation(POPULATION, assumed=True)),
    )  # fmt: skip
    shifted = exp(s[1] + c) / Sum(exp(s[j] + c), (j, 1, n))
    shift = Route.of(
        "A softmax does not see a shift of its row",
        shifted,
        Step(p[1], "The factor $e^c$ cancels", SumIdentity()),
    )
    definitions = (
        Definition(Var(score), "the variance over all queries and keys"),
        Definition(shifted, "the first weight of a row whose scores are all shifted"),
    )
    return Derivation.of(route, lemmas=(total, shift), definitions=definitions)


Moments = tuple[Any, Any]
"""Mean and variance of a component, written out: a prediction asks nothing of what is drawn."""

OF_UNIFORM: Moments = (Rational(1, 2), Rational(1, 12))
OF_NORMAL: Moments = (S(0), S(1))


def _at(expression: Any, moments: Moments) -> Any:
    """Return ``expression`` for components of this mean and variance, in queries and keys."""
    mean, spread = moments
    given = {mu_q: mean, mu_k: mean, sigma_q: sqrt(spread), sigma_k: sqrt(spread)}
    return simplify(expression.subs(given))


def _row(dimension: int, distribution: Distribution, law: Any, prefix: str) -> Quantity:
    """Return the comparison of the mean row variance with ``law``, by its derived block variance."""
    drawn = Simulated(distribution, distribution, QUERIES, KEYS, dimension)
    cell = cell_of(f"{prefix}d{dimension}", drawn, RowVariance())
    moments = (distribution.mean, *distribution.central_moments(4)[2:])
    expected = law.subs(d, dimension)
    absolute = block_variances.row_variance(dimension, QUERIES, KEYS, moments, moments)
    estimand = component("row-variance", block_variance=absolute / float(expected) ** 2, positive=True)
    return Quantity(f"{prefix}row-d{dimension}", LABEL, cell, estimand, prediction(expected), COARSE)


def experiment(derivation: Derivation, tolerance: float) -> Experiment:
    """Measure the variance within rows for components with and without a mean."""
    of_uniform, of_normal = (_at(derivation.result, moments) for moments in (OF_UNIFORM, OF_NORMAL))
    uniform = [_row(n, UNIT_INTERVAL, of_uniform, "uniform-") for n in DIMENSIONS]
    normal = [_row(n, NORMAL, of_normal, "normal-") for n in DIMENSIONS]
    at64 = in_dimension(uniform, 64)
    controls = (
        wrong(at64, "total-variance", r"rows vary as much as all scores together: $7d_k/144$ for $U(0, 1)$",
              _at(evaluate(Var(score), GENERAL), OF_UNIFORM).subs(d, 64), tolerance=EVEN),
        wrong(at64, "without-means", r"rows vary by $d_k\sigma_q^2\sigma_k^2$, whatever the means",
              OF_UNIFORM[1] ** 2 * 64, tolerance=EVEN),
        biased(at64, tolerance),
    )  # fmt: skip
    return Experiment((*uniform, *normal), controls)


def figures(derivation: Derivation, findings: Findings) -> Figure:
    """Draw the row variance of uniform components below the total one."""
    return figure(
        "rows-and-total",
        "Rows vary less than the whole matrix",
        "For components from U(0, 1) the measured variance within rows lies on d over 36, below the "
        "total variance of 7 d over 144.",
        "variance of the scores",
        line("within a row", _at(derivation.result, OF_UNIFORM)),
        line("total", _at(evaluate(Var(score), GENERAL), OF_UNIFORM), "control"),
        measured(findings.matching("uniform-row-d*")),
    )


CLAIM = Claim(
    title="The softmax sees the variance within a row, not the total one",
    statement=r"The scores of one query vary by $d_k(\sigma_q^2 + \mu_q^2)\sigma_k^2$ on average; the rest "
    r"of the total variance, $d_k\sigma_q^2\mu_k^2$, shifts whole rows, and a softmax over a row does not "
    "see it. For components from $U(0, 1)$: $d_k/36$ of $7d_k/144$.",
    meaning="Adding a number to all scores of a query changes no softmax weight, so the part of the variance "
    "that comes from the keys' mean does nothing. For centred keys both variances agree. With positive "
    "components, such as those of demonstrations with U(0, 1), the total variance overstates what the "
    "softmax feels: there by three quarters.",
    assumptions=(
        *assume(INDEPENDENT, alike="The components of queries have one law, those of keys another."),
        FINITE_VARIANCE,
    ),
)
