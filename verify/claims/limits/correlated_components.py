"""Correlated components make the variance outgrow the dimension."""

from verify.claims.limits.shared.mixtures import A, B, c, covariance, four_blocks, over_pairs, r, written_out
from verify.spec import STANDARD, Chain, Chains, Check, Claim, Derivation, E, Family, Items, Matrix, Named
from verify.spec import Plot, Rational, S, Sum, Symbol, Var, Wrong, a, algebra, assume, d, e, i, j, k, l, m
from verify.spec import moments, n, over_components, q, sqrt

rho, RHO = Symbol("rho", positive=True), Rational(1, 4)
x, y = Family("x", m), Family("y", n)
# The own part of a component is q_i, the part that all of a query share x; alike for keys and y.
LAWS = {**STANDARD, x: STANDARD[q], y: STANDARD[k]}
COUNTED_ONCE = d * (1 + (d - 1) * rho)  # the correlation enters squared
z, w = Family("z", m, r), Family("w", n, r)
# Matrices that make two dimensions of a query and of a key; the others are made alike.
MIXING = Matrix([[1, 0], [S.Half, 2]]), Matrix([[1, -1], [0, 2]])
# Components of variance 1 that have correlation ρ with their neighbours through their shared part.
OF_QUERY, OF_KEY = (
    sqrt(1 - rho) * own + sqrt(rho) * shared for own, shared in ((q[a, i], x[a]), (k[j, i], y[j]))
)
EQUICORRELATED = over_components(OF_QUERY * OF_KEY)
MIXTURE = over_components(Sum(A[i, c] * z[a, c], (c, 1, r)) * Sum(B[i, e] * w[j, e], (e, 1, r)))
TRACE = over_pairs(r"\operatorname{tr}(\Sigma_q \Sigma_k)", covariance(A, A) * covariance(B, B))


def derive() -> Chains:
    query, key = (part.xreplace({i: l}) for part in (OF_QUERY, OF_KEY))
    alike, unlike = E(OF_QUERY**2) * E(OF_KEY**2), E(OF_QUERY * query) * E(OF_KEY * key)
    yield Chain(Var(EQUICORRELATED), title="Pairs of components", given=(rho <= 1,)).through(
        (E(EQUICORRELATED**2), "its mean is 0", moments(LAWS)),
        (d * alike + d * (d - 1) * unlike, "equal and different components apart", moments(LAWS)),
        (d + d * (d - 1) * rho**2, r"variances are 1, and covariances $\rho$", moments(LAWS)),
        (d * (1 + (d - 1) * rho**2), "collected", algebra),
    )
    score, covariances = Named(Symbol(r"q\cdot k"), MIXTURE), r"$AA^{\mathsf T}$ and $BB^{\mathsf T}$"
    yield Chain(Var(score), name="trace", title="Any covariances of a centred query and key").through(
        (Var(MIXTURE), "$q = Az$ and $k = Bw$, put in", algebra),
        (written_out(TRACE), f"the covariances are {covariances}", moments({z: STANDARD[q], w: STANDARD[k]})),
        (TRACE, "a double sum is a trace", algebra),
    )


def experiment(derived: Derivation) -> Items:
    for size in (2, 8, 64):
        yield Check(f"variance-d{size}", derived, {d: size, rho: RHO}, tolerance=2.0, control=size == 2)
    laws = {A: four_blocks(MIXING[0]), B: four_blocks(MIXING[1])}
    yield Check("any-covariances", derived["trace"], {d: 8, r: 8}, laws=laws, tolerance=2.0)
    yield Wrong("as-if-independent", of="variance-d64", equals=d, says="the variance is {d_k} all the same")
    says = "the correlation adds its own size, not its square: {COUNTED_ONCE}"
    yield Wrong("correlation-counted-once", of="variance-d64", equals=COUNTED_ONCE, says=says)
    says = "covariances do not matter: the variance adds up the products of the components' variances"
    of_query, of_key = ((mixing * mixing.T).diagonal() for mixing in MIXING)
    yield Wrong("variances-alone", of="any-covariances", equals=4 * of_query.dot(of_key), says=says)
    words = "variance of {score}, at a correlation of one quarter"
    curves = {"derived": derived.end.subs(rho, RHO)}
    yield Plot("leaves-the-line", "variance-d*", d, y=words, curves=curves, wrong={"independent": d})


CLAIM = Claim(
    statement="For independent, centred {q} and {k} with covariance matrices {sigma_q} and {sigma_k}, "
    "{trace}; with unit variances and correlation {rho} between any two components of a vector, it is "
    "{main:end}.",
    meaning="The root of the dimension suffices while components are uncorrelated. Real activations occupy "
    "fewer directions than they have components; with a correlation of one quarter the variance at "
    "{variance-d64:d_k} dimensions is {variance-d64:prediction}, about five times too much for the root. "
    "What counts is not {d_k} but {trace:end}, which can be measured.",
    symbols={f"sigma_{of}": Symbol(rf"\Sigma_{of}") for of in "qk"},
    assumptions=assume(mixed="Query and key of any covariances are what matrices make of such components."),
)
