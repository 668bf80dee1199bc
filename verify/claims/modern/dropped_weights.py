"""Dropout on weights preserves the mean output; dropping keys does not."""

from collections.abc import Mapping
from fractions import Fraction
from functools import cache, partial

import numpy as np

from verify.spec import STANDARD, Chain, Chains, Check, Claim, Derivation, Distribution, E, Expr, Family
from verify.spec import Given, Items, Largest, Law, Named, S, Softmax, Symbol, Within, Wrong, a, cite, d, d_v
from verify.spec import e, j, m, moments, n, over_keys, q, score, sqrt, v
from verify.spec.arrays import Array

r, first = Symbol("r", positive=True), Symbol("p_1", positive=True)
z = Family("z", m, n)  # masks: 1 where a query keeps a key, which has probability 1 - r, else 0
MASKS = {z: Law("mean and mean square 1 − r", (S.One, 1 - r, 1 - r))}
P = Named(Symbol("p_j"), Softmax(score / sqrt(d), j))
RATES = {"r10": Fraction(1, 10), "r50": Fraction(1, 2)}


def derive() -> Chains:
    def chain(
        name: str, title: str, start: Expr, end: Expr, why: str, laws: Mapping[Family, Law] = MASKS
    ) -> Chain:
        return Chain(start, name=name, title=title, given=(r < 1,)).then(end, why, moments(laws))

    def dropped(weight: Expr, value: Expr) -> Expr:
        return over_keys(weight * z[a, j] * value) / (1 - r)

    p, value = Given("p", n)[j], Given("v", n)[j]
    given, output, added = over_keys(p * value), over_keys(P * v[j, e]), dropped(P, v[j, e])
    variance, of_noise = r / (1 - r) * over_keys(p**2 * value**2), E((added - output) ** 2) / E(output**2)
    mean, independent = "every weight keeps its mean", "masks are independent, of variance $r(1 - r)$"
    centred = "values are independent and centred: products of two average to 0"
    # Of two keys the first has its weight where both are left, and 1 where it is alone.
    large, both, alone = Largest(P, j), z[a, 1] * z[a, 2], z[a, 1] * (1 - z[a, 2])
    any_left = 1 - (1 - z[a, 1]) * (1 - z[a, 2])
    lost = E((large - both * large - alone) * any_left) / E((2 * large - 1) * any_left)
    of_two, words = first + r * (1 - 2 * first) / (1 + r), "both are kept, or one alone, which has all weight"
    along, noise = "What is added, along the output", "What is added over the output, mean squares"
    keys, lead = "Two keys, dropped before softmax, one being kept", "What the larger loses of its lead"
    yield chain("", "Mean", E(dropped(p, value)), given, mean)
    yield chain("noise", "Variance", E((dropped(p, value) - given) ** 2), variance, independent)
    yield chain("keys", keys, E(both * first + alone) / E(any_left), of_two, words)
    yield chain("bias", along, E((added - output) * output) / E(output**2), S.Zero, mean)
    yield chain("share", noise, of_noise, r / (1 - r), centred, {**MASKS, v: STANDARD[q]})
    yield chain("lead", lead, lost, r / (1 + r), "on average")


def fill(share: float, rng: np.random.Generator, out: Array) -> None:
    """Fill an array with 1 at a probability, and else with 0."""
    out[...] = rng.random(out.shape) < share


@cache
def mask(rate: Fraction) -> Distribution:
    """Return the law of a mask."""
    rest, name = 1 - rate, f"1 with probability {1 - rate}, else 0"
    return Distribution(name, (Fraction(1), *[rest] * 4), partial(fill, float(rest)))


def experiment(derived: Derivation) -> Items:
    bias, share, lead = (derived[name] for name in ("bias", "share", "lead"))
    of_output, wide = Within(1, 1, "the mean square of the output"), Within(2)
    for name, rate in RATES.items():
        at, two = {r: float(rate), d: 8, n: 8, d_v: 8}, {r: float(rate), d: 8, n: 2}
        of_rate = Check.sharing(laws={z: mask(rate)})
        yield of_rate(f"bias-{name}", bias, at, tolerance=of_output)
        yield of_rate(f"noise-{name}", share, at, tolerance=wide, control=name == "r50")
        yield of_rate(f"lead-{name}", lead, two, tolerance=wide)
    yield Wrong("not-divided", of="bias-r50", equals=-r, says="the mean shrinks by the share dropped")
    yield Wrong("rate-alone", of="noise-r50", equals=r, says="the noise is in proportion to the rate {r}")
    yield Wrong("fades", of="noise-r10", equals=r / n, says="many keys average the noise away")
    wrong = Wrong.sharing(laws={z: mask(RATES["r50"])}, tolerance=Within(1, 1, "the lead"))
    yield wrong("order-does-not-matter", lead.start, two, equals=0, says="dropping keys keeps mean weights")


CLAIM = Claim(
    statement="Weights dropped with probability {r} and divided by the share that is kept leave the mean of "
    "the output as it is and give each of its components the variance {noise:end}: for independent centred "
    "values of one variance that is {share:end} of its mean square. Dropped before softmax, two keys of "
    "which at least one is kept have mean weights closer to each other: {keys:end} in place of {first}.",
    meaning="Relative to the output, the noise of dropout is equally large whether attention rests on one "
    "key or on a thousand: with ten per cent dropped, a ninth of its mean square. Where keys are dropped "
    "instead, the weights that remain sum to one again, so no output is too small; but of two weights the "
    "larger becomes smaller on average, and what is learnt under dropout is not what is used without it.",
    references=cite("srivastava2014", "li2023"),
)
