"""Within a fixed range of scores, attention spreads over all keys as their number grows."""

from verify.claims.newer.shared.levels import mean_over_signs, weights
from verify.spec import RADEMACHER, ROUNDING, Chain, Chains, Check, Claim, Computed, Derivation, E, Items
from verify.spec import KroneckerDelta, Largest, Le, Plot, Rational, Softmax, Symbol, Within, Wrong, a
from verify.spec import algebra, at_least, at_most, cite, earlier, exp, fact, j, l, m, n, over_keys, s

R = Symbol("R", positive=True)
MOST, LEAST = 1 / (1 + (n - 1) * exp(-R)), 1 / (1 + (n - 1) * exp(R))


def derive() -> Chains:
    above, written = s[a, l] - s[a, j], "over the exponential of the key’s own score"
    total, others = over_keys(exp(above), l), 1 - KroneckerDelta(j, l)
    more = at_most(over_keys(others * (exp(above) - exp(-R)), l) * MOST / total, given=(Le(-above, R),))
    less = at_least(over_keys(others * (exp(R) - exp(above)), l) * LEAST / total, given=(Le(above, R),))
    most = Chain(Softmax(s[a, j], j), title="A weight at most").through(
        (1 / total, written, algebra),
        (MOST, "no other score is further below than $R$", more, "≤"),
    )
    least = Chain(Softmax(s[a, j], j), name="least", title="A weight at least").through(
        (1 / total, written, algebra),
        (LEAST, "no other score is further above than $R$", less, "≥"),
    )
    largest, every = E(Largest(Softmax(s[a, j], j), j)), earlier(most, given=(Le(-above, R),))
    drawn = Chain(largest, name="drawn", title="The largest weight of a row, on average")
    yield from (most, least, drawn.then(MOST, "the bound of every weight", every, "≤"))


def experiment(derived: Derivation) -> Items:
    drawn, least, tight = derived["drawn"], derived["least"], Within(0.5, fixed=True)
    means = {}
    for keys, level in ((2, Rational(1, 8)), (4, Rational(1)), (64, Rational(1))):
        at, row = {n: keys, R: 2 * level}, f"n{keys}-s{float(level):g}".replace(".", "")
        # Scores are plus or minus a number.
        check = Check.sharing(laws={s: RADEMACHER.moved(0, level)}, shape={m: 16})
        means[keys] = mean_over_signs(max, keys, float(level))
        yield check(f"largest-{row}", drawn, at, equals=means[keys], control=keys == 4)
        yield check(f"bound-{row}", drawn, at, tolerance=tight, sharper=0.93 if keys == 2 else 0)
    what = "weight of a key whose score is {} by 3 than all others"
    for keys in (8, 512):
        at, weight = {R: 3, n: keys}, Computed.sharing(settings={"n": keys}, allowance=ROUNDING)
        (ahead, *_), (behind, *_) = (weights(1, keys, lead) for lead in (3.0, -3.0))
        yield weight(f"most-n{keys}", what.format("larger"), float, (ahead,), at_most=derived.end.subs(at))
        yield weight(f"least-n{keys}", what.format("smaller"), float, (behind,), at_least=least.end.subs(at))
    smaller = {R: Rational(297, 100), n: 512}
    says = "the bound for a range smaller by a hundredth holds as well"
    says = "the bound for a range smaller by a hundredth holds as well"
    yield Wrong("smaller-range", of="most-n512", at_most=derived.end.subs(smaller), says=says)
    says = "the lower bound for a range smaller by a hundredth holds as well"
    yield Wrong("smaller-range-below", of="least-n512", at_least=least.end.subs(smaller), says=says)
    says = "the largest of {cell:n} weights is as large as that of {largest-n4-s1:n}"
    yield Wrong("as-few-keys", of="largest-n64-s1", equals=means[4], says=says)
    at = {R: 3, n: 512}
    yield fact("attained", "largest weight of 512 keys within a range of 3", derived.end.subs(at))
    yield fact("published", "the published bound of it, $e^R/n$", (exp(R) / n).subs(at))
    words = "mean of the largest weight"
    curves = {"exact": lambda keys: mean_over_signs(max, round(keys), 1.0)}
    wrong, bounds = {"{least:end}": least.end.subs(R, 2)}, {"{main:end}": derived.end.subs(R, 2)}
    yield Plot("dispersion", "largest-n*-s1", n, curves=curves, bounds=bounds, wrong=wrong, y=words)


CLAIM = Claim(
    statement="If no two scores of a row of {n} keys differ by more than {R}, every weight is at least "
    "{least:end} and at most {main:end}. Rows with two levels of scores attain these bounds. Both tend to "
    "zero as {n} grows: bounded scores cannot keep attention on one key.",
    meaning="How sharp a softmax can be depends on how far apart its scores are. A key that leads by three "
    "has a weight of {most-n8:prediction.2} among {most-n8:n} keys, and of {attained:3} among {most-n512:n}. "
    "A published bound, {loose}, gives {published:3} for the latter: it is true, but attained only if all "
    "scores are equal. Networks with bounded inputs have bounded scores, so a head that must find one token "
    "among more and more needs scores that grow.",
    symbols={"loose": exp(R) / n},
    references=cite("velickovic2025"),
)
