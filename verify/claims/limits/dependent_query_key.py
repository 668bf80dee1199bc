"""The variance of a score whose query and key are jointly normal and depend on each other."""

from itertools import product

from sympy import (
    Add, Expr, Idx, Matrix, MatrixSymbol, Rational, S, Sum, Symbol, Trace, Tuple, diff, expand,
    symbols,
)  # fmt: skip
from sympy.matrices.expressions.matexpr import MatrixElement

from verify.spec import (
    E, ISSERLIS, NORMAL, PRODUCT, SIGMA_K, SIGMA_Q, SIZE, Claim, ComponentMoments, Derivation, Experiment,
    Linked, PairMoments, Population, Quantity, Refused, Route, Step, Tolerance, Var, assume, biased, by,
    capped, cell_of, component, covariance, d, evaluate, in_numbers, of_deviation, prediction, settled_by_two,
    variance, wrong,
)  # fmt: skip

LABEL, MEAN = r"$\operatorname{Var}(q\cdot k)$", r"$\mathbb{E}[q\cdot k]$"
FIRST, SECOND = Idx("i"), Idx("j")
C, MU_Q, MU_K = MatrixSymbol("C", SIZE, SIZE), MatrixSymbol("mu_q", SIZE, 1), MatrixSymbol("mu_k", SIZE, 1)
OF_BOTH = Trace(SIGMA_Q * SIGMA_K) + Trace(MU_Q.T * SIGMA_K * MU_Q) + Trace(MU_K.T * SIGMA_Q * MU_K)
"""What is left where query and key are independent."""

GENERAL = OF_BOTH + Trace(C * C) + 2 * Trace(MU_Q.T * C.T * MU_K)
MEAN_OF_SCORE = Trace(C) + Trace(MU_Q.T * MU_K)


def _entries(size: int) -> dict[Expr, Expr]:
    """Return symbolic matrices and means for ``size`` dimensions; C has no symmetry, the others are such."""

    def matrix(name: str) -> Matrix:
        return Matrix(size, size, lambda a, b: Symbol(f"{name}{a}_{b}", real=True))

    def symmetric(name: str) -> Matrix:
        return Matrix(size, size, lambda a, b: Symbol(f"{name}{min(a, b)}_{max(a, b)}", real=True))

    means = {one: Matrix(symbols(f"{name}0:{size}", real=True)) for one, name in ((MU_Q, "m"), (MU_K, "h"))}
    return {SIGMA_Q: symmetric("s"), SIGMA_K: symmetric("t"), C: matrix("c")} | means


def _of_product(a: Expr, b: Expr) -> Expr:
    """Return E[q_a k_a q_b k_b] - E[q_a k_a]E[q_b k_b] from the normal law's generating function.

    E exp(t·x) = exp(t·μ + tᵀΣt/2) for the four numbers in x, differentiated once by each t at 0: no pairing
    is enumerated. What stands before the exponential has the derivative f' + f·(t·μ + tᵀΣt/2)'. For a = b two
    of the four numbers are one and the same, which the covariances say.
    """
    means = Matrix([MU_Q[a, 0], MU_K[a, 0], MU_Q[b, 0], MU_K[b, 0]])
    covariance = Matrix([
        [SIGMA_Q[a, a], C[a, a], SIGMA_Q[a, b], C[a, b]],
        [C[a, a], SIGMA_K[a, a], C[b, a], SIGMA_K[a, b]],
        [SIGMA_Q[a, b], C[b, a], SIGMA_Q[b, b], C[b, b]],
        [C[a, b], SIGMA_K[a, b], C[b, b], SIGMA_K[b, b]],
    ])  # fmt: skip
    t = Matrix(symbols("t0:4", real=True))
    exponent = (t.T * means + t.T * covariance * t / 2)[0]

    def moment(*places: int) -> Expr:
        factor = S.One
        for place in places:
            factor = diff(factor, t[place]) + factor * diff(exponent, t[place])
        return factor.xreplace(dict.fromkeys(t, S.Zero))

    return expand(moment(0, 1, 2, 3) - moment(0, 1) * moment(2, 3))


def _summand(expression: Expr) -> Expr:
    """Return what double sums over all i and j add up, as one expression in i and j."""
    every = (Tuple(FIRST, 0, SIZE - 1), Tuple(SECOND, 0, SIZE - 1))
    parts = Add.make_args(expression)
    if not all(isinstance(part, Sum) and part.limits == every for part in parts):
        raise Refused("not double sums over all pairs of dimensions")
    return Add(*[part.function for part in parts])


@by("SymPy: derivatives of the normal law's moment generating function")
def _adds_up(before: Expr, after: Expr) -> bool:
    """The sums' term for general i and j is the covariance of two products; C_ij and C_ji stay apart."""
    return before == Var(PRODUCT) and bool(expand(_summand(after) - _of_product(FIRST, SECOND)) == 0)


def _numbered(expression: Expr, given: dict[Expr, Expr]) -> Expr:
    """Return an expression of matrix entries with the entries of the ``given`` matrices."""
    entries = expression.atoms(MatrixElement)
    return expression.xreplace({one: given[one.parent][int(one.i), int(one.j)] for one in entries})


@settled_by_two
def _written_out(before: Expr, after: Expr, size: int) -> Expr:
    """Both sides with symbolic matrices."""
    summand, given = _summand(before), _entries(size)
    pairs = product(range(size), repeat=2)
    summed = sum(_numbered(summand.subs({FIRST: a, SECOND: b}), given) for a, b in pairs)
    return summed - in_numbers(after, given)


@settled_by_two
def _has_mixed_means(before: Expr, after: Expr, size: int) -> Expr:
    """Write (q, k) = mean + L·z out with symbolic L; normality plays no part.

    The mean sums over one index, so that one dimension would do.
    """
    fresh = Matrix(symbols(f"z0:{2 * size}", real=True))
    population = Population(dict.fromkeys(fresh, (S.One, S.Zero, S.One)), d)
    mixing = Matrix(2 * size, 2 * size, symbols(f"l0:{4 * size**2}", real=True))
    means = Matrix(symbols(f"m0:{2 * size}", real=True))
    query, key = (means + mixing * fresh)[:size, :], (means + mixing * fresh)[size:, :]
    exact = evaluate(before.subs(PRODUCT, expand((query.T * key)[0])), population)
    cross = mixing[:size, :] * mixing[size:, :].T
    return exact - in_numbers(after, {C: cross, MU_Q: means[:size, :], MU_K: means[size:, :]})


def derive() -> Derivation:
    """Derive the variance from the covariances of two products; the mean as a lemma."""
    i, j = FIRST, SECOND
    groups = (
        SIGMA_Q[i, j] * SIGMA_K[i, j] + C[i, j] * C[j, i],
        MU_Q[i, 0] * MU_Q[j, 0] * SIGMA_K[i, j] + MU_K[i, 0] * MU_K[j, 0] * SIGMA_Q[i, j],
        MU_Q[i, 0] * C[j, i] * MU_K[j, 0] + MU_Q[j, 0] * C[i, j] * MU_K[i, 0],
    )
    route = Route.of(
        "Pairings of normal numbers",
        Var(PRODUCT),
        Step(Add(*[Sum(one, (i, 0, SIZE - 1), (j, 0, SIZE - 1)) for one in groups]),
             r"The covariance of $q_ik_i$ and $q_jk_j$, by Isserlis: over all ways to pair one's numbers "
             "with the other's", _adds_up),
        Step(GENERAL, "Double sums are traces; the two last are equal", _written_out),
    )  # fmt: skip
    each = r"The mean of $q_ik_i$ is its covariance plus the product of the means"
    mean = Route.of("The mean, for any law", E(PRODUCT), Step(MEAN_OF_SCORE, each, _has_mixed_means))
    return Derivation.of(route, lemmas=(mean.defining("the mean of a score"),))


GROUPS = 4
"""Two-dimensional groups of components that a score adds, so that it has 8 dimensions."""

CROSS = Matrix([[S.Half, 2], [-1, S.Half]])
"""C = Cov(q, k) of a group: far from symmetric, so that a wrong transpose shows."""

EXAMPLE = {
    SIGMA_Q: Matrix.eye(2),
    SIGMA_K: Matrix([[Rational(9, 4), S.Half], [S.Half, Rational(21, 4)]]),
    C: CROSS,
    MU_Q: Matrix([1, -1]),
    MU_K: Matrix([S.Half, 1]),
}
"""A group's moments, the key's covariances from CᵀC + 1 by hand: predictions ask nothing of the sampler."""

MIXING = ((1.0, 0.0, 0.0, 0.0), (0.0, 1.0, 0.0, 0.0), (0.5, -1.0, 1.0, 0.0), (2.0, 0.5, 0.0, 1.0))
"""What the sampler multiplies fresh numbers by, q = z₁ and k = Cᵀq + z₂, written out."""

PAIRS = Linked(GROUPS, 32, NORMAL, MIXING, (1.0, -1.0, 0.5, 1.0))


def _covariance(row: int, column: int) -> Quantity:
    """Return the comparison of one entry of C with the covariance of what is drawn."""
    one, other = f"q{row + 1}", f"k{column + 1}"
    label = rf"$\operatorname{{Cov}}(q_{row + 1}, k_{column + 1})$"
    cell, estimand = cell_of("components", PAIRS, ComponentMoments(2)), covariance(one + other, one, other)
    name, entry = f"covariance-{one}-{other}", prediction(CROSS[row, column])
    return Quantity(name, label, cell, estimand, entry, Tolerance(2.0))


def experiment(derivation: Derivation, tolerance: float) -> Experiment:
    """Measure mean and variance of a strongly asymmetric example."""
    general = derivation.result
    spread, mean = (GROUPS * in_numbers(one, EXAMPLE) for one in (general, derivation.lemmas[0].end))
    cell, band = cell_of("asymmetric", PAIRS, PairMoments()), capped(2.0, tolerance)
    of_variance = Quantity("variance", LABEL, cell, variance(), prediction(spread), band)
    far = of_deviation(spread, because="the scores spread more than twice as far as their mean is from 0")
    of_mean = Quantity("mean", MEAN, cell, component("mean"), prediction(mean), far)
    covariances = {place: _covariance(*place) for place in product(range(2), repeat=2)}
    false = (
        ("as-if-independent", "the dependence does not matter", OF_BOTH),
        ("wrong-transpose", r"$\operatorname{tr}(CC^{\mathsf T})$ in place of $\operatorname{tr}(CC)$",
         general.subs(Trace(C * C), Trace(C * C.T))),
        ("wrong-transpose-of-means",
         r"$2\mu_q^{\mathsf T}C\mu_k$ in place of $2\mu_q^{\mathsf T}C^{\mathsf T}\mu_k$",
         general.subs(Trace(MU_Q.T * C.T * MU_K), Trace(MU_Q.T * C * MU_K))),
    )  # fmt: skip
    return Experiment((of_variance, of_mean, *covariances.values()), (
        *(wrong(of_variance, name, what, GROUPS * in_numbers(one, EXAMPLE)) for name, what, one in false),
        wrong(of_mean, "mean-as-if-independent", "the mean does not feel the dependence", mean - GROUPS),
        wrong(covariances[0, 1], "transposed",
              r"$C$ is the covariance of the key with the query, the other way round", CROSS[1, 0]),
        *(wrong(one, f"reversed-{one.id}", f"{one.label} has the other sign", -CROSS[place])
          for place, one in covariances.items() if place != (0, 1)),
        biased(of_variance, tolerance),
    ))  # fmt: skip


CLAIM = Claim(
    title="The general formula: a query and a key that depend on each other",
    statement=r"For jointly normal $q$ and $k$ with $C = \operatorname{Cov}(q, k)$, the variance of $q\cdot "
    r"k$ is $\operatorname{tr}(\Sigma_q\Sigma_k) + \operatorname{tr}(CC) + \mu_q^{\mathsf T}\Sigma_k\mu_q + "
    r"\mu_k^{\mathsf T}\Sigma_q\mu_k + 2\mu_q^{\mathsf T}C^{\mathsf T}\mu_k$; the mean is "
    r"$\operatorname{tr}(C) + \mu_q^{\mathsf T}\mu_k$.",
    meaning="This is what takes over once training has made queries and keys depend on each other. The "
    "dependence can lower the variance as well as raise it, for the trace of $CC$ may be negative. With $C = "
    "0$ the formula of the earlier chapters comes back.",
    assumptions=assume(jointly_normal="All components of query and key together are normal."),
    references=(ISSERLIS,),
)
