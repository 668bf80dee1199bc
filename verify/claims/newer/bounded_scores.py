"""Scores within a range R: at least n/cosh²(R/2) effective keys, and at most R²/8 of entropy lost."""

from collections.abc import Callable
from functools import partial
from math import comb
from typing import Any

import numpy as np
from scipy import special
from sympy import Expr, Ge, Integral, Le, Rational, S, cosh, exp, log, symbols

from verify.spec import RADEMACHER, ROUNDING, Chain, Check, Claim, Computed, Derivation, E, Entropy, Figure
from verify.spec import Items, Line, Softmax, Within, Wrong, a, algebra, at_most, cite, earlier
from verify.spec import figures as draw, integral, j, l, m, n, over_keys, s, squares
from verify.spec.arrays import Array, softmax

R, t = symbols("R t", positive=True)
ROW, WITHIN = R * s[a, j] / 2, (Le(s[a, j], 1), Ge(s[a, j], -1))
"""Scores within a range R, and what that says of the numbers of which they are half of R times."""
ROWS = ((2, Rational(1, 4)), (4, S.One), (64, S.One))
"""Numbers of keys, and scores that are plus or minus that number."""


def derive() -> tuple[Chain, ...]:
    """Derive the entropy that is lost at most, by scores times t from 0 to 1, and the squared weights."""
    weight = Softmax(t * ROW, j)
    lost, mean = log(n) - Entropy(t * ROW, j), over_keys(weight * ROW)
    grows = Integral(t * (over_keys(weight * ROW**2) - mean**2), (t, 0, 1))
    start = Line(lost.subs(t, 1), "no entropy is lost where all scores are 0", integral(lost))
    grown = Chain(grows, start, name="grown", title="The entropy that is lost, as scores grow")
    rest = R**2 / 4 * over_keys(weight * (1 - s[a, j] ** 2)) + mean**2
    less = at_most(Integral(t * rest, (t, 0, 1)), given=WITHIN)
    entropy = (
        Chain(lost.subs(t, 1), title="The entropy that a row loses")
        .then(grows, "it grows by the variance of the scores under their weights", earlier(grown))
        .then(Integral(t * R**2 / 4, (t, 0, 1)), "which is at most $R^2/4$", less, "≤")
        .then(R**2 / 8, "integrated", integral())
    )
    total, entry = over_keys(exp(ROW.subs(j, l)), l), exp(ROW)
    between = over_keys((exp(R / 2) - entry) * (entry - exp(-R / 2))) / total**2
    missing = (cosh(R / 2) * total - n) ** 2 / (n * total**2) + between
    why = "a square is missing, and what lies between both ends"
    of_squares = (
        Chain(squares(ROW), name="squares", title="The sum of the squared weights")
        .then(over_keys(entry**2) / total**2, "exponentials over their sum", algebra)
        .then(cosh(R / 2) ** 2 / n, why, at_most(missing, given=WITHIN), "≤")
    )
    return grown, entropy, of_squares, *(averaged(chain) for chain in (entropy, of_squares))


def averaged(chain: Chain) -> Chain:
    """Derive the bound of the mean over drawn rows from that of every row."""
    name = f"mean-{chain.name or 'entropy'}"
    every = Line(chain.end, "it holds for every row", earlier(chain, given=WITHIN), "≤")
    return Chain(E(chain.start), every, name=name, title=f"{chain.title}, on average")


def squares_of(weights: Array) -> float:
    """Return the sum of the squared weights."""
    return float(weights @ weights)


def lost_by(weights: Array) -> float:
    """Return the entropy that weights lack of that of equal ones."""
    return float(np.log(len(weights)) - special.entr(weights).sum())


def of_levels(of_weights: Callable[[Array], float], high: int, keys: int, apart: float) -> float:
    """Return a function of the weights of keys of which some have a score that is higher by ``apart``."""
    return of_weights(softmax(np.where(np.arange(keys) < high, apart, 0.0)))


def mean_over_signs(of_weights: Callable[[Array], float], keys: int, size: float) -> float:
    """Return the mean of a function of the weights where every score is ±``size``, with equal chance."""
    values = (of_levels(of_weights, high, keys, 2 * size) for high in range(keys + 1))
    return sum(comb(keys, high) * value for high, value in enumerate(values)) / 2.0**keys


def experiment(derived: Derivation) -> Items:
    """Measure rows of two levels against both bounds, and compute rows that attain them, or nearly."""
    of_squares, lost, near = derived["mean-squares"], derived["mean-entropy"], Within(0.5, fixed=True)
    drawn = dict[str, Any](laws={s: RADEMACHER}, shape={m: 16})
    for keys, size in ROWS:
        at, name = {n: keys, R: 2 * size}, f"n{keys}-s{float(size):g}".replace(".", "")
        few, control = keys == 2, keys == 4
        exact = [mean_over_signs(of_row, keys, float(size)) for of_row in (squares_of, lost_by)]
        yield Check(f"squares-{name}", of_squares, at, equals=exact[0], control=control, **drawn)
        bound = dict[str, Any](at_most=of_squares.end, sharper=0.95 * few, sharper_truth=exact[0])
        yield Check(f"most-squares-{name}", of_squares.start, at, tolerance=near, **bound, **drawn)
        yield Check(f"lost-{name}", lost, at, equals=exact[1], **drawn)
        bound = dict[str, Any](at_most=lost.end, sharper=0.45 * few, sharper_truth=exact[1])
        yield Check(f"most-lost-{name}", lost.start, at, tolerance=near, **bound, **drawn)
    says = "rows of {cell:n} keys lose a fifth less entropy"
    yield Wrong("less-lost", of="lost-n4-s1", equals=0.8 * mean_over_signs(lost_by, 4, 1.0), says=says)
    yield from of_single_rows(derived["squares"].end, derived.end)


def of_single_rows(most_squares: Expr, most_lost: Expr) -> Items:
    """Compute a row that attains the bound of the squares, and one that nearly attains that of entropy."""
    where: dict[str, float | str] = {"n": 3, "R": "ln 2", "scores": "one above the others by R"}
    given, at = (squares_of, 1, 3, float(log(2))), {n: 3, R: log(2)}
    attained = partial(Computed, equals=most_squares.subs(at), settings=where, allowance=ROUNDING)
    yield attained("attained", squares(ROW), of_levels, given)
    where = {"n": 16, "R": 0.5, "scores": "seven above the others by R"}
    given, nearly = (lost_by, 7, 16, 0.5), most_lost.subs(R, S.Half)
    yield Computed("nearly", "entropy lost", of_levels, given, at_most=nearly, settings=where)
    smaller = most_squares.subs({n: 3, R: log(2) * Rational(19, 20)})
    says = "the bound for a range smaller by a twentieth holds as well"
    yield Wrong("smaller-range", of="attained", equals=smaller, says=says)
    says, constant = "one eighth can be lowered to one over eight and a tenth", Rational(81, 10)
    yield Wrong("smaller-constant", of="nearly", at_most=S.Half**2 / constant, says=says)


def figures(derived: Derivation) -> Figure:
    """Draw the entropy that rows of two levels lose over the range, for two shares of high scores."""
    ranges = np.linspace(0.25, 4, 16)
    half, few = ([of_levels(lost_by, high, 16, apart) for apart in ranges] for high in (8, 3))
    return draw.figure(
        "entropy",
        "Rows lose no more entropy than an eighth of the squared range of their scores",
        "Entropy that rows of two levels lose, over the distance of the levels: points below a parabola, "
        "close to it where the range is small and far below it where it is large.",
        draw.curve("bound: {main:end}", derived.end, (0.25, 4), scale="linear"),
        draw.dots("half of the keys high", ranges, half),
        draw.dots("three keys in sixteen high", ranges, few, "other"),
        x="range {R} of scores",
        y="entropy lost, in nats",
        x_scale="linear",
        y_scale="linear",
    )


CLAIM = Claim(
    title="Scores within a fixed range spread attention over at least a fixed share of the keys",
    statement="Let the scores of a row of {n} keys lie within a range {R}. The sum of the squared weights is "
    "at most {squares:end}, so the effective number of keys is at least {n} divided by {part}, and the "
    "entropy falls short of that of an even spread by at most {main:end}.",
    meaning="The range of its scores limits how sharply a head can attend, and the limit is a share of the "
    "row, not a number of keys: in a text twice as long, the smallest possible effective number is twice as "
    "large. Three keys, one with twice the weight of each of the others, attain the first bound. With "
    "queries and keys normalised to length one and their products multiplied by a gain, scores lie between "
    "the gain and its negative, so the range is at most twice the gain: a head with a small gain can do "
    "little but average.",
    symbols={"n": n, "R": R, "part": cosh(R / 2) ** 2},
    references=cite("hoeffding1963", "velickovic2025"),
)
