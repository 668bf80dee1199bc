"""The second singular value of attention's weights: like n^(-½) for independent scores, not for q·k."""

from sympy import Expr, Integral, Rational, S, exp, oo, sqrt

from verify.claims.newer.shared import SecondValues
from verify.former import (
    Claim, Derivation, Experiment, Figure, Findings, Route, Step, beside, capped, cell_of, characteristic,
    cite, component, figure, measured, over_cells, sharper, threshold, wrong,
)  # fmt: skip
from verify.former.rules import Replaced, normal_density

y, v = characteristic.y, characteristic.v
KEYS, DIMENSION, SPREAD = (16, 32, 64), 4, S.Half
LABEL = "mean second singular value"


def derive() -> Derivation:
    """Derive the variance of exponentials of normal scores over the square of their mean."""
    once, twice = (Integral(exp(power * y) * normal_density(y, v), (y, -oo, oo)) for power in (1, 2))
    mean, square = (characteristic.of_normal(exp(power * y), exp(power**2 * v / 2)) for power in (1, 2))
    ratio = Route.of(
        "The variance of exponentials of normal scores over their squared mean", twice / once**2 - 1,
        Step(exp(2 * v) / once**2 - 1, "The mean square", Replaced(square.proved())),
        Step(exp(v) - 1, "The mean", Replaced(mean.proved())),
    )  # fmt: skip
    beyond = ("that the second singular value is about twice the root of this over n, the edge for matrices "
              "of independent "
              "entries, and what it is for scores of queries and keys, is measured only.")  # fmt: skip
    lemmas = (
        square.defining("the mean square of an exponential"),
        mean.defining("the mean of an exponential"),
    )
    return Derivation.of(ratio, lemmas=lemmas, beyond=beyond)


def _edge(derivation: Derivation, keys: int) -> Expr:
    return 2 * sqrt(derivation.result.subs(v, SPREAD**2) / keys)


def experiment(derivation: Derivation, tolerance: float) -> Experiment:
    """Measure the second singular value for independent scores, and for those of queries and keys."""
    apart = {keys: cell_of(f"apart-n{keys}", SecondValues(keys, float(SPREAD))) for keys in KEYS}
    shared = {keys: cell_of(f"shared-n{keys}", SecondValues(keys, float(SPREAD), DIMENSION)) for keys in KEYS}
    second, near = component("second", positive=True), capped(1.0, tolerance)
    most = over_cells("most-{cell}", LABEL, apart, second, lambda keys: _edge(derivation, keys), near, "≤")
    least = over_cells(
        "least-{cell}", LABEL, apart, second, lambda keys: threshold(_share(derivation, keys)), near, "≥"
    )
    floor = over_cells("least-{cell}", LABEL, shared, second, threshold(Rational(29, 100)), near, "≥")
    return Experiment((*most.values(), *least.values(), *floor.values()), (
        sharper(most[64], 0.95),
        wrong(least[64], "a-twentieth-more", "it is at least a twentieth more than the formula gives",
              _edge(derivation, 64) * Rational(105, 100)),
        wrong(floor[64], "falls-alike", "for queries and keys it falls as it does for independent scores",
              _edge(derivation, 64), relation="≤"),
        wrong(floor[64], "higher-floor", "for queries and keys it stays above two fifths",
              threshold(Rational(2, 5))),
    ))  # fmt: skip


def _share(derivation: Derivation, keys: int) -> Rational:
    """Return five sixths of the edge, to two decimals."""
    return Rational(round(500 / 6 * float(_edge(derivation, keys))), 100)


def figures(derivation: Derivation, findings: Findings) -> Figure:
    """Draw the second singular value over the number of keys for both kinds of scores."""
    return figure(
        "second",
        "With independent scores weights mix better the more keys there are; with queries and keys hardly",
        "Mean second singular value of square matrices of weights over the number of keys, on log axes: for "
        "independent scores it falls along a line, for queries and keys it hardly falls.",
        LABEL, *beside(findings.matching("most-apart-*"), "edge",
                       lambda keys: float(_edge(derivation, keys)), "n", over=(16, 64)),
        measured(findings.matching("least-shared-*"), "queries and keys", "n"), x="number of keys",
    )  # fmt: skip


CLAIM = Claim(
    title="The second singular value of attention falls far less where scores come from queries and keys",
    statement="For normal scores of variance {v}, the variance of their exponentials over the squared mean "
    "is {theorem:result}.",
    meaning="A matrix of weights averages tokens; its second singular value governs what is left of their "
    "differences. For independent scores it is about twice the square root of the above ratio over the "
    "number of keys: at {most-apart-n16:sigma=} it is measured as {most-apart-n16:estimate.3} for "
    "{most-apart-n16:n} keys and {most-apart-n64:estimate.3} for {most-apart-n64:n}, where the formula gives "
    "{most-apart-n64:prediction.3}. Scores of queries and keys are not independent: in "
    "{least-shared-n64:d_k} dimensions and at the same variance it is {least-shared-n16:estimate.3} and "
    "{least-shared-n64:estimate.3}, because few dimensions leave a pattern that more keys do not average "
    "away. A model of independent scores describes them less and less well as keys are added.",
    headline="least-shared-n64",
    symbols={"v": v},
    references=cite(
        "naitsaada2025",
        "T. Nait Saada, A. Naderi and J. Tanner, Mind the Gap: A Spectral Analysis of Rank Collapse "
        "and Signal Propagation in Attention Layers, ICML 2025.",
        "https://arxiv.org/abs/2410.07799",
    ),
)
