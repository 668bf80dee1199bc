"""The variance within a row, not the total one, is what the softmax sees."""

from sympy import Expr, S, Sum, Symbol, exp

from verify.claims.limits.shared import RowVariance, block_variances
from verify.former import (
    E, EVEN, GENERAL, NORMAL, UNIFORM_COMPONENTS, Claim, Components, Derivation, Experiment, Fact, Figure,
    Findings, Ordered, OrderedBase, Population, Quantity, Route, Simulated, Smooth, Step, Tolerance, Var,
    biased, cell_of, component, d, evaluate, fact, figure, for_components, index, j, k, line, measured,
    moment_steps, mu_k, mu_q, n, one_step, over_cells, p, q, s, score, sigma_k, sigma_q, wrong,
)  # fmt: skip
from verify.former.rules import Evaluation, SumIdentity

DIMENSIONS, QUERIES, KEYS = (1, 8, 64, 256), 16, 32
LABEL = "mean variance of the scores within a row"
other = OrderedBase(Ordered("k'", "q3"))
POPULATION = Population({**GENERAL.moments, other: GENERAL.moments[k]}, d, alike=((k, other),))
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
             r"$q\cdot\mathbb{E}[k]$: their covariance is the variance of that mean", Evaluation(POPULATION)),
        Step(result + d * sigma_q**2 * mu_k**2, "Moments of the components",
             Evaluation(POPULATION, assumed=True)),
    ).defining("the variance over all queries and keys").called("total")  # fmt: skip
    shifted = exp(s[1] + c) / Sum(exp(s[j] + c), (j, 1, n))
    shift = one_step("A softmax does not see a shift of its row", shifted, p[1], "The factor $e^c$ cancels",
                     SumIdentity(),
                     defines="the first weight of a row whose scores are all shifted")  # fmt: skip
    return Derivation.of(route, lemmas=(total, shift))


def _alike(expression: Expr, components: Components = UNIFORM_COMPONENTS) -> Expr:
    """Return ``expression`` for such components of queries and keys."""
    return for_components(expression, components, components)


def _rows(name: str, components: Components, law: Expr) -> dict[int, Quantity]:
    """Return the comparisons of the mean row variance with ``law``, by its derived block variance."""
    drawn = components.distribution
    inputs = {n: Simulated(drawn, drawn, QUERIES, KEYS, n) for n in DIMENSIONS}
    cells = {n: cell_of(f"{name}-d{n}", one, RowVariance()) for n, one in inputs.items()}
    moments = (drawn.mean, *drawn.central_moments(4)[2:])

    def estimand(n: int) -> Smooth:
        absolute = block_variances.row_variance(n, QUERIES, KEYS, moments, moments)
        return component("row-variance", block_variance=absolute / float(law.subs(d, n)) ** 2, positive=True)

    # The keys' mean direction decides how a block's rows vary, so that draws are dear.
    return over_cells(f"{name}-row-d{{d_k}}", LABEL, cells, estimand, law, Tolerance(2.0))


def experiment(derivation: Derivation, tolerance: float) -> Experiment:
    """Measure the variance within rows for components with and without a mean."""
    centred = Components(NORMAL, S(0), S(1))
    uniform = _rows("uniform", UNIFORM_COMPONENTS, _alike(derivation.result))
    normal = _rows("normal", centred, _alike(derivation.result, centred))
    at64 = uniform[64]
    return Experiment((*uniform.values(), *normal.values()), (
        wrong(at64, "rows-as-the-whole", "rows vary as much as all scores together: here by {value}",
              _alike(evaluate(Var(score), GENERAL)).subs(d, 64), tolerance=EVEN),
        wrong(at64, "without-means", "rows vary by {without_means}, whatever the means",
              UNIFORM_COMPONENTS.variance**2 * 64, tolerance=EVEN),
        biased(at64, tolerance),
    ))  # fmt: skip


def facts() -> Fact:
    """Return the variance over all queries and keys where rows are measured."""
    whole = _alike(evaluate(Var(score), GENERAL)).subs(d, 64)
    return fact("total-variance", "variance over all scores of uniform components in 64 dimensions", whole)


def figures(derivation: Derivation, findings: Findings) -> Figure:
    """Draw the row variance of uniform components below the total one."""
    return figure(
        "rows-and-total",
        "Rows vary less than the whole matrix",
        "For uniform components that are all positive the measured variance within rows lies on its line, "
        "below that of the total variance.",
        "variance of the scores",
        line("within a row", _alike(derivation.result)),
        line("total", _alike(evaluate(Var(score), GENERAL)), "control"),
        measured(findings.matching("uniform-row-d*")),
    )


CLAIM = Claim(
    title="The softmax sees the variance within a row, not the total one",
    statement="The scores of one query vary by {theorem:result} on average; the rest of the total variance, "
    "which is {total:result}, shifts whole rows, and a softmax over a row does not see it. For components "
    "uniform between zero and one, in {uniform-row-d64:d_k} dimensions, the variance within a row is "
    "{uniform-row-d64:prediction}, out of a total of {total-variance}.",
    meaning="Adding a number to all scores of a query changes no softmax weight, so the part of the "
    "variance that comes from the keys' mean does nothing. For centred keys both variances agree. With "
    "positive components, such as those of many demonstrations, the total variance overstates what the "
    "softmax responds to: there by three quarters.",
    symbols={"without_means": d * sigma_q**2 * sigma_k**2},
)
