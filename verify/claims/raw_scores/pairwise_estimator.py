"""The variance over all pairs of N shared vectors underestimates the variance of a score."""

import ast
import builtins
from functools import cache

from sympy import Expr, Idx, IndexedBase, KroneckerDelta, Rational, S, Sum, Symbol, expand, sqrt

from verify.claims.raw_scores.shared import AllPairs, SharedVectors, linear_fits
from verify.former import (
    E, EVEN, HOEFFDING, UNIT_INTERVAL, Claim, Control, Derivation, Exact, Experiment, Fact, Figure, Findings,
    Ordered, Population, Route, Smooth, Step, Tolerance, Var, beside, biased, cell_of, d, evaluate, fact,
    figure, index, j, moment_steps, over_cells, prediction, variance, wrong, wrong_fits,
)  # fmt: skip
from verify.former.rules import Evaluation, Replaced, Unfolded, WhichCoincide

VECTORS = 100
DIMENSIONS = (1, 2, 8, 32, 128, 512)
BIAS_DIMENSIONS = (1, 8, 32)
LABEL = r"$\mathbb{E}[\hat V]$"
BIAS = r"$\operatorname{Var}(q\cdot k) - \mathbb{E}[\hat V]$"

N = Ordered("N", "A", integer=True, positive=True)
V = Symbol(r"\hat{V}")
mu, sigma = Symbol("mu", real=True), Symbol("sigma", positive=True)
_RAW = (S.One, mu, mu**2 + sigma**2, Symbol("m_3"), Symbol("m_4"))
other = Idx("l")
x, a, b, c, e = (IndexedBase(name) for name in "xabce")
SHARED = Population(dict.fromkeys((x, a, b, c, e), _RAW), d, alike=((x, a, b, c, e),))

PRINTED = """
def calculate(array_length):
    arrays = draw(100, array_length)
    for i in range(num_arrays):
        for j in range(i + 1, num_arrays):
            keep(dot(arrays[i], arrays[j]))

points = [calculate(n) for n in range(1, 513)]
axis = range(0, len(points))
"""
"""The printed experiment in outline, with its names and ranges; draw, keep and dot stand for its calls."""


def _score(one: Expr, another: Expr) -> Expr:
    return Sum(one[index] * another[index], (index, 1, d))


def _over_pairs(of_pair: Expr) -> Expr:
    """Return the mean over all pairs of different vectors."""
    return Sum((1 - KroneckerDelta(j, other)) * of_pair, (j, 1, N), (other, 1, N)) / (N * (N - 1))


OF_PAIR = Sum(x[j, index] * x[other, index], (index, 1, d))
ESTIMATOR = _over_pairs(OF_PAIR**2) - _over_pairs(OF_PAIR) ** 2
"""The plain variance of all scores: the mean square less the squared mean."""


def derive() -> Derivation:
    """Derive the estimator's expectation: mean square minus mean squared, by how many vectors pairs share."""
    pairs = N * (N - 1) / 2
    same = E(_score(a, b) ** 2)
    one_shared = 2 * (N - 2) * E(_score(a, b) * _score(a, c))
    none_shared = (N - 2) * (N - 3) / 2 * E(_score(a, b)) ** 2
    by_sharing = same - (same + one_shared + none_shared) / pairs
    shares = "Each of the N(N−1)/2 pairs shares one vector with 2(N−2) others"
    route = Route.of(
        "Pairs of pairs", E(V),
        Step(E(ESTIMATOR), "Mean square less squared mean, over all pairs of vectors",
             Unfolded({V: ESTIMATOR})),
        Step(by_sharing, shares, WhichCoincide(SHARED, x, N, (a, b, c, e))),
        *moment_steps(by_sharing, SHARED),
    )  # fmt: skip
    missing = 1 - E(V) / Var(_score(a, b))
    falls_short = (2 * sigma**2 + 4 * (N - 1) * mu**2) / (N * (N - 1) * (sigma**2 + 2 * mu**2))
    share = Route.of("What is missing, as a share of the variance of a score", missing,
                     Step(missing.subs(E(V), route.end), "The estimator’s mean", Replaced(route.proved())),
                     Step(falls_short, "Moments of the components", Evaluation(SHARED, assumed=True)),
                     defines="the share that is missing", name="share")  # fmt: skip
    return Derivation.of(route, lemmas=(share,))


def _for_uniform(expression: Expr) -> Expr:
    of_law = {N: VECTORS, mu: Rational(UNIT_INTERVAL.mean), sigma: sqrt(Rational(UNIT_INTERVAL.variance))}
    return expand(expression.subs(of_law))


def _mean_score_kurtosis(dimension: int) -> float:
    """Return the kurtosis of the mean score over all pairs, for U(0, 1).

    The excess over the normal law's 3 falls like 1/d.
    """
    return float(3 + (_kurtosis_in_one_dimension() - 3) / dimension)


@cache
def _kurtosis_in_one_dimension() -> Expr:
    """Return the same in one dimension, by a sum over pairs.

    It is (A² - B)/2 with A the sum and B the sum of squares of N numbers.
    """
    base, size = IndexedBase("x"), Symbol("N", integer=True, positive=True)
    raw = tuple(Rational(1, n + 1) for n in range(9))
    numbers = Population({base: raw}, size)
    total = Sum(base[index], (index, 1, size))
    squares = Sum(base[index] ** 2, (index, 1, size))
    powers = (expand((total**2 - squares) ** power) for power in (1, 2, 3, 4))
    m1, m2, m3, m4 = (evaluate(E(one), numbers).subs(size, VECTORS) for one in powers)
    spread, fourth = m2 - m1**2, m4 - 4 * m3 * m1 + 6 * m2 * m1**2 - 3 * m1**4
    return fourth / spread**2


PLAIN_VARIANCE = Smooth(lambda mean: mean["square"] - mean["squared-mean"], positive=True)
"""The mean of the plain variance over all pairs, from a block's mean S² and (mean S)²."""


def experiment(derivation: Derivation, tolerance: float) -> Experiment:
    """Repeat the experiment of 100 shared vectors many times; its bias is the variance of the pairs' mean."""
    law, share = _for_uniform(derivation.result), _for_uniform(derivation.lemmas[0].end)
    shortfall = law * share / (1 - share)
    cells = {n: cell_of(f"d{n}", SharedVectors(UNIT_INTERVAL, VECTORS, n), AllPairs()) for n in DIMENSIONS}

    def band(n: int) -> Tolerance:
        # With the most dimensions a block takes most draws.
        return Tolerance(2.0) if n == DIMENSIONS[-1] else EVEN

    def of_mean(n: int) -> Smooth:
        return variance("mean", "squared-mean", block_variance=_mean_score_kurtosis(n) - 1)

    averages = over_cells("expected-d{d_k}", LABEL, cells, PLAIN_VARIANCE, law, band)
    few = {n: cells[n] for n in BIAS_DIMENSIONS}
    wide = Tolerance(
        10.0, because="a matrix gives but one value of it, so a sharper one takes many more draws"
    )
    biases = over_cells("bias-d{d_k}", BIAS, few, of_mean, shortfall, wide)
    lines = linear_fits(tuple(averages.values()), law)
    most = biases[BIAS_DIMENSIONS[-1]]
    scale = Tolerance(10.0, most.prediction.value, "the derived bias")
    controls = (
        wrong(most, "unbiased", "the estimator is unbiased", 0, tolerance=scale),
        biased(averages[DIMENSIONS[0]], tolerance),
        *_printed_code(),
        *wrong_fits(lines, tolerance),
    )
    return Experiment((*biases.values(), *averages.values(), *lines), controls)


def _undefined_names(code: ast.Module) -> set[str]:
    """Return the names that ``code`` reads but nowhere assigns."""
    names = [node for node in ast.walk(code) if isinstance(node, ast.Name)]
    given = {name.id for name in names if isinstance(name.ctx, ast.Store)}
    given |= {node.arg for node in ast.walk(code) if isinstance(node, ast.arg)}
    given |= {node.name for node in ast.walk(code) if isinstance(node, ast.FunctionDef)}
    return {name.id for name in names} - given - set(dir(builtins)) - {"draw", "keep", "dot"}


def _first_of_ranges(code: ast.Module) -> dict[str, int]:
    """Return where the range in each assignment of ``code`` starts, by the name assigned."""
    found = {}
    for node in code.body:
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
            calls = (one for one in ast.walk(node) if isinstance(one, ast.Call))
            (of_range,) = (call for call in calls if ast.unparse(call.func) == "range")
            found[node.targets[0].id] = int(ast.literal_eval(of_range.args[0]))
    return found


def _printed_code() -> tuple[Control, ...]:
    """Return what the printed experiment would have to satisfy to run and to plot what it says."""
    code, none = ast.parse(PRINTED), prediction(0)
    undefined, first = sorted(_undefined_names(code)), _first_of_ranges(code)
    label, settings = "undefined names in the printed experiment", (("names", ", ".join(undefined)),)
    names = Exact("code-runs-as-printed", label, settings, none, float(len(undefined)))
    label = "first computed dimension minus its place on the axis"
    places = ("first dimension", first["points"]), ("first place", first["axis"])
    axis = Exact("axis-is-dimension", label, places, none, float(first["points"] - first["axis"]))
    runs, named = "the experiment runs as printed", "its horizontal axis is the dimension"
    return Control(runs, names), Control(named, axis)


def facts(derivation: Derivation) -> Fact:
    """Return the relative bias of the experiment with 100 vectors, the same in every dimension."""
    what = "fraction by which the variance over all pairs of 100 vectors from U(0, 1) falls short"
    return fact("relative-bias", what, _for_uniform(derivation.lemmas[0].end))


def figures(derivation: Derivation, findings: Findings) -> Figure:
    """Draw the estimator's mean against the dimension, on the derived line."""
    return figure(
        "pairwise-line",
        "The popular experiment does show a straight line",
        "The mean of the variance over all pairs of a hundred shared vectors grows in proportion to the "
        "dimension from one to {expected-d512:d_k} dimensions, without curvature.",
        "mean variance over all pairs",
        *beside(findings.matching("expected-d*"), "derived", _for_uniform(derivation.result)),
    )


CLAIM = Claim(
    title="The variance over all pairs of shared vectors comes out low",
    statement="Let {V} be the plain variance of the scores of all pairs of {N} vectors with mean {mu} and "
    "deviation {sigma} per component. Its expectation falls short of the variance of a score, by "
    "{share:result} of it, in every dimension: by {relative-bias:2%} for a hundred vectors, uniform between "
    "zero and one.",
    meaning="Scores that share a vector move together, so their plain variance misses what moves them all. "
    "The popular experiment still shows the right shape, a straight line without curvature; only its slope "
    "is {relative-bias:2%} low. And its nearly five thousand pairs are worth far fewer independent ones: a "
    "single run scatters by an eighth to a seventh.",
    symbols={"V": V, "N": N, "mu": mu, "sigma": sigma},
    references=HOEFFDING,
)
