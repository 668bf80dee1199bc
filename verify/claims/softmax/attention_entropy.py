"""On average scaled attention loses at most half a nat of entropy, whatever the number of keys."""

from sympy import Expr, Float, Gt, Rational, S, exp, log, sqrt

from verify.spec.lemmas import entropy_lost, lost
from verify.spec import Chain, Check, Claim, Derivation, E, Entropy, Figure, Findings, Indicator, Items
from verify.spec import Threshold, Within, Wrong, a, cite, d, earlier, fact, figures as draw, j, n
from verify.spec import of_probability, s, score, sigma, squares
from verify.spec.integrals import KEYS, integrated

GRID = ((4, 4), (4, 64), (64, 4), (64, 64), (64, 256), (512, 64))
"""Numbers of keys and dimensions."""

BELOW = {(64, 4): Rational(1, 3), (512, 64): Rational(2, 5)}
"""For keys and a dimension, at least which share of the rows there is to lose more than half a nat."""

TIGHT, WIDE = {n: 512, sigma: 1}, {n: 512, sigma: 2}
"""Where the bounds are tight."""

NEAR = Within(0.25, fixed=True)
ROW, SCALED = sigma * s[a, j], score / sqrt(d)
REST = 1 - E(squares(ROW))
SHARE = E(Indicator(log(n) - S.Half - Entropy(SCALED, j)))


def derive() -> tuple[Chain, ...]:
    """Derive the bound by Gaussian integration by parts, and average it over queries."""
    first, bound, scaled = entropy_lost()
    above = earlier(first, given=(Gt(REST, 0),))
    ratio = Chain(lost(ROW) / first.end, name="ratio", title="The loss over that bound", given=(n > 1,)).then(
        1, "no more is lost than this bound", above, "≤"
    )
    return first, ratio, bound, scaled


def bounded(name: str, quantity: Expr, at: dict[Expr, int], most: Expr, false: float = 0) -> Check:
    """Return the check of a bound, with the factor of its constant that is false."""
    exact = integrated(quantity, at)
    return Check(name, quantity, at, at_most=most, tolerance=NEAR, sharper=false, sharper_truth=exact)


def experiment(derived: Derivation) -> Items:
    """Measure the entropy lost against bounds and its exact mean, and how many rows lose more."""
    scaled, ratio = derived["scaled"], derived["ratio"]
    few = integrated(scaled.start, {n: 4, d: 64})
    for keys, size in GRID:
        at, name = {n: keys, d: size}, f"n{keys}-d{size}"
        yield bounded(f"loss-{name}", scaled.start, at, scaled.end, 0.98 if keys == 512 else 0)
        if size <= 64:
            yield Check(f"value-{name}", scaled, at, equals=integrated(scaled.start, at))
    yield bounded("first-bound", ratio.start, TIGHT, ratio.end, 0.98)
    yield bounded("loss-of-spread-rows", derived.start, WIDE, derived.end, 0.9)
    for (keys, size), least in BELOW.items():
        at, name, false = {n: keys, d: size}, f"rows-below-n{keys}-d{size}", 1.1 if size == 4 else 0
        yield Check(name, SHARE, at, at_least=Threshold(least), tolerance=Within(fixed=True), sharper=false)
    says = "at most {half_sigma} is lost, not {half_square}"
    yield Wrong("half-sigma", of="loss-of-spread-rows", at_most=sigma / 2, says=says)
    says = "without scaling, too, at most half a nat is lost"
    yield Wrong("unscaled-loses-as-little", lost(score), {n: 64, d: 64}, at_most=S.Half, says=says)
    says = "how many keys there are does not matter: many lose as much as four"
    yield Wrong("loss-of-few-keys", of="value-n512-d64", equals=few, says=says)
    says, at = "every row, not only their mean, keeps all but half a nat", {n: 64, d: 4}
    yield Wrong("every-row", SHARE, at, at_most=Threshold(0), tolerance=of_probability(), says=says)
    most = derived.end.subs(sigma, 1)
    yield fact("largest-loss", r"bound on the mean entropy lost at $\sigma = 1$, in nats", most)
    yield fact("least-spread", r"bound on $e^{\mathbb{E}H}/n$ at $\sigma = 1$", exp(-most))
    for keys in (KEYS[0], 64, KEYS[-1]):
        what = rf"share of that loss which {keys} keys suffer at $\sigma = 1$, integrated"
        share = integrated(derived.start, {n: keys, sigma: 1}) / float(most)
        yield fact(f"reached-n{keys}", what, Float(share, 6))


def figures(derived: Derivation, findings: Findings) -> Figure:
    """Draw the losses over the number of keys, below the bound."""
    scaled, span = derived["scaled"], (4, 512)
    few = Float(integrated(scaled.start, {n: 4, d: 64}))
    return draw.figure(
        "losses",
        "On average scaled attention loses at most half a nat against an even spread",
        "Measured mean loss of entropy of scaled attention over the number of keys, in two dimensions: it "
        "rises with the number of keys and stays below the bound of one half.",
        draw.curve("bound: one half", scaled.end, span, many=2),
        draw.curve("wrong: as little over many keys", few, span, "control", many=2),
        *(draw.measured(findings.matching(f"loss-n*-d{size}"), n, f"$d_k = {size}$") for size in (64, 4)),
        x=n,
        y="mean entropy lost, in nats",
        y_scale="linear",
    )


CLAIM = Claim(
    title="On average scaled attention keeps all but half a nat of its entropy",
    headline="loss-n64-d64",
    statement="For independent normal scores of standard deviation {sigma} over {n} keys, the mean entropy "
    "is at most so much below that of an even spread: {main}. For scaled scores of standard normal queries "
    "and keys, {scaled}: at most half a nat is lost on average, whatever the dimension and the number of "
    "keys. Single rows may lose more.",
    meaning="Correctly scaled attention starts out balanced on average. Counting keys by the exponential of "
    "the mean entropy, it spreads over at least {least-spread:3} of them in any dimension and at any length; "
    "with many keys, over hardly more. It is not true of each row: the longer its query, the sharper the "
    "row, and of those over {rows-below-n64-d4:n} keys in {rows-below-n64-d4:d_k} dimensions "
    "{rows-below-n64-d4:estimate.2%} lose more than half a nat. Any further sharpness on average is learnt, "
    "not given by the initialisation.",
    symbols={"sigma": sigma, "n": n, "half_sigma": sigma / 2, "half_square": sigma**2 / 2},
    references=cite("stein1981"),
)
