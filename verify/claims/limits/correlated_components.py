"""Correlated components: the variance is tr(Σ_q Σ_k), and the root of d_k no longer suffices."""

from __future__ import annotations

from itertools import product
from typing import Any

from sympy import Matrix, MatrixSymbol, Rational, S, Sum, Symbol, Trace, expand, sqrt, symbols

from verify.spec import (
    NORMAL, Assumption, Cell, Claim, Control, Definition, Derivation, E, Expansion, Experiment, Figure,
    Findings, Identity, LinkedPairs, Ordered, OrderedBase, Population, Quantity, Route, ScoreMatrices, Step,
    Var, against_dimension, biased, by, capped, cell_of, d, evaluate, formula, index, measured, most_indices,
    prediction, unfold, variance,
)  # fmt: skip


DIMENSIONS = (2, 8, 64)
RHO = 0.25
LABEL = r"$\operatorname{Var}(q\cdot k)$"
_STANDARD = (S.One, S.Zero, S.One)

rho = Ordered("rho", "r", positive=True)
x, y = OrderedBase(Ordered("x", "q1")), OrderedBase(Ordered("y", "q2"))
x0, x1, x2, y0, y1, y2 = (Ordered(f"{name}_{at}", f"{name}{at}") for name in "xy" for at in "012")
POPULATION = Population(
    dict.fromkeys((x, y, x0, x1, x2, y0, y1, y2), _STANDARD), d, alike=((x, x1, x2), (y, y1, y2))
)
"""What two dimensions have of their own is $x_1$ and $x_2$, what all share $x_0$; alike for y."""


def _component(own: Any, shared: Any) -> Any:
    """Return a component of variance 1 that has correlation ρ with its neighbours through ``shared``."""
    return sqrt(1 - rho) * own + sqrt(rho) * shared


equicorrelated = Sum(_component(x[index], x0) * _component(y[index], y0), (index, 1, d))
"""The score of a query and a key whose components have correlation ρ within their vector."""

SIZE = Symbol("d", integer=True, positive=True)
SIGMA_Q, SIGMA_K = MatrixSymbol("Sigma_q", SIZE, SIZE), MatrixSymbol("Sigma_k", SIZE, SIZE)
PRODUCT = Symbol(r"q^{\mathsf T} k")


@by("written out for 1 and 2 dimensions, which settle it: no term holds more", "general")
def _is_the_trace(before: Any, after: Any) -> bool:
    """Write a centred query Ax and key By out for 1 and 2 components with symbolic A and B.

    The mean square of Σ(Ax)_i(By)_i sums over two rows of each, two columns of A and two of B, and the trace
    over two rows: each monomial occurs in two dimensions, all other entries being 0.
    """
    if before != Var(PRODUCT) or most_indices(after, SIZE) > 2:
        return False
    for size in (1, 2):
        mixes = [Matrix(size, size, symbols(f"{name}0:{size**2}", real=True)) for name in "ab"]
        fresh = [Matrix(symbols(f"{name}0:{size}", real=True)) for name in "uw"]
        population = Population(dict.fromkeys((*fresh[0], *fresh[1]), _STANDARD), d)
        score = ((mixes[0] * fresh[0]).T * (mixes[1] * fresh[1]))[0]
        written_out = evaluate(E(expand(score**2)), population)
        covariances = [mix * mix.T for mix in mixes]
        trace = after.doit().subs(SIZE, size)
        stated = sum(covariances[0][a, b] * covariances[1][b, a] for a, b in product(range(size), repeat=2))
        if trace != Trace(MatrixSymbol("Sigma_q", size, size) * MatrixSymbol("Sigma_k", size, size)):
            return False
        if expand(written_out - stated) != 0:
            return False
    return True


def derive() -> Derivation:
    """Derive the equicorrelated case for symbolic d, and the trace for any covariance as a lemma."""
    check, moments = Expansion(POPULATION), Expansion(POPULATION, assumed=True)
    first, second, other_first, other_second = (
        _component(own, shared) for own, shared in ((x1, x0), (x2, x0), (y1, y0), (y2, y0))
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
        Step(
            known,
            r"Each component has mean 0 and variance 1, two of a vector have covariance $\rho$",
            moments,
        ),
        Step(d * (1 + (d - 1) * rho**2), "Collecting terms", Identity()),
    )
    trace = Route.of(
        "Any covariances of a centred query and key",
        Var(PRODUCT),
        Step(Trace(SIGMA_Q * SIGMA_K), "Sum over all pairs of dimensions", _is_the_trace),
    )
    of_any = Definition(
        Var(PRODUCT),
        r"the variance of a score whose query and key have mean 0 and any $\Sigma_q$, $\Sigma_k$",
    )
    return Derivation.of(route, lemmas=(trace,), definitions=(of_any,))


def _cell(n: int) -> Cell:
    return cell_of(f"d{n}", ScoreMatrices(n, 32, NORMAL, NORMAL, correlation=RHO))


MIXING = ((1.0, 0.0, 0.0, 0.0), (0.5, 2.0, 0.0, 0.0), (0.0, 0.0, 1.0, -1.0), (0.0, 0.0, 0.0, 2.0))
"""Queries and keys of other covariances, which share none of their four fresh numbers."""

SPREAD_Q = Matrix([[1, S.Half], [S.Half, Rational(17, 4)]])
SPREAD_K = Matrix([[2, -2], [-2, 4]])
"""Both covariances of that, by hand; the prediction asks nothing of the sampler."""

PAIRS = 4
"""Groups of two dimensions that a score adds."""


def _of_any(name: str, expected: Any, tolerance: float) -> Quantity:
    """Return the comparison of the variance where neither vector's components are alike."""
    sampler = LinkedPairs(PAIRS, 32, NORMAL, MIXING, (0.0,) * 4)
    cell = cell_of("any-covariances", sampler)
    return Quantity(name, LABEL, cell, variance(), prediction(expected), capped(2.0, tolerance))


def _any_covariances(derivation: Derivation, tolerance: float) -> tuple[Quantity, Control]:
    """Return the comparison with the trace, and with the variances alone."""
    trace = derivation.lemmas[0].end.subs({SIGMA_Q: SPREAD_Q, SIGMA_K: SPREAD_K}).doit() * PAIRS
    own = sum(SPREAD_Q[i, i] * SPREAD_K[i, i] for i in range(2)) * PAIRS
    wrong = Control(
        r"covariances do not matter: the variance adds up the products of the components' variances",
        _of_any("variances-alone", own, tolerance),
        truth=float(trace),
    )
    return _of_any("any-covariances", trace, tolerance), wrong


def experiment(derivation: Derivation, tolerance: float) -> Experiment:
    """Measure the variance of equicorrelated components over the dimensions, and of any one example."""
    law = derivation.result.subs(rho, S(1) / 4)
    checks = tuple(
        Quantity(
            f"variance-d{n}",
            LABEL,
            _cell(n),
            variance(),
            prediction(law.subs(d, n)),
            capped(2.0, tolerance),
        )
        for n in DIMENSIONS
    )
    last = checks[DIMENSIONS.index(64)]
    truth = last.prediction.value
    trace, alone = _any_covariances(derivation, tolerance)
    controls = (
        Control("correlated or not, the variance is $d_k$", _moved(last, "as-if-independent", S(64)), truth),
        Control(
            r"the correlation adds its own size, not its square: $d_k(1 + (d_k - 1)\rho)$",
            _moved(last, "correlation-counted-once", S(64) * (1 + S(63) / 4)),
            truth,
        ),
        biased(last, tolerance),
        alone,
    )
    return Experiment((*checks, trace), controls)


def _moved(check: Quantity, name: str, value: Any) -> Quantity:
    return Quantity(name, check.label, check.cell, check.estimand, prediction(value), check.tolerance)


def figures(derivation: Derivation, findings: Findings) -> tuple[Figure, ...]:
    """Draw the scaled variance leaving the level 1."""
    span = (DIMENSIONS[0], DIMENSIONS[-1])
    law = derivation.result.subs(rho, S(1) / 4)
    return (
        against_dimension(
            "leaves-the-line",
            r"Correlated components outgrow the root",
            "The measured variance of scores whose components have correlation one quarter follows d times "
            "one plus d minus one sixteenths, and leaves the line variance = d from ten dimensions on.",
            r"variance of $q\cdot k$, $\rho = 1/4$",
            (
                formula("derived", "truth", law, span),
                formula("independent", "control", d, span),
                measured((findings.checks[f"variance-d{n}"] for n in DIMENSIONS), "measured"),
            ),
        ),
    )


CLAIM = Claim(
    title="Correlated components make the variance outgrow the dimension",
    statement=(
        r"For independent, centred $q$ and $k$ with covariance matrices $\Sigma_q$ and $\Sigma_k$, "
        r"$\operatorname{Var}(q\cdot k) = \operatorname{tr}(\Sigma_q\Sigma_k)$; with unit variances and "
        r"correlation $\rho$ between any two components of a vector, it is $d_k(1 + (d_k - 1)\rho^2)$."
    ),
    meaning=(
        "The root of the dimension is enough only while components are uncorrelated. Real activations live "
        r"in fewer directions than they have components; with a correlation of $\tfrac14$ the scaled "
        "variance at 64 dimensions is 5, not 1. What counts is not $d_k$ but "
        r"$\operatorname{tr}(\Sigma_q\Sigma_k)$, which can be measured."
    ),
    assumptions=(
        Assumption(id="independent", text="Query and key are independent of each other and centred."),
        Assumption(id="finite-variance", text="Their components have finite variances."),
    ),
    derive=derive,
    experiment=experiment,
    figures=figures,
)
