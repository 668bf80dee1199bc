"""The variance of scores has a part within rows, which softmax sees, and one between, which it cannot."""

from sympy import Expr, Matrix, MatrixSymbol, Rational, S, Trace

from verify.claims.modern.shared import ScoreProducts, difference
from verify.former import (
    E, NORMAL, Claim, Derivation, Experiment, Linked, Notation, Quantity, Route, Step, Var, biased, capped,
    cell_of, d, of_deviation, prediction, wrong,
)  # fmt: skip
from verify.former.rules import (
    KEY, MU_K, MU_Q, PRODUCT, QUERY, SIGMA_K, SIGMA_Q, VectorMoments, Vectors, in_numbers,
)  # fmt: skip

ANOTHER = MatrixSymbol("k'", d, 1)
OTHER, OF_KEYS, OF_MEAN = Trace(QUERY.T * ANOTHER), Trace(QUERY.T * SIGMA_K * QUERY), Trace(QUERY.T * MU_K)
"""The score of the same query with another key, and variance and mean of such scores given the query."""
BY_QUERY, BY_KEY = Trace(MU_Q.T * SIGMA_K * MU_Q), Trace(MU_K.T * SIGMA_Q * MU_K)
SEEN = Trace(SIGMA_Q * SIGMA_K) + BY_QUERY


LAW = VectorMoments(Vectors(
    ((QUERY, MU_Q), (KEY, MU_K), (ANOTHER, MU_K)),
    ((QUERY, QUERY, SIGMA_Q), (KEY, KEY, SIGMA_K), (ANOTHER, ANOTHER, SIGMA_K)),
))  # fmt: skip


def derive() -> Derivation:
    """Derive both parts from the products of two scores of one query, and their sum."""
    within = Route.of(
        "Within rows", E(PRODUCT**2) - E(PRODUCT * OTHER),
        Step(E(OF_KEYS), "Given the query, its scores are independent and vary like this", LAW),
        Step(SEEN, "The mean of a quadratic form", LAW),
        defines="the mean variance of the scores of one query", name="within",
    )  # fmt: skip
    between = Route.of(
        "Between rows", E(PRODUCT * OTHER) - E(PRODUCT) * E(OTHER),
        Step(Var(OF_MEAN), "Given the query, both scores have this mean", LAW),
        Step(BY_KEY, "The variance of a linear form", LAW),
        defines="the variance of the mean score of a query, which shifts its whole row", name="between",
    )  # fmt: skip
    total = Route.of(
        "Both together", Var(PRODUCT),
        Step(within.start + between.start, "Both scores have the same mean", LAW),
        Step(SEEN + BY_KEY, "The two parts", LAW),
    )  # fmt: skip
    return Derivation.of(total, lemmas=(within, between))


MIXING = ((1.0, 0.0, 0.0, 0.0), (0.5, 2.0, 0.0, 0.0), (0.0, 0.0, 1.0, -1.0), (0.0, 0.0, 0.0, 2.0))
MEANS = (1.0, -0.5, 0.5, 1.5)
GROUPS, SIDE = 4, 16
"""What is drawn: two-dimensional groups of components, and queries and keys of a block."""
SPREAD_Q, SPREAD_K = Matrix([[1, S.Half], [S.Half, Rational(17, 4)]]), Matrix([[2, -2], [-2, 4]])
MEAN_Q, MEAN_K = Matrix([1, -S.Half]), Matrix([S.Half, Rational(3, 2)])
DRAWN = {SIGMA_Q: SPREAD_Q, SIGMA_K: SPREAD_K, MU_Q: MEAN_Q, MU_K: MEAN_K}
"""Covariances and means of a group, by hand; the prediction asks nothing of the sampler."""
PARTS = {
    "within": ("mean variance of the scores within a row", "same", "query"),
    "between": ("variance of the rows’ mean scores", "query", "apart"),
    "total": (r"$\operatorname{Var}(q\cdot k)$", "same", "apart"),
}


def experiment(derivation: Derivation, tolerance: float) -> Experiment:
    """Measure both parts and the total for means and covariances without any symmetry."""
    cell = cell_of("linked", Linked(GROUPS, SIDE, NORMAL, MIXING, MEANS), ScoreProducts())
    ends = (*(one.end for one in derivation.lemmas), derivation.result)

    def drawn(expression: Expr) -> Expr:
        return GROUPS * in_numbers(expression, DRAWN)

    within, between, total = (
        Quantity(name, label, cell, difference(*names), prediction(drawn(end)), capped(2.0, tolerance))
        for (name, (label, *names)), end in zip(PARTS.items(), ends, strict=True)
    )
    return Experiment((within, between, total), (
        wrong(within, "exchanged", "the keys’ mean makes rows vary, and the queries’ mean shifts them",
              drawn(derivation.result - BY_QUERY)),
        wrong(between, "nothing-shifts", "rows are not shifted, whatever the means", 0,
              tolerance=of_deviation(total.prediction.value)),
        wrong(between, "exchanged-shift", "it is the queries’ mean that shifts rows", drawn(BY_QUERY)),
        wrong(total, "all-is-seen", "the scores of a row vary as much as all scores do", within),
        biased(total, tolerance),
    ))  # fmt: skip


CLAIM = Claim(
    title="The variance of scores has a part that softmax sees and a part that it cannot",
    statement="For independent {q} and {k} with means {mu_q}, {mu_k} and covariances {sigma_q}, {sigma_k}, "
    "{theorem:subject} is the sum of the scores’ mean variance within a row, {within:result}, and the "
    "variance of the rows’ means, {between:result}, by which whole rows are shifted.",
    meaning="Softmax gives the same weights when all scores of a row are moved alike, so only the first "
    "part acts. Keys with a large common component make scores look widely spread, and a scale chosen by "
    "the total variance would be too small. An audit of real attention reports both parts.",
    symbols={"mu_q": MU_Q, "mu_k": MU_K, "sigma_q": SIGMA_Q, "sigma_k": SIGMA_K,
             "product": Notation(r"q\cdot k", PRODUCT)},
)  # fmt: skip
