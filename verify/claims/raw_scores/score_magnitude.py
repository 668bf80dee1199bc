"""E|q·k| grows like the root of the dimension."""

from sympy import Abs, Integral, Rational, gamma, oo, pi, sqrt

from verify.spec import NORMAL_COMPONENTS, Chain, Check, Claim, Computed, Derivation, E, Items, Line, Plot
from verify.spec import Wrong, algebra, cite, d, earlier, integral, moments, score
from verify.spec.score_law import CHI_SQUARE, DENSITY, MIXTURE, SQUARES, basset, of_normals, w, z

DIMENSIONS = (1, 2, 8, 64, 512)
SIZE = E(Abs(score))
EXACT = 2 * gamma((d + 1) / 2) / (sqrt(pi) * gamma(d / 2))
ASYMPTOTE = sqrt(2 * d / pi)
LENGTH = sqrt(SQUARES)


def derive() -> tuple[Chain, ...]:
    """Derive the mean size by averaging over keys first, and from the exact density; bounds on both sides."""
    tower = "given the query a score is normal, with the query’s length as deviation"
    given_query = Line(sqrt(2 / pi) * E(LENGTH), tower, of_normals("conditioning"))
    of_length, of_size = Integral(sqrt(w) * CHI_SQUARE, (w, 0, oo)), (z, 0, oo)
    chi_square = of_normals("chi-square")
    exact = Chain(
        SIZE,
        given_query,
        Line(sqrt(2 / pi) * of_length, "the squared length is chi-square", chi_square),
        Line(EXACT, "integrated", integral()),
    )
    mixture, halves = basset(), "twice the positive half of a mixture of normal laws"
    by_density = (
        Chain(SIZE, name="by-density", title="From the exact density")
        .then(Integral(2 * z * MIXTURE, of_size), halves, chi_square)
        .then(Integral(2 * z * DENSITY, of_size), "the exact density", earlier(mixture))
        .then(EXACT, "integrated", integral())
    )
    length = (
        Chain(E(LENGTH), name="length", title="The mean length of a query")
        .then(sqrt(E(SQUARES)), "no variance is negative", of_normals("jensen"), "≤")
        .then(sqrt(d), "the mean square of each component is 1", moments(NORMAL_COMPONENTS))
    )
    bounded = Line(ASYMPTOTE, "the length’s bound", earlier(length), "≤")
    above = Chain(SIZE, given_query, bounded, name="above", title="From above")
    mean, from_above = (
        Line(SIZE, "the mean size", earlier(exact)),
        Line(ASYMPTOTE, "bounded", earlier(above), "≤"),
    )
    turned = Chain(EXACT, mean, from_above, name="turned", title="The exact value from above")
    both, more = 2 * d / pi, {d: d + 1}
    below = (
        Chain(SIZE, name="below", title="From below, by the size in one dimension more")
        .then(EXACT, "the mean size", earlier(exact))
        .then(both / EXACT.subs(more), r"times that of one dimension more it is $2d_k/\pi$", algebra)
        .then(both / ASYMPTOTE.subs(more), "which is bounded", earlier(turned, at=more), "≥")
    )
    return exact, mixture, by_density, length, above, turned, below


def exact_size(dimension: int) -> float:
    """Return the derived mean size in so many dimensions."""
    return float(EXACT.subs(d, dimension))


def experiment(derived: Derivation) -> Items:
    """Measure the mean size over the dimensions, and hold it against its bounds at 64."""
    for size in DIMENSIONS:
        named = size == 64
        yield Check(f"magnitude-d{size}", SIZE, {d: size}, equals=derived.end, control=named)
    says = "a typical score has the size of its standard deviation, {root_d}"
    yield Wrong("size-of-deviation", SIZE, {d: 64}, equals=sqrt(d), says=says)
    says = "sizes grow in proportion to the dimension, to {value} here"
    yield Wrong("proportional", SIZE, {d: 64}, equals=d * sqrt(2 / pi), says=says)
    above, below = derived["above"].end, derived["below"].end
    most, least, true = above.subs(d, 64), below.subs(d, 64), exact_size(64)
    yield Check("measured-above", SIZE, {d: 64}, at_most=above, sharper=0.97, sharper_truth=true)
    yield Check("measured-below", SIZE, {d: 64}, at_least=below, sharper=1.03, sharper_truth=true)
    yield Computed("upper-bound", SIZE, exact_size, (64,), at_most=most, settings={"d_k": 64})
    yield Computed("lower-bound", SIZE, exact_size, (64,), at_least=least, settings={"d_k": 64})
    less, more = most * Rational(99, 100), least * Rational(101, 100)
    says = "the upper bound holds with one per cent less"
    yield Wrong("upper-bound-lower", of="upper-bound", at_most=less, says=says)
    says = "the lower bound holds with one per cent more"
    yield Wrong("lower-bound-higher", of="lower-bound", at_least=more, says=says)
    yield Plot(
        "sizes",
        "magnitude-d*",
        over=d,
        title="A typical raw score grows like the root of the dimension",
        alt="The measured mean size of a score lies on the exact curve, which from a few dimensions on "
        "is the root of two d over pi.",
        curves={"exact": derived.end, "{above:end}": ASYMPTOTE},
    )


CLAIM = Claim(
    title="The size of a typical score grows like the root of the dimension",
    statement="For independent standard normal components, {main}, which approaches {above:end} from below "
    "and is at least {below:end}.",
    meaning="Scores grow, but not because vectors with more components align: their mean stays 0. What "
    "grows is their size, about 0.8 times the root of the dimension, half of them positive and half "
    "negative. A raw score of {magnitude-d64:prediction.2} in size is ordinary at {magnitude-d64:d_k} "
    "dimensions.",
    references=cite("dlmf5"),
)
