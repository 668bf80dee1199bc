"""Scores within a fixed range spread attention over at least a fixed share of the keys."""

import numpy as np
from scipy import special
from sympy import cosh

from verify.claims.newer.shared.levels import mean_over_signs, weights
from verify.spec import RADEMACHER, ROUNDING, Chain, Chains, Check, Claim, Computed, Derivation, E, Entropy
from verify.spec import Ge, Integral, Items, Le, Line, Rational, S, Softmax, Within, Wrong, a, algebra
from verify.spec import at_most, cite, earlier, exp, integral, j, l, log, m, n, over_keys, s, squares, symbols
from verify.spec.arrays import Array

R, t = symbols("R t", positive=True)
# Scores within a range R, half of R times numbers that lie between -1 and 1.
ROW, WITHIN = R * s[a, j] / 2, (Le(s[a, j], 1), Ge(s[a, j], -1))


def derive() -> Chains:
    weight = Softmax(t * ROW, j)
    lost, mean = log(n) - Entropy(t * ROW, j), over_keys(weight * ROW)
    grows = Integral(t * (over_keys(weight * ROW**2) - mean**2), (t, 0, 1))
    start = Line(lost.subs(t, 1), "no entropy is lost where all scores are 0", integral(lost))
    grown = Chain(grows, start, name="grown", title="The entropy that is lost, as scores grow")
    rest = R**2 / 4 * over_keys(weight * (1 - s[a, j] ** 2)) + mean**2
    less = at_most(Integral(t * rest, (t, 0, 1)), given=WITHIN)
    entropy = Chain(lost.subs(t, 1), title="The entropy that a row loses").through(
        (grows, "it grows by the variance of the scores under their weights", earlier(grown)),
        (Integral(t * R**2 / 4, (t, 0, 1)), "which is at most $R^2/4$", less, "≤"),
        (R**2 / 8, "integrated", integral()),
    )
    total, entry = over_keys(exp(ROW.subs(j, l)), l), exp(ROW)
    between = over_keys((exp(R / 2) - entry) * (entry - exp(-R / 2))) / total**2
    missing = at_most((cosh(R / 2) * total - n) ** 2 / (n * total**2) + between, given=WITHIN)
    of_squares = Chain(squares(ROW), name="squares", title="The sum of the squared weights").through(
        (over_keys(entry**2) / total**2, "exponentials over their sum", algebra),
        (cosh(R / 2) ** 2 / n, "a square is missing, and what lies between both ends", missing, "≤"),
    )
    yield from (grown, entropy, of_squares)
    for chain, name in ((entropy, "mean-entropy"), (of_squares, "mean-squares")):
        every = Line(chain.end, "it holds for every row", earlier(chain, given=WITHIN), "≤")
        yield Chain(E(chain.start), every, name=name, title=f"{chain.title}, on average")


def experiment(derived: Derivation) -> Items:
    def lost_by(row: Array) -> float:
        return float(np.log(len(row)) - special.entr(row).sum())

    check, near = Check.sharing(laws={s: RADEMACHER}, shape={m: 16}), Within(0.5, fixed=True)
    by_squares, by_entropy = derived["mean-squares"], derived["mean-entropy"]
    # Scores are plus or minus a number.
    for keys, size in ((2, Rational(1, 4)), (4, S.One), (64, S.One)):
        at, row = {n: keys, R: 2 * size}, f"n{keys}-s{float(size):g}".replace(".", "")
        squared, lost = (mean_over_signs(of, keys, float(size)) for of in (lambda row: row @ row, lost_by))
        yield check(f"squares-{row}", by_squares, at, equals=squared, control=keys == 4)
        yield check(f"most-squares-{row}", by_squares, at, tolerance=near, sharper=0.95 * (keys == 2))
        yield check(f"lost-{row}", by_entropy, at, equals=lost, off={"less-lost": 0.8} if keys == 4 else {})
        yield check(f"most-lost-{row}", by_entropy, at, tolerance=near, sharper=0.45 * (keys == 2))
    most = derived["squares"].end
    at = {"n": 3, "R": "ln 2", "scores": "one above the others by R"}
    leading, end = weights(1, 3, float(log(2))), most.subs({n: 3, R: log(2)})
    yield Computed("attained", squares(ROW), np.dot, (leading, leading), end, settings=at, allowance=ROUNDING)
    where = {"n": 16, "R": 0.5, "scores": "seven above the others by R"}
    seven = Computed.sharing(settings=where, arguments=(weights(7, 16, 0.5),))
    yield seven("nearly", "entropy lost", lost_by, at_most=derived.end.subs(R, S.Half))
    smaller = most.subs({n: 3, R: log(2) * Rational(19, 20)})
    yield Wrong("smaller-range", of="attained", equals=smaller, says="the bound of a smaller range holds")
    says, constant = "one eighth can be lowered to one over eight and a tenth", Rational(81, 10)
    yield Wrong("smaller-constant", of="nearly", at_most=S.Half**2 / constant, says=says)


CLAIM = Claim(
    statement="Let the scores of a row of {n} keys lie within a range {R}. The sum of the squared weights is "
    "at most {squares:end}, so the effective number of keys is at least {n} divided by {part}, and the "
    "entropy falls short of that of an even spread by at most {main:end}.",
    meaning="The range of its scores limits how sharply a head can attend, and the limit is a share of the "
    "row, not a number of keys: in a text twice as long, the smallest possible effective number is twice as "
    "large. Three keys, one with twice the weight of each of the others, attain the first bound. With "
    "queries and keys normalised to length one and their products multiplied by a gain, scores lie between "
    "the gain and its negative, so the range is at most twice the gain: a head with a small gain can do "
    "little but average.",
    symbols={"part": cosh(R / 2) ** 2},
    references=cite("hoeffding1963", "velickovic2025"),
)
