"""Correlated components: the variance is tr(Σ_q Σ_k), and the root of d_k no longer suffices."""

from sympy import Expr, Interval, Matrix, Rational, S, Sum, Trace, sqrt

from verify.claims.limits.shared import PairMoments
from verify.former import (
    E, NORMAL, Claim, Derivation, Experiment, Figure, Findings, Linked, Notation, Ordered, OrderedBase,
    Population, Quantity, Route, ScoreMoments, Simulated, Step, Var, biased, capped, cell_of, d, figure,
    index, line, measured, one_step, over_cells, prediction, unfold, variance, wrong,
)  # fmt: skip
from verify.former.rules import (
    KEY, PRODUCT, QUERY, SIGMA_K, SIGMA_Q, Evaluation, Hypotheses, Identity, VectorMoments, Vectors,
    in_numbers,
)  # fmt: skip

DIMENSIONS = (2, 8, 64)
RHO = Rational(1, 4)
LABEL = r"$\operatorname{Var}(q\cdot k)$"
_STANDARD = (S.One, S.Zero, S.One)

rho = Ordered("rho", "r", positive=True)
COUNTED_ONCE: Expr = d * (1 + (d - 1) * rho)
"""What the variance is not: the correlation enters it squared."""
x, y = OrderedBase(Ordered("x", "q1")), OrderedBase(Ordered("y", "q2"))
x0, y0 = Ordered("x_0", "x0"), Ordered("y_0", "y0")
POPULATION = Population(dict.fromkeys((x, y, x0, y0), _STANDARD), d)
"""What a dimension has of its own is $x_i$, what all share $x_0$; alike for y."""

CENTRED_VECTORS = Vectors(((QUERY, 0), (KEY, 0)), ((QUERY, QUERY, SIGMA_Q), (KEY, KEY, SIGMA_K)))


def _component(own: Expr, shared: Expr) -> Expr:
    """Return a component of variance 1 that has correlation ρ with its neighbours through ``shared``."""
    return sqrt(1 - rho) * own + sqrt(rho) * shared


equicorrelated = Sum(_component(x[index], x0) * _component(y[index], y0), (index, 1, d))
"""The score of a query and a key whose components have correlation ρ within their vector."""


def derive() -> Derivation:
    """Derive the equicorrelated case for symbolic d, and the trace for any covariance as a lemma."""
    check, moments = Evaluation(POPULATION), Evaluation(POPULATION, assumed=True)
    first, second, other_first, other_second = (
        _component(own, shared) for own, shared in ((x[1], x0), (x[2], x0), (y[1], y0), (y[2], y0))
    )
    alike = E(first**2) * E(other_first**2)
    unlike = E(first * second) * E(other_first * other_second)
    pairs = d * alike + d * (d - 1) * unlike - d**2 * E(first) ** 2 * E(other_first) ** 2
    known = d + d * (d - 1) * rho**2
    route = Route.of(
        "Pairs of dimensions",
        Var(equicorrelated),
        Step(unfold(Var(equicorrelated)), "Definition of the variance", check),
        Step(pairs, "Equal and different dimensions apart; query and key are independent", check),
        Step(known, r"Each component has mean 0 and variance 1, two of a vector have covariance $\rho$",
             moments),
        Step(d * (1 + (d - 1) * rho**2), "Collecting terms", Identity()),
        under=Hypotheses().restricted(rho, Interval(0, 1)),
    )  # fmt: skip
    words = r"the variance of a score whose query and key have mean 0 and any $\Sigma_q$, $\Sigma_k$"
    trace = one_step("Any covariances of a centred query and key", Var(PRODUCT), Trace(SIGMA_Q * SIGMA_K),
                     "Sum over all pairs of dimensions", VectorMoments(CENTRED_VECTORS),
                     defines=words, name="trace")  # fmt: skip
    return Derivation.of(route, lemmas=(trace,))


MIXING = ((1.0, 0.0, 0.0, 0.0), (0.5, 2.0, 0.0, 0.0), (0.0, 0.0, 1.0, -1.0), (0.0, 0.0, 0.0, 2.0))
"""Queries and keys of other covariances, which share none of their four fresh numbers."""

SPREADS = {SIGMA_Q: Matrix([[1, S.Half], [S.Half, Rational(17, 4)]]), SIGMA_K: Matrix([[2, -2], [-2, 4]])}
"""Both covariances of that, by hand; the prediction asks nothing of the sampler."""

PAIRS = 4
"""Groups of two dimensions that a score adds."""


def experiment(derivation: Derivation, tolerance: float) -> Experiment:
    """Measure the variance of equicorrelated components over the dimensions, and of any one example."""
    estimand, band = variance(), capped(2.0, tolerance)
    inputs = {n: Simulated(NORMAL, NORMAL, 32, 32, n, float(RHO)) for n in DIMENSIONS}
    cells = {n: cell_of(f"d{n}", drawn, ScoreMoments()) for n, drawn in inputs.items()}
    checks = over_cells("variance-d{d_k}", LABEL, cells, estimand, derivation.result.subs(rho, RHO), band)
    last = checks[DIMENSIONS[-1]]
    cell = cell_of("any-covariances", Linked(PAIRS, 32, NORMAL, MIXING, (0.0,) * 4), PairMoments())
    trace = prediction(in_numbers(derivation.lemmas[0].end, SPREADS) * PAIRS)
    of_any = Quantity("any-covariances", LABEL, cell, estimand, trace, band)
    spread_q, spread_k = SPREADS.values()
    return Experiment((*checks.values(), of_any), (
        wrong(last, "as-if-independent", "correlated or not, the variance is {d_k}", S(64)),
        wrong(last, "correlation-counted-once",
              "the correlation adds its own size, not its square: {counted_once}",
              COUNTED_ONCE.subs({d: 64, rho: RHO})),
        biased(checks[DIMENSIONS[0]], tolerance),
        wrong(of_any, "variances-alone",
              "covariances do not matter: the variance adds up the products of the components' variances",
              spread_q.diagonal().dot(spread_k.diagonal()) * PAIRS),
    ))  # fmt: skip


def figures(derivation: Derivation, findings: Findings) -> Figure:
    """Draw the scaled variance leaving the level 1."""
    return figure(
        "leaves-the-line",
        "Correlated components outgrow the root",
        "The measured variance of scores whose components have correlation one quarter follows d times one "
        "plus d minus one sixteenths, and leaves the line of independent ones from ten dimensions on.",
        "variance of {score}, at a correlation of one quarter",
        line("derived", derivation.result.subs(rho, RHO)),
        line("independent", d, "control"),
        measured(findings.matching("variance-d*")),
    )


CLAIM = Claim(
    title="Correlated components make the variance outgrow the dimension",
    statement="For independent, centred {q} and {k} with covariance matrices {sigma_q} and {sigma_k}, "
    "{trace}; with unit variances and correlation {rho} between any two components of a vector, it is "
    "{theorem:result}.",
    meaning="The root of the dimension suffices while components are uncorrelated. Real activations "
    "occupy fewer directions than they have components; with a correlation of one quarter the variance at "
    "{variance-d64:d_k} dimensions is {variance-d64:prediction}, about five times too much for the root. "
    "What counts is not {d_k} but {trace:result}, which can be measured.",
    symbols={"sigma_q": SIGMA_Q, "sigma_k": SIGMA_K, "rho": rho, "counted_once": COUNTED_ONCE,
             "product": Notation(r"q\cdot k", PRODUCT)},
)  # fmt: skip
