"""Multiplying scores by the logarithm of the length preserves a lead that is large enough."""

import numpy as np

from verify.claims.newer.shared.critical import around_critical, eps
from verify.claims.newer.shared.levels import weights
from verify.spec import ROUNDING, UNIT_INTERVAL, Chain, Chains, Check, Claim, Computed, Derivation, E, Family
from verify.spec import Ge, Items, Le, Plot, Rational, Sum, Within, Wrong, a, algebra, at_least, at_most, cite
from verify.spec import exp, fact, j, log, m, n, symbols

factor, g, R = symbols("s g R", positive=True)
x = Family("x", m, n)
FACTOR, LEAD = Rational(43, 100), 5  # s of published models, and a lead for which their product is above 1
# Numbers of keys that are drawn and computed; how much the leader's lead may exceed 5.
KEYS, LEVELS, WIDTH = (10, 100, 1000), (100, 1000, 10_000), Rational(1, 5)
DRAWN, AT_LEAD = n ** (-factor * (g + (R - g) * x[a, j])), n ** (-factor * g)
LEADER = E(1 / (1 + Sum(DRAWN, (j, 2, n))))
LEAST, MOST = 1 / (1 + (n - 1) * AT_LEAD), 1 / (1 + (n - 1) * n ** (-factor * R))
PLAIN = exp(g) / (n - 1 + exp(g))  # the weight of a leader among keys that are all alike, without a factor


def derive() -> Chains:
    total, within = 1 + Sum(DRAWN, (j, 2, n)), (Ge(x[a, j], 0), Le(x[a, j], 1), Ge(R, g))
    ahead, short = (1 - n ** (-factor * (R - g) * part) for part in (x[a, j], 1 - x[a, j]))
    more = at_least(E(Sum(AT_LEAD * ahead, (j, 2, n)) * LEAST / total), given=within)
    less = at_most(E(Sum(DRAWN * short, (j, 2, n)) * MOST / total), given=within)
    title = r"A leader ahead of each other key by $g$ to $R$, times $s\ln n$: its weight at least"
    least = Chain(LEADER, title=title, defines="the mean weight of the leader")
    yield least.then(LEAST, "no other score is less than $g$ behind", more, "≥")
    most = Chain(LEADER, name="most", title="Its weight at most", defines=least.defines)
    yield most.then(MOST, "no other score is more than $R$ behind", less, "≤")
    title, defines = "Without a factor, all others alike", "the weight of the leader"
    plain = Chain(1 / (1 + (n - 1) * exp(-g)), name="plain", title=title, defines=defines)
    yield plain.then(PLAIN, "both parts times the leader’s exponential", algebra)
    yield from around_critical("the lead times $s$")


def mean_of_leader(keys: float) -> float:
    """Return the mean weight of the leader as drawn: E 1/(1 + S) is ∫ e^(-t) E e^(-tS) dt."""
    many = round(keys)
    # 48 nodes for a smooth law of one key, and a grid of ln t at whose ends e^(-t) t is 0 to rounding.
    places, shares = np.polynomial.legendre.leggauss(48)
    terms = many ** (-float(FACTOR) * (LEAD + float(WIDTH) * (1 + places) / 2))
    t = np.exp(grid := np.linspace(-60.0, 12.0, 721))
    of_key = np.exp(-np.outer(t, terms)) @ shares / 2
    return float(np.trapezoid(t * np.exp(-t) * of_key ** (many - 1), grid))


def experiment(derived: Derivation) -> Items:
    put, tight = {factor: FACTOR, g: LEAD, R: LEAD + WIDTH}, Within(0.5)
    check = Check.sharing(laws={x: UNIT_INTERVAL}, shape={m: 16})
    for keys in KEYS:
        at, first = {n: keys, **put}, keys == KEYS[0]
        yield check(f"value-n{keys}", LEADER, at, equals=mean_of_leader(keys), control=first)
        yield check(f"least-n{keys}", derived, at, tolerance=tight)
        yield check(f"most-n{keys}", derived["most"], at, tolerance=tight, sharper=0.99 * first)
    row = Computed.sharing(what="weight of a score of 3, all others being -2", code=float, allowance=ROUNDING)
    for keys in LEVELS:
        for name, end, by in (("scalable", LEAST, float(FACTOR * log(keys))), ("plain", PLAIN, 1.0)):
            leading, where = (weights(1, keys, LEAD * by)[0],), {"n": keys, "factor on scores": f"{by:.4g}"}
            yield row(f"{name}-n{keys}", arguments=leading, equals=end.subs({**put, n: keys}), settings=where)
    longer, shorter, same = (LEAST.subs({**put, g: LEAD * Rational(part, 20)}) for part in (21, 19, 20))
    yield Wrong("longer-lead", of="least-n10", at_least=longer, says="the bound of a longer lead holds")
    says = "a lead smaller by a twentieth does as well"
    yield Wrong("smaller-factor", of="scalable-n10000", equals=shorter.subs(n, 10_000), says=says)
    says = "without the factor the leading key keeps the same weight"
    yield Wrong("no-factor-needed", of="plain-n10000", equals=same.subs(n, 10_000), says=says)
    yield fact("even", "number of keys at which the factor is one", exp(1 / FACTOR))
    plot = Plot.sharing(at=put, span=(10, 10_000), y="mean weight of the leading key")
    curves, bounds = {"drawn": (mean_of_leader, (10, 1000))}, {"bound: {main:end}": LEAST}
    yield plot("leader", "value-n*", n, curves=curves, bounds=bounds, wrong={"without the factor": PLAIN})


CLAIM = Claim(
    statement="Let scores be multiplied by {s} times the logarithm of the number {n} of keys, and let one "
    "key lead all others by between {g} and {R}. Its weight is at least {main:end} and at most {most:end}. "
    "If it leads all others by exactly {g}, its weight is at least {above:end}, which tends to one, for "
    "{lead} above one by {eps}; it tends to {at:end} for {lead} equal to one; and it is at most {below:end}, "
    "which tends to zero, for {lead} below one by {eps}. Without the factor the weight is {plain:end}, which "
    "tends to zero.",
    meaning="The factor replaces a fixed sharpness by one that grows with the text. Under plain softmax, a "
    "lead of five has a weight of {plain-n100:prediction.3} among {plain-n100:n} keys and of "
    "{plain-n10000:prediction.3} among {plain-n10000:n}; with the factor, of {scalable-n100:prediction.3} "
    "and {scalable-n10000:prediction.5}. Not every lead is preserved: one smaller than one over {s} still "
    "fades, only more slowly. And for texts of fewer than {crossing} keys, {even:2} for the value of {s} "
    "used here, the factor is below one and makes attention flatter than plain softmax.",
    headline="scalable-n10000",
    symbols={"s": factor, "lead": factor * g, "eps": eps, "crossing": exp(1 / factor)},
    references=cite("nakanishi2025"),
)
