"""Whether scaled scores start with unit variance is decided by the initialisation."""

from verify.spec import NORMAL, STANDARD, UNIFORM, Chain, Chains, Check, Claim, Derivation, Dot, E, Expr
from verify.spec import Family, Given, Index, Items, Named, Rational, Sum, Symbol, Var, Wrong, a, algebra, b
from verify.spec import cite, d, e, earlier, fact, i, l, m, moments, over_components, q, sqrt, substitute

# Width of a token and variance of the entries of a projection.
D, v = Symbol("D", positive=True, integer=True), Symbol("v", positive=True)
c, x, W, U = Index("c"), Family("x", m, D), Family("W", D, d), Family("U", D, d)
GIVEN, ENTRIES = Given("X", m, D), {W: STANDARD[q], U: STANDARD[q]}
SIZES = {D: 128, d: 32}
# Each in words, and the variance of an entry, Xavier's being 2/(inputs + outputs).
INITIALISATIONS = {
    "fused-xavier": ("Xavier, one matrix for all heads", 2 / (D + D)),
    "per-head-xavier": ("Xavier, one matrix a head", 2 / (D + d)),
    "packed-xavier": ("Xavier, queries, keys and values in one matrix", 2 / (D + 3 * D)),
    "he": ("He", 2 / D),
    "linear-default": ("uniform on ±1/√D, a common default of linear layers", Rational(1, 3) / D),
}


def _normalised(token: Index, place: Index) -> Expr:
    """Return an entry of a token whose squared length is D."""
    return x[token, place] * sqrt(D / Dot(x, token, x, token))


def _score(query: Expr, key: Expr) -> Expr:
    """Return the score of two tokens, given by their entries at e and c."""
    of_query = Sum(sqrt(v) * W[e, i] * query, (e, 1, D))
    return over_components(of_query * Sum(sqrt(v) * U[c, i] * key, (c, 1, D)))


TOKENS = {GIVEN[a, l]: _normalised(a, l)}
OF_GIVEN, SCORE = _score(GIVEN[a, e], GIVEN[b, c]), _score(_normalised(a, e), _normalised(b, c))


def derive() -> Chains:
    lengths = Sum(GIVEN[a, e] ** 2, (e, 1, D)) * Sum(GIVEN[b, c] ** 2, (c, 1, D))
    of_tokens = Sum(_normalised(a, e) ** 2, (e, 1, D)) * Sum(_normalised(b, c) ** 2, (c, 1, D))
    mean = Chain(E(OF_GIVEN / sqrt(d)), name="mean", title="The mean, given the tokens")
    mean = mean.then(0, "both projections have entries of mean 0", moments(ENTRIES))
    weighted = "independent entries, weighted by those of a token"
    square = Chain(E(OF_GIVEN**2 / d), name="square", title="The mean square, given the tokens")
    square = square.then(v**2 * lengths, weighted, moments(ENTRIES))
    variance = Chain(Var(Named(Symbol(r"q\cdot k"), SCORE) / sqrt(d))).through(
        (E(SCORE**2 / d) - E(SCORE / sqrt(d)) ** 2, "definition", algebra),
        (E(SCORE**2 / d), "the mean, given the tokens, averaged", earlier(mean, at=TOKENS)),
        (E(v**2 * of_tokens), "the mean square, averaged", earlier(square, at=TOKENS)),
        (v**2 * D**2, "tokens have the squared length D", algebra),
    )
    title, entry = "Xavier’s initialisation, head by head", substitute({v: 2 / (D + d)})
    by_head = Chain(variance.end, name="by-head", title=title, defines="the same variance")
    yield from (mean, square, variance, by_head.then(4 / (1 + d / D) ** 2, "$v = 2/(D + d_k)$", entry))


def experiment(derived: Derivation) -> Items:
    for name, (words, entry) in INITIALISATIONS.items():
        at, law = {**SIZES, v: entry.subs(SIZES)}, NORMAL if name == "he" else UNIFORM
        check, laws, usual = f"{name}-square", {W: law, U: law}, name == "linear-default"
        yield Check(check, derived, at, laws=laws, tolerance=2.0, shape={m: 64}, control=usual)
        if name in ("per-head-xavier", "packed-xavier", "he"):
            yield Wrong(f"{name}-is-one", of=check, equals=1, says=f"{words}: the variance is {{value}}")
        yield fact(f"{name}-variance", f"scaled variance, {words}", derived.end.subs(v, entry).subs(SIZES))


CLAIM = Claim(
    statement="Different tokens of squared length {D}, as layer normalisation leaves them, sent through "
    "independent projections with centred entries of variance {v}, have {main}: {fused-xavier-variance} for "
    "Xavier's initialisation of one square matrix, {by-head:end} head by head, {packed-xavier-variance} for "
    "queries, keys and values packed together, {he-variance} for He's, {linear-default-variance} for a "
    "uniform law on either side of zero up to one over the root of {D}.",
    meaning="The assumption of unit components is a statement about the projections. Common defaults differ "
    "in the variance of scaled scores from {linear-default-variance} to {he-variance}, from a softmax that "
    "starts almost even to one that is already sharp.",
    references=cite("glorot2010", "he2015"),
)
