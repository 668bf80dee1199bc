"""Attention over scores of variance 1 spreads over about n/e keys: n·E Σp² tends to e."""

from dataclasses import replace

from sympy import E as EULER
from sympy import Float, Limit, S, oo

from verify.spec.many_keys import many_keys
from verify.spec import Allowance, Chain, Check, Claim, Computed, Derivation, E, Figure, Findings, Items
from verify.spec import Within, Wrong, a, earlier, figures as draw, j, n, s, sigma, squares
from verify.spec.integrals import integrated

KEYS, BOUNDED, MANY = (4, 16, 64), (64, 1024), 10**6


def times_squares(keys: float) -> float:
    """Return n·E Σp² for a number of keys with scores of deviation 1, integrated."""
    return integrated(n * E(squares(s[a, j])), {n: round(keys)})


def derive() -> tuple[Chain, ...]:
    """Derive the limit from a bound for any number of keys and another for many."""
    *others, limit = many_keys()
    start = Limit(n * E(squares(s[a, j])), n, oo)
    unit = Chain(start, name="unit", title="Scores of variance 1").then(
        EULER, r"the limit at $\sigma = 1$", earlier(limit, at={sigma: 1})
    )
    return *others, limit, unit


def experiment(derived: Derivation) -> Items:
    """Measure n·E Σp² and its bounds for several numbers of keys, and compare that of very many with e."""
    lower, upper, near = derived["lower"], derived["upper"], Within(0.25, fixed=True)
    for keys in KEYS:
        yield Check(f"squares-n{keys}", lower, {n: keys, sigma: 1}, equals=times_squares(keys))
    for keys in BOUNDED:
        at, exact = {n: keys, sigma: 1}, times_squares(keys)
        low, high = (1.02, 0.98) if keys == BOUNDED[-1] else (0, 0)
        below = Check(f"lower-n{keys}", lower, at, sharper=low)
        above = Check(f"upper-n{keys}", upper, at, sharper=high)
        yield from (replace(check, tolerance=near, sharper_truth=exact) for check in (below, above))
    near_limit = Allowance(1e-4, "the distance from the limit of infinitely many keys")
    at, unit = {"n": MANY, "sigma": 1}, derived["unit"]
    what = unit.start.args[0]
    yield Computed("limit", what, times_squares, (MANY,), equals=unit.end, settings=at, allowance=near_limit)
    says = "attention spreads over all keys: {times} is {value}"
    yield Wrong("over-all-keys", of="squares-n64", equals=S.One, says=says)
    yield Wrong("over-half", of="squares-n64", equals=S(2), says="it spreads over half of them")
    yield Wrong("limit-at-once", of="squares-n4", equals=EULER, says="the limit is reached with 4 keys")
    says, few = "{n} = 1000 keys are as good as infinitely many", times_squares(1000)
    yield Wrong("limit-at-thousand", of="limit", at={n: 1000}, equals=EULER, computed=few, says=says)


def figures(derived: Derivation, findings: Findings) -> Figure:
    """Draw the approach to e."""
    span, limit = (2, 4096), Float(derived["unit"].end)
    return draw.figure(
        "towards-e",
        "Scores of unit variance use about one key in {limit:prediction}",
        "The number of keys times the mean sum of squared weights rises with the number of keys "
        "along the exact curve towards e, {limit:prediction.4}; measured values lie on the curve.",
        draw.curve("exact", times_squares, span, many=12),
        draw.curve("{limit:prediction}", limit, span, "other", many=2),
        draw.measured(findings.matching("squares-n*"), n),
        x=n,
        y="mean of {times}",
        y_scale="linear",
    )


CLAIM = Claim(
    title="Softmax of scores of unit variance spreads over about {spread} keys",
    statement="For independent normal scores of standard deviation {sigma}, {main}; for any number of keys, "
    "{lower}. At variance 1, {unit}: the effective number of keys, the inverse of the mean of {squares}, is "
    "about {n} over {unit:end}.",
    meaning="A head with such scores does not look anything up; it averages over more than a third of all "
    "keys, and with twice as many keys it averages over twice as many. Scaled scores of random vectors have "
    "unit variance over all queries; those of one query may have more or less. The approach is quick: with "
    "{squares-n64:n} keys the product is {squares-n64:prediction.3} of {limit:prediction.3}.",
    symbols={"sigma": sigma, "n": n, "squares": squares(s[a, j]), "times": n * squares(s[a, j])}
    | {"spread": n / EULER},
)
