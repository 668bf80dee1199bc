"""The published adaptive temperature switches itself off in long texts."""

from bisect import bisect_left

import numpy as np

from verify.spec import Allowance, Chain, Chains, Check, Claim, Computed, Derivation, E, Entropy, Float, Items
from verify.spec import Line, LogSumExp, Rational, S, Softmax, Symbol, Wrong, a, algebra, at_least, at_most
from verify.spec import cite, exp, fact, integrated, j, log, m, n, over_keys, s

H = Symbol("H", real=True)
# As published.
FACTOR = sum(Rational(c, 1000) * H**power for power, c in enumerate((-1791, 4917, -2300, 481, -37)))
LOW = Rational(8485, 10_000), Rational(8486, 10_000)
# Between which entropies the factor crosses 1, upwards and downwards.
HIGH = Rational(59_445, 10_000), Rational(59_446, 10_000)
# The largest factor, rounded upwards, and where it is.
PEAK, AT = Rational(24_214, 10_000), Rational(44_124, 10_000)
KEYS, ENTROPIES = (256, 512, 1024), np.linspace(0, 7, 70_001)
MEAN_ENTROPY = E(Entropy(s[a, j], j))


def derive() -> Chains:
    words, what = "the roots of the difference are counted", "the factor, before it is cut off"
    most = Line(PEAK, words, at_most(PEAK - FACTOR), "≤")
    yield Chain(FACTOR, most, title="The largest factor", defines=what)
    acts, high, low = (LOW[1] <= H, HIGH[0] >= H), (HIGH[1] <= H,), (LOW[0] >= H,)
    above = Line(S.One, words, at_least(FACTOR - 1, given=acts), ">")
    yield Chain(FACTOR, above, name="acts", title="Where it acts", defines=what, given=acts)
    for name, given in (("high", high), ("low", low)):
        below = Line(S.One, words, at_most(1 - FACTOR, given=given), "<")
        yield Chain(FACTOR, below, name=name, title=f"Where entropy is {name}", defines=what, given=given)
    parts = E(LogSumExp(s[a, j], j)) - E(over_keys(Softmax(s[a, j], j) * s[a, j]))
    entropy = Chain(MEAN_ENTROPY, name="entropy", title="The mean entropy of a row of scores")
    yield entropy.then(parts, r"$\ln p_j = s_j - \ln\sum_l e^{s_l}$", algebra)


def entropy_of(keys: int) -> float:
    """Return the mean entropy of standard normal scores over a number of keys, integrated."""
    return integrated(MEAN_ENTROPY, {n: keys})


def experiment(derived: Derivation) -> Items:
    near, of_rows = Check.sharing(shape={m: 16}, tolerance=0.5), FACTOR.subs(H, MEAN_ENTROPY)
    factors = {keys: float(FACTOR.subs(H, Float(entropy_of(keys), 17))) for keys in KEYS}
    for keys, factor in factors.items():
        yield near(f"factor-n{keys}", of_rows, {n: keys}, equals=factor, control=keys == KEYS[0])
    yield near("entropy", derived["entropy"], {n: KEYS[0]})
    # As in the code of P. Veličković et al., Softmax Is Not Enough, 2025; no factor is below 1.
    published = np.maximum(np.polyval([-0.037, 0.481, -2.3, 4.917, -1.791], ENTROPIES), 1.0)
    acts, most = ENTROPIES[published > 1], published.argmax()
    steps, where = Allowance(3e-4, "the steps of the search"), "entropy at which the published code"
    search = Computed.sharing(code=float, settings={"entropies": "0 to 7 nats"}, allowance=steps)
    highest, largest = published[most], "largest factor of the published code"
    for name, words, by_code, value, off in (
        ("peak-reached", largest, highest, PEAK, {"higher-peak": 1.01}),
        ("peak-at", f"{where} has its largest factor", ENTROPIES[most], AT, {"peak-earlier": 0.975}),
        ("begins", f"{where} begins to sharpen", acts[0], LOW[1], {"begins-later": 1.01}),
        ("ceases", f"{where} ceases to sharpen", acts[-1], HIGH[0], {"ceases-later": 1.01}),
    ):
        yield search(name, words, arguments=(by_code,), equals=value, off=off)
    yield Wrong("still-acts", of="factor-n1024", at_least=S.One, says="it still sharpens rows of {cell:n}")
    yield Wrong("as-at-fewer-keys", of="factor-n512", equals=factors[KEYS[0]], says="length does not matter")
    yield fact("even-n1024", "the polynomial at 1024 equal weights", FACTOR.subs(H, log(1024)))
    yield fact("even-keys", "number of keys whose equal weights are left unchanged", exp(HIGH[1]))
    what, many = "number of keys from which on normal scores are left unchanged", range(500, 800)
    yield fact("normal-keys", what, many[bisect_left(many, HIGH[1], key=entropy_of)])


CLAIM = Claim(
    statement="Adaptive temperature multiplies the scores of a row by a polynomial in its entropy {H}, or by "
    "one where the polynomial is smaller. The polynomial is bounded: {main}. It exceeds one for {H} between "
    "{begins:prediction.4} and {ceases:prediction.4} nats; outside this range, whose ends are rounded, it is "
    "below one.",
    meaning="The factor was fitted to sharpen rows whose attention has spread out too far. Beyond its peak "
    "at an entropy of {peak-at:prediction.4}, however, it falls again as rows spread further, and rows of "
    "high entropy are left unchanged: equal weights over {even-keys:3} keys or more, and standard normal "
    "scores over more than about {normal-keys:3}. At the measured mean entropy of such rows, the polynomial "
    "is {factor-n256:estimate.3} for {factor-n256:n} keys, {factor-n512:estimate.3} for {factor-n512:n} and "
    "{factor-n1024:estimate.3} for {factor-n1024:n}, where one takes its place.",
    headline="factor-n1024",
    references=cite("velickovic2025"),
)
