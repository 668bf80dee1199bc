"""In low precision, a sum of weights stops growing however many keys follow."""

from functools import partial

import numpy as np

from verify.spec import NORMAL, UNIT_INTERVAL, Chain, Chains, Check, Claim, Column, Computed, Derivation, E
from verify.spec import Family, Items, Largest, Law, Le, Rational, S, Threshold, Within, Wrong, a, assume
from verify.spec import at_most, cite, exp, j, l, m, moments, n, over_keys, s, substitute, symbols
from verify.spec.arrays import Array, Draws, rounded

b, e, h = symbols("b e h", integer=True)
total, term = symbols("S t", nonnegative=True)
x = Family("x", m, n)
UNIFORM = {x: Law("the moments of U(0, 1)", (S.One, S.Half, S.One / 3))}
# Bits of the significand, with the leading bit; a bound in bfloat16 of sums of terms of at most 1.
BITS, MOST = {"bfloat16": 8, "half": 11}, 2**8


def in_turn(terms: Array, bits: int = 8) -> Array:
    """Return sums over the last axis, one term after the other, each sum rounded to ``bits``."""
    total = np.zeros(terms.shape[:-1])
    for term in np.moveaxis(terms, -1, 0):
        total = rounded(total + term, bits)
    return total


def in_pairs(terms: Array, bits: int = 8) -> Array:
    """Return sums over the last axis, of 2^k terms, by pairs of pairs, each rounded to ``bits``."""
    while terms.shape[-1] > 1:
        terms = rounded(terms[..., ::2] + terms[..., 1::2], bits)
    return terms[..., 0]


def sums(draws: Draws, _: np.random.Generator) -> dict[str, Array]:
    """Sums of terms of at most 1 in bfloat16, of which none exceeds 256 where one term follows the other."""
    terms = rounded(draws["x"].astype(float), 8)
    return {"in-turn": in_turn(terms), "in-pairs": in_pairs(terms)}


def denominators(draws: Draws, _: np.random.Generator) -> dict[str, Array]:
    """Softmax’s denominators in bfloat16: exponentials of at most 1, one after the other."""
    scores = draws["s"].astype(float)
    return {"in-turn": in_turn(rounded(np.exp(scores - scores.max(axis=-1, keepdims=True)), 8))}


IN_TURN, EXACT = Column(sums, "in-turn"), over_keys(x[a, j])


def derive() -> Chains:
    power = 2 ** (b + h)
    fits = at_most(power - total, given=(Le(total, power),))
    half = at_most(2**h - term, given=(Le(term, 2**h),))
    yield Chain(total + term, title="A sum $S$ and a term $t$, before they are rounded").through(
        (power + term, "the sum is at most $2^{b + h}$", fits, "≤"),
        (power + 2**h, "the term is at most $2^h$, which is half the spacing there", half, "≤"),
    )
    put_in, title = substitute({e: b + h}), "Half the spacing of $b$-bit numbers from $2^e$ on"
    yield Chain(2 ** (e + 1 - b) / 2, name="half", title=title).then(2**h, "from $2^{b + h}$ on", put_in)
    below = at_most(2 * E(MOST - IN_TURN) / n, given=(Le(IN_TURN, MOST),))
    title = "The mean of a sum in bfloat16 over that of the exact one, for uniform terms"
    yield Chain(E(IN_TURN) / E(EXACT), name="kept", title=title).through(
        (2 * E(IN_TURN) / n, "the mean of a term is ½", moments(UNIFORM)),
        (S(2) * MOST / n, "no partial sum of terms of at most 1 exceeds $2^8$", below, "≤"),
    )


def experiment(derived: Derivation) -> Items:
    share, pairs = derived["kept"], E(Column(sums, "in-pairs")) / E(EXACT)
    softmax = E(Column(denominators, "in-turn")) / E(over_keys(exp(s[a, j] - Largest(s[a, l], l))))
    check = Check.sharing(tolerance=Within(0.5, fixed=True), shape={m: 4})
    uniform, normal = partial(check, laws={x: UNIT_INTERVAL}), partial(check, laws={s: NORMAL})
    low, false = Threshold(Rational(99, 100)), (0.98, 1.02, 0.95)
    for keys, most, (less, more, few) in ((1024, Rational(3, 4), false), (4096, Rational(9, 20), (0, 0, 0))):
        yield uniform(f"kept-n{keys}", share, {n: keys}, sharper=less)
        yield uniform(f"pairs-n{keys}", pairs, {n: keys}, at_least=low, sharper=more)
        yield normal(f"softmax-n{keys}", softmax, {n: keys}, at_most=Threshold(most), sharper=few)
    for (name, bits), terms in zip(BITS.items(), (1024, 4096), strict=True):
        # A sum stops where half the spacing is no less than a term: at 2^b for ones, 2^(b - 1) for 3/8.
        for words, value, power in (("ones", 1.0, 0), ("smaller", 3 / 8, -1)):
            where = {"precision": name, "terms": terms, "of": value}
            what, given, end = "sum of equal terms", (np.full(terms, value), bits), 2 ** (bits + power)
            yield Computed(f"{name}-{words}", what, in_turn, given, equals=end, settings=where)
    yield Wrong("pairs-stagnate", of="pairs-n4096", at_most=share.end, says="pairwise sums keep no more")
    for name, of, end, says in (
        ("one-less", "bfloat16-ones", MOST - 1, "the sum stops one lower"),
        ("as-in-bfloat16", "half-ones", MOST, "half precision stops where bfloat16 does"),
        ("any-term", "bfloat16-smaller", MOST, "smaller terms stop at the same sum"),
    ):
        yield Wrong(name, of=of, equals=end, says=says)


CLAIM = Claim(
    statement="Let terms be at most two to the power {h}, and let each partial sum be rounded to {b} "
    "significant bits before the next term is added. From two to the power {both} on, half the spacing of "
    "representable numbers is {half:end}; a partial sum up to there plus one term is at most {main:end}, "
    "which is rounded down. So no partial sum exceeds that power.",
    meaning="Sums of terms of at most one never exceed {bfloat16-ones:prediction} in bfloat16 and "
    "{half-ones:prediction} in half precision. The exponentials of softmax are such terms once the largest "
    "score is subtracted. In bfloat16, the mean of sequential sums of uniform terms is "
    "{kept-n1024:estimate.3%} of the mean of the exact ones over {kept-n1024:n} keys and "
    "{kept-n4096:estimate.3%} over {kept-n4096:n}, while that of pairwise sums is {pairs-n4096:estimate.4%}. "
    "For softmax denominators at standard normal scores they are {softmax-n1024:estimate.2%} and "
    "{softmax-n4096:estimate.2%}: these stall long before the bound, because their terms are small. This is "
    "why programs sum in single precision.",
    assumptions=assume(nearest="Sums are rounded to the nearest number, ties to even, and none overflows."),
    headline="bfloat16-ones",
    symbols={"both": b + h},
    references=cite("kalamkar2019", "higham1993"),
)
