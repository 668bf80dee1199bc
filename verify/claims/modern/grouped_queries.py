"""Sharing keys among heads leaves the variance of every head's scores unchanged."""

from verify.spec import NORMAL_COMPONENTS, STANDARD, Chain, Chains, Check, Claim, Cov, Derivation, Items, Line
from verify.spec import Var, Within, Wrong, b, cite, d, earlier, j, l, moments, score, score_of

# The correlation of squared scores of two heads: with one key, and with a key each.
SHARED, OWN = (Cov(score**2, score_of(b, key) ** 2) / Var(score**2) for key in (j, l))


def derive() -> Chains:
    standard, normal = moments(STANDARD), moments(NORMAL_COMPONENTS)
    yield Chain(Var(score)).then(d, "products of components have mean 0 and variance 1", standard)
    apart, title = "both queries have mean 0 and are independent", "Covariance of the scores of two heads"
    yield Chain(Cov(score, score_of(b, j)), name="products", title=title).then(0, apart, standard)
    squares = Chain(Cov(score**2, score_of(b, j) ** 2), name="squares", title="Covariance of their squares")
    squares = squares.then(2 * d, "both squares have the key's length in them", normal)
    fourth = Line(2 * d * (d + 3), "fourth moments of both", normal)
    square = Chain(Var(score**2), fourth, name="square", title="Variance of a square")
    yield from (squares, square)
    yield Chain(SHARED, name="correlation", title="Correlation of the squared scores of two heads").through(
        (2 * d / Var(score**2), "the covariance", earlier(squares)),
        (1 / (d + 3), "the variance", earlier(square)),
    )
    yield Chain(OWN, Line(0, "nothing is shared", normal), name="own", title="The same for keys of their own")


def experiment(derived: Derivation) -> Items:
    products, correlation = derived["products"], derived["correlation"]
    near = Within(0.5, 1, "a correlation of 1", "one near 0 is no easier to measure than any other")
    for size in (1, 2, 8):
        at, of_score = {d: size}, Within(1, size, "the variance of a score")
        yield Check(f"variance-d{size}", derived, at, control=size == 8)
        yield Check(f"product-d{size}", products, at, tolerance=of_score)
        yield Check(f"squares-d{size}", SHARED, at, equals=correlation.end, tolerance=near)
    yield Wrong("twice-the-variance", of="variance-d8", equals=2 * d, says="shared keys double the variance")
    yield Wrong("heads-agree", of="product-d1", equals=d, says="heads with one key have one score")
    yield Wrong("independent", of="squares-d1", equals=0, says="scores of two heads are independent")
    says = "heads with keys of their own go together as much"
    yield Wrong("own-keys", OWN, {d: 1}, equals=correlation.end, tolerance=near, says=says)


CLAIM = Claim(
    statement="For independent standard normal components, a head's scores have variance {main:end} however "
    "many heads share its keys. Scores of two heads with one key are uncorrelated, but not independent: "
    "their squares have covariance {squares:end}, each having variance {square:end}, and so the correlation "
    "{correlation:end}.",
    meaning="Grouped queries need no scale of their own: a score does not know how many other queries its "
    "key meets. What heads share is the length of the key: a long one makes the scores of all of them large, "
    "of either sign. In eight dimensions that is a correlation of {squares-d8:prediction.2%} between "
    "squares, at the start of training.",
    references=cite("ainslie2023"),
)
