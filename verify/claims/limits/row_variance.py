"""The variance within a row, not the total one, is what the softmax sees."""

from sympy import Expr, S, Sum, Symbol, exp

from verify.spec import (
    E, EVEN, FINITE_VARIANCE, GENERAL, INDEPENDENT, NORMAL, UNIFORM_COMPONENTS, Claim, Components, Derivation,
    Evaluation, Experiment, Figure, Findings, Ordered, OrderedBase, Population, Quantity, Route, RowVariance,
    Simulated, Smooth, Step, SumIdentity, Tolerance, Var, assume, biased, block_variances, cell_of, component,
    d, evaluate, figure, for_components, index, j, k, line, measured, moment_steps, mu_k, mu_q, n, one_step,
    over_cells, p, q, s, score, sigma_k, sigma_q, wrong,
)  # fmt: skip

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
    ).defining("the variance over all queries and keys")  # fmt: skip
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
        wrong(at64, "total-variance", r"rows vary as much as all scores together: $7d_k/144$ for $U(0, 1)$",
              _alike(evaluate(Var(score), GENERAL)).subs(d, 64), tolerance=EVEN),
        wrong(at64, "without-means", r"rows vary by $d_k\sigma_q^2\sigma_k^2$, whatever the means",
              UNIFORM_COMPONENTS.variance**2 * 64, tolerance=EVEN),
        biased(at64, tolerance),
    ))  # fmt: skip


def figures(derivation: Derivation, findings: Findings) -> Figure:
    """Draw the row variance of uniform components below the total one."""
    return figure(
        "rows-and-total",
        "Rows vary less than the whole matrix",
        "For components from U(0, 1) the measured variance within rows lies on d over 36, below the "
        "total variance of 7 d over 144.",
        "variance of the scores",
        line("within a row", _alike(derivation.result)),
        line("total", _alike(evaluate(Var(score), GENERAL)), "control"),
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
