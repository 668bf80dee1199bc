"""Softmax of scores of unit variance spreads over about {spread} keys."""

from sympy import E as EULER

from verify.spec import Allowance, Chain, Check, Claim, Computed, Derivation, E, Items, Limit, Plot, S, Within
from verify.spec import Wrong, a, earlier, integrated, j, n, oo, s, sigma, squares
from verify.spec.lemmas import many_keys

MANY, TIMES = 10**6, n * E(squares(s[a, j]))


def derive() -> tuple[Chain, ...]:
    *others, limit = many_keys()
    unit = Chain(Limit(TIMES, n, oo), name="unit", title="Scores of variance 1")
    return *others, limit, unit.then(EULER, r"the limit at $\sigma = 1$", earlier(limit, at={sigma: 1}))


def experiment(derived: Derivation) -> Items:
    lower, upper = derived["lower"], derived["upper"]
    for keys in (4, 16, 64):
        yield Check(f"squares-n{keys}", lower, {n: keys, sigma: 1}, equals=integrated(TIMES, {n: keys}))
    for keys, low, high in ((64, 0, 0), (1024, 1.02, 0.98)):
        at, near = {n: keys, sigma: 1}, Within(0.25, fixed=True)
        yield Check(f"lower-n{keys}", lower, at, tolerance=near, sharper=low)
        yield Check(f"upper-n{keys}", upper, at, tolerance=near, sharper=high)
    near_limit = Allowance(1e-4, "the distance from the limit of infinitely many keys")
    given, where = (TIMES, {n: MANY}), {"n": MANY, "sigma": 1}
    yield Computed("limit", TIMES, integrated, given, equals=EULER, settings=where, allowance=near_limit)
    yield Wrong("over-all-keys", of="squares-n64", equals=S.One, says="attention spreads over all keys")
    yield Wrong("limit-at-once", of="squares-n4", equals=EULER, says="the limit is reached with 4 keys")
    says, few = "{n} = 1000 keys are as good as infinitely many", {n: 1000}
    yield Wrong("limit-at-thousand", of="limit", at=few, equals=EULER, arguments=(TIMES, few), says=says)
    curves, bounds = {"exact": TIMES}, {"{limit:prediction}": EULER}
    yield Plot("towards-e", "squares-n*", n, curves=curves, bounds=bounds, y="mean of {times}", linear="y")


CLAIM = Claim(
    statement="For independent normal scores of standard deviation {sigma}, {main}; for any number of keys, "
    "{lower}. At variance 1, {unit}: the effective number of keys, the inverse of the mean of {squares}, is "
    "about {n} over {unit:end}.",
    meaning="A head with such scores does not look anything up; it averages over more than a third of all "
    "keys, and with many keys, twice as many double that number. Scaled scores of random vectors have unit "
    "variance over all queries; those of one query may have more or less. The approach is quick: with "
    "{squares-n64:n} keys the product is {squares-n64:prediction.3} of {limit:prediction.3}.",
    symbols={"times": n * squares(s[a, j]), "spread": n / EULER},
)
