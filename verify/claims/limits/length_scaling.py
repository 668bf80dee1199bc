"""At a fixed scale attention thins out over longer texts; a spread that grows like √(ln n) keeps it."""

from collections.abc import Callable
from dataclasses import replace

from sympy import Expr, Float, Limit, log, oo, sqrt

from verify.spec import NORMAL_ROWS, Chain, Check, Claim, Derivation, E, Figure, Findings, Items, Largest
from verify.spec import Line, Softmax, Within, Wrong, a, at_least, between, cite, cited, earlier, fact
from verify.spec import figures as draw, j, l, n, over_keys, s, sigma, squares
from verify.spec.integrals import integrated
from verify.spec.many_keys import ONCE, at_most_keys

KEYS, MANY, TIMES = (4, 64, 1024), 10**6, 2
"""Numbers of keys; very many; the growing spread, as a multiple of √(2 ln n)."""
GROWING = TIMES * sqrt(2 * log(n))
ROW = sigma * s[a, j]
MEAN = E(squares(ROW))
NAME = rf"$\sigma = {TIMES}\sqrt{{2\ln n}}$"


def derive() -> tuple[Chain, ...]:
    """Derive that a spread of a multiple of √(2 ln n) keeps a share of the weight on few keys."""
    weighted, top = over_keys(Softmax(ROW, j) * ROW), Largest(sigma * s[a, l], l)
    more = at_least(E(over_keys(Softmax(ROW, j) * (top - ROW))) / sigma**2)
    stein, most = (cited(theorem, laws=NORMAL_ROWS) for theorem in ("stein", "normal maximum"))
    bound = (
        Chain(MEAN)
        .then(1 - E(weighted) / sigma**2, "integration by parts", stein)
        .then(1 - E(top) / sigma**2, "no average of scores exceeds the largest", more, "≥")
        .then(1 - sqrt(2 * log(n)) / sigma, "the largest of $n$ normal scores", most, "≥")
    )
    at_growing = earlier(bound, at={sigma: GROWING}, given=(n > 1,))
    cancelled = "the bound for any spread: the number of keys cancels"
    growing = Chain(
        MEAN.xreplace({sigma: GROWING}), name="growing", title=f"With {NAME}", given=(n > 1,)
    ).then(bound.end.xreplace({sigma: GROWING}), cancelled, at_growing, "≥")
    return bound, growing, *at_fixed_spread()


def at_fixed_spread() -> tuple[Chain, ...]:
    """Derive that at a fixed spread the mean sum of squared weights falls to 0."""
    *others, upper = at_most_keys()
    at_most = Chain(
        MEAN, name="at-most", title="At a fixed spread at most, for enough keys", given=upper.given
    ).then(upper.end / n, "the bound of n times it", earlier(upper, given=(n > ONCE,)), "≤")
    positive = Line(0, "squares are not negative", at_least(MEAN), "≥")
    not_negative = Chain(MEAN, positive, name="at-least", title="At least")
    fixed = Chain(Limit(MEAN, n, oo), name="fixed", title="At a fixed spread, for ever more keys").then(
        0, "it lies between two bounds that tend there", between(not_negative, at_most)
    )
    return *others, upper, at_most, not_negative, fixed


def exact(mean: Expr) -> Callable[[float], float]:
    """Return a mean of rows as a function of the number of keys, integrated; a fixed spread is 1."""
    return lambda keys: integrated(mean, {n: round(keys), sigma: 1})


def experiment(derived: Derivation) -> Items:
    """Measure concentration over the number of keys, at one fixed and at a growing spread."""
    growing, wide, near = derived["growing"], Within(0.75), Within(0.5, fixed=True)
    few, _, last = KEYS
    values, thin = ({keys: exact(mean)(keys) for keys in (*KEYS, MANY)} for mean in (growing.start, MEAN))
    for keys in KEYS:
        at, false = {n: keys}, 1.18 if keys == last else 0
        yield Check(f"growing-n{keys}", growing, at, equals=values[keys], tolerance=wide)
        kept = Check(f"kept-n{keys}", growing, at, tolerance=near)
        yield replace(kept, sharper=false, sharper_truth=values[keys])
        yield Check(f"fixed-n{keys}", MEAN, {n: keys, sigma: 1}, equals=thin[keys], tolerance=wide)
    says = "a fixed scale keeps attention as concentrated over {cell:n} keys as over {fixed-n4:n}"
    yield Wrong("fixed-keeps", of=f"fixed-n{last}", equals=thin[few], says=says)
    says = "with the growing spread, too, attention thins out"
    yield Wrong("growing-thins-out", of=f"growing-n{last}", equals=thin[last], says=says)
    for keys in (few, last, MANY):
        what = rf"mean of $\sum p_j^2$ over {keys} keys at the growing spread, integrated"
        yield fact(f"kept-by-n{keys}", what, Float(values[keys], 6))


def figures(derived: Derivation, findings: Findings) -> Figure:
    """Draw both over the number of keys."""
    growing, span = derived["growing"], (KEYS[0], KEYS[-1])
    few = Float(exact(MEAN)(KEYS[0]))
    return draw.figure(
        "thinning-out",
        "A spread that grows like the root of {log} keeps attention concentrated",
        "The mean sum of squared weights over the number of keys: with a spread of twice the root of "
        "two ln n it stays above one half, with a fixed spread it falls like one over n.",
        draw.curve("bound: {growing:end}", growing.end, span, "other", many=2),
        draw.curve("exact", exact(growing.start), span, many=13),
        draw.curve("", exact(MEAN), span, many=13),
        draw.curve("wrong: a fixed spread keeps it", few, span, "control", many=2),
        draw.measured(findings.matching("growing-n*"), n, NAME),
        draw.measured(findings.matching("fixed-n*"), n, r"$\sigma = 1$"),
        x="number of keys {n}",
        y="{mean}",
    )


CLAIM = Claim(
    title="Attention dilutes with length unless scores spread like {root_log}",
    statement="At a fixed spread {sigma} of independent normal scores {mean} falls towards zero as the "
    "number of keys grows; with a spread of twice {spread} it is at least {growing:end} for every {n} from "
    "two on.",
    meaning="The growing spread leaves {mean} at {kept-by-n4:2} for {kept-n4:n} keys, {kept-by-n1024:2} for "
    "{kept-n1024:n} and {kept-by-n1000000:2} for a million. Division by {root_d} frees attention from growth "
    "with the dimension, not from dilution with the length: ten times as many keys share the same weight. "
    "For random scores a spread that grows like {root_log} is enough to prevent it; log-length scaling of "
    "long contexts multiplies scores by a factor that grows with {log} itself. Trained scores are not "
    "random.",
    symbols={"n": n, "sigma": sigma, "log": log(n), "root_log": sqrt(log(n)), "mean": MEAN}
    | {"spread": sqrt(2 * log(n))},
    references=cite("chiang2022"),
)
