"""The variance of a score whose query and key are jointly normal and depend on each other."""

from __future__ import annotations

from functools import reduce
from itertools import product
from operator import mul
from typing import Any

from sympy import (
    Add, Idx, MatMul, MatPow, Matrix, MatrixSymbol, Rational, S, Sum, Symbol, Trace, Transpose, Tuple, diff,
    exp, expand, symbols,
)  # fmt: skip
from sympy.matrices.expressions.matexpr import MatrixElement

from verify.spec import (
    NORMAL, Assumption, Claim, Control, Definition, Derivation, DerivationError, E, Experiment,
    LinkedComponents, LinkedPairs, Population, Quantity, Reference, Route, Step, Tolerance, Var, biased, by,
    capped, cell_of, component, covariance, d, evaluate, most_indices, prediction, variance, wrong,
)  # fmt: skip

LABEL, MEAN = r"$\operatorname{Var}(q\cdot k)$", r"$\mathbb{E}[q\cdot k]$"
GROUPS = 4
"""Two-dimensional groups of components that a score adds, so that it has 8 dimensions."""

CROSS = Matrix([[S.Half, 2], [-1, S.Half]])
"""C = Cov(q, k) of a group: far from symmetric, so that a wrong transpose shows."""

MEAN_Q, MEAN_K = Matrix([1, -1]), Matrix([S.Half, 1])

SIZE = Symbol("d", integer=True, positive=True)
FIRST, SECOND = Idx("i"), Idx("j")
SIGMA_Q, SIGMA_K, C = (MatrixSymbol(name, SIZE, SIZE) for name in ("Sigma_q", "Sigma_k", "C"))
MU_Q, MU_K = (MatrixSymbol(name, SIZE, 1) for name in ("mu_q", "mu_k"))
PRODUCT = Symbol(r"q^{\mathsf T} k")
GENERAL = (
    Trace(SIGMA_Q * SIGMA_K)
    + Trace(C * C)
    + Trace(MU_Q.T * SIGMA_K * MU_Q)
    + Trace(MU_K.T * SIGMA_Q * MU_K)
    + 2 * Trace(MU_Q.T * C.T * MU_K)
)
MEAN_OF_SCORE = Trace(C) + Trace(MU_Q.T * MU_K)


def _in_numbers(expression: Any, sigma_q: Any, sigma_k: Any, cross: Any, mu_q: Any, mu_k: Any) -> Any:
    """Return a matrix expression's value for given matrices."""
    given = {SIGMA_Q: sigma_q, SIGMA_K: sigma_k, C: cross, MU_Q: mu_q, MU_K: mu_k}
    concrete = expression.replace(lambda part: isinstance(part, Trace), lambda part: _trace(part.arg, given))
    return concrete.doit()


def _trace(argument: Any, given: dict[Any, Any]) -> Any:
    def value(one: Any) -> Any:
        if isinstance(one, Transpose):
            return value(one.arg).T
        if isinstance(one, MatMul):
            first, *rest = map(value, one.args)
            return reduce(mul, rest, first)
        return value(one.base) ** one.exp if isinstance(one, MatPow) else given[one]

    return value(argument).trace()


def _entries(size: int) -> dict[Any, Any]:
    """Return symbolic matrices and means for ``size`` dimensions; C has no symmetry, the others are such."""

    def matrix(name: str, *, symmetric: bool) -> Matrix:
        def entry(a: int, b: int) -> Symbol:
            return Symbol(f"{name}{min(a, b) if symmetric else a}_{max(a, b) if symmetric else b}", real=True)

        return Matrix(size, size, entry)

    return {
        SIGMA_Q: matrix("s", symmetric=True),
        SIGMA_K: matrix("t", symmetric=True),
        C: matrix("c", symmetric=False),
        MU_Q: Matrix(symbols(f"m0:{size}", real=True)),
        MU_K: Matrix(symbols(f"h0:{size}", real=True)),
    }


def _of_product(a: Any, b: Any) -> Any:
    """Return E[q_a k_a q_b k_b] - E[q_a k_a]E[q_b k_b] from the normal law's generating function.

    E exp(t·x) = exp(t·μ + tᵀΣt/2) for the four numbers in x, differentiated once by each t at 0: no pairing
    is enumerated. For a = b two of the four numbers are one and the same, which the covariances say.
    """
    means = Matrix([MU_Q[a, 0], MU_K[a, 0], MU_Q[b, 0], MU_K[b, 0]])
    covariance = Matrix(
        [
            [SIGMA_Q[a, a], C[a, a], SIGMA_Q[a, b], C[a, b]],
            [C[a, a], SIGMA_K[a, a], C[b, a], SIGMA_K[a, b]],
            [SIGMA_Q[a, b], C[b, a], SIGMA_Q[b, b], C[b, b]],
            [C[a, b], SIGMA_K[a, b], C[b, b], SIGMA_K[b, b]],
        ]
    )
    t = Matrix(symbols("t0:4", real=True))
    exponent = (t.T * means + t.T * covariance * t / 2)[0]

    def moment(*places: int) -> Any:
        found = exp(exponent)
        for place in places:
            found = diff(found, t[place])
        return found.subs(dict.fromkeys(t, 0))

    return expand(moment(0, 1, 2, 3) - moment(0, 1) * moment(2, 3))


def _summand(expression: Any) -> Any:
    """Return what double sums over all i and j add up, as one expression in i and j."""
    every = ((FIRST, 0, SIZE - 1), (SECOND, 0, SIZE - 1))
    parts = Add.make_args(expression)
    if not all(
        isinstance(part, Sum) and part.limits == tuple(Tuple(*one) for one in every) for part in parts
    ):
        raise DerivationError("not double sums over all pairs of dimensions")
    return Add(*[part.function for part in parts])


@by("SymPy: derivatives of the normal law's moment generating function", "general")
def _adds_up(before: Any, after: Any) -> bool:
    """The sums' term for general i and j is the covariance of two products; C_ij and C_ji stay apart."""
    return before == Var(PRODUCT) and bool(expand(_summand(after) - _of_product(FIRST, SECOND)) == 0)


def _numbered(expression: Any, given: dict[Any, Any]) -> Any:
    """Return an expression of matrix entries with the entries of the ``given`` matrices."""
    entries = expression.atoms(MatrixElement)
    return expression.xreplace({one: given[one.parent][int(one.i), int(one.j)] for one in entries})


@by("written out for 1 and 2 dimensions, which settle it: no term holds more", "general")
def _written_out(before: Any, after: Any) -> bool:
    """Both sides for 1 and 2 dimensions with symbolic matrices: no term holds more than two."""
    summand = _summand(before)
    if most_indices(after, SIZE) > 2:
        return False
    for size in (1, 2):
        given = _entries(size)
        pairs = product(range(size), repeat=2)
        summed = sum(_numbered(summand.subs({FIRST: a, SECOND: b}), given) for a, b in pairs)
        if expand(summed - _in_numbers(after, *given.values())) != 0:
            return False
    return True


@by("written out for 1 and 2 dimensions, which settle it: no term holds more", "general")
def _has_mixed_means(before: Any, after: Any) -> bool:
    """Write (q, k) = mean + L·z out with symbolic L for 1 and 2 dimensions; normality plays no part.

    The mean sums over one index, so that one dimension would do.
    """
    if most_indices(after, SIZE) > 2:
        return False
    for size in (1, 2):
        fresh = Matrix(symbols(f"z0:{2 * size}", real=True))
        population = Population(dict.fromkeys(fresh, (S.One, S.Zero, S.One)), d)
        mixing = Matrix(2 * size, 2 * size, symbols(f"l0:{4 * size**2}", real=True))
        means = Matrix(symbols(f"m0:{2 * size}", real=True))
        both = means + mixing * fresh
        exact = evaluate(E(expand((both[:size, :].T * both[size:, :])[0])), population)
        cross = mixing[:size, :] * mixing[size:, :].T
        stated = _in_numbers(after, None, None, cross, means[:size, :], means[size:, :])
        if before != E(PRODUCT) or expand(exact - stated) != 0:
            return False
    return True


def derive() -> Derivation:
    """Derive the variance from the covariances of two products; the mean as a lemma."""
    groups = (
        SIGMA_Q[FIRST, SECOND] * SIGMA_K[FIRST, SECOND] + C[FIRST, SECOND] * C[SECOND, FIRST],
        MU_Q[FIRST, 0] * MU_Q[SECOND, 0] * SIGMA_K[FIRST, SECOND]
        + MU_K[FIRST, 0] * MU_K[SECOND, 0] * SIGMA_Q[FIRST, SECOND],
        MU_Q[FIRST, 0] * C[SECOND, FIRST] * MU_K[SECOND, 0]
        + MU_Q[SECOND, 0] * C[FIRST, SECOND] * MU_K[FIRST, 0],
    )
    route = Route.of(
        "Pairings of normal numbers",
        Var(PRODUCT),
        Step(
            Add(*[Sum(one, (FIRST, 0, SIZE - 1), (SECOND, 0, SIZE - 1)) for one in groups]),
            r"The covariance of $q_ik_i$ and $q_jk_j$, by Isserlis: over all ways to pair one's numbers "
            "with the other's",
            _adds_up,
        ),
        Step(GENERAL, "Double sums are traces; the two last are equal", _written_out),
    )
    mean = Route.of(
        "The mean, for any law",
        E(PRODUCT),
        Step(
            MEAN_OF_SCORE,
            r"The mean of $q_ik_i$ is its covariance plus the product of the means",
            _has_mixed_means,
        ),
    )
    of_score = Definition(E(PRODUCT), "the mean of a score")
    return Derivation.of(route, lemmas=(mean,), definitions=(of_score,))


MIXING = ((1.0, 0.0, 0.0, 0.0), (0.0, 1.0, 0.0, 0.0), (0.5, -1.0, 1.0, 0.0), (2.0, 0.5, 0.0, 1.0))
"""What the sampler multiplies fresh numbers by, q = z₁ and k = Cᵀq + z₂, written out."""

SPREAD_Q, SPREAD_K = Matrix.eye(2), Matrix([[Rational(9, 4), S.Half], [S.Half, Rational(21, 4)]])
"""Both covariances of that, from CᵀC + 1 by hand; the prediction asks nothing of the sampler."""

PAIRS = LinkedPairs(GROUPS, 32, NORMAL, MIXING, (1.0, -1.0, 0.5, 1.0))


def _expected(expression: Any, cross: Any = CROSS) -> Any:
    return GROUPS * _in_numbers(expression, SPREAD_Q, SPREAD_K, cross, MEAN_Q, MEAN_K)


def _covariance(name: str, row: int, column: int, expected: Any) -> Quantity:
    """Return the comparison of one entry of C with the covariance of what is drawn."""
    one, other = f"q{row + 1}", f"k{column + 1}"
    return Quantity(
        name,
        rf"$\operatorname{{Cov}}(q_{row + 1}, k_{column + 1})$",
        cell_of("components", LinkedComponents(PAIRS)),
        covariance(one + other, one, other),
        prediction(expected),
        Tolerance(2.0),
    )


def experiment(derivation: Derivation, tolerance: float) -> Experiment:
    """Measure mean and variance of a strongly asymmetric example."""
    cell, spread = cell_of("asymmetric", PAIRS), variance()
    truth = _expected(derivation.result)
    mean = _expected(derivation.lemmas[0].end)
    checks = (
        Quantity("variance", LABEL, cell, spread, prediction(truth), capped(2.0, tolerance)),
        Quantity(
            "mean",
            MEAN,
            cell,
            component("mean"),
            prediction(mean),
            Tolerance(1.0, float(truth) ** 0.5, "the standard deviation"),
        ),
        *(
            _covariance(f"covariance-q{row + 1}-k{column + 1}", row, column, CROSS[row, column])
            for row, column in product(range(2), repeat=2)
        ),
    )
    independent = Trace(SIGMA_Q * SIGMA_K) + Trace(MU_Q.T * SIGMA_K * MU_Q) + Trace(MU_K.T * SIGMA_Q * MU_K)
    transposed = derivation.result.subs(Trace(C * C), Trace(C * C.T))
    with_means = derivation.result.subs(Trace(MU_Q.T * C.T * MU_K), Trace(MU_Q.T * C * MU_K))
    controls = tuple(
        Control(
            what, Quantity(name, LABEL, cell, spread, prediction(value), capped(2.0, tolerance)), float(truth)
        )
        for name, what, value in (
            ("as-if-independent", "the dependence does not matter", _expected(independent)),
            (
                "wrong-transpose",
                r"$\operatorname{tr}(CC^{\mathsf T})$ in place of $\operatorname{tr}(CC)$",
                _expected(transposed),
            ),
            (
                "wrong-transpose-of-means",
                r"$2\mu_q^{\mathsf T}C\mu_k$ in place of $2\mu_q^{\mathsf T}C^{\mathsf T}\mu_k$",
                _expected(with_means),
            ),
        )
    )
    others = (
        wrong(
            checks[1],
            "mean-as-if-independent",
            "the mean does not feel the dependence",
            mean - GROUPS,
            truth=float(mean),
        ),
        Control(
            r"$C$ is the covariance of the key with the query, the other way round",
            _covariance("transposed", 0, 1, CROSS[1, 0]),
            truth=float(CROSS[0, 1]),
        ),
    )
    return Experiment(checks, (*controls, *others, biased(checks[0], tolerance)))


CLAIM = Claim(
    title="The general formula: a query and a key that depend on each other",
    statement=(
        r"For jointly normal $q$ and $k$ with $C = \operatorname{Cov}(q, k)$, the variance of $q\cdot k$ is "
        r"$\operatorname{tr}(\Sigma_q\Sigma_k) + \operatorname{tr}(CC) + \mu_q^{\mathsf T}\Sigma_k\mu_q + "
        r"\mu_k^{\mathsf T}\Sigma_q\mu_k + 2\mu_q^{\mathsf T}C^{\mathsf T}\mu_k$; the mean is "
        r"$\operatorname{tr}(C) + \mu_q^{\mathsf T}\mu_k$."
    ),
    meaning=(
        "This is what takes over once training has made queries and keys depend on each other. The "
        "dependence can lower the variance as well as raise it, for the trace of $CC$ may be negative. With "
        "$C = 0$ the formula of the earlier chapters comes back."
    ),
    assumptions=(
        Assumption(id="jointly-normal", text="All components of query and key together are normal."),
    ),
    references=(
        Reference(
            key="isserlis1918",
            text="L. Isserlis, On a formula for the product-moment coefficient of any order of a normal "
            "frequency distribution in any number of variables, Biometrika 12 (1918), 134-139.",
        ),
    ),
    derive=derive,
    experiment=experiment,
)
