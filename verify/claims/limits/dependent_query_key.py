"""The general formula: a query and a key that depend on each other."""

from verify.claims.limits.shared.mixtures import A, B, c, covariance, four_blocks, over_pairs, r, written_out
from verify.spec import Chain, Chains, Check, Claim, Cov, Derivation, E, Expr, Family, Given, Index, Items
from verify.spec import Matrix, Named, S, Sum, Symbol, Var, Wrong, a, algebra, assume, cite, d, eye, i, l, m
from verify.spec import moments, normal, numbers, of_deviation

z, MU_Q, MU_K = Family("z", m, r), Given("mu_q", d), Given("mu_k", d)
LAWS = {z: normal()}  # query and key are made of the same normal numbers, q = μ_q + Az and k = μ_k + Bz


def _component(mean: Given, matrix: Given, place: Index, name: str = "") -> Expr:
    """Return a component of a query or of a key, under its name if that is given."""
    component = mean[place] + Sum(matrix[place, c] * z[a, c], (c, 1, r))
    return Named(Family(name, d)[place], component) if name else component


OF_Q, OF_K, C, TURNED = (covariance(A, A), covariance(B, B), covariance(A, B), covariance(A, B, l, i))
SCORE = Named(Symbol(r"q\cdot k"), Sum(_component(MU_Q, A, i) * _component(MU_K, B, i), (i, 1, d)))
# The part of the variance that remains where query and key are independent.
OF_BOTH = (
    over_pairs(r"\operatorname{tr}(\Sigma_q \Sigma_k)", OF_Q * OF_K)
    + over_pairs(r"\mu_q^{\mathsf T} \Sigma_k \mu_q", MU_Q[i] * OF_K * MU_Q[l])
    + over_pairs(r"\mu_k^{\mathsf T} \Sigma_q \mu_k", MU_K[i] * OF_Q * MU_K[l])
)
SQUARE = over_pairs(r"\operatorname{tr}(C^2)", C * TURNED)
CROSSED = over_pairs(r"\operatorname{tr}(C C^{\mathsf T})", C * C)
OF_MEANS = over_pairs(r"\mu_q^{\mathsf T} C^{\mathsf T} \mu_k", MU_Q[i] * TURNED * MU_K[l])
OTHER_WAY = over_pairs(r"\mu_q^{\mathsf T} C \mu_k", MU_Q[i] * C * MU_K[l])
GENERAL = OF_BOTH + SQUARE + 2 * OF_MEANS
MEANS = Named(Symbol(r"\mu_q^{\mathsf T} \mu_k"), Sum(MU_Q[i] * MU_K[i], (i, 1, d)))
TRACE = Named(Symbol(r"\operatorname{tr}(C)"), Sum(covariance(A, B, i, i), (i, 1, d)))
# C of two dimensions, the other six being alike: far from symmetric, so that a wrong transpose shows.
CROSS = Matrix([[S.Half, 2], [-1, S.Half]])
NUMBERS = {
    A: four_blocks(eye(2).row_join(Matrix.zeros(2))),
    B: four_blocks(CROSS.T.row_join(eye(2))),
    MU_Q: numbers([1, -1] * 4, "(1, −1) 4 times"),
    MU_K: numbers(["1/2", 1] * 4, "(1/2, 1) 4 times"),
}


def derive() -> Chains:
    put_in = r"$q = \mu_q + Az$ and $k = \mu_k + Bz$, put in"
    pairs = r"all ways to pair numbers of $q_ik_i$ with those of $q_lk_l$, where $C = AB^{\mathsf T}$"
    yield Chain(Var(SCORE), title="Pairings of normal numbers").through(
        (written_out(Var(SCORE)), put_in, algebra),
        (written_out(GENERAL), pairs, moments(LAWS)),
        (GENERAL, "double sums are traces", algebra),
    )
    yield Chain(E(SCORE), name="mean", title="The mean").through(
        (written_out(E(SCORE)), put_in, algebra),
        (TRACE + MEANS, "the covariance of a product, and the product of the means", moments(LAWS)),
    )
    pair = Cov(_component(MU_Q, A, i, "q"), _component(MU_K, B, l, "k"))
    title, entries = "The covariance of a component of each", r"the entries of $C = AB^{\mathsf T}$"
    yield Chain(pair, name="covariance", title=title).then(C, entries, moments(LAWS))


def experiment(derived: Derivation) -> Items:
    check, at = Check.sharing(laws=NUMBERS, tolerance=2.0), {d: 8, r: 16}
    yield check("variance", derived, at, control=True)
    far = of_deviation(29, because="the scores spread more than twice as far as their mean is from 0")
    yield check("mean", derived["mean"], at, tolerance=far)
    for row, column in ((1, 1), (1, 2), (2, 1), (2, 2)):
        yield check(f"covariance-q{row}-k{column}", derived["covariance"], {**at, i: row, l: column})
    yield Wrong("transposed", of="covariance-q1-k2", equals=CROSS[1, 0], says="{C} may be transposed")
    crossed, other_way = GENERAL.xreplace({SQUARE: CROSSED}), GENERAL.xreplace({OF_MEANS: OTHER_WAY})
    for name, of, value, says in (
        ("as-if-independent", "variance", OF_BOTH, "the dependence does not matter"),
        ("wrong-transpose", "variance", crossed, "{CROSSED} in place of {SQUARE}"),
        ("wrong-transpose-of-means", "variance", other_way, "{OTHER_WAY} in place of {OF_MEANS}"),
        ("mean-as-if-independent", "mean", MEANS, "the mean does not feel the dependence"),
    ):
        yield Wrong(name, of=of, equals=value, says=says)


CLAIM = Claim(
    headline="variance",
    statement="For jointly normal {q} and {k} with the covariances {C} of {q} with {k}, the variance of "
    "{score} is {main:end}; the mean is {mean:end}.",
    meaning="This formula applies once training has made queries and keys depend on each other. The "
    "dependence can lower the variance as well as raise it, for {SQUARE} may be negative. Where {C} is zero, "
    "the formula of the earlier chapters is recovered.",
    symbols={"C": Symbol("C")},
    assumptions=assume(mixed="Jointly normal vectors are what matrices make of independent normal numbers."),
    references=cite("isserlis1918"),
)
