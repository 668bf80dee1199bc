"""Whether gradients vanish or explode without scaling: the typical row and the root mean square disagree."""

from collections.abc import Callable, Iterator
from itertools import product

from sympy import Expr, Float, Limit, Rational, S, Symbol, sqrt

from verify.claims.gradients.shared.weights import squared_norm
from verify.spec import NORMAL_COMPONENTS, ROUNDING, Chain, Check, Claim, Computed, Derivation, Dot, E, Figure
from verify.spec import Findings, Items, Law, Quantile, Softmax, Threshold, Within, Wrong, a, assume, cited, d
from verify.spec import d_v, fact, figures as draw, i, j, k, l, limit, moments, n, over_components, over_keys
from verify.spec import q, score, squares, substitute, u, v
from verify.spec.arrays import loops
from verify.spec.integrals import ON_PAPER, PRECISE, integrated

Place = tuple[int, int]
"""A number of keys and a dimension."""

FEW: tuple[Place, ...] = ((16, 4), (16, 16), (16, 64), (16, 128), (16, 256))
MANY: tuple[Place, ...] = ((128, 64), (128, 256), (128, 768), (1024, 64))
DEAR: tuple[Place, ...] = ((128, 512), (128, 1024), (1024, 256), (1024, 2048))
"""Only for the deep profile."""
HIGH, VAST = FEW[-1], (16, 1024)
"""Where root mean squares are compared beyond the crossing, and where hardly anything typical is left."""
SMALLER_FROM = {16: 128, 128: 512, 1024: 2048}
"""From which dimension on the typical gradient is held to be the smaller one unscaled, by number of keys."""

c, t = Symbol("c", positive=True), Symbol("t", positive=True)
SCALE = 0.25
"""The scale at which array code is compared with loops."""

LETTERS = {"queries": "Q", "keys": "K", "values": "V"}
LENGTH, UNIT = Dot(q, a, q, a), Law("mean 0 and variance 1", (S.One, S.Zero, S.One))


def sent(weight: Expr) -> Expr:
    """Return what reaches score j, of weights of which this is the one of key j."""
    gap = over_keys(weight.xreplace({j: l}) * Dot(u, a, v, l), l)
    return weight * (Dot(u, a, v, j) - gap)


def queries(scale: Expr, size: Expr = S.One) -> Expr:
    """Return the squared gradient of a query, where its components are multiplied by a size."""
    of_scores = sent(Softmax(scale * size * score, j))
    return over_components((scale * over_keys(of_scores * k[j, i])) ** 2)


def keys(scale: Expr) -> Expr:
    """Return the squared gradient that one query sends to all keys."""
    return scale**2 * LENGTH * over_keys(sent(Softmax(scale * score, j)) ** 2)


def values(scale: Expr) -> Expr:
    """Return the squared gradient that one query sends to all values."""
    return squares(scale * score) * Dot(u, a, u, a)


def rms(path: Callable[[Expr], Expr]) -> Expr:
    """Return the ratio of root mean squares, at scale 1 over scale c."""
    return sqrt(E(path(S.One)) / E(path(c)))


MEDIANS = sqrt(Quantile(queries(S.One), S.Half) / Quantile(queries(c), S.Half))


def derive() -> tuple[Chain, ...]:
    """Derive the ratio where scores hardly vary, and that of mean squares at any size."""
    even = (Dot(u, a, v, j) - over_keys(Dot(u, a, v, l), l) / n) / n
    some = over_components((c * over_keys(even * k[j, i])) ** 2) > 0
    both = "both sums over keys tend to that of even attention; the factor before the keys is left"
    small = (
        Chain(
            Limit(sqrt(queries(S.One, t)) / sqrt(queries(c, t)), t, 0),
            title=r"One query’s gradient $c\sum_j\delta_j k_j$ at scale 1, over that at scale $c$",
        )
        .then(1 / c, both, limit(given=(some,)))
        .then(sqrt(d), r"at the scale $c = 1/\sqrt{d_k}$", substitute({c: 1 / sqrt(d)}))
    )
    vanishing = Chain(
        Limit(sent(Softmax(t * score, j)), t, 0),
        name="even",
        title="What reaches the scores when they hardly vary",
    ).then(even, "softmax of vanishing scores is even: every weight is one in so many", limit())
    return small, vanishing, of_queries(), *of_keys_and_values()


def of_queries() -> Chain:
    """Derive the mean square of a query's gradient, given the lengths of the queries."""

    def spread(scale: Expr) -> Expr:
        weight = Softmax(scale * score, j)
        mean = over_keys(weight.xreplace({j: l}) * k[l, i], l)
        return E(over_components(over_keys(weight**2 * (k[j, i] - mean) ** 2)))

    def along(scale: Expr) -> Expr:
        weight = Softmax(scale * score, j)
        mean = over_keys(weight * score)
        terms = over_keys(weight**2 * score**2) - 2 * mean * over_keys(weight**2 * score)
        return (terms + mean**2 * over_keys(weight**2)) / LENGTH

    def split(scale: Expr) -> Expr:
        return scale**2 * E((d - 1) * squared_norm(scale * score) + along(scale))

    across = (
        r"across the query, keys are independent of the scores; along it, their component is $q\cdot k/|q|$"
    )
    return (
        Chain(rms(queries), name="queries", title="Root mean squares of a query's gradient")
        .then(
            sqrt(spread(S.One) / spread(c)) / c,
            "products of values and upstream are uncorrelated",
            moments({v: UNIT, u: UNIT}),
        )
        .then(sqrt(split(S.One) / split(c)), across, cited("rotation", laws=NORMAL_COMPONENTS))
    )


def of_keys_and_values() -> tuple[Chain, Chain]:
    """Derive the mean squares of what one query sends to all keys, and to all values."""

    def norms(scale: Expr) -> Expr:
        return E(scale**2 * LENGTH * squared_norm(scale * score))

    upstream, uncorrelated = (
        moments({v: UNIT, u: UNIT}),
        "upstream products are uncorrelated, of one variance",
    )
    return Chain(rms(keys), name="keys", title="Root mean squares of what a query sends to the keys").then(
        sqrt(norms(S.One) / norms(c)), uncorrelated, upstream
    ), Chain(rms(values), name="values", title="Root mean squares of what a query sends to the values").then(
        sqrt(E(squares(score)) / E(squares(c * score))), "the upstream gradient is apart", upstream
    )


def at(place: Place) -> dict[Symbol, Expr]:
    """Return the values of symbols for a number of keys and a dimension."""
    number, dimension = map(S, place)
    return {n: number, d: dimension, d_v: S(8), c: 1 / sqrt(dimension)}


def ratio(derived: Derivation, path: str, dimension: int, within: float = PRECISE) -> float:
    """Return the derived ratio of root mean squares for 16 keys."""
    return integrated(derived[path].end, at((16, dimension)), within)


def of_medians(place: Place, bound: Expr = S.One) -> Check:
    """Return the check on which side of a bound the ratio of medians is, 1 where nothing else is said."""
    number, dimension = place
    where, smaller = f"n{number}-d{dimension}", dimension >= SMALLER_FROM[number]
    if bound != 1:
        return Check("median-vanishes", MEDIANS, at(place), at_most=Threshold(bound))
    if smaller:
        return Check(f"median-below-1-{where}", MEDIANS, at(place), at_most=Threshold(bound))
    return Check(f"median-above-1-{where}", MEDIANS, at(place), at_least=Threshold(bound))


def of_roots(derived: Derivation, path: str, dimension: int) -> Check:
    """Return the check of the ratio of root mean squares on one path, for 16 keys."""
    is_high = dimension == HIGH[1]
    name = f"rms-grows-{path}".removesuffix("-queries") if is_high else f"rms-{path}-d{dimension}"
    rare = Within(10.0, because="in high dimension it hangs on rare rows", fixed=True)
    control, value = name == "rms-values-d16", ratio(derived, path, dimension)
    band = rare if is_high else Within()
    start, where = derived[path].start, at((16, dimension))
    return Check(name, start, where, equals=value, tolerance=band, control=control)


def experiment(derived: Derivation, tolerance: float) -> Items:
    """Measure medians and root mean squares on both sides of the crossing, and the limit of small scores."""
    yield of_medians(VAST, Rational(1, 200))
    for path, dimension in product(LETTERS, (16, 64, 256)):
        yield of_roots(derived, path, dimension)
    for place in FEW[1:] if tolerance > 0.02 else (*FEW, *MANY, *DEAR * (tolerance < 0.005)):
        yield of_medians(place)
    little = sqrt(E(queries(S.One, t)) / E(queries(c, t)))
    for dimension in (16, 64):
        where = {**at((16, dimension)), t: Rational(1, 1000) / sqrt(S(dimension))}
        yield Check(f"small-scores-d{dimension}", little, where, equals=derived.end)
    what = "largest distance of an entry of the array code's gradients from those of plain loops"
    code, settings = loops.distance_from_loops, {"scale": SCALE}
    yield Computed("array-code", what, code, (SCALE,), equals=0, settings=settings, allowance=ROUNDING)
    yield from wrong(derived)
    for path, dimension in product(LETTERS, (16, 64, 256)):
        what = rf"root mean square of $\lVert d{LETTERS[path]}\rVert$, unscaled over scaled"
        value = Float(ratio(derived, path, dimension), 6)
        yield fact(f"ratio-{path}-d{dimension}", rf"{what}: 16 keys, $d_k = {dimension}$", value)


def wrong(derived: Derivation) -> Iterator[Wrong]:
    """Return what the typical row and the root mean square are confused with, and other laws."""
    says = "gradients vanish in the root mean square, too: without scaling it is smaller"
    yield Wrong("rms-vanishes", of="rms-grows", at_most=Threshold(S.One), says=says)
    says = "at full size, too, the ratio of root mean squares is the root of the dimension"
    yield Wrong("keeps-to-the-limit", of="rms-grows", equals=1 / c, says=says)
    yield Wrong("keys-keep-to-the-limit", of="rms-grows-keys", equals=1 / c, says=f"{says}, for keys")
    few, high, vast = "median-above-1-n16-d16", "median-below-1-n16-d256", "median-vanishes"
    says = "the typical gradient is smaller without scaling in every dimension, such as {cell:d_k}"
    yield Wrong("vanishes-in-every-dimension", of=few, at_most=Threshold(S.One), says=says)
    says = "the typical gradient grows as the root mean square does"
    root = Rational(ratio(derived, "queries", 16)).limit_denominator(1000)
    yield Wrong("typical-as-rms", of=few, at_least=Threshold(root), says=says)
    says = "the typical gradient explodes: without scaling it is larger in high dimension, too"
    yield Wrong("typical-explodes", of=high, at_least=Threshold(S.One), says=says)
    says = "in {cell:d_k} dimensions less than {value} of the typical gradient is left"
    yield Wrong("less-than-a-tenth", of=high, at_most=Threshold(Rational(1, 10)), says=says)
    least = Threshold(Rational(1, 10_000))
    yield Wrong("less-than-a-ten-thousandth", of=vast, at_most=least, says=says)
    says, distance = (
        "the softmax may run over the queries instead of the keys",
        loops.distance_from_loops(SCALE, loops.over_queries),
    )
    yield Wrong("over-queries", of="array-code", computed=distance, says=says)


def figures(derived: Derivation, findings: Findings) -> Figure:
    """Draw both ratios over the dimension: the root mean square rises where the median falls below 1."""
    dimensions, ends = [4 * 2**power for power in range(9)], (4, 1024)
    roots = [ratio(derived, "queries", dimension, ON_PAPER) for dimension in dimensions]
    medians = [*findings.matching("median-*-n16-*"), *findings.matching("median-vanishes")]
    full = [*findings.matching("rms-queries-d*"), *findings.matching("rms-grows")]
    return draw.figure(
        "two-answers",
        "Without scaling the typical gradient dies while the root mean square grows",
        "Ratio of the query gradient's norm without scaling to that with it. The root mean square rises "
        "steadily with the dimension, as derived; the median rises first, then falls below one, for "
        "sixteen keys between {median-above-1-n16-d64:d_k} and {median-below-1-n16-d128:d_k} dimensions.",
        draw.curve("no difference", Float(1), ends, "control", many=2),
        draw.curve("limit: {main:end}", derived.end, ends),
        # The points of the root mean square have its line's colour: both are the second of their kind.
        draw.measured(medians, d, "median, measured"),
        draw.joined("root mean square", dimensions, roots),
        draw.measured(full, d),
        x=d,
        y="a query’s gradient, unscaled over scaled, $16$ keys",
    )


CLAIM = Claim(
    title="Without scaling, the typical gradient vanishes in high dimension while the root mean square grows",
    headline="median-vanishes",
    statement="Compare the norm of one query’s gradient at unit scale with that at the scale of one over "
    "{root_d}, for standard normal components. Where scores hardly vary, the ratio is {main:end} in "
    "the limit. At full size the ratio of root mean squares rises with the dimension, for sixteen keys and "
    "{rms-queries-d16:d_k=}, {rms-queries-d64:d_k} and {rms-grows:d_k} to {ratio-queries-d16:3}, "
    "{ratio-queries-d64:3} and {ratio-queries-d256:3} for queries, nearly the same for keys, and "
    "{ratio-values-d16:3}, {ratio-values-d64:3} and {ratio-values-d256:3} for values; that of medians starts "
    "above one and falls below it: for sixteen keys between {median-above-1-n16-d64:d_k} and "
    "{median-below-1-n16-d128:d_k} dimensions, for eight times as many keys between {rms-grows:d_k} and "
    "three times as many dimensions; for a thousand keys it is still above one in {rms-queries-d64:d_k}. "
    "With sixteen keys it is less than half a per cent in {median-vanishes:d_k} dimensions.",
    meaning="“Gradients vanish” and “gradients explode” are both half true. Most rows saturate and send "
    "almost nothing back, but the rare row that is still undecided between two keys sends back a gradient "
    "that lacks the damping factor, and it dominates every mean square. In low dimension, or with many "
    "keys, even the typical gradient is larger without scaling. Say which norm, which statistic and which "
    "path is meant. All this is at initialisation: trained weights are not independent.",
    assumptions=assume(upstream="Values and the gradient at the output are standard normal and independent."),
)
