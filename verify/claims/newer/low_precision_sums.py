"""Sequential sums in p bits stop growing at 2^p: 256 in bfloat16, whatever follows."""

import numpy as np
from sympy import Rational, S

from verify.claims.newer.shared import LowDenominators, LowSums, running, sum_of_ones
from verify.former import (
    Claim, Derivation, Experiment, Figure, Route, Step, assume, capped, cell_of, cite, computed, figure, line,
    one_step, ordered, over_cells, ratio, scatter, sharper, threshold, wrong,
)  # fmt: skip
from verify.former.rules import AtItsLeast, PutIn

(b, e, h), (g, r) = ordered("b e:f h", integer=True), ordered("g r", nonnegative=True)
N = ordered("n", positive=True)
BITS = {"bfloat16": 8, "half": 11}
"""Bits of the significand, the leading one counted."""
LEFT = {1024: Rational(3, 4), 4096: Rational(9, 20)}
"""What is kept of denominators at most."""
IN_TURN, IN_PAIRS = "sequential sum over the exact one", "pairwise sum over the exact one"
KEPT = "softmax denominator, summed sequentially, over the exact one"


def derive() -> Derivation:
    """Derive that no term of at most 2^h takes a sum beyond the middle of 2^(b + h) and the next number."""
    half = one_step("Half the spacing of $b$-bit numbers from $2^e$ on", 2 ** (e + 1 - b) / 2, 2**h,
                    "From $2^{b + h}$ on", PutIn({e: b + h}),
                    defines="half the spacing of $b$-bit numbers, here from that power on",
                    name="half")  # fmt: skip
    total = Route.of(
        "A sum of at most $2^{b + h}$ and a term of at most $2^h$", (2 ** (b + h) - g) + (2**h - r),
        Step(2 ** (b + h) + 2**h - r, "The sum put at its most", AtItsLeast(g, 0)),
        Step(2 ** (b + h) + 2**h, "The term put at its most, which is half the spacing there",
             AtItsLeast(r, 0)),
        defines="the sum before it is rounded",
    )  # fmt: skip
    return Derivation.of(total, lemmas=(half,))


def experiment(tolerance: float) -> Experiment:
    """Compute sums of equal terms, and measure sums of uniform terms and of exponentials."""
    cells = {keys: cell_of(f"n{keys}", LowSums(keys)) for keys in (1024, 4096)}
    softmax = {keys: cell_of(f"softmax-n{keys}", LowDenominators(keys)) for keys in (1024, 4096)}
    most, near = 2 ** BITS["bfloat16"], capped(0.5, tolerance)
    turn, pairs = ratio("in-turn", "exact"), ratio("in-pairs", "exact")
    bounds = over_cells("kept-{cell}", IN_TURN, cells, turn, lambda keys: Rational(2 * most, keys), near, "≤")
    whole = over_cells("pairs-{cell}", IN_PAIRS, cells, pairs, threshold(Rational(99, 100)), near, "≥")
    kept = over_cells("{cell}", KEPT, softmax, turn, lambda keys: threshold(LEFT[keys]), near,
                      "≤")  # fmt: skip
    ones = {
        (name, words): computed(
            f"{name}-{words}", "sum of equal terms", {"precision": name, "terms": terms, "of": float(term)},
            2 ** (bits + power), sum_of_ones, terms, bits, float(term))
        for (name, bits), terms in zip(BITS.items(), (1024, 4096), strict=True)
        for words, term, power in (("ones", S.One, 0), ("smaller", Rational(3, 8), -1))
    }  # fmt: skip
    return Experiment((*bounds.values(), *whole.values(), *kept.values(), *ones.values()), (
        sharper(bounds[1024], 0.98), sharper(kept[1024], 0.95),
        wrong(whole[4096], "pairs-stagnate", "pairwise sums keep no more than sequential ones",
              bounds[4096], relation="≤"),
        sharper(whole[1024], 1.02),
        wrong(ones["bfloat16", "ones"], "one-less", "the sum stops one lower", most - 1),
        wrong(ones["half", "ones"], "as-in-bfloat16", "half precision stops where bfloat16 does", most),
        wrong(ones["bfloat16", "smaller"], "any-term", "smaller terms stop at the same sum", most),
    ))  # fmt: skip


def figures() -> Figure:
    """Draw sums of ones in two precisions over their number."""
    many = 2 ** np.arange(5, 13)
    sums = {name: running(np.ones(4096), bits)[many - 1] for name, bits in BITS.items()}
    return figure(
        "ones",
        "A sum of ones in few bits stops growing, however many follow",
        "Sequential sum of ones over their number, on log axes: it follows the number up to two "
        "hundred and fifty-six in bfloat16 and to two thousand and forty-eight in half precision, and is "
        "level from there on.",
        "sum", line("exact", lambda keys: keys, over=(32, 4096)),
        scatter("bfloat16", many, sums["bfloat16"]), scatter("half", many, sums["half"], "other"),
        x="number of ones",
    )  # fmt: skip


CLAIM = Claim(
    title="In low precision, a sum of weights stops growing however many keys follow",
    statement="Let terms be at most two to the power {h}, and let each partial sum be rounded to {b} "
    "significant bits before the next term is added. From two to the power {both} on, half the spacing of "
    "representable numbers is {half:result}; a partial sum up to there plus one term is at most "
    "{theorem:result}, which is rounded down. So no partial sum exceeds that power.",
    meaning="Sums of terms of at most one never exceed {bfloat16-ones:prediction} in bfloat16 and "
    "{half-ones:prediction} in half precision. The exponentials of softmax are such terms once the largest "
    "score is subtracted. In bfloat16, sequential sums of uniform terms keep {kept-n1024:estimate.3%} of the "
    "exact sum over {kept-n1024:n} keys and {kept-n4096:estimate.3%} over {kept-n4096:n}, while pairwise "
    "sums keep {pairs-n4096:estimate.4%}. Softmax denominators at standard normal scores keep "
    "{softmax-n1024:estimate.2%} and {softmax-n4096:estimate.2%}: they stall long before the bound, because "
    "their terms are small. Weights would then sum to more than one. This is why programs sum in single "
    "precision.",
    assumptions=assume(nearest="Sums are rounded to the nearest number, ties to even, and none overflows."),
    headline="bfloat16-ones",
    symbols={"h": h, "b": b, "both": b + h},
    references=(
        *cite(
            "kalamkar2019",
            "D. Kalamkar et al., A Study of BFLOAT16 for Deep Learning Training, 2019.",
            "https://arxiv.org/abs/1905.12322",
        ),
        *cite(
            "higham1993",
            "N. J. Higham, The Accuracy of Floating Point Summation, SIAM Journal on Scientific Computing "
            "14 (1993), 783-799.",
            "https://doi.org/10.1137/0914050",
        ),
    ),
)
