"""Scores in bfloat16 or 8 bits: the error is in proportion to the score, and what it does to weights."""

import numpy as np
from sympy import Rational, S, Symbol, cosh, exp, log, sinh, sqrt, tanh

from verify.spec import (
    INDEPENDENT, KALAMKAR, MICIKEVICIUS, NORMAL, NORMAL_COMPONENTS, AtItsLeast, Claim, Derivation,
    Experiment, Figure, Findings, Identity, Ordered, RoundedScores, Route, SameExponentials, Simulated,
    Step, Tolerance, assume, biased, cell_of, component, computed, d, figure, integrated,
    largest_difference, line, measured, over_cells, prediction, rounded, scaled, score_law, softmax,
    spacing_above, stream, wrong,
)  # fmt: skip

BITS = {"bfloat16": 8, "E4M3": 4}
"""Bits of the significand, the leading one counted."""
DIMENSIONS = {"bfloat16": (16, 64, 256), "E4M3": (64,)}
SCALES = {"raw": S.One, "scaled": 1 / sqrt(d)}
ERROR = r"$\mathbb{E}(\hat s - s)^2$"
x, R = Ordered("x", "x", real=True), Symbol("R", positive=True)
epsilon, s = Ordered("epsilon", "e", positive=True), Ordered("s", "s", real=True)
g = Ordered("g", "g", nonnegative=True)
b = Ordered("b", "b", integer=True, positive=True)
e, h = Ordered("e", "f", integer=True), Ordered("h", "h", integer=True)
SPACING = 2 ** (e + 1 - b)
"""Of the numbers of b significant bits from 2^e up to 2^(e + 1)."""
CLOSE = (64.75 - 2.0**-20, 64.25 + 2.0**-20)
"""Two scores that bfloat16 does not tell apart: both become 64.5."""


def derive() -> Derivation:
    """Derive how far a weight moves when scores move by ε, and by how much rounding moves them."""
    moved = 1 / (1 + exp(-x - epsilon)) - 1 / (1 + exp(-x + epsilon))
    change = Route.of(
        "Two values of a weight whose log odds are 2ε apart, x in their middle", moved,
        Step(sinh(epsilon) / (cosh(epsilon) + cosh(x)), "Over the common denominator", SameExponentials()),
        Step(sinh(epsilon) / (cosh(epsilon) + 1), "Most at even odds, x = 0", AtItsLeast(cosh(x), 1)),
        Step(tanh(epsilon / 2), "By half the argument", SameExponentials()),
    )  # fmt: skip
    apart = log(exp(s + epsilon) / (exp(-epsilon) * R)) - log(exp(s) / R)
    common = Step(2 * epsilon, "The exponentials of the others have a common factor", Identity())
    odds = Route.of("Log odds of a key, its score up by ε and all others’, in R, down by ε", apart, common)
    odds = odds.defining("how far log odds move at most")
    half = Route.of(
        "Half the spacing of $b$-bit numbers from $2^e$ on, over a score of $2^e(1 + g)$",
        SPACING / 2 / (2**e * (1 + g)), Step(2**-b, "Most at a power of two", AtItsLeast(g, 0)),
    ).defining("how far rounding moves a score, over the score")  # fmt: skip
    grid = Step(2**h * SPACING, "So these numbers, and what is nearest, are scaled alike", Identity())
    shifted = Route.of("Spacing of $b$-bit numbers from $2^{e + h}$ on", SPACING.subs(e, e + h), grid)
    shifted = shifted.defining("the spacing of numbers $2^h$ times as large")
    return Derivation.of(change, lemmas=(odds, half, shifted), relation="≤")


def _error(kind: str, name: str, dimension: int) -> float:
    return score_law.rounding_error(dimension, BITS[kind]) * scaled(SCALES[name], dimension) ** 2


def of_pair(bits: int) -> float:
    """Return how much the weights of the two close scores change when these are rounded."""
    pair = np.array(CLOSE)
    return largest_difference(softmax(rounded(pair, bits)), softmax(pair))


def of_scores(bits: int) -> float:
    """Return how far rounding moves evenly spaced scores at most, over the score."""
    scores = np.linspace(1, 2, 4097)
    return float(np.max(np.abs(rounded(scores, bits) / scores - 1)))


def from_half_precision(bits: int) -> float:
    """Return the largest distance of rounded scores from those that NumPy's half precision stores."""
    scores = NORMAL.draw(stream(0, "low-precision-scores", "half", 0), (4096,))
    return largest_difference(rounded(scores, bits), scores.astype(np.float16))


def of_order(dimension: int) -> float:
    """Return how far scores that are scaled, then rounded are from those that are rounded, then scaled."""
    scores = NORMAL.draw(stream(0, "low-precision-scores", "order", 0), (4096,)) * dimension**0.5
    return largest_difference(rounded(scores * dimension**-0.5, 8), rounded(scores, 8) * dimension**-0.5)


def experiment(derivation: Derivation, tolerance: float) -> Experiment:
    """Measure rounding errors of raw and of scaled scores; compare spacings, order and weights."""
    cells = {
        (kind, name, one): cell_of(f"{kind}-{name}-d{one}".lower(), Simulated(NORMAL, NORMAL, 16, 16, one),
                                   RoundedScores(BITS[kind]), scale=SCALES[name], format=kind)
        for kind, dimensions in DIMENSIONS.items() for name in SCALES for one in dimensions
    }  # fmt: skip
    checks = over_cells("{cell}", ERROR, cells, component("error", positive=True), _error, Tolerance(2.0))
    most = prediction(derivation.result.subs(epsilon, Rational(1, 4)))
    where = {"scores": "64.75 and 64.25, nearly", "format": "bfloat16"}
    change = computed("change", "change of a weight", where, most, of_pair, 8, relation="≤")
    half, where = prediction(derivation.lemmas[1].end.subs(b, 8)), {"scores": "1 to 2", "format": "bfloat16"}
    move = computed("move", "move of a score, over the score", where, half, of_scores, 8, relation="≤")
    gaps = [computed(f"spacing-{kind.lower()}", "distance to the next number", {"at": 64, "format": kind},
                     SPACING.subs({b: bits, e: 6}), spacing_above, 64.0, bits)
            for kind, bits in BITS.items()]  # fmt: skip
    label = "largest distance of scores rounded to 11 bits from half precision as NumPy has it"
    bitwise = computed("bit-for-bit", label, {"scores": 4096}, 0, from_half_precision, 11)
    label = "largest distance of scores scaled, then rounded from those rounded, then scaled"
    order = computed("order", label, {"d_k": 64}, 0, of_order, 64)
    raw, small = checks["bfloat16", "raw", 64], checks["bfloat16", "scaled", 64]
    controls = (
        wrong(raw, "as-precise", "raw scores are rounded as precisely as scaled ones", small),
        wrong(raw, "one-bit-more", "bfloat16 has nine significant bits",
              integrated(score_law.rounding_error(64, 9))),
        wrong(change, "change-sharper", "a weight changes by 2% less than its bound at most",
              most.value * Rational(98, 100)),
        wrong(move, "move-sharper", "rounding moves a score by 1% less than its bound at most",
              half.value * Rational(99, 100)),
        wrong(gaps[0], "spacing-at-128", "numbers from 64 on are as far apart as those from 128 on", 1),
        wrong(bitwise, "ten-bits", "half precision has ten bits", computed=from_half_precision(10)),
        wrong(order, "any-dimension", "order does not matter in 128 dimensions either, where the scale is no "
              "power of two", computed=of_order(128)),
        biased(raw, tolerance),
    )  # fmt: skip
    return Experiment((*checks.values(), change, move, *gaps, bitwise, order), controls)


def figures(findings: Findings) -> Figure:
    """Draw the mean squared error of raw and of scaled scores over the dimension."""
    layers, at = [], DIMENSIONS["bfloat16"]
    for name in SCALES:
        exact = [_error("bfloat16", name, one) for one in at]
        found = findings.matching(f"bfloat16-{name}-d*")
        layers += [line(f"{name}, derived", exact, at=at), measured(found, "")]
    return figure(
        "errors",
        "Rounding raw scores to bfloat16 costs more in every dimension, scaled ones the same in all",
        "Mean squared error of scores rounded to bfloat16, over the dimension: for raw scores it grows in "
        "proportion to the dimension, for scaled ones it stays at about three millionths.",
        ERROR,
        *layers,
    )


CLAIM = Claim(
    title="Low precision errs in proportion to the score, so it is the size of scores that counts",
    statement="Rounded to $b$ significant bits a score $s$ moves by at most $2^{-b}|s|$; bfloat16, $b = 8$, "
    "has a spacing of 0.5 at least from $|s| = 64$ on, the 8-bit E4M3, $b = 4$, one of 8. If all scores of "
    r"a row move by at most $\varepsilon$, a weight moves by at most $\tanh(\varepsilon/2)$. A scale that is "
    "a power of two gives the same bits before rounding as after.",
    meaning="Two raw scores of 64.7 and 64.3 are the same in bfloat16, and weights of 0.6 and 0.4 become "
    "equal; scores of size 1 or less move by four thousandths at most, and weights by less. Whether scores "
    "are rounded before they are scaled or after hardly matters, for the error is in proportion to the "
    "score. What helps is that softmax gets small scores.",
    assumptions=assume(
        INDEPENDENT,
        NORMAL_COMPONENTS,
        nearest="Rounding is to the nearest number, ties to even, within the range of normal numbers.",
    ),
    references=(KALAMKAR, MICIKEVICIUS),
)
