"""Sequential sums in p bits stop growing at 2^p: 256 in bfloat16, whatever follows."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from sympy import Le, Rational, S, exp, symbols

from verify.spec import NORMAL, UNIT_INTERVAL, Chain, Check, Claim, Column, Computed, Derivation, E, Family
from verify.spec import Figure, Items, Largest, Law, Threshold, Within, Wrong, a, assume, at_most, cite
from verify.spec import figures as draw, j, l, m, moments, n, over_keys, s, substitute
from verify.spec.arrays import Array
from verify.spec.rounding import rounded, running

b, e, h = symbols("b e h", integer=True)
total, term = symbols("S t", nonnegative=True)
x = Family("x", m, n)
UNIFORM = {x: Law("the moments of U(0, 1)", (S.One, S.Half, S.One / 3))}
BITS = {"bfloat16": 8, "half": 11}
"""Bits of the significand, the leading one counted."""
LEFT = {1024: Rational(3, 4), 4096: Rational(9, 20)}
"""What is kept of denominators at most."""


def in_turn(terms: Array, bits: int) -> Array:
    """Return sums over the last axis, one term after the other, each sum rounded to ``bits``."""
    return running(terms, bits)[..., -1]


def in_pairs(terms: Array, bits: int) -> Array:
    """Return sums over the last axis, of 2^k terms, by pairs of pairs, each rounded to ``bits``."""
    while terms.shape[-1] > 1:
        terms = rounded(terms[..., ::2] + terms[..., 1::2], bits)
    return terms[..., 0]


def sums(draws: Mapping[str, Array], _: np.random.Generator) -> dict[str, Array]:
    """Sums of terms of at most 1 in bfloat16, of which none exceeds 256 where one term follows the other."""
    terms = rounded(draws["x"].astype(float), BITS["bfloat16"])
    return {"in-turn": in_turn(terms, BITS["bfloat16"]), "in-pairs": in_pairs(terms, BITS["bfloat16"])}


def denominators(draws: Mapping[str, Array], _: np.random.Generator) -> dict[str, Array]:
    """Softmax’s denominators in bfloat16: exponentials of at most 1, one after the other."""
    scores = draws["s"].astype(float)
    terms = rounded(np.exp(scores - scores.max(axis=-1, keepdims=True)), BITS["bfloat16"])
    return {"in-turn": in_turn(terms, BITS["bfloat16"])}


def sum_of_equal(many: int, bits: int, value: float) -> float:
    """Return the sum of equal terms, one after the other."""
    return float(in_turn(np.full(many, value), bits))


IN_TURN, EXACT = Column(sums, "in-turn"), over_keys(x[a, j])


def derive() -> tuple[Chain, ...]:
    """Derive that no term of at most 2^h takes a sum beyond the middle of 2^(b + h) and the next number."""
    next_sum = (
        Chain(total + term, title="A sum $S$ and a term $t$, before they are rounded")
        .then(
            2 ** (b + h) + term,
            "the sum is at most $2^{b + h}$",
            at_most(2 ** (b + h) - total, given=(Le(total, 2 ** (b + h)),)),
            "≤",
        )
        .then(
            2 ** (b + h) + 2**h,
            "the term is at most $2^h$, which is half the spacing there",
            at_most(2**h - term, given=(Le(term, 2**h),)),
            "≤",
        )
    )
    half = Chain(
        2 ** (e + 1 - b) / 2, name="half", title="Half the spacing of $b$-bit numbers from $2^e$ on"
    ).then(2**h, "from $2^{b + h}$ on", substitute({e: b + h}))
    most = S(2) ** BITS["bfloat16"]
    below = at_most(2 * E(most - IN_TURN) / n, given=(Le(IN_TURN, most),))
    kept = (
        Chain(
            E(IN_TURN) / E(EXACT),
            name="kept",
            title="The mean of a sum in bfloat16 over that of the exact one, for uniform terms",
        )
        .then(2 * E(IN_TURN) / n, "the mean of a term is ½", moments(UNIFORM))
        .then(2 * most / n, "no partial sum of terms of at most 1 exceeds $2^8$", below, "≤")
    )
    return next_sum, half, kept


def experiment(derived: Derivation) -> Items:
    """Compute sums of equal terms, and measure sums of uniform terms and of exponentials."""
    kept, near, most = derived["kept"], Within(0.5, fixed=True), 2 ** BITS["bfloat16"]
    pairs = E(Column(sums, "in-pairs")) / E(EXACT)
    softmax = E(Column(denominators, "in-turn")) / E(over_keys(exp(s[a, j] - Largest(s[a, l], l))))
    uniform, normal, rows = {x: UNIT_INTERVAL}, {s: NORMAL}, {m: 4}
    for keys, left in LEFT.items():
        at, low, high = {n: keys}, Threshold(Rational(99, 100)), Threshold(left)
        drawn, factors = dict[str, Any](tolerance=near, shape=rows), (0.98, 1.02, 0.95)
        less, more, few = factors if keys == 1024 else (0, 0, 0)
        yield Check(f"kept-n{keys}", kept, at, laws=uniform, sharper=less, **drawn)
        yield Check(f"pairs-n{keys}", pairs, at, at_least=low, laws=uniform, sharper=more, **drawn)
        yield Check(f"softmax-n{keys}", softmax, at, at_most=high, laws=normal, sharper=few, **drawn)
    for (name, bits), terms in zip(BITS.items(), (1024, 4096), strict=True):
        for words, value, power in (("ones", 1.0, 0), ("smaller", 3 / 8, -1)):
            where: dict[str, int | float | str] = {"precision": name, "terms": terms, "of": value}
            what, given, end = "sum of equal terms", (terms, bits, value), 2 ** (bits + power)
            yield Computed(f"{name}-{words}", what, sum_of_equal, given, equals=end, settings=where)
    says = "pairwise sums keep no more than sequential ones"
    yield Wrong("pairs-stagnate", of="pairs-n4096", at_most=kept.end, says=says)
    says = "half precision stops where bfloat16 does"
    yield Wrong("one-less", of="bfloat16-ones", equals=most - 1, says="the sum stops one lower")
    yield Wrong("as-in-bfloat16", of="half-ones", equals=most, says=says)
    says = "smaller terms stop at the same sum"
    yield Wrong("any-term", of="bfloat16-smaller", equals=most, says=says)


def figures() -> Figure:
    """Draw sums of ones in two precisions over their number."""
    many = 2 ** np.arange(5, 13)
    of_ones = {name: running(np.ones(4096), bits)[many - 1] for name, bits in BITS.items()}
    return draw.figure(
        "ones",
        "A sum of ones in few bits stops growing, however many follow",
        "Sequential sum of ones over their number, on log axes: it follows the number up to two "
        "hundred and fifty-six in bfloat16 and to two thousand and forty-eight in half precision, and is "
        "level from there on.",
        draw.curve("exact", lambda keys: keys, (32, 4096)),
        draw.dots("bfloat16", many, of_ones["bfloat16"]),
        draw.dots("half", many, of_ones["half"], "other"),
        x="number of ones",
        y="sum",
    )


CLAIM = Claim(
    title="In low precision, a sum of weights stops growing however many keys follow",
    statement="Let terms be at most two to the power {h}, and let each partial sum be rounded to {b} "
    "significant bits before the next term is added. From two to the power {both} on, half the spacing of "
    "representable numbers is {half:end}; a partial sum up to there plus one term is at most "
    "{main:end}, which is rounded down. So no partial sum exceeds that power.",
    meaning="Sums of terms of at most one never exceed {bfloat16-ones:prediction} in bfloat16 and "
    "{half-ones:prediction} in half precision. The exponentials of softmax are such terms once the largest "
    "score is subtracted. In bfloat16, the mean of sequential sums of uniform terms is "
    "{kept-n1024:estimate.3%} of the mean of the exact ones over {kept-n1024:n} keys and "
    "{kept-n4096:estimate.3%} over {kept-n4096:n}, while that of pairwise sums is {pairs-n4096:estimate.4%}. "
    "(These are ratios of means; the mean of a ratio differs slightly.) For softmax denominators at standard "
    "normal scores they are {softmax-n1024:estimate.2%} and {softmax-n4096:estimate.2%}: these stall long "
    "before the bound, because their terms are small. Weights would then sum to more than one. This is why "
    "programs sum in single precision.",
    assumptions=assume(nearest="Sums are rounded to the nearest number, ties to even, and none overflows."),
    headline="bfloat16-ones",
    symbols={"h": h, "b": b, "both": b + h},
    references=cite("kalamkar2019", "higham1993"),
)
