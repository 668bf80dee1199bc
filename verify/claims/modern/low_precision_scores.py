"""Scores in bfloat16 or 8 bits: the error is in proportion to the score, and what it does to weights."""

import math
from typing import Any

import numpy as np
from sympy import Expr, Ge, Le, Min, Rational, S, exp, log, sqrt, symbols, tanh

from verify.spec import STANDARD, Chain, Check, Claim, Computed, Derivation, E, Figure, Findings, Items, Line
from verify.spec import Within, Wrong, algebra, assume, at_most, cite, d, figures as draw, moments, score
from verify.spec.arrays import largest_difference, loops, softmax
from verify.spec.rounding import Rounded, rounded
from verify.spec.score_law import lengths

BITS, SCALES = {"bfloat16": 8, "E4M3": 4}, {"raw": S.One, "scaled": 1 / sqrt(d)}
"""Bits of the significand, the leading one counted, and factors on scores."""
DIMENSIONS = (("bfloat16", 16), ("bfloat16", 64), ("bfloat16", 256), ("E4M3", 64))
CLOSE = (64.75 - 2.0**-20, 64.25 + 2.0**-20)
"""Two scores that bfloat16 does not tell apart: both become 64.5."""
b, e, h = symbols("b e h", integer=True)
x, s = symbols("x s", real=True)
epsilon, R, t = symbols("epsilon R t", positive=True)
SPACING = 2 ** (e + 1 - b)
"""Of the numbers of b significant bits from 2^e up to 2^(e + 1)."""


def weights() -> tuple[Chain, Chain]:
    """Derive how far a weight moves when scores move by ε at most."""
    rise, total = exp(epsilon) - exp(-epsilon), exp(epsilon) + exp(-epsilon)
    apart = (exp(x / 2) - exp(-x / 2)) ** 2
    change = Chain(
        1 / (1 + exp(-x - epsilon)) - 1 / (1 + exp(-x + epsilon)),
        Line(rise / (total + exp(x) + exp(-x)), "over the common denominator", algebra),
        Line(
            rise / (total + 2),
            "most at even odds, $x = 0$",
            at_most(rise * apart / ((total + exp(x) + exp(-x)) * (total + 2))),
            "≤",
        ),
        Line(tanh(epsilon / 2), "by half the argument", algebra),
        title="Two values of a weight whose log odds are $2ε$ apart, $x$ in their middle",
    )
    odds = Chain(
        log(exp(s + epsilon) / (exp(-epsilon) * R)) - log(exp(s) / R),
        Line(2 * epsilon, "the exponentials of the others have a common factor", algebra),
        name="odds",
        title="Log odds of a key, its score up by $ε$ and all others’, in $R$, down by $ε$",
        defines="how far log odds move at most",
    )
    return change, odds


def moves() -> tuple[Chain, Chain]:
    """Derive by how much rounding moves a score at most, and that powers of two change nothing."""
    move = Min(SPACING / 2, t - 2**e)
    given = (Ge(t, 2**e),)
    largest = at_most((SPACING / 2 - move) * 2**e / ((2**e + move) * (2**e + SPACING / 2)), given=given)
    beyond = at_most(move * (t - 2**e - move) / (t * (2**e + move)), given=given)
    half = Chain(
        move / t,
        Line(move / (2**e + move), "most where it moves to $2^e$ itself", beyond, "≤"),
        Line(SPACING / 2 / (2**e + SPACING / 2), "most half a spacing above", largest, "≤"),
        Line(1 / (1 + 2**b), "over the power of two", algebra),
        name="half",
        title="The move of a score $t$ from $2^e$ on, half the spacing of $b$-bit numbers at most, over it",
        defines="how far rounding moves a score, over the score",
    )
    shifted = Chain(
        SPACING.subs(e, e + h),
        Line(2**h * SPACING, "so these numbers, and what is nearest, are scaled alike", algebra),
        name="shifted",
        title="Spacing of $b$-bit numbers from $2^{e + h}$ on",
        defines="the spacing of numbers $2^h$ times as large",
    )
    return half, shifted


def error(scaling: str, largest: Chain) -> Chain:
    """Derive how large the mean squared error of raw or of scaled scores is at most."""
    scores, share = SCALES[scaling] * score, largest.end**2
    square = (Rounded(scores, b) - scores) ** 2
    below = at_most(E(share * scores**2 - square), given=(Le(square, share * scores**2),))
    return Chain(
        E(square),
        Line(share * E(scores**2), "each moves by at most that share of itself", below, "≤"),
        Line(share * d * SCALES[scaling] ** 2, "moments of the components", moments(STANDARD)),
        name=f"{scaling}-error",
        title=f"The mean squared error of {scaling} scores",
    )


def derive() -> tuple[Chain, ...]:
    """Derive how far rounding moves scores, and how far weights move with them."""
    half, shifted = moves()
    return *weights(), half, shifted, *(error(scaling, half) for scaling in SCALES)


def mean_error(dimension: int, bits: int) -> float:
    """Return the mean squared error of q·k rounded to a number of significant bits, integrated.

    A score is integrated between each number and the midpoints beside it, over the powers of two from 2^-12
    of the standard deviation to 16 of it.
    """
    top, (length, probability) = round(math.log2(dimension**0.5)) + 4, lengths(dimension)
    nodes, factors = np.polynomial.legendre.leggauss(8)
    total = 0.0
    for power in range(top - 16, top):
        spacing = 2.0 ** (power + 1 - bits)
        off = spacing / 4 * (nodes + 1)
        above = 2.0**power + spacing * np.arange(2 ** (bits - 1))[:, None] + off
        of_length = np.stack([above, above + spacing - 2 * off])[..., None] / length
        density = np.exp(-(of_length**2) / 2) @ (probability / length) / math.sqrt(2 * math.pi)
        total += spacing / 2 * float(np.sum(factors * off**2 * density))
    return total


def spacing_above(at: float, bits: int) -> float:
    """Return the distance of a number of ``bits`` bits from the next, the least step that rounding keeps."""
    steps = 2.0 ** -np.arange(-8, 24)
    return float(min(step for step in steps if rounded(np.array(at + step), bits) == at + step))


def largest_move(bits: int) -> float:
    """Return how far rounding to ``bits`` bits moves a number from 1 to 2 at most, over the number."""
    numbers = np.linspace(1, 2, 4097)
    return float(np.max(np.abs(rounded(numbers, bits) / numbers - 1)))


def change_of_weights(scores: tuple[float, ...], bits: int) -> float:
    """Return how much a weight changes at most when the scores of its row are rounded to ``bits`` bits."""
    row = np.array(scores)
    return largest_difference(softmax(rounded(row, bits)), softmax(row))


def distance_from_half(bits: int) -> float:
    """Return the largest distance of rounded normal numbers from those that NumPy's half precision stores."""
    numbers = loops.fixed_normals(4096)
    return largest_difference(rounded(numbers, bits), numbers.astype(np.float16))


def distance_of_orders(factor: float, bits: int) -> float:
    """Return how far normal numbers that are scaled, then rounded are from those rounded, then scaled."""
    numbers = loops.fixed_normals(4096)
    return largest_difference(rounded(numbers * factor, bits), rounded(numbers, bits) * factor)


def predicted(name: str, scaling: str, size: int) -> float:
    """Return the mean squared error of raw or of scaled scores in a format."""
    factor: Expr = SCALES[scaling].subs(d, size)
    return mean_error(size, BITS[name]) * float(factor) ** 2


def experiment(derived: Derivation) -> Items:
    """Measure rounding errors of raw and of scaled scores; compare spacings, order and weights."""
    for scaling in SCALES:
        bound = derived[f"{scaling}-error"]
        for name, size in DIMENSIONS:
            at, value = {b: BITS[name], d: size}, predicted(name, scaling, size)
            control = "biased-prediction" if (name, scaling, size) == ("bfloat16", "raw", 64) else ""
            check, drawn = f"{name.lower()}-{scaling}-d{size}", dict[str, Any](tolerance=Within(2.0))
            yield Check(check, bound.start, at, equals=value, control=control, **drawn)
        at, truth = {b: 8, d: 64}, predicted("bfloat16", scaling, 64)
        drawn = dict[str, Any](tolerance=Within(0.5, fixed=True), sharper=0.17, sharper_truth=truth)
        yield Check(f"bound-{scaling}-d64", bound.start, at, at_most=bound.end, **drawn)
    where = {"precision": "bfloat16", "scores": "64.75 and 64.25, nearly"}
    most, half = derived.end.subs(epsilon, Rational(1, 4)), derived["half"].end.subs(b, 8)
    yield Computed(
        "change", "change of a weight", change_of_weights, (CLOSE, 8), at_most=most, settings=where
    )
    where["scores"] = "1 to 2"
    yield Computed(
        "move", "move of a score, over the score", largest_move, (8,), at_most=half, settings=where
    )
    for name, bits in BITS.items():
        place: dict[str, int | float | str] = {"at": 64, "precision": name}
        check, what, gap = (
            f"spacing-{name.lower()}",
            "distance to the next number",
            SPACING.subs({b: bits, e: 6}),
        )
        yield Computed(check, what, spacing_above, (64.0, bits), equals=gap, settings=place)
    what = "largest distance of scores rounded to 11 bits from half precision as NumPy has it"
    yield Computed("bit-for-bit", what, distance_from_half, (11,), equals=0, settings={"scores": 4096})
    what = "largest distance of scores scaled, then rounded from those rounded, then scaled"
    yield Computed("order", what, distance_of_orders, (64**-0.5, 8), equals=0, settings={"d_k": 64})

    says, small = "raw scores are rounded as precisely as scaled ones", predicted("bfloat16", "scaled", 64)
    yield Wrong("as-precise", of="bfloat16-raw-d64", equals=small, says=says)
    says, fine = "bfloat16 has nine significant bits", mean_error(64, 9)
    yield Wrong("one-bit-more", of="bfloat16-raw-d64", equals=fine, says=says)
    says = "two hundredths less is a bound as well"
    yield Wrong("change-sharper", of="change", at_most=most * Rational(98, 100), says=says)
    says = "a hundredth less is a bound as well"
    yield Wrong("move-sharper", of="move", at_most=half * Rational(99, 100), says=says)
    says = "numbers are as far apart as those from twice as large on"
    yield Wrong("spacing-at-128", of="spacing-bfloat16", equals=1, says=says)
    tenth = distance_from_half(10)
    yield Wrong("ten-bits", of="bit-for-bit", computed=tenth, says="half precision has ten bits")
    says, moved = "order does not matter where the scale is no power of two either", 128**-0.5
    yield Wrong("any-dimension", of="order", computed=distance_of_orders(moved, 8), says=says)


def figures(findings: Findings) -> Figure:
    """Draw the mean squared error of raw and of scaled scores over the dimension."""
    raw, small = (findings.matching(f"bfloat16-{name}-d*") for name in SCALES)
    return draw.figure(
        "errors",
        "Rounding raw scores to bfloat16 costs more in every dimension, scaled ones the same in all",
        "Mean squared error of scores rounded to bfloat16, over the dimension: for raw scores it grows in "
        "proportion to the dimension, for scaled ones it stays at about three millionths.",
        draw.expected(raw, d, "raw, integrated"),
        draw.measured(raw, d),
        draw.expected(small, d, "scaled, integrated"),
        draw.measured(small, d, ""),
        x=d,
        y="mean squared error of a score",
    )


CLAIM = Claim(
    title="Errors of low precision are proportional to the score, so the size of scores matters",
    statement="Rounded to {b} significant bits a score moves by at most {half:end} of itself; at a score "
    "of {spacing-bfloat16:at} bfloat16 has a spacing of {spacing-bfloat16:prediction}, E4M3 one of "
    "{spacing-e4m3:prediction}. If all scores of a row move by at most {epsilon}, a weight moves by at most "
    "{main:end}. Scaling by a power of two gives the same bits before rounding as after.",
    meaning="Two raw scores near sixty-four, less than half apart, may be equal in bfloat16, and their "
    "weights with them; scores of one or less move by four thousandths at most, and weights by less. "
    "Whether scores are rounded before they are scaled or after hardly matters, for the error is in "
    "proportion to the score. What helps is a small score at the softmax.",
    assumptions=assume(nearest="To nearest, ties to even, within a format’s normal numbers."),
    symbols={"b": b, "epsilon": epsilon},
    references=cite("kalamkar2019", "micikevicius2022"),
)
