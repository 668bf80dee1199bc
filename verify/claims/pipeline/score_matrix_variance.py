"""Every entry of a score matrix has the dimension as its variance; a row's entries are dependent."""

from verify.spec import NORMAL_COMPONENTS, Chain, Chains, Check, Claim, Cov, Derivation, E, Items, Var, Within
from verify.spec import Wrong, a, algebra, b, cite, d, j, l, m, moments, n, score, score_of

D, SIDE = 16, 32
WHOLE, FIRST, LAST = {m: SIDE, n: SIDE}, {a: 1, j: 1}, {a: 2, j: 2}
# A score of the same query with another key, and a score of another query and key.
SAME, ELSEWHERE = score_of(a, l), score_of(b, l)
HEAVY = "products of squares have heavy tails"
OF_SCORES = Within(2.0, D, "the variance of a score")
OF_ROW = Within(2.5, 2 * D, "the covariance within a row", HEAVY)


def derive() -> Chains:
    components, squares = "independence, and the moments of the components", E(score**2) - E(score) ** 2
    law = moments(NORMAL_COMPONENTS)
    yield Chain(Var(score), title="Any entry").then(squares, "definition", algebra).then(d, components, law)
    for name, of, start, end in (
        ("row", "two entries of a row", Cov(score, SAME), 0),
        ("corners", "two entries that share nothing", Cov(score, ELSEWHERE), 0),
        ("squares", "the squares of two entries of a row", Cov(score**2, SAME**2), 2 * d),
        ("apart", "the squares of two that share nothing", Cov(score**2, ELSEWHERE**2), 0),
    ):
        chain = Chain(start, name=name, title=f"Covariance of {of}")
        yield chain.then(start.definition, "definition", algebra).then(end, components, law)


def experiment(derived: Derivation) -> Items:
    lone, many = Within(3.0, because="a matrix has but one such entry"), Within(2.5, because=HEAVY)
    for name, chain, places, within in (
        ("variance-first", derived, FIRST, lone),
        ("variance-last", derived, LAST, lone),
        ("covariance-of-corners", derived["corners"], {**FIRST, b: 2, l: 2}, OF_SCORES),
    ):
        yield Check(name, chain, {d: D, **places}, tolerance=within, shape={m: 2, n: 2})
    for name, chain, within in (
        ("variance-all", derived, Within(2.0)),
        ("covariance-in-row", derived["row"], OF_SCORES),
        ("squares-in-row", derived["squares"], many),
        ("squares-apart", derived["apart"], OF_ROW),
    ):
        yield Check(name, chain, {d: D}, tolerance=within, shape=WHOLE, control=name == "variance-all")
    level, squares = derived.end.subs(d, D), derived["squares"]
    says, of_row = "the entries of a row are independent, so their squares are uncorrelated", OF_ROW
    yield Wrong("row-is-independent", squares, {d: D}, equals=0, tolerance=of_row, shape=WHOLE, says=says)
    yield Wrong("times-the-matrix", of="variance-all", equals=SIDE * level, says="larger matrices vary more")
    yield Wrong("row-is-correlated", of="covariance-in-row", equals=level / 2, says="rows are correlated")
    says = "squares go together as those within a row, wherever they stand"
    yield Wrong("all-squares-go-together", of="squares-apart", equals=squares.end, says=says)


CLAIM = Claim(
    statement="For independent standard normal components, every entry of a score matrix has the variance "
    "{main:end}. Two entries that share a query are uncorrelated, but their squares have covariance "
    "{squares:end}; the squares of entries that share neither are uncorrelated.",
    meaning="The variance of the matrix is that of its entries, whatever its size, and it comes from the "
    "dimension of queries and keys. But its entries are not as many independent observations: treating them "
    "so makes intervals far too short, which is why this tool takes whole matrices as its units.",
    references=cite("hoeffding1948"),
)
