"""The variance of scores has a part within rows, which softmax sees, and one between, which it cannot."""

from sympy import Expr, Matrix, Rational, S, Symbol, eye, kronecker_product, symbols

from verify.spec import STANDARD, Chain, Check, Claim, Derivation, E, Family, Given, Index, Items, Line
from verify.spec import Named, Sum, Var, Within, Wrong, a, assume, d, e, earlier, i, j, k, l, m, moments, n
from verify.spec import numbers, of_deviation, over_components, q

r, c, g = Symbol("r", positive=True, integer=True), Index("c"), Index("g")
A, B, mu, nu = Given("A", d, r), Given("B", d, r), Given("mu", d), Given("nu", d)
z, w = Family("z", m, r), Family("w", n, r)
LAWS = {z: STANDARD[q], w: STANDARD[k]}


def query(at: Index) -> Expr:
    """Return a component of the query: its mean, and what a matrix makes of independent numbers."""
    return mu[at] + Sum(A[at, c] * z[a, c], (c, 1, r))


def score_with(key: Index, name: str) -> Expr:
    """Return the score of the query with a key, under a name."""
    of_key = nu[i] + Sum(B[i, e] * w[key, e], (e, 1, r))
    return Named(Symbol(name), over_components(query(i) * of_key))


def covariance(matrix: Given) -> Expr:
    """Return the covariance of components i and g of what a matrix makes of independent numbers."""
    return Sum(matrix[i, c] * matrix[g, c], (c, 1, r))


def form(name: str, pair: Expr) -> Named:
    """Return the sum over all pairs of components, under its name as a product of matrices."""
    return Named(Symbol(name), Sum(pair, (i, 1, d), (g, 1, d)))


SYMBOLS = symbols(r"\mu_q \mu_k \Sigma_q \Sigma_k")
SCORE, OTHER = score_with(j, r"q\cdot k"), score_with(l, r"q\cdot k'")
TRACE = form(r"\operatorname{tr}(\Sigma_q \Sigma_k)", covariance(A) * covariance(B))
BY_QUERY = form(r"\mu_q^{\mathsf T} \Sigma_k \mu_q", mu[i] * covariance(B) * mu[g])
BY_KEY = form(r"\mu_k^{\mathsf T} \Sigma_q \mu_k", nu[i] * covariance(A) * nu[g])
OF_KEYS = form(r"q^{\mathsf T} \Sigma_k q", query(i) * covariance(B) * query(g))
OF_MEAN = Named(Symbol(r"q^{\mathsf T} \mu_k"), over_components(query(i) * nu[i]))
"""Variance and mean of the scores of one query, given that."""


def derive() -> tuple[Chain, ...]:
    """Derive both parts from the products of two scores of one query, and their sum."""
    within = Chain(
        E(SCORE**2) - E(SCORE * OTHER),
        Line(E(OF_KEYS), "given the query, its scores are independent and vary like this", moments(LAWS)),
        Line(TRACE + BY_QUERY, "the mean of a quadratic form", moments(LAWS)),
        name="within",
        title="Within rows: the mean variance of the scores of one query",
    )
    between = Chain(
        E(SCORE * OTHER) - E(SCORE) * E(OTHER),
        Line(Var(OF_MEAN), "given the query, both scores have this mean", moments(LAWS)),
        Line(BY_KEY, "the variance of a linear form", moments(LAWS)),
        name="between",
        title="Between rows: the variance of the mean score of a query",
    )
    means = "the variance within a row, and what is left, for both scores have one mean"
    total = Chain(
        Var(SCORE),
        Line(within.end + between.start, means, moments(LAWS)),
        Line(within.end + between.end, "the variance between rows", earlier(between)),
        title="Both together",
    )
    return total, within, between


MIXING = {A: Matrix([[1, 0], [S.Half, 2]]), B: Matrix([[1, -1], [0, 2]])}
MEANS = {mu: Matrix([1, -S.Half]), nu: Matrix([S.Half, Rational(3, 2)])}
"""What makes two components of a query and of a key; there are four such groups."""


def experiment(derived: Derivation) -> Items:
    """Measure both parts and the total for means and covariances without any symmetry."""
    blocks = {family: kronecker_product(eye(4), matrix) for family, matrix in MIXING.items()} | MEANS
    laws = {family: numbers(matrix.tolist()) for family, matrix in blocks.items()}
    wide, at = Within(2.0), {d: 8, r: 8}
    within, between = derived["within"], derived["between"]
    for name, chain in (("within", within), ("between", between), ("total", derived.chains[0])):
        control = "biased-prediction" if name == "total" else ""
        yield Check(name, chain.start, at, equals=chain.end, laws=laws, tolerance=wide, control=control)
    says = "the keys’ mean makes rows vary, and the queries’ mean shifts them"
    yield Wrong("exchanged", of="within", equals=TRACE + BY_KEY, laws=laws, says=says)
    says, start, near = "rows are not shifted, whatever the means", between.start, of_deviation(130.25)
    yield Wrong("nothing-shifts", start, at, equals=0, laws=laws, tolerance=near, says=says)
    says = "it is the queries’ mean that shifts rows"
    yield Wrong("exchanged-shift", of="between", equals=BY_QUERY, laws=laws, says=says)
    says = "the scores of a row vary as much as all scores do"
    yield Wrong("all-is-seen", of="total", equals=TRACE + BY_QUERY, laws=laws, says=says)


CLAIM = Claim(
    title="The variance of scores has a part that softmax sees and a part that it cannot",
    statement="For independent {q} and {k} with means {mu_q}, {mu_k} and covariances {sigma_q}, {sigma_k}, "
    "{main:start} is the sum of the scores’ mean variance within a row, {within:end}, and the "
    "variance of the rows’ means, {between:end}, by which whole rows are shifted.",
    meaning="Softmax gives the same weights when all scores of a row are moved alike, so only the first "
    "part acts. Keys with a large common component make scores look widely spread, and a scale chosen by "
    "the total variance would be too small. An audit of real attention reports both parts.",
    symbols=dict(zip(("mu_q", "mu_k", "sigma_q", "sigma_k"), SYMBOLS, strict=True)),
    assumptions=assume(mixed="Queries and keys are what matrices make of independent components."),
)
