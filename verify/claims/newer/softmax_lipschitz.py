"""Softmax moves by at most half as much as its scores."""

import numpy as np

from verify.spec import ROUNDING, Chain, Chains, Check, Claim, Computed, Derivation, E, Expr, Family, Items
from verify.spec import KroneckerDelta, Rational, S, Softmax, Sum, Symbol, Threshold, Within, Wrong, a
from verify.spec import algebra, at_most, cite, earlier, exp, j, l, m, n, over_keys, s, sigma, tanh
from verify.spec.arrays import complex_step, softmax

delta, x = Symbol("delta", positive=True), Family("x", n)
# Orders and names of norms.
NORMS = {"sum": (1, "sum"), "length": (2, "Euclidean"), "largest": (np.inf, "maximum")}
p, weight = Softmax(s[a, j], j), Softmax(sigma * s[a, j], j)
OTHERS = 1 - KroneckerDelta(j, l)


def derive() -> Chains:
    def row_of(own: Expr) -> Expr:
        return own * (1 - own) + over_keys(OTHERS * own * Softmax(own.args[0].subs(j, l), l), l)

    square, total = r"the difference is $2(p_j - \frac12)^2$", "weights sum to 1"
    row = Chain(row_of(p), title="The absolute values of a row of the Jacobian")
    yield row.then(2 * p * (1 - p), total, algebra).then(S.Half, square, at_most(2 * (p - S.Half) ** 2), "≤")
    slope = Chain(E(row_of(weight)), name="mean-slope", title=r"The same of scores $\sigma s_j$, on average")
    slope = slope.then(E(2 * weight * (1 - weight)), total, algebra)
    drawn = Chain(slope.start, name="drawn", title="A bound of that").then(slope.end, total, earlier(slope))
    yield from (slope, drawn.then(S.Half, square, at_most(E(2 * (weight - S.Half) ** 2)), "≤"))
    cross = Sum(OTHERS * p * Softmax(s[a, l], l) * (x[j] + x[l]) ** 2, (j, 1, n), (l, 1, n)) / 2
    pairs = r"the difference is $\frac12\sum_{l\ne j}p_jp_l(x_j+x_l)^2$"
    less = at_most(2 * over_keys((p - S.Half) ** 2 * x[j] ** 2))
    title = "The quadratic form of the Jacobian, at any vector x"
    yield Chain(over_keys(p * x[j] ** 2) - over_keys(p * x[j]) ** 2, name="form", title=title).through(
        (2 * over_keys(p * (1 - p) * x[j] ** 2), pairs, at_most(cross), "≤"),
        (over_keys(x[j] ** 2) / 2, r"the difference is $2\sum(p_j - \frac12)^2x_j^2$", less, "≤"),
    )
    step = 1 / (1 + exp(-delta)) - 1 / (1 + exp(delta))
    title = "One of two weights, its score higher by δ than the other's, and then lower by δ"
    yield Chain(step, name="step", title=title).then(tanh(delta / 2), "by half the argument", algebra)


def experiment(derived: Derivation) -> Items:
    check, tight = Check.sharing(shape={m: 16}), Within(0.5, fixed=True)
    for size in (0.25, 1, 4):
        at, name = {n: 2, sigma: size}, f"s{size}".replace(".", "")
        yield check(f"slope-{name}", derived["mean-slope"], at, control=size == 4)
        yield check(f"bound-{name}", derived["drawn"], at, tolerance=tight, sharper=0.96 if size < 1 else 0)
    what, rounded = "operator norm of the Jacobian at equal scores", Computed.sharing(allowance=ROUNDING)
    for keys, relation in ((2, "equals"), (3, "at_most")):
        for name, (order, _) in NORMS.items():
            given, end = (complex_step(softmax, np.zeros(keys)), order), {relation: derived.end}
            where = {"n": keys, "norm": name}
            yield rounded(f"norm-{name}-n{keys}", what, np.linalg.norm, given, settings=where, **end)
    what, ratio = "change of a weight over the change of its score, two keys", 2 * derived["step"].end
    first, second = softmax(np.array([[0.25, -0.25], [-0.25, 0.25]]))[:, 0]
    moved, end = ((first - second) / 0.5,), ratio.subs(delta, S.Half)
    yield rounded("finite-step", what, float, moved, equals=end, settings={"delta": 1})
    for name, (_, words) in NORMS.items():
        says, most = f"in the {words} norm, forty-nine hundredths are enough", Rational(49, 100)
        yield Wrong(f"smaller-{name}", of=f"norm-{name}-n2", at_most=Threshold(most), says=says)
    says, four = "three equal scores have the norm of four", Rational(3, 8)
    yield Wrong("three-as-four", of="norm-sum-n3", at_most=four, says=says)
    yield Wrong("half-for-steps", of="finite-step", equals=S.Half, says="steps move a weight by half as much")


CLAIM = Claim(
    statement="The absolute values in a row or a column of the Jacobian of softmax sum to twice {slope}, "
    "hence to at most {main:end}; and for any vector {x} its quadratic form satisfies {form}. So softmax has "
    "Lipschitz constant one half in the maximum norm, the sum norm and the Euclidean norm.",
    meaning="A change of all scores by at most one hundredth moves each weight by at most half of that: "
    "softmax never amplifies. The constant cannot be smaller: two keys with equal scores attain it in all "
    "three norms. A published statement has it strictly smaller, which is false with two keys; with more, "
    "the sum and the maximum norm still attain one half where a weight is one half, while three equal scores "
    "have {norm-sum-n3:estimate.3} in the sum norm. Any finite step moves the weights less: with two keys, a "
    "step of one half moves a weight by {finite-step:prediction.4} of that step. By the Riesz–Thorin theorem "
    "the same constant holds for the norms in between.",
    symbols={"x": x[j], "slope": p * (1 - p)},
    references=cite("nair2025"),
)
