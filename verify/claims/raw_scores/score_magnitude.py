"""The size of a typical score grows like the root of the dimension."""

from verify.spec import NORMAL_COMPONENTS, Abs, Chain, Check, Claim, Derivation, E, Integral, Items, Plot
from verify.spec import Wrong, algebra, cite, d, earlier, gamma, integral, moments, oo, pi, score, sqrt
from verify.spec.lemmas import CHI_SQUARE, SQUARES, of_normals, w

SIZE = E(Abs(score))
EXACT = 2 * gamma((d + 1) / 2) / (sqrt(pi) * gamma(d / 2))
ASYMPTOTE = sqrt(2 * d / pi)


def derive() -> tuple[Chain, ...]:
    tower = "given the query a score is normal, with the query’s length as deviation"
    given_query = sqrt(2 / pi) * E(sqrt(SQUARES)), tower, of_normals("conditioning")
    over_lengths = sqrt(2 / pi) * Integral(sqrt(w) * CHI_SQUARE, (w, 0, oo))
    exact = Chain(SIZE).through(
        given_query,
        (over_lengths, "the squared length is chi-square", of_normals("chi-square")),
        (EXACT, "integrated", integral()),
    )
    above = Chain(SIZE, name="above", title="From above").through(
        given_query,
        (sqrt(2 / pi) * sqrt(E(SQUARES)), "no variance is negative", of_normals("jensen"), "≤"),
        (ASYMPTOTE, "the mean square of each component is 1", moments(NORMAL_COMPONENTS)),
    )
    turned = Chain(EXACT, name="turned", title="The exact value from above").through(
        (SIZE, "the mean size", earlier(exact)),
        (ASYMPTOTE, "bounded", earlier(above), "≤"),
    )
    both, more = 2 * d / pi, {d: d + 1}
    below = Chain(SIZE, name="below", title="From below, by the size in one dimension more").through(
        (EXACT, "the mean size", earlier(exact)),
        (both / EXACT.subs(more), r"times that of one dimension more it is $2d_k/\pi$", algebra),
        (both / ASYMPTOTE.subs(more), "which is bounded", earlier(turned, at=more), "≥"),
    )
    return exact, above, turned, below


def experiment(derived: Derivation) -> Items:
    at = {d: 64}
    for size in (1, 2, 8, 64, 512):
        yield Check(f"magnitude-d{size}", derived, {d: size}, control=size == 64)
    yield Wrong("size-of-deviation", derived, at, equals=sqrt(d), says="a typical score is {root_d} in size")
    yield Wrong("proportional", derived, at, equals=d * sqrt(2 / pi), says="sizes grow like the dimension")
    yield Check("measured-above", derived["above"], at, sharper=0.97)
    yield Check("measured-below", derived["below"], at, sharper=1.03)
    yield Plot("sizes", "magnitude-d*", d, curves={"exact": derived.end, "{above:end}": ASYMPTOTE})


CLAIM = Claim(
    statement="For independent standard normal components, {main}, which approaches {above:end} from below "
    "and is at least {below:end}.",
    meaning="Scores grow, but not because vectors with more components align: their mean stays 0. What grows "
    "is their size, about 0.8 times the root of the dimension, half of them positive and half negative. A "
    "raw score of {magnitude-d64:prediction.2} in size is ordinary at {magnitude-d64:d_k} dimensions.",
    references=cite("dlmf5"),
)
