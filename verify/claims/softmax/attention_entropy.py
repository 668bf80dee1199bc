"""On average scaled attention keeps all but half a nat of its entropy."""

from verify.spec import Chain, Check, Claim, Derivation, E, Entropy, Gt, Indicator, Items, Plot, Rational, S
from verify.spec import Threshold, Within, Wrong, a, cite, d, earlier, exp, fact, integrated, j, log, n
from verify.spec import of_probability, s, score, sigma, sqrt, squares
from verify.spec.lemmas import entropy_lost, lost, of_queries

ROW, SCALED = sigma * s[a, j], score / sqrt(d)
SHARE = E(Indicator(log(n) - S.Half - Entropy(SCALED, j)))  # the share of rows that lose more than half a nat


def derive() -> tuple[Chain, ...]:
    first, bound, scaled = entropy_lost()
    above, given = earlier(first, given=(Gt(1 - E(squares(ROW)), 0),)), (n > 1,)
    ratio = Chain(lost(ROW) / first.end, name="ratio", title="The loss over that bound", given=given)
    ratio = ratio.then(1, "no more is lost than this bound", above, "≤")
    return first, ratio, bound, scaled, of_queries(scaled.start, "loss", "Their mean loss")


def experiment(derived: Derivation) -> Items:
    scaled, at_unit = derived["scaled"], derived.end.subs(sigma, 1)
    few, near = integrated(scaled.start, {n: 4, d: 64}), Within(0.25, fixed=True)
    for keys, size in ((4, 4), (4, 64), (64, 4), (64, 64), (64, 256), (512, 64)):
        at, name = {n: keys, d: size}, f"n{keys}-d{size}"
        yield Check(f"loss-{name}", scaled, at, tolerance=near, sharper=0.98 if keys == 512 else 0)
        if size <= 64:
            yield Check(f"value-{name}", derived["loss"], at)
    yield Check("first-bound", derived["ratio"], {n: 512, sigma: 1}, tolerance=near, sharper=0.98)
    yield Check("loss-of-spread-rows", derived, {n: 512, sigma: 2}, tolerance=near, sharper=0.9)
    for keys, size, least, false in ((64, 4, Rational(1, 3), 1.1), (512, 64, Rational(2, 5), 0)):
        name, at, fixed = f"rows-below-n{keys}-d{size}", {n: keys, d: size}, Within(fixed=True)
        yield Check(name, SHARE, at, at_least=Threshold(least), tolerance=fixed, sharper=false)
    yield Wrong("half-sigma", of="loss-of-spread-rows", at_most=sigma / 2, says="only {half_sigma} is lost")
    says = "without scaling, too, at most half a nat is lost"
    yield Wrong("unscaled-loses-as-little", lost(score), {n: 64, d: 64}, at_most=S.Half, says=says)
    yield Wrong("loss-of-few-keys", of="value-n512-d64", equals=few, says="many keys lose as much as four")
    says, at = "every row, not only their mean, keeps all but half a nat", {n: 64, d: 4}
    yield Wrong("every-row", SHARE, at, at_most=Threshold(0), tolerance=of_probability(), says=says)
    yield fact("least-spread", r"bound on $e^{\mathbb{E}H}/n$ at $\sigma = 1$", exp(-at_unit))
    curves, wrong = {"bound: one half": scaled.end}, {"wrong: as little over many keys": few}
    checks, words = {f"$d_k = {size}$": f"loss-n*-d{size}" for size in (64, 4)}, "mean entropy lost, in nats"
    yield Plot("losses", checks, n, curves=curves, wrong=wrong, y=words, linear="y")


CLAIM = Claim(
    headline="loss-n64-d64",
    statement="For independent normal scores of standard deviation {sigma} over {n} keys, the mean entropy "
    "is at most so much below that of an even spread: {main}. For scaled scores of standard normal queries "
    "and keys, {scaled}: at most half a nat is lost on average, whatever the dimension and the number of "
    "keys. Single rows may lose more.",
    meaning="Correctly scaled attention starts out balanced on average. Counting keys by the exponential of "
    "the mean entropy, it spreads over at least {least-spread:3} of them in any dimension and at any length; "
    "with many keys, over hardly more. It is not true of each row: the longer its query, the sharper the "
    "row, and of those over {rows-below-n64-d4:n} keys in {rows-below-n64-d4:d_k} dimensions "
    "{rows-below-n64-d4:estimate.2%} lose more than half a nat.",
    symbols={"half_sigma": sigma / 2},
    references=cite("stein1981"),
)
