"""How much gradient a softmax row can transmit."""

import math
import operator
from functools import cache
from itertools import product

import numpy as np

from verify.spec import Allowance, Chain, Chains, Claim, Computed, Derivation, Expr, Family, Gt, Items
from verify.spec import KroneckerDelta, Le, Named, Rational, S, Softmax, Sum, Symbol, Threshold, Wrong, a
from verify.spec import algebra, at_least, at_most, cite, earlier, j, l, lambdify, n, over_keys, s, symbols
from verify.spec.arrays import Array, OfRows, complex_step, in_single_precision, largest_ratio, softmax
from verify.spec.arrays import spectral_norms

ROUNDING = Allowance(1e-10)  # the rounding error of eigenvalues of matrices near 0
x, t = Family("x", n), Symbol("t", positive=True)
p, p_l, p_1, p_2 = (Softmax(s[a, key], key) for key in (j, l, 1, 2))
# The weight of a key where the first score leads all others, which are equal, by ln t.
ONE_AHEAD = (1 + (t - 1) * KroneckerDelta(j, 1)) / (t + n - 1)
# The direction of the first key, and that between the first two.
FIRST, BETWEEN = KroneckerDelta(j, 1) - 1 / n, KroneckerDelta(j, 1) * p_2 - KroneckerDelta(j, 2) * p_1
LEADING, BOUND = n * t / (t + n - 1) ** 2, 2 * p_1 * (1 - p_1)


def form(weight: Expr, at: Expr) -> Expr:
    """Return xᵀJx of the weight of key j, and entry j of x."""
    other, at_other = weight.xreplace({j: l}), at.xreplace({j: l})
    return over_keys(over_keys(weight * (KroneckerDelta(j, l) - other) * at * at_other, l))


FORM, LENGTH = Named(Symbol(r"x^{\mathsf T}Jx"), form(p, x[j])), Named(Symbol("|x|^2"), over_keys(x[j] ** 2))


def derive() -> Chains:
    mean, mean_square, largest = over_keys(p * x[j]), over_keys(p * x[j] ** 2), (Le(p, p_1),)
    variance = mean_square - mean**2, "the variance of x under p", algebra
    cross = at_most(Sum(p * p_l * (x[j] + x[l]) ** 2, (l, 1, j - 1), (j, 1, n)))
    others = Sum(p_l, (l, 2, j - 1)) + Sum(p_l, (l, j + 1, n))
    less = at_most(2 * Sum((p_1 - p) * others * x[j] ** 2, (j, 2, n)), given=largest)
    two = r"row j holds $p_j(1-p_j)$ twice in absolute value: more by $\sum_{l<j}p_jp_l(x_j+x_l)^2$"
    most = r"$p_1(1-p_1)$ is the largest of its kind: other keys have $p_j \le p_1$ and $p_1 + p_j \le 1$"
    by_rows = Chain(FORM, title=r"The largest of all $x^{\mathsf T}Jx$: by the sums of rows").through(
        variance,
        (2 * over_keys(p * (1 - p) * x[j] ** 2), two, cross, "≤"),
        (BOUND * LENGTH, most, less, "≤"),
    )
    yield by_rows
    yield Chain(FORM, name="largest", title="By the largest weight").through(
        variance,
        (mean_square, "a square less is more", at_most(mean**2), "≤"),
        (p_1 * LENGTH, "$p_1$ is the largest", at_most(over_keys((p_1 - p) * x[j] ** 2), given=largest), "≤"),
    )
    title, defines = "The sums of rows never exceed one half", "the norm is its largest value over all $x$"
    yield Chain(FORM / LENGTH, name="half", title=title, defines=defines).through(
        (BOUND, "over $|x|^2$", earlier(by_rows, given=(Gt(LENGTH, 0),)), "≤"),
        (S.Half, r"the difference is $2(p_1-\frac12)^2$", at_most(2 * (p_1 - S.Half) ** 2), "≤"),
    )
    title = "From below, in the direction of the first key: $x_1 = 1 - 1/n$, and $-1/n$ for all others"
    first = Chain(form(p, FIRST) / over_keys(FIRST**2), name="first", title=title, given=(n >= 2,))
    yield first.then(n * p_1 * (1 - p_1) / (n - 1), "weights sum to 1", algebra)
    squares = p_1**2 + p_2**2
    more = at_least(p_2**2 * (p_1 - p_2) / squares, given=(Le(p_2, p_1),))
    title = "From below, between the first two keys: $x_1 = p_2$, $x_2 = -p_1$, and 0 for all others"
    between = form(p, BETWEEN) / over_keys(BETWEEN**2)
    yield Chain(between, name="second", title=title, given=(n >= 2,)).through(
        (p_1 * p_2 * (p_1 + p_2) / squares, "the deltas pick single terms", algebra),
        (p_2, r"the difference is $p_2^2(p_1-p_2)/(p_1^2+p_2^2)$", more, "≥"),
    )
    apart = Sum(Sum((x[j] - x[l]) ** 2, (l, 2, n)), (j, 2, n)) / 2
    ahead_more = at_most((t * over_keys(x[j]) ** 2 + (t - 1) * apart) / (t + n - 1) ** 2, given=(t >= 1,))
    title = "One key ahead of the others, which are equal: $p_1 = t/(t+n-1)$"
    # With the bound from below in the direction of the first key it is the norm.
    ahead = Chain(form(ONE_AHEAD, x[j]), name="ahead", title=title)
    yield ahead.then(LEADING * LENGTH, r"more by squares of $\sum x_j$ and of $x_j - x_l$", ahead_more, "≤")


@cache  # so that equal expressions give the same function, and the search finds its own result again
def of_rows(expression: Expr, keys: int) -> OfRows:
    """Return a function of the two largest weights for sorted rows, shape (rows, keys)."""
    largest, runner_up = symbols("p_1 p_2")
    of_two = lambdify((largest, runner_up), expression.xreplace({p_1: largest, p_2: runner_up}).subs(n, keys))
    return lambda weights: np.broadcast_to(of_two(weights[:, 0], weights[:, 1]), len(weights))


def row(first: float, second: float, other: float, keys: int) -> Array:
    """Return a row of weights in proportion to those of the first key, the second, and each of the others."""
    weights = np.array([[first, second, *[other] * (keys - 2)]])
    return weights / weights.sum()


def experiment(derived: Derivation) -> Items:
    of_largest, first, second = derived["largest"].end / LENGTH, derived["first"].end, derived["second"].end
    even, two_equal, first_leads = (1, 1, 1), (1, 1, 0), (3, 1, 1)
    yield from attained("rows", derived.end / LENGTH, "≤", two_equal, r"$\|J\|_2$ over $2p_1(1-p_1)$")
    yield from attained("largest", of_largest, "≤", even, r"$\|J\|_2$ over $p_1$")
    yield from attained("half", derived["half"].end, "≤", two_equal, r"$\|J\|_2$ over $\frac12$")
    yield from attained("first", first, "≥", first_leads, r"$\frac{n}{n-1}p_1(1-p_1)$ over $\|J\|_2$")
    yield from attained("second", second, "≥", even, r"$p_2$ over $\|J\|_2$")
    leads = {"none": S.One, "most": n - 1, "far": (n - 1) ** 2}
    what = r"$\|J\|_2$ of the array code, one key ahead by $\ln t$"
    for keys, (name, times) in product((3, 128), leads.items()):
        at = {"keys": keys, "t": int(times.subs(n, keys))}
        check, value = f"one-ahead-n{keys}-{name}", LEADING.subs({n: keys, t: at["t"]})
        given = complex_step(softmax, np.where(np.arange(keys) == 0, math.log(at["t"]), 0.0)), 2
        yield Computed(check, what, np.linalg.norm, given, equals=value, settings=at, allowance=ROUNDING)
    says, equal = "larger scores always make the Jacobian smaller", LEADING.subs({n: 3, t: 1})
    yield Wrong("falls-with-the-scores", of="one-ahead-n3-most", at_most=equal, says=says)
    says, scores = "single precision is exact", np.array([math.log(2), 0.0, 0.0])
    single = complex_step(in_single_precision(softmax), scores), 2
    yield Wrong("in-single-precision", of="one-ahead-n3-most", arguments=single, says=says)
    norms, evenly = spectral_norms, row(1, 1, 1, 8)
    says = "spread evenly, a row passes all that the bound by sums of rows allows"
    sides, at = (norms(evenly)[0], of_rows(BOUND, 8)(evenly)[0]), dict.fromkeys(symbols("p_1 p_2"), 0.125)
    yield Wrong("attained-by-even-rows", of="rows-attained-n8", at=at, arguments=sides, says=says)
    says = "the norm never exceeds the largest slope of the logistic function, {value}"
    largest, quarter = (norms, of_rows(S.One, 3), 3), Threshold(Rational(1, 4))
    yield Wrong("a-quarter", of="half-n3", arguments=largest, at_most=quarter, says=says)


def attained(name: str, bound: Expr, relation: str, at: tuple[int, int, int], words: str) -> Items:
    """Yield the searches for a row that breaks a bound of the norm, and the norm at rows that attain it."""
    norms, computed = spectral_norms, Computed.sharing(allowance=ROUNDING)
    order = 1 if relation == "≤" else -1  # the lower side of the bound comes first
    for keys in (2, 3, 8):
        weights, both = row(*at, keys), (norms, of_rows(bound, keys))[::order]
        what, search = f"largest found: {words}", {"keys": keys, "rows": "searched by differential evolution"}
        yield computed(f"{name}-n{keys}", what, largest_ratio, (*both, keys), at_most=1, settings=search)
        what, reached = f"at one row: {words}", f"{name}-attained-n{keys}"
        settings = {"keys": keys, **dict(zip(("p_1", "p_2"), weights[0].round(4).tolist(), strict=False))}
        sides = tuple(side(weights)[0] for side in both)
        yield computed(reached, what, operator.truediv, sides, equals=1, settings=settings)
    less = of_rows(bound * Rational(100 - order, 100), 3)
    says, tighter = f"a bound holds with one per cent less room: {words}", (*(norms, less)[::order], 3)
    yield Wrong(f"{name}-one-per-cent-less", of=f"{name}-n3", arguments=tighter, says=says)


CLAIM = Claim(
    statement="Let {p_1} and {p_2} be the largest weights of a row of {n} keys, two at least, and J the "
    "Jacobian of its softmax. The norm of J, the largest {FORM} over unit vectors as J is symmetric, is at "
    "least {second:end} and {first:end}; for every {x}, {largest} and {main}, and {half}. It is not monotone "
    "in the temperature: where one of three scores leads the others by $0$, $\\ln 2$ or $2\\ln 2$, it is "
    "{one-ahead-n3-none:prediction}, {one-ahead-n3-most:prediction} and {one-ahead-n3-far:prediction}.",
    meaning="A row transmits gradient only if its largest weight is near neither zero nor one: a row that is "
    "spread over very many keys blocks it as much as a saturated one. So making scores smaller does not "
    "always let more gradient through: some spread is needed. Some row attains each bound.",
    references=cite("storn1997"),
)
