"""E|q·k| grows like the root of the dimension."""

from sympy import Abs, Integral, Rational, S, gamma, oo, pi, sqrt

from verify.former import (
    E, NORMAL, NORMAL_VECTORS, Claim, Derivation, Experiment, Figure, Findings, Route, ScorePowers, Simulated,
    Step, biased, cell_of, characteristic, cite, component, computed, d, figure, function, k, line, measured,
    ordered, over_cells, score, score_law, wrong,
)  # fmt: skip
from verify.former.rules import (
    Applied, BesselIntegrals, EulerIntegrals, Evaluation, Even, NormalGiven, PutIn, Replaced,
    RootOfMeanSquare, SameLaw, Turned, normal_density,
)  # fmt: skip

SIDES = {1: 8, 2: 8, 8: 32, 64: 32, 512: 32}
"""Dimensions, and how many queries and keys a block has in each."""

LABEL = r"$\mathbb{E}|q\cdot k|$"
BOUNDED = 64
"""The dimension in which both bounds are compared."""

LENGTH = sqrt(score_law.SQUARES)
EXACT = 2 * gamma((d + 1) / 2) / (sqrt(pi) * gamma(d / 2))
ASYMPTOTE = sqrt(2 * d / pi)

w, x = score_law.w, score_law.x
v, y = characteristic.v, characteristic.y


def derive() -> Derivation:
    """Derive the mean size by averaging over keys first, and from the exact density; bounds on both sides."""
    of_normal = Route.of(
        "The mean size of a normal number of variance v",
        Integral(Abs(y) * normal_density(y, v), (y, -oo, oo)),
        Step(2 * Integral(x * normal_density(x, v), (x, 0, oo)), "Twice the positive half", Even(y, x)),
        Step(sqrt(2 * v / pi), "Integrated", EulerIntegrals(x)),
        defines="the mean size of a normal number",
    )  # fmt: skip
    keys_first = Step(sqrt(2 / pi) * E(LENGTH),
                      "Given the query, the score is normal, with the query's length as standard deviation",
                      NormalGiven(NORMAL_VECTORS, k, score, of_normal.proved(), v))  # fmt: skip
    by_length = Route.of(
        "Keys first, then the length of the query", E(Abs(score)), keys_first,
        Step(sqrt(2 / pi) * Integral(sqrt(w) * score_law.CHI_SQUARE, (w, 0, oo)),
             "The squared length is chi-square", score_law.SQUARES_ARE_CHI_SQUARE),
        Step(EXACT, "Integrated", EulerIntegrals(w)),
    )  # fmt: skip
    function, transform = characteristic.route("The characteristic function"), score_law.transform()
    by_density = Route.of(
        "From the exact density", E(Abs(score)),
        Step(Integral(2 * x * score_law.DENSITY, (x, 0, oo)), "Twice the integral of x f(x)",
             SameLaw(function.proved(), transform.proved())),
        Step(EXACT, "Integrated", BesselIntegrals(x)),
    )  # fmt: skip
    length = Route.of(
        "The mean length of a query", E(LENGTH),
        Step(sqrt(E(score_law.SQUARES)), "No variance is negative", RootOfMeanSquare()),
        Step(sqrt(d), "The mean square of each component is 1", Evaluation(NORMAL_VECTORS, assumed=True)),
        defines="the mean length of a query",
    )  # fmt: skip
    above = Route.of("From above", E(Abs(score)), keys_first,
                     Step(ASYMPTOTE, "The length's bound", Replaced(length.proved())),
                     name="above")  # fmt: skip
    other_way = by_length.then(Step(E(Abs(score)), "Read from right to left", Turned()))
    further, hole = ASYMPTOTE.subs(d, d + 1), ordered("h", positive=True)
    least = ASYMPTOTE * sqrt(d / (d + 1))
    below = Route.of(
        "From below, by the next dimension's size", EXACT,
        Step(E(Abs(score)), "The mean size", Replaced(other_way.proved())),
        Step(ASYMPTOTE, "which is bounded", Replaced(above.proved())),
        Step(further, "One dimension further", PutIn({d: d + 1})),
        Step(least, r"Of both dimensions' sizes the product is $2d_k/\pi$: divided by the next",
             Applied(least * further / hole, hole)),
        Step(EXACT, "That is at most the size itself", Turned()),
    )  # fmt: skip
    return Derivation.of(by_length, by_density, lemmas=(of_normal, function, transform, length, above, below))


def _size(derivation: Derivation, n: float) -> float:
    """Return the derived mean size in ``n`` dimensions."""
    return float(derivation.result.subs(d, n))


def experiment(derivation: Derivation, tolerance: float) -> Experiment:
    """Measure the mean size over the dimensions, and hold it against its bounds at 64."""
    drawn = (Simulated(NORMAL, NORMAL, side, side, n) for n, side in SIDES.items())
    cells = {one.d: cell_of(f"d{one.d}", one, ScorePowers((1,))) for one in drawn}
    size = component("size", positive=True)
    checks = over_cells("magnitude-d{d_k}", LABEL, cells, size, derivation.result)
    at64 = checks[BOUNDED]
    most = ASYMPTOTE.subs(d, BOUNDED)
    least = (ASYMPTOTE * sqrt(d / (d + 1))).subs(d, BOUNDED)
    where, of64 = {"d_k": BOUNDED}, (derivation, BOUNDED)
    upper = computed("upper-bound", LABEL, where, most, _size, *of64, relation="≤")
    lower = computed("lower-bound", LABEL, where, least, _size, *of64, relation="≥")
    less, more = (most * Rational(99, 100), least * Rational(101, 100))
    return Experiment((*checks.values(), upper, lower), (
        wrong(at64, "size-of-deviation",
              "a typical score has the size of its standard deviation, {root_d}", sqrt(S(64))),
        wrong(at64, "proportional", "sizes grow in proportion to the dimension, to {value} here",
              64 * sqrt(2 / pi)),
        biased(at64, tolerance),
        wrong(upper, "upper-bound-lower", "the upper bound holds with one per cent less", less),
        wrong(lower, "lower-bound-higher", "the lower bound holds with one per cent more", more),
    ))  # fmt: skip


def figures(derivation: Derivation, findings: Findings) -> Figure:
    """Draw the measured sizes on the exact curve, below its asymptote."""
    return figure(
        "sizes",
        "A typical raw score grows like the root of the dimension",
        "The measured mean size of a score lies on the exact curve, which from a few dimensions on "
        "is the root of two d over pi.",
        "{theorem:subject}",
        line("exact", function((d,), derivation.result, "mpmath")),
        line("{above:result}", function((d,), ASYMPTOTE), "other"),
        measured(findings.matching("magnitude-d*")),
    )


CLAIM = Claim(
    title="The size of a typical score grows like the root of the dimension",
    statement="For independent standard normal components, {theorem}, which approaches {above:result} "
    "from below.",
    meaning="Scores grow, but not because vectors with more components align: their mean stays "
    "zero. What grows is their size, about four fifths of the root of the dimension, half of them positive "
    "and half negative. A raw score of {magnitude-d64:prediction.2} in size is ordinary at "
    "{magnitude-d64:d_k} dimensions.",
    references=cite(
        "dlmf5",
        "NIST Digital Library of Mathematical Functions, chapter 5 (the gamma function).",
        "https://dlmf.nist.gov/5",
    ),
)
