"""Rotary positions leave the variance of scores unchanged and rotate their mean."""

from verify.spec import STANDARD, Chain, Chains, Check, Claim, Derivation, E, Expr, Family, Given, Index
from verify.spec import Items, Line, Matrix, Named, S, Sum, Symbol, Var, Wrong, a, algebra, cite, cos, j, k, m
from verify.spec import moments, n, numbers, of_deviation, q, sigma_k, sigma_q, sin, sqrt, symbols

PAIRS, MIXED = 8, 0.8  # pairs of components of a head, and the correlation within each
P, g, TWO = Symbol("P", positive=True, integer=True), Index("g"), S(2)
ALL = (g, 1, P)  # the pairs of a vector
x, y = Family("x", m, P, TWO), Family("y", n, P, TWO)
LAWS = {x: STANDARD[q], y: STANDARD[k]}
mu, nu, theta = Given("mu", P, TWO), Given("nu", P, TWO), Given("theta", P)  # means, and angles a position
t, c, rho = symbols("t c rho", real=True)  # how far the query is beyond the key, which is at c; a correlation
# The angles of the original, and means that are those of every pair.
ANGLES = {theta: numbers([10000.0 ** (-pair / PAIRS) for pair in range(PAIRS)], "10000 to the power −i/8")}
APART = {**ANGLES, mu: numbers((0.5, -1.0)), nu: numbers((1.0, -0.5))}


def turn(angle: Expr) -> Matrix:
    """Return the rotation of a pair of components by an angle."""
    return Matrix([[cos(angle), -sin(angle)], [sin(angle), cos(angle)]])


def turned_score(name: str, query: Matrix, key: Matrix) -> Named:
    """Return the score of a query and a key, each pair of which is turned by its angle at their positions."""
    return Named(Symbol(name), Sum((turn((c + t) * theta[g]) * query).dot(turn(c * theta[g]) * key), ALL))


QUERY, KEY = (Matrix([family[at, g, e] for e in (1, 2)]) for family, at in ((x, a), (y, j)))
OF_QUERY, OF_KEY = (Matrix([means[g, e] for e in (1, 2)]) for means in (mu, nu))
MIX = Matrix([[1, 0], [rho, sqrt(1 - rho**2)]])  # makes two independent components two of correlation ρ
SCORE = turned_score(r"q'\cdot k'", OF_QUERY + sigma_q * QUERY, OF_KEY + sigma_k * KEY)
TIED = turned_score(r"u'\cdot w'", MIX * QUERY, MIX * KEY)


def derive() -> Chains:
    alpha, beta = symbols("alpha beta", real=True)
    first, other = (Matrix(symbols(pair, real=True)) for pair in ("q_1 q_2", "k_1 k_2"))
    means = sigma_k**2 * OF_QUERY.dot(OF_QUERY) + sigma_q**2 * OF_KEY.dot(OF_KEY)
    both, put_in = Sum(2 * sigma_q**2 * sigma_k**2 + means, ALL), "the turned query and key, put in"
    yield Chain(Var(SCORE), title="Variance").through(
        (Var(SCORE.definition), put_in, algebra),
        (both, "the angle cancels: cos² + sin² = 1", moments(LAWS)),
    )
    yield Chain(E(SCORE), name="mean", title="Mean").through(
        (E(SCORE.definition), put_in, algebra),
        (Sum(OF_QUERY.dot(turn(-t * theta[g]) * OF_KEY), ALL), "the mean key is turned", moments(LAWS)),
    )
    apart = Line(first.dot(turn(beta - alpha) * other), "only the distance counts", algebra)
    title = "What a pair adds to a score of two positions, or to a squared length, at a distance of 0"
    yield Chain((turn(alpha) * first).dot(turn(beta) * other), apart, name="relative", title=title)
    title = "Variance, both components of a pair of $u$ and of $w$ correlated"
    yield Chain(Var(TIED), name="correlated", title=title, given=(rho >= -1, rho <= 1)).through(
        (Var(TIED.definition), put_in, algebra),
        (Sum(2 * (1 + rho**2 * cos(2 * t * theta[g])), ALL), "the angle stays", moments(LAWS)),
    )


def experiment(derived: Derivation) -> Items:
    mean, tied, near = derived["mean"], derived["correlated"], of_deviation(36)
    with_means, correlated = Check.sharing(laws=APART), Check.sharing(laws=ANGLES)
    for distance in (0, 1, 10):
        here = {P: PAIRS, c: 5, t: distance}
        at = {**here, sigma_q: 1, sigma_k: 1}
        yield with_means(f"variance-at{distance}", derived, at, control=distance == 1)
        yield with_means(f"mean-at{distance}", mean, at, tolerance=near)
        yield correlated(f"correlated-at{distance}", tied, {**here, rho: MIXED})
    says, at_once = "the variance is lower by what the means lose", mean.end.subs(t, 0)
    lower = derived.end - at_once + mean.end
    yield Wrong("variance-turns", of="variance-at10", equals=lower, says=says)
    yield Wrong("mean-stays", of="mean-at10", equals=at_once, says="the mean is the same at every distance")
    says = "keys turn against the queries, not with them"
    yield Wrong("turned-the-other-way", of="mean-at1", equals=mean.end.subs(t, -t), says=says)
    says, still = "correlated pairs, too, keep their variance", tied.end.subs(t, 0)
    yield Wrong("variance-stays", of="correlated-at10", equals=still, says=says)


CLAIM = Claim(
    statement="Turning pairs of components by an angle in proportion to the position keeps every length, and "
    "positions enter scores through their distance alone. For independent components, with one variance for "
    "all of a vector and any means, the variance of a score is the same at every distance; its mean is that "
    "of the mean query and the turned mean key. Where in queries and in keys the two components of a pair, "
    "of mean zero and unit variance, have correlation {rho}, the variance at the distance {t} is "
    "{correlated:end}, {theta} being the angle of a pair from one position to the next.",
    meaning="The divisor {root_d} needs no change for rotary positions at the start of training. What "
    "depends on the distance is the mean: a head can prefer near keys or far ones once queries and keys have "
    "means. Where a pair is correlated in both, the variance depends on the distance too.",
    symbols={"theta": theta[g]},
    references=cite("su2021"),
)
