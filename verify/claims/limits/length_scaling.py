"""Attention dilutes with length unless scores spread like {root_log}."""

from functools import partial

from verify.spec import Chain, Chains, Check, Claim, Derivation, E, Expr, Float, Items, Limit, Plot, Within
from verify.spec import Wrong, a, at_least, between, cite, earlier, fact, integrated, j, log, n, oo, s, sigma
from verify.spec import sqrt, squares
from verify.spec.lemmas import ONCE, at_most_keys, squares_lack

# Twice the spread at which the bound is 0, so that the bound is one half.
GROWING, NAME = 2 * sqrt(2 * log(n)), r"$\sigma = 2\sqrt{2\ln n}$"
MEAN = E(squares(sigma * s[a, j]))


def derive() -> Chains:
    first, lack = squares_lack("lack")
    bound = Chain(MEAN).then(1 - lack.end, "1 less what they lack at most", earlier(lack), "≥")
    at_growing = earlier(bound, at={sigma: GROWING}, given=(n > 1,))
    cancelled = "the bound for any spread: the number of keys cancels"
    growing = Chain(MEAN.subs(sigma, GROWING), name="growing", title=f"With {NAME}", given=(n > 1,))
    yield from (first, lack, bound, growing.then(bound.end.subs(sigma, GROWING), cancelled, at_growing, "≥"))
    *others, upper = at_most_keys()
    above = Chain(MEAN, name="at-most", title="At a fixed spread at most, for enough keys", given=upper.given)
    above = above.then(upper.end / n, "the bound of n times it", earlier(upper, given=(n > ONCE,)), "≤")
    below = Chain(MEAN, name="at-least", title="At least").then(0, "no negative squares", at_least(MEAN), "≥")
    yield from (*others, upper, above, below)
    fixed = Chain(Limit(MEAN, n, oo), name="fixed", title="At a fixed spread, for ever more keys")
    yield fixed.then(0, "it lies between two bounds that tend there", between(below, above))


def experiment(derived: Derivation) -> Items:
    def exact(keys: float, mean: Expr = MEAN) -> float:
        return integrated(mean, {n: round(keys), sigma: 1})

    growing, of_growing = derived["growing"], partial(exact, mean=derived["growing"].start)
    for keys in (4, 64, 1024):
        yield Check(f"growing-n{keys}", growing, {n: keys}, equals=of_growing(keys), tolerance=0.75)
        near, sharper = Within(0.5, fixed=True), 1.18 * (keys == 1024)
        yield Check(f"kept-n{keys}", growing, {n: keys}, tolerance=near, sharper=sharper)
        yield Check(f"fixed-n{keys}", MEAN, {n: keys, sigma: 1}, equals=exact(keys), tolerance=0.75)
    yield Wrong("fixed-keeps", of="fixed-n1024", equals=exact(4), says="a fixed scale keeps attention sharp")
    yield Wrong("growing-thins-out", of="growing-n1024", equals=exact(1024), says="attention thins out, too")
    for keys in (4, 1024, 10**6):
        what = rf"mean of $\sum p_j^2$ over {keys} keys at the growing spread, integrated"
        yield fact(f"kept-by-n{keys}", what, Float(of_growing(keys), 6))
    checks, curves = {NAME: "growing-n*", r"$\sigma = 1$": "fixed-n*"}, {"exact": of_growing, "": exact}
    words = r"mean of $\sum_j p_j^2$"
    wrong, bounds = {"wrong: a fixed spread keeps it": exact(4)}, {"bound: {growing:end}": growing.end}
    yield Plot("thinning-out", checks, n, curves=curves, bounds=bounds, wrong=wrong, y=words, linear="y")


CLAIM = Claim(
    headline="fixed-n1024",
    statement="At a fixed spread {sigma} of independent normal scores {MEAN} falls towards zero as the "
    "number of keys grows; with a spread of twice {spread} it is at least {growing:end} for every {n} from "
    "two on.",
    meaning="The growing spread leaves {MEAN} at {kept-by-n4:2} for {kept-n4:n} keys, {kept-by-n1024:2} for "
    "{kept-n1024:n} and {kept-by-n1000000:2} for a million. Division by {root_d} frees attention from growth "
    "with the dimension, not from dilution with the length: ten times as many keys share the same weight. "
    "For random scores a spread of {GROWING} is enough to prevent it; log-length scaling of long contexts "
    "multiplies scores by a factor that grows with {log} itself. Trained scores are not random.",
    symbols={"log": log(n), "root_log": sqrt(log(n)), "spread": sqrt(2 * log(n))},
    references=cite("chiang2022"),
)
