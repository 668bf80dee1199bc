"""The variance of a score whose query and key are jointly normal and depend on each other."""

from itertools import product

from sympy import Add, Idx, Matrix, MatrixSymbol, Rational, S, Sum, Trace

from verify.claims.limits.shared import ComponentMoments, PairMoments
from verify.former import (
    E, NORMAL, Claim, Derivation, Experiment, Linked, Quantity, Route, Step, Tolerance, Var, biased, capped,
    cell_of, cite, component, covariance, d, of_deviation, one_step, prediction, variance, wrong,
)  # fmt: skip
from verify.former.rules import (
    KEY, MU_K, MU_Q, PRODUCT, QUERY, SIGMA_K, SIGMA_Q, MatrixIdentity, VectorMoments, Vectors, in_numbers,
)  # fmt: skip

LABEL, MEAN = r"$\operatorname{Var}(q\cdot k)$", r"$\mathbb{E}[q\cdot k]$"
i, j = Idx("i"), Idx("j")
C = MatrixSymbol("C", d, d)
MEANS = (QUERY, MU_Q), (KEY, MU_K)
COVARIANCES = (QUERY, QUERY, SIGMA_Q), (KEY, KEY, SIGMA_K), (QUERY, KEY, C)
OF_BOTH = Trace(SIGMA_Q * SIGMA_K) + Trace(MU_Q.T * SIGMA_K * MU_Q) + Trace(MU_K.T * SIGMA_Q * MU_K)
"""What is left where query and key are independent."""

SQUARE, CROSSED, OF_MEANS, OTHER_WAY = (
    Trace(one) for one in (C * C, C * C.T, MU_Q.T * C.T * MU_K, MU_Q.T * C * MU_K)
)
GENERAL = OF_BOTH + SQUARE + 2 * OF_MEANS
MEAN_OF_SCORE = Trace(C) + Trace(MU_Q.T * MU_K)


def derive() -> Derivation:
    """Derive the variance from the covariances of two products; the mean as a lemma."""
    groups = (
        SIGMA_Q[i, j] * SIGMA_K[i, j] + C[i, j] * C[j, i],
        MU_Q[i, 0] * MU_Q[j, 0] * SIGMA_K[i, j] + MU_K[i, 0] * MU_K[j, 0] * SIGMA_Q[i, j],
        MU_Q[i, 0] * C[j, i] * MU_K[j, 0] + MU_Q[j, 0] * C[i, j] * MU_K[i, 0],
    )
    route = Route.of(
        "Pairings of normal numbers",
        Var(PRODUCT),
        Step(Add(*[Sum(one, (i, 0, d - 1), (j, 0, d - 1)) for one in groups]),
             r"The covariance of $q_ik_i$ and $q_jk_j$, by Isserlis: over all ways to pair one's numbers "
             "with the other's", VectorMoments(Vectors(MEANS, COVARIANCES, normal=True))),
        Step(GENERAL, "Double sums are traces; the two last are equal", MatrixIdentity()),
    )  # fmt: skip
    each = r"The mean of $q_ik_i$ is its covariance plus the product of the means"
    mean = one_step("The mean, for any law", E(PRODUCT), MEAN_OF_SCORE, each,
                    VectorMoments(Vectors(MEANS, COVARIANCES)),
                    defines="the mean of a score", name="mean")  # fmt: skip
    return Derivation.of(route, lemmas=(mean,))


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
        ("wrong-transpose", "{crossed} in place of {square}", general.subs(SQUARE, CROSSED)),
        ("wrong-transpose-of-means", "{other_way} in place of {of_means}",
         general.subs(OF_MEANS, OTHER_WAY)),
    )  # fmt: skip
    return Experiment((of_variance, of_mean, *covariances.values()), (
        *(wrong(of_variance, name, what, GROUPS * in_numbers(one, EXAMPLE)) for name, what, one in false),
        wrong(of_mean, "mean-as-if-independent", "the mean does not feel the dependence", mean - GROUPS),
        wrong(covariances[0, 1], "transposed",
              "{C} is the covariance of the key with the query, the other way round", CROSS[1, 0]),
        *(wrong(one, f"reversed-{one.id}", f"{one.label} has the other sign", -CROSS[place])
          for place, one in covariances.items() if place != (0, 1)),
        biased(of_variance, tolerance),
    ))  # fmt: skip


CLAIM = Claim(
    title="The general formula: a query and a key that depend on each other",
    statement="For jointly normal {q} and {k} with the covariances {C} of {q} with {k}, the variance of "
    "{score} is {theorem:result}; the mean is {mean:result}.",
    meaning="This formula applies once training has made queries and keys depend on each other. The "
    "dependence can lower the variance as well as raise it, for {square} may be negative. Where {C} is "
    "zero, the formula of the earlier chapters is recovered.",
    symbols={"C": C, "square": SQUARE, "crossed": CROSSED, "of_means": OF_MEANS, "other_way": OTHER_WAY},
    references=cite(
        "isserlis1918",
        "L. Isserlis, On a formula for the product-moment coefficient of any order of a normal "
        "frequency distribution in any number of variables, Biometrika 12 (1918), 134-139.",
    ),
)
