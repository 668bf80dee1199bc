"""The variance of scores has a part that softmax sees and a part that it cannot."""

from verify.spec import STANDARD, Chain, Check, Claim, Derivation, E, Expr, Family, Given, Index, Items
from verify.spec import Matrix, Named, Rational, S, Sum, Symbol, Var, Wrong, a, assume, d, e, earlier, eye, i
from verify.spec import j, k, kronecker_product, l, m, moments, n, numbers, of_deviation, over_components, q

r, c, g = Symbol("r", positive=True, integer=True), Index("c"), Index("g")
A, B, mu, nu = Given("A", d, r), Given("B", d, r), Given("mu", d), Given("nu", d)
z, w = Family("z", m, r), Family("w", n, r)
LAWS = {z: STANDARD[q], w: STANDARD[k]}
# Matrices that make two components of a query and of a key, of which there are four such groups; their means.
MIXING = {A: Matrix([[1, 0], [S.Half, 2]]), B: Matrix([[1, -1], [0, 2]])}
MEANS = {mu: Matrix([1, -S.Half]), nu: Matrix([S.Half, Rational(3, 2)])}


def query(at: Index) -> Expr:
    """Return a component of the query: its mean, and a matrix times independent numbers."""
    return mu[at] + Sum(A[at, c] * z[a, c], (c, 1, r))


SCORE, OTHER = (
    Named(Symbol(name), over_components(query(i) * (nu[i] + Sum(B[i, e] * w[key, e], (e, 1, r)))))
    for key, name in ((j, r"q\cdot k"), (l, r"q\cdot k'"))
)
# Covariances of components i and g of a query, and of a key.
OF_QUERIES, OF_KEYS = (Sum(matrix[i, c] * matrix[g, c], (c, 1, r)) for matrix in (A, B))
TRACE, BY_QUERY, BY_KEY, GIVEN_QUERY = (
    Named(Symbol(name), Sum(pair, (i, 1, d), (g, 1, d)))
    for name, pair in (
        (r"\operatorname{tr}(\Sigma_q \Sigma_k)", OF_QUERIES * OF_KEYS),
        (r"\mu_q^{\mathsf T} \Sigma_k \mu_q", mu[i] * OF_KEYS * mu[g]),
        (r"\mu_k^{\mathsf T} \Sigma_q \mu_k", nu[i] * OF_QUERIES * nu[g]),
        (r"q^{\mathsf T} \Sigma_k q", query(i) * OF_KEYS * query(g)),
    )
)
OF_MEAN = Named(Symbol(r"q^{\mathsf T} \mu_k"), over_components(query(i) * nu[i]))


def derive() -> tuple[Chain, ...]:
    moment = moments(LAWS)
    within = Chain(E(SCORE**2) - E(SCORE * OTHER), name="within", title="Within rows").through(
        (E(GIVEN_QUERY), "given the query, its scores are independent and vary like this", moment),
        (TRACE + BY_QUERY, "the mean of a quadratic form", moment),
    )
    between = Chain(E(SCORE * OTHER) - E(SCORE) * E(OTHER), name="between", title="Between rows").through(
        (Var(OF_MEAN), "given the query, both scores have this mean", moment),
        (BY_KEY, "the variance of a linear form", moment),
    )
    total = Chain(Var(SCORE), title="Both together").through(
        (within.end + between.start, "what is left, for both scores have one mean", moment),
        (within.end + between.end, "the variance between rows", earlier(between)),
    )
    return total, within, between


def experiment(derived: Derivation) -> Items:
    blocks = {family: kronecker_product(eye(4), matrix) for family, matrix in MIXING.items()} | MEANS
    laws = {family: numbers(matrix.tolist()) for family, matrix in blocks.items()}
    within, between, at = derived["within"], derived["between"], {d: 8, r: 8}
    check = Check.sharing(at=at, laws=laws, tolerance=2.0)
    yield from (check("within", within), check("between", between))
    yield check("total", derived, control="biased-prediction")
    yield Wrong("exchanged", of="within", equals=TRACE + BY_KEY, says="the keys’ mean makes rows vary")
    says, near = "rows are not shifted, whatever the means", of_deviation(130.25)
    yield Wrong("nothing-shifts", between.start, at, equals=0, laws=laws, tolerance=near, says=says)
    yield Wrong("exchanged-shift", of="between", equals=BY_QUERY, says="the queries’ mean shifts rows")
    yield Wrong("all-is-seen", of="total", equals=TRACE + BY_QUERY, says="rows vary as all scores do")


CLAIM = Claim(
    statement="For independent {q} and {k} with means {mu_q}, {mu_k} and covariances {sigma_q}, {sigma_k}, "
    "{main:start} is the sum of the scores’ mean variance within a row, {within:end}, and the variance of "
    "the rows’ means, {between:end}, by which whole rows are shifted.",
    meaning="Softmax gives the same weights when all scores of a row are moved alike, so only the first part "
    "acts. Keys with a large common component make scores look widely spread, and a scale chosen by the "
    "total variance would be too small.",
    symbols={f"sigma_{of}": Symbol(rf"\Sigma_{of}") for of in "qk"},
    assumptions=assume(mixed="Queries and keys are what matrices make of independent components."),
)
