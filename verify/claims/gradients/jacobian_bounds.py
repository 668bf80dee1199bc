"""How large the Jacobian of softmax can be, and that it does not simply fall as scores grow."""

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from itertools import product

import numpy as np
from sympy import Derivative, Expr, Gt, KroneckerDelta, Le, Rational, S, Sum, Symbol, exp, factor, lambdify
from sympy import symbols

from verify.spec import Allowance, Chain, Claim, Computed, Derivation, Family, Figure, Items, Line, Named
from verify.spec import Softmax, Threshold, Wrong, a, algebra, at_least, at_most, cite, derivative, earlier
from verify.spec import fact, figures as draw, j, l, n, over_keys, s
from verify.spec.arrays import Array, complex_step, in_single_precision, loops, softmax

Entry = Callable[[object], Expr]
"""What stands at a place of a vector."""

Sides = tuple[loops.OfRows, loops.OfRows]
"""What must not be larger than what."""

SIZES, LEADS = (2, 3, 8), {"none": S.One, "most": n - 1, "far": (n - 1) ** 2}
ROUNDING = Allowance(1e-10)
"""What eigenvalues of matrices near 0 lose."""

lead = Symbol("lead", nonnegative=True)
x, t = Family("x", n), Symbol("t", positive=True)
p, p_l, p_1, p_2 = (Softmax(s[a, key], key) for key in (j, l, 1, 2))
LEADING = n * t / (t + n - 1) ** 2
BOUND, DOWN = 2 * p_1 * (1 - p_1), "$x_1 = 1 - 1/n$, and $-1/n$ for all others"


def form(weight: Entry, at: Entry) -> Expr:
    """Return xᵀJx of weights and a vector x."""
    return over_keys(over_keys(weight(j) * (KroneckerDelta(j, l) - weight(l)) * at(j) * at(l), l))


def quotient(weight: Entry, at: Entry) -> Expr:
    """Return xᵀJx over the squared length of x."""
    return form(weight, at) / over_keys(at(j) ** 2)


def any_row(key: object) -> Expr:
    """Return the weight of a key."""
    return Softmax(s[a, key], key)


def one_ahead(key: object) -> Expr:
    """Return its weight where the first score leads all others, which are equal, by ln t."""
    return (1 + (t - 1) * KroneckerDelta(key, 1)) / (t + n - 1)


def first(key: object) -> Expr:
    """Return the direction of the first key."""
    return KroneckerDelta(key, 1) - 1 / n


def between(key: object) -> Expr:
    """Return the direction between the first two keys."""
    return KroneckerDelta(key, 1) * p_2 - KroneckerDelta(key, 2) * p_1


FORM = Named(Symbol(r"x^{\mathsf T}Jx"), form(any_row, lambda key: x[key]))
LENGTH = Named(Symbol("|x|^2"), over_keys(x[j] ** 2))


def derive() -> tuple[Chain, ...]:
    """Bound xᵀJx from above for every x, and from below by choosing x."""
    mean, mean_square = over_keys(p * x[j]), over_keys(p * x[j] ** 2)
    variance = Line(mean_square - mean**2, "the variance of x under p", algebra)
    largest = (Le(p, p_1),)
    cross = at_most(Sum(p * p_l * (x[j] + x[l]) ** 2, (l, 1, j - 1), (j, 1, n)))
    less = at_most(2 * Sum((p_1 - p) * (1 - p_1 - p) * x[j] ** 2, (j, 2, n)), given=largest)
    two = r"row j holds $p_j(1-p_j)$ twice in absolute value: more by $\sum_{l<j}p_jp_l(x_j+x_l)^2$"
    most = r"$p_1(1-p_1)$ is the largest of its kind: other keys have $p_j \le p_1$ and $p_1 + p_j \le 1$"
    by_rows = Chain(
        FORM,
        variance,
        Line(2 * over_keys(p * (1 - p) * x[j] ** 2), two, cross, "≤"),
        Line(BOUND * LENGTH, most, less, "≤"),
        title=r"The largest of all $x^{\mathsf T}Jx$: by the sums of rows",
    )
    by_largest = Chain(
        FORM,
        variance,
        Line(mean_square, "a square less is more", at_most(mean**2), "≤"),
        Line(
            p_1 * LENGTH,
            "$p_1$ is the largest",
            at_most(over_keys((p_1 - p) * x[j] ** 2), given=largest),
            "≤",
        ),
        name="largest",
        title="By the largest weight",
    )
    over = earlier(by_rows, given=(Gt(LENGTH, 0),))
    half = (
        Chain(
            FORM / LENGTH,
            name="half",
            title="The sums of rows never exceed one half",
            defines="the norm is its largest value over all $x$",
        )
        .then(BOUND, "over $|x|^2$", over, "≤")
        .then(S.Half, r"the difference is $2(p_1-\frac12)^2$", at_most(2 * (p_1 - S.Half) ** 2), "≤")
    )
    return by_rows, by_largest, half, *from_below(), *with_one_ahead()


def from_below() -> tuple[Chain, Chain]:
    """Derive lower bounds of the norm from two directions."""
    squares = p_1**2 + p_2**2
    more = at_least(p_2**2 * (p_1 - p_2) / squares, given=(Le(p_2, p_1),))
    return Chain(
        quotient(any_row, first),
        name="first",
        title=f"From below, in the direction of the first key: {DOWN}",
        given=(n >= 2,),
    ).then(n * p_1 * (1 - p_1) / (n - 1), "weights sum to 1", algebra), Chain(
        quotient(any_row, between),
        name="second",
        title="From below, between the first two keys: $x_1 = p_2$, $x_2 = -p_1$, and 0 for all others",
        given=(n >= 2,),
    ).then(p_1 * p_2 * (p_1 + p_2) / squares, "the deltas pick single terms", algebra).then(
        p_2, r"the difference is $p_2^2(p_1-p_2)/(p_1^2+p_2^2)$", more, "≥"
    )


def with_one_ahead() -> tuple[Chain, ...]:
    """Derive the norm for one key ahead, a bound for every x that one reaches, and how it moves."""
    apart = Sum(Sum((x[j] - x[l]) ** 2, (l, 2, n)), (j, 2, n)) / 2
    more = at_most((t * over_keys(x[j]) ** 2 + (t - 1) * apart) / (t + n - 1) ** 2, given=(t >= 1,))
    ahead, words = form(one_ahead, lambda key: x[key]), r"more by squares of $\sum x_j$ and of $x_j - x_l$"
    above = Chain(
        ahead,
        name="ahead",
        title="One key ahead of the others, which are equal: $p_1 = t/(t+n-1)$",
        defines=r"$x^{\mathsf T}Jx$ of such a row",
    ).then(LEADING * LENGTH, words, more, "≤")
    over = earlier(above, given=(Gt(LENGTH, 0),))
    return (
        above,
        Chain(ahead / LENGTH, name="at-most", title="Its norm is no more than that").then(
            LEADING, "over $|x|^2$", over, "≤"
        ),
        Chain(
            quotient(one_ahead, first),
            name="reached",
            title=f"That much is reached in the direction of the first key: {DOWN}",
            given=(n >= 2,),
        ).then(LEADING, "the deltas pick single terms", algebra),
        Chain(Derivative(LEADING, t), name="slope", title="How the norm changes with the lead").then(
            factor(LEADING.diff(t)), "positive up to $t = n-1$, negative beyond", derivative()
        ),
    )


@cache  # so that equal expressions give the same function, and the search finds its own result again
def of_rows(expression: Expr, keys: int) -> loops.OfRows:
    """Return a function of the two largest weights for sorted rows, shape (rows, keys)."""
    largest, next_one = symbols("p_1 p_2")
    of_two = lambdify((largest, next_one), expression.xreplace({p_1: largest, p_2: next_one}).subs(n, keys))
    return lambda weights: np.broadcast_to(of_two(weights[:, 0], weights[:, 1]), len(weights))


@dataclass(frozen=True)
class Bound:
    """A derived bound of the norm, whether from above, a row that attains it, and words."""

    value: Expr
    upper: bool
    attained: Callable[[int], Array]
    words: str

    def sides(self, keys: int, times: Expr = S.One) -> Sides:
        """Return what must not be larger than what, the bound multiplied."""
        bounding = of_rows(self.value * times, keys)
        return (loops.spectral_norms, bounding) if self.upper else (bounding, loops.spectral_norms)


def even(keys: int) -> Array:
    """Return a row of equal weights."""
    return np.full(keys, 1 / keys)


def two_equal(keys: int) -> Array:
    """Return a row with two equal weights and no others."""
    return np.where(np.arange(keys) < 2, 0.5, 0.0)


def one_leads(keys: int) -> Array:
    """Return a row with one weight three times the others."""
    return np.where(np.arange(keys) == 0, 3.0, 1.0) / (keys + 2)


def bounds(derived: Derivation) -> dict[str, Bound]:
    """Return every derived bound by name."""
    largest, below, second = derived["largest"].end / LENGTH, derived["first"].end, derived["second"].end
    return {
        "rows": Bound(derived.end / LENGTH, True, two_equal, r"$\|J\|_2$ over $2p_1(1-p_1)$"),
        "largest": Bound(largest, True, even, r"$\|J\|_2$ over $p_1$"),
        "half": Bound(derived["half"].end, True, two_equal, r"$\|J\|_2$ over $\frac12$"),
        "first": Bound(below, False, one_leads, r"$\frac{n}{n-1}p_1(1-p_1)$ over $\|J\|_2$"),
        "second": Bound(second, False, even, r"$p_2$ over $\|J\|_2$"),
    }


def ratio_at(row: Array, sides: Sides) -> float:
    """Return what must not be larger over what must not be smaller, at one row of weights."""
    over, under = (side(row[None]) for side in sides)
    return float(over[0] / under[0])


def norm_ahead(code: Callable[[Array], Array], keys: int, lead: float) -> float:
    """Return the spectral norm of the Jacobian of ``code`` where the first score leads."""
    scores = np.where(np.arange(keys) == 0, lead, 0.0)
    return float(np.linalg.norm(complex_step(code, scores), 2))


def searched(name: str, bound: Bound, keys: int) -> Computed:
    """Return the search for a row that breaks a bound."""
    settings: dict[str, int | str] = {"keys": keys, "rows": "searched by differential evolution"}
    label, given = f"largest found: {bound.words}", (*bound.sides(keys), keys)
    return Computed(name, label, loops.largest_ratio, given, at_most=1, settings=settings, allowance=ROUNDING)


def attained(name: str, bound: Bound, keys: int) -> Computed:
    """Return the comparison of the norm with a bound at a row that attains it."""
    row = bound.attained(keys)
    settings, given = {"keys": keys, **first_two(row)}, (row, bound.sides(keys))
    label = f"at one row: {bound.words}"
    return Computed(name, label, ratio_at, given, equals=1, settings=settings, allowance=ROUNDING)


def first_two(row: Array) -> dict[str, float]:
    """Return the two largest weights of a row as settings."""
    return {"p_1": round(float(row[0]), 4), "p_2": round(float(row[1]), 4)}


def compared(name: str, norm: Expr, keys: int, lead: int) -> Computed:
    """Return the comparison of the norm of the array code with the derived one, for one key ahead."""
    label = r"$\|J\|_2$ of the array code, one key ahead by $\ln t$"
    settings, given = {"keys": keys, "t": lead}, (softmax, keys, math.log(lead))
    value = norm.subs({n: keys, t: lead})
    return Computed(name, label, norm_ahead, given, equals=value, settings=settings, allowance=ROUNDING)


def experiment(derived: Derivation) -> Items:
    """Search for rows that break a bound, look at one that attains it; compare the norm for one key ahead."""
    each, norm = bounds(derived), derived["reached"].end
    for (name, bound), keys in product(each.items(), SIZES):
        yield searched(f"{name}-n{keys}", bound, keys)
        yield attained(f"{name}-attained-n{keys}", bound, keys)
    for keys, (name, lead) in product((3, 128), LEADS.items()):
        yield compared(f"one-ahead-n{keys}-{name}", norm, keys, int(lead.subs(n, keys)))
    yield from wrong(each, norm)
    scores = {1: "equal scores", 2: r"scores $(\ln 2, 0, 0)$", 4: r"scores $(2\ln 2, 0, 0)$"}
    for lead, words in scores.items():
        yield fact(f"norm-t{lead}", rf"$\|J\|_2$ for {words}", norm.subs({n: 3, t: lead}))
    yield fact("norm-n128", "the same for 128 keys, one ahead by ln 127", norm.subs({n: 128, t: 127}))


def wrong(each: dict[str, Bound], norm: Expr) -> Iterator[Wrong]:
    """Return bounds with less room, one that is not attained, and other laws of the norm."""
    search = loops.largest_ratio
    for name, bound in each.items():
        tighter = bound.sides(3, Rational(99 if bound.upper else 101, 100))
        less, says = search(*tighter, 3, bound.sides(3)), "a bound holds with one per cent less room"
        yield Wrong(
            f"{name}-one-per-cent-less", of=f"{name}-n3", computed=less, says=f"{says}: {bound.words}"
        )
    says = "spread evenly, a row passes all that the bound by sums of rows allows"
    evenly, there = ratio_at(even(8), each["rows"].sides(8)), first_two(even(8))
    at = {Symbol(place): weight for place, weight in there.items()}
    yield Wrong("attained-by-even-rows", of="rows-attained-n8", at=at, computed=evenly, says=says)
    says = "the norm never exceeds the largest slope of the logistic function, {value}"
    largest = search(*each["half"].sides(3, S(2)), 3, each["half"].sides(3))
    yield Wrong("a-quarter", of="half-n3", computed=largest, at_most=Threshold(Rational(1, 4)), says=says)
    says, slope = "the norm is at most the largest entry", of_rows(p_1 * (1 - p_1), 3)
    yield Wrong("largest-entry", of="rows-n3", computed=search(loops.spectral_norms, slope, 3), says=says)
    says, equal = "larger scores always make the Jacobian smaller", norm.subs({n: 3, t: 1})
    yield Wrong("falls-with-the-scores", of="one-ahead-n3-most", at_most=equal, says=says)
    single = norm_ahead(in_single_precision(softmax), 3, math.log(2))
    yield Wrong(
        "in-single-precision", of="one-ahead-n3-most", computed=single, says="single precision is exact"
    )


def figures(derived: Derivation) -> Figure:
    """Draw the norm against the lead of one key, for few and for many keys."""
    layers, leads = [], np.linspace(0, 10, 11)
    for keys in (2, 16, 128):
        norm = derived["reached"].end.subs({n: keys, t: exp(lead)})
        layers.append(draw.curve(f"{keys} keys", norm, (0, 10), scale="linear", many=101))
        norms = [norm_ahead(softmax, keys, float(place)) for place in leads]
        layers.append(draw.dots("computed", leads, norms))
    return draw.figure(
        "lead",
        "With many keys, larger scores first open the softmax and only then close it",
        "Norm of the softmax Jacobian against the lead of one key over all others, for two, sixteen and many "
        "keys: with two keys it only falls; with more it starts near zero, rises to just above a quarter "
        "where the lead is the logarithm of the number of keys, and falls again.",
        *layers,
        x="lead of one score over all others",
        y="norm of the Jacobian",
        x_scale="linear",
        y_scale="linear",
    )


CLAIM = Claim(
    title="How much gradient a softmax row can transmit",
    statement="Let {p_1} and {p_2} be the largest weights of a row of {n} keys, two at least, and J "
    "the Jacobian of its softmax. The norm of J, the largest {form} over unit vectors as J is symmetric, is "
    "at least {second:end} and {first:end}; for every {x}, {largest} and {main}, and {half}. It is "
    "not monotone in the temperature: where one of three scores leads the others by zero, the logarithm "
    "of two or twice that, it is {norm-t1}, {norm-t2} and {norm-t4}.",
    meaning="A row transmits gradient only if its largest weight is near neither zero nor one: a row "
    "that is spread over very many keys blocks it as much as a saturated one. So making scores smaller does "
    "not always let more gradient through; with many keys a uniform row transmits almost nothing, and some "
    "spread of the scores is needed. Some row attains each bound. The bounds concern one row; what reaches "
    "queries and keys is multiplied by these, and by the scale.",
    symbols={"n": n, "x": x, "p_1": p_1, "p_2": p_2, "form": FORM},
    references=cite("storn1997"),
)
