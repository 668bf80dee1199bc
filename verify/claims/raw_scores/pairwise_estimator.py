"""The variance over all pairs of shared vectors comes out low."""

import builtins
import re
from types import CodeType

from verify.spec import UNIT_INTERVAL, Chain, Check, Claim, Computed, Cov, Derivation, Dot, E, Family, Fit
from verify.spec import Index, Items, Law, Named, Rational, S, Sum, Symbol, Var, Within, Wrong, a, algebra, b
from verify.spec import cite, d, earlier, fact, moments, sqrt, symbols

N, c = Symbol("N", integer=True, positive=True), Index("c")
mu, sigma, x = Symbol("mu", real=True), Symbol("sigma", positive=True), Family("x", N, d)
VECTORS = {x: Law("mean μ and variance σ²", (S.One, mu, mu**2 + sigma**2, *symbols("m_3 m_4", real=True)))}
EIGHT = Law("the moments of U(0, 1) up to the eighth", tuple(Rational(1, order + 1) for order in range(9)))
# 100 vectors, and mean and standard deviation of components from U(0, 1).
UNIFORM = {N: 100, mu: Rational(1, 2), sigma: sqrt(3) / 6}
PAIR = Dot(x, a, x, b)


# The mean over all pairs of different vectors of their score, and of its square.
MEAN, SQUARE = (
    (Sum(PAIR**power, (a, 1, N), (b, 1, N)) - Sum(Dot(x, a, x, a) ** power, (a, 1, N))) / (N * (N - 1))
    for power in (1, 2)
)
V = Named(Symbol(r"\hat{V}"), SQUARE - MEAN**2)  # the plain variance of all scores
# The printed experiment in outline, with its names and ranges; draw, keep and dot stand for its calls.
PRINTED = """
def calculate(array_length):
    arrays = draw(100, array_length)
    for i in range(num_arrays):
        for j in range(i + 1, num_arrays):
            keep(dot(arrays[i], arrays[j]))

points = [calculate(n) for n in range(1, 513)]
axis = range(0, len(points))
"""
MENDED = PRINTED.replace("num_arrays", "len(arrays)").replace("(0, len(points))", "(1, len(points) + 1)")


def undefined_names(text: str) -> int:
    """Return how many names the function of a program reads and neither it nor the program assigns."""
    program = compile(text, "printed", "exec")
    function = next(part for part in program.co_consts if isinstance(part, CodeType))
    return len({*function.co_names} - {*program.co_names, *dir(builtins), "draw", "keep", "dot"})


def derive() -> tuple[Chain, ...]:
    pairs, by_moments = (N >= 2,), moments(VECTORS)
    by_sharing = (2 * Var(PAIR) + 4 * Cov(PAIR, Dot(x, a, x, c)) * (N - 2)) / (N * (N - 1))
    variance = d * sigma**2 * (sigma**2 + 2 * mu**2)
    missing = 2 * d * sigma**2 * (sigma**2 + 2 * mu**2 * (N - 1)) / (N * (N - 1))
    expected = Chain(E(V), title="Pairs of pairs", given=pairs).through(
        (E(V.definition), "the mean square less the squared mean, over all pairs", algebra),
        (Var(PAIR) - Var(MEAN), "that of all pairs has the mean of any", by_moments),
        (Var(PAIR) - by_sharing, "each pair shares one vector with 2(N − 2) others", by_moments),
        (variance - missing, "moments of the components", by_moments),
    )
    bias = Chain(Var(PAIR) - E(V), name="bias", title="What is missing", given=pairs).through(
        (Var(PAIR) - variance + missing, "the expectation, put in", earlier(expected)),
        (missing, "the variance of a score", by_moments),
    )
    share = Chain(bias.start / Var(PAIR), name="share", title="The share missing", given=pairs).through(
        (missing / Var(PAIR), "what is missing, put in", earlier(bias)),
        (missing / variance, "the variance of a score", by_moments),
    )
    # Squares of four pairs: up to eight vectors, which coincide in many ways.
    fixed = 4 * (18 * N**2 - 41 * N + 25) / ((N - 2) * (7 * N - 5) ** 2)
    by_dimension = 4 * (170 * N**4 - 607 * N**3 + 2370 * N**2 - 3979 * N + 1674) / (25 * d * N)
    both = fixed + by_dimension / ((N - 1) * (N - 2) * (7 * N - 5) ** 2)
    title = "How much a single run scatters, for components from U(0, 1)"
    scatter = Chain(Var(V) / E(V) ** 2, name="scatter", title=title, given=(N >= 3,))
    scatter = scatter.then(both, "moments of the components, up to the eighth", moments({x: EIGHT}))
    return expected, bias, share, scatter


def experiment(derived: Derivation) -> Items:
    def axis_offset(text: str) -> int:
        dimension, place = re.findall(r"^(?:points|axis) = .*range\((\d+),", text, re.MULTILINE)
        return int(dimension) - int(place)

    law, bias, laws = derived.end.subs(UNIFORM), derived["bias"], {x: UNIT_INTERVAL}
    why = "a matrix gives but one value of it, so a sharper one takes many more draws"
    for size in (1, 8, 32):
        at, wide = {d: size, **UNIFORM}, Within(10.0, because=why, fixed=True)
        yield Check(f"bias-d{size}", bias, at, laws=laws, tolerance=wide)
        yield Check(f"scatter-d{size}", derived["scatter"], at, laws=laws, tolerance=wide)
    for size in (1, 2, 8, 32, 128, 512):
        # With the most dimensions a block takes most draws.
        at, within = {d: size, **UNIFORM}, 2.0 if size == 512 else 1.0
        yield Check(f"expected-d{size}", derived, at, laws=laws, tolerance=within, control=size == 1)
    yield Fit("expected-d*", over=d, law=law)
    at, says = {d: 32, **UNIFORM}, "the estimator is unbiased"
    wide = Within(10.0, bias.end.subs(at), "the derived bias", why, fixed=True)
    yield Wrong("unbiased", bias, at, equals=0, laws=laws, tolerance=wide, says=says)
    yield Computed("code-runs", "undefined names, once they are mended", undefined_names, (MENDED,), equals=0)
    yield Wrong("code-runs-as-printed", of="code-runs", arguments=(PRINTED,), says="the code runs as printed")
    yield Computed("axis-is-right", "first dimension minus its place", axis_offset, (MENDED,), equals=0)
    yield Wrong("axis-is-dimension", of="axis-is-right", arguments=(PRINTED,), says="the axis is right")
    what = "fraction by which the variance over all pairs of 100 vectors from U(0, 1) falls short"
    yield fact("relative-bias", what, derived["share"].end.subs(UNIFORM))


CLAIM = Claim(
    statement="Let {V} be the plain variance of the scores of all pairs of {N} vectors with mean {mu} and "
    "deviation {sigma} per component. Its expectation falls short of the variance of a score, by {share:end} "
    "of it, in every dimension: by {relative-bias:2%} for 100 vectors, uniform between 0 and 1.",
    meaning="Scores that share a vector move together, so their plain variance misses what moves them all. "
    "The popular experiment still shows the right shape, a straight line without curvature; only its slope "
    "is {relative-bias:2%} low. And its 4950 pairs are worth far fewer independent ones: a single run "
    "scatters by about 1/7 of its mean in a single dimension and by 1/8 in 32, for its relative variance is "
    "{scatter-d1:estimate.2} and {scatter-d32:estimate.2}.",
    symbols={"sigma": sigma},
    references=cite("hoeffding1948"),
)
