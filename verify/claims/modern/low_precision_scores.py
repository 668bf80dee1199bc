"""Errors of low precision are proportional to the score, so the size of scores matters."""

import math

import numpy as np

from verify.spec import STANDARD, Chain, Chains, Check, Claim, Computed, Derivation, E, Ge, Items, Le, Max
from verify.spec import Min, Plot, Rational, S, Within, Wrong, algebra, assume, at_most, cite, d, exp, log
from verify.spec import moments, score, sqrt, symbols, tanh
from verify.spec.arrays import Rounded, fixed_normals, largest_difference, rounded, softmax
from verify.spec.lemmas import lengths

BITS = {"bfloat16": 8, "E4M3": 4}  # bits of the significand, with the leading bit
# Two scores that bfloat16 does not tell apart: both become 64.5.
CLOSE = np.array([64.75 - 2.0**-20, 64.25 + 2.0**-20])
NUMBERS, BINADE = fixed_normals(4096), np.linspace(1, 2, 4097)
b, e, h = symbols("b e h", integer=True)
x, s = symbols("x s", real=True)
c, epsilon, R, t = symbols("c epsilon R t", positive=True)
SPACING = 2 ** (e + 1 - b)  # of the numbers of b significant bits from 2^e up to 2^(e + 1)


def derive() -> Chains:
    rise, total = exp(epsilon) - exp(-epsilon), exp(epsilon) + exp(-epsilon)
    apart = rise * (exp(x / 2) - exp(-x / 2)) ** 2 / ((total + exp(x) + exp(-x)) * (total + 2))
    title = "Two values of a weight whose log odds are $2ε$ apart, $x$ in their middle"
    yield Chain(1 / (1 + exp(-x - epsilon)) - 1 / (1 + exp(-x + epsilon)), title=title).through(
        (rise / (total + exp(x) + exp(-x)), "over the common denominator", algebra),
        (rise / (total + 2), "most at even odds, $x = 0$", at_most(apart), "≤"),
        (tanh(epsilon / 2), "by half the argument", algebra),
    )
    title = "How far log odds of a key move, its score up by $ε$ and all others’, in $R$, down by $ε$"
    moved = log(exp(s + epsilon) / (exp(-epsilon) * R)) - log(exp(s) / R)
    yield Chain(moved, name="odds", title=title).then(2 * epsilon, "the others have one factor", algebra)
    half, above, share = SPACING / 2, t - 2**e, 1 / (1 + 2**b)
    move, rest = Min(half, above), half * Max(above - half, 0) + Max(half - above, 0) * 2**e
    largest = at_most(rest / (t * (2**e + half)), given=(Ge(t, 2**e),))
    title = "The move of a score $t$ from $2^e$ on, half the spacing of $b$-bit numbers at most, over it"
    yield Chain(move / t, name="half", title=title).through(
        (half / (2**e + half), "most half a spacing above $2^e$, to which it moves", largest, "≤"),
        (share, "over the power of two", algebra),
    )
    chain = Chain(SPACING.subs(e, e + h), name="shifted", title="The spacing from $2^{e + h}$ on")
    yield chain.then(2**h * SPACING, "so these numbers, and what is nearest, are scaled alike", algebra)
    scores = c * score
    square, most = (Rounded(scores, b) - scores) ** 2, share**2 * scores**2
    below = at_most(E(most - square), given=(Le(square, most),))
    yield Chain(E(square), name="error", title="The mean squared error of scores times $c$").through(
        (E(most), "each moves by at most that share", below, "≤"),
        (share**2 * c**2 * d, "moments of the components", moments(STANDARD)),
    )


def mean_error(dimension: int, bits: int) -> float:
    """Return the mean squared error of q·k rounded to a number of significant bits, integrated."""
    # Between each number and the midpoints beside it, from 2^-12 of the standard deviation to 16 of it.
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


def experiment(derived: Derivation) -> Items:
    error = derived["error"]
    for name, size in (("bfloat16", 16), ("bfloat16", 64), ("bfloat16", 256), ("E4M3", 64)):
        raw = mean_error(size, BITS[name])
        for scaling, factor in (("raw", S.One), ("scaled", 1 / sqrt(S(size)))):
            check, at = f"{name.lower()}-{scaling}-d{size}", {b: BITS[name], d: size, c: factor}
            value, control = raw * float(factor) ** 2, check == "bfloat16-raw-d64"
            yield Check(check, error, at, equals=value, tolerance=2, control=control)
    at = {b: BITS["bfloat16"], d: 64, c: S.One}
    yield Check("bound-raw-d64", error, at, tolerance=Within(0.5, fixed=True), sharper=0.17)
    differs = Computed.sharing(code=largest_difference)
    weights = softmax(rounded(CLOSE, 8)), softmax(CLOSE)
    moved = rounded(BINADE, 8) / BINADE, np.ones(BINADE.shape)
    most, half = derived.end.subs(epsilon, Rational(1, 4)), derived["half"].end.subs(b, 8)
    for name, what, given, end, of, sharper in (
        ("change", "change of a weight", weights, most, "64.75 and 64.25, nearly", 0.98),
        ("move", "move of a score, over the score", moved, half, "1 to 2", 0.99),
    ):
        where, off = {"precision": "bfloat16", "scores": of}, {f"{name}-sharper": sharper}
        yield differs(name, what, arguments=given, at_most=end, settings=where, off=off)
    steps = np.exp2(-np.arange(-8.0, 24.0))
    for name, bits in BITS.items():
        stays = steps[rounded(64 + steps, bits) == 64 + steps]
        check, place = f"spacing-{name.lower()}", {"at": 64, "precision": name}
        gap, what = SPACING.subs({b: bits, e: 6}), "distance to the next number"
        yield Computed(check, what, np.min, (stays,), equals=gap, settings=place)
    what = "largest distance of scores scaled, then rounded from those rounded, then scaled"
    orders = [(rounded(NUMBERS * by, 8), rounded(NUMBERS, 8) * by) for by in (64**-0.5, 128**-0.5)]
    yield differs("order", what, arguments=orders[0], equals=0, settings={"d_k": 64})
    says, scaled = "raw scores are rounded as precisely as scaled ones", mean_error(64, 8) / 64
    yield Wrong("as-precise", of="bfloat16-raw-d64", equals=scaled, says=says)
    yield Wrong("spacing-at-128", of="spacing-bfloat16", equals=1, says="numbers are as far apart as at 128")
    yield Wrong("any-dimension", of="order", arguments=orders[1], says="the order matters at no scale")
    checks = {"raw": "bfloat16-raw-d*", "scaled": "bfloat16-scaled-d*"}
    title = "Rounding raw scores to bfloat16 costs more in every dimension, scaled ones the same in all"
    yield Plot("errors", checks, d, title, y="mean squared error of a score")


CLAIM = Claim(
    statement="Rounded to {b} significant bits a score moves by at most {half:end} of itself; at a score of "
    "{spacing-bfloat16:at} bfloat16 has a spacing of {spacing-bfloat16:prediction}, E4M3 one of "
    "{spacing-e4m3:prediction}. If all scores of a row move by at most {epsilon}, a weight moves by at most "
    "{main:end}. Scaling by a power of two gives the same bits before rounding as after.",
    meaning="Two raw scores near 64, less than half apart, may be equal in bfloat16, and their weights with "
    "them; scores of one or less move by four thousandths at most, and weights by less. Whether scores are "
    "rounded before they are scaled or after hardly matters, for the error is in proportion to the score. "
    "What helps is a small score at the softmax.",
    assumptions=assume(nearest="To nearest, ties to even, within a format’s normal numbers."),
    references=cite("kalamkar2019", "micikevicius2022"),
)
