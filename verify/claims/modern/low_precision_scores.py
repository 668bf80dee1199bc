"""Scores in bfloat16 or 8 bits: the error is in proportion to the score, and what it does to weights."""

from sympy import Rational, S, cosh, exp, log, sinh, sqrt, tanh

from verify.claims.modern.shared import (
    RoundedScores, change_of_weights, distance_from_half, distance_of_orders, expected, largest_move,
    spacing_above,
)  # fmt: skip
from verify.former import (
    Claim, Derivation, Experiment, Figure, Findings, Route, Step, Tolerance, assume, biased, cells_of, cite,
    component, computed, d, figure, measured, normal, one_step, ordered, over_cells, scaled, score_law,
    sharper, wrong,
)  # fmt: skip
from verify.former.rules import AtItsLeast, Identity

BITS, SCALES = {"bfloat16": 8, "E4M3": 4}, {"raw": S.One, "scaled": 1 / sqrt(d)}
"""Bits of the significand, the leading one counted, and factors on scores."""
DIMENSIONS = (("bfloat16", 16), ("bfloat16", 64), ("bfloat16", 256), ("E4M3", 64))
CLOSE = (64.75 - 2.0**-20, 64.25 + 2.0**-20)
"""Two scores that bfloat16 does not tell apart: both become 64.5."""
ERROR = r"$\mathbb{E}(\hat s - s)^2$"
(x, s), (epsilon, R) = ordered("x s", real=True), ordered("epsilon R", positive=True)
(b, e, h), g = ordered("b e:f h", integer=True), ordered("g", nonnegative=True)
SPACING = 2 ** (e + 1 - b)
"""Of the numbers of b significant bits from 2^e up to 2^(e + 1)."""


def derive() -> Derivation:
    """Derive how far a weight moves when scores move by ε, and by how much rounding moves them."""
    change = Route.of(
        "Two values of a weight whose log odds are 2ε apart, x in their middle",
        1 / (1 + exp(-x - epsilon)) - 1 / (1 + exp(-x + epsilon)),
        Step(sinh(epsilon) / (cosh(epsilon) + cosh(x)), "Over the common denominator", Identity()),
        Step(sinh(epsilon) / (cosh(epsilon) + 1), "Most at even odds, x = 0", AtItsLeast(cosh(x), 1)),
        Step(tanh(epsilon / 2), "By half the argument", Identity()),
    )
    odds = one_step("Log odds of a key, its score up by ε and all others’, in R, down by ε",
                    log(exp(s + epsilon) / (exp(-epsilon) * R)) - log(exp(s) / R), 2 * epsilon,
                    "The exponentials of the others have a common factor", Identity(),
                    defines="how far log odds move at most")  # fmt: skip
    half = one_step("Half the spacing of $b$-bit numbers from $2^e$ on, over a score of $2^e(1 + g)$",
                    SPACING / 2 / (2**e * (1 + g)), 2**-b, "Most at a power of two", AtItsLeast(g, 0),
                    defines="how far rounding moves a score, over the score", name="half")  # fmt: skip
    shifted = one_step("Spacing of $b$-bit numbers from $2^{e + h}$ on", SPACING.subs(e, e + h),
                       2**h * SPACING, "So these numbers, and what is nearest, are scaled alike", Identity(),
                       defines="the spacing of numbers $2^h$ times as large")  # fmt: skip
    return Derivation.of(change, lemmas=(odds, half, shifted))


def experiment(derivation: Derivation, tolerance: float) -> Experiment:
    """Measure rounding errors of raw and of scaled scores; compare spacings, order and weights."""
    settings = [(precision, scaling, n) for precision, n in DIMENSIONS for scaling in SCALES]
    cells = cells_of("{precision}-{scaling}-d{d_k}", settings, lambda precision, scaling, d_k: (
        normal(16, 16, d_k), RoundedScores(BITS[precision]), SCALES[scaling]))  # fmt: skip
    checks = over_cells("{cell}", ERROR, cells, component("error", positive=True), lambda name, scaling, n: (
        score_law.rounding_error(n, BITS[name]) * scaled(SCALES[scaling], n) ** 2
    ), Tolerance(2.0))  # fmt: skip
    where = {"precision": "bfloat16", "scores": "64.75 and 64.25, nearly"}
    most, half = derivation.result.subs(epsilon, Rational(1, 4)), derivation.lemmas[1].end.subs(b, 8)
    change = computed("change", "change of a weight", where, most, change_of_weights, CLOSE, 8, relation="≤")
    where["scores"] = "1 to 2"
    move = computed("move", "move of a score, over the score", where, half, largest_move, 8, relation="≤")
    gaps = [computed(f"spacing-{name.lower()}", "distance to the next number", {"at": 64, "precision": name},
                     SPACING.subs({b: bits, e: 6}), spacing_above, 64.0, bits)
            for name, bits in BITS.items()]  # fmt: skip
    label = "largest distance of scores rounded to 11 bits from half precision as NumPy has it"
    bitwise = computed("bit-for-bit", label, {"scores": 4096}, 0, distance_from_half, 11)
    label = "largest distance of scores scaled, then rounded from those rounded, then scaled"
    order = computed("order", label, {"d_k": 64}, 0, distance_of_orders, 64**-0.5, 8)
    raw, small = (checks["bfloat16", name, 64] for name in SCALES)
    return Experiment((*checks.values(), change, move, *gaps, bitwise, order), (
        wrong(raw, "as-precise", "raw scores are rounded as precisely as scaled ones", small),
        wrong(raw, "one-bit-more", "bfloat16 has nine significant bits", score_law.rounding_error(64, 9)),
        sharper(change, 0.98), sharper(move, 0.99),
        wrong(gaps[0], "spacing-at-128", "numbers are as far apart as those from twice as large on", 1),
        wrong(bitwise, "ten-bits", "half precision has ten bits", computed=distance_from_half(10)),
        wrong(order, "any-dimension", "order does not matter where the scale is no power of two either",
              computed=distance_of_orders(128**-0.5, 8)),
        biased(raw, tolerance),
    ))  # fmt: skip


def figures(findings: Findings) -> Figure:
    """Draw the mean squared error of raw and of scaled scores over the dimension."""
    raw, small = (findings.matching(f"bfloat16-{name}-d*") for name in SCALES)
    return figure(
        "errors",
        "Rounding raw scores to bfloat16 costs more in every dimension, scaled ones the same in all",
        "Mean squared error of scores rounded to bfloat16, over the dimension: for raw scores it grows in "
        "proportion to the dimension, for scaled ones it stays at about three millionths.",
        "mean squared error of a score", expected(raw, "raw, derived"), measured(raw, ""),
        expected(small, "scaled, derived"), measured(small, ""),
    )  # fmt: skip


CLAIM = Claim(
    title="Errors of low precision are proportional to the score, so the size of scores matters",
    statement="Rounded to {b} significant bits a score moves by at most {half:result} of itself; at a score "
    "of {spacing-bfloat16:at} bfloat16 has a spacing of {spacing-bfloat16:prediction}, E4M3 one of "
    "{spacing-e4m3:prediction}. If all scores of a row move by at most {epsilon}, a weight moves by at most "
    "{theorem:result}. Scaling by a power of two gives the same bits before rounding as after.",
    meaning="Two raw scores near sixty-four, less than half apart, may be equal in bfloat16, and their "
    "weights with them; scores of one or less move by four thousandths at most, and weights by less. "
    "Whether scores are rounded before they are scaled or after hardly matters, for the error is in "
    "proportion to the score. What helps is a small score at the softmax.",
    assumptions=assume(nearest="To nearest, ties to even, within a format’s normal numbers."),
    symbols={"b": b, "epsilon": epsilon},
    references=(
        *cite(
            "kalamkar2019",
            "D. Kalamkar et al., A Study of BFLOAT16 for Deep Learning Training, 2019.",
            "https://arxiv.org/abs/1905.12322",
        ),
        *cite(
            "micikevicius2022",
            "P. Micikevicius et al., FP8 Formats for Deep Learning, 2022.",
            "https://arxiv.org/abs/2209.05433",
        ),
    ),
)
