"""Adaptive temperature: the published factor on scores peaks, and is switched off for long texts."""

import math

import numpy as np
from scipy import optimize
from sympy import Float, Interval, Rational, S, exp, log, oo

from verify.claims.newer.shared import AdaptiveRows, factor_at
from verify.former import (
    Allowance, Claim, Derivation, Experiment, Fact, Figure, Findings, Route, Smooth, Step, Tolerance, biased,
    cell_of, cite, computed, estimates, fact, figure, function, line, one_step, ordered, over_cells,
    row_integrals, wrong,
)  # fmt: skip
from verify.former.rules import Compared, Hypotheses

H = ordered("H", real=True)
COEFFICIENTS = tuple(Rational(one, 1000) for one in (-37, 481, -2300, 4917, -1791))
"""As published, from the fourth power of the entropy down."""
FACTOR = sum(one * H ** (4 - power) for power, one in enumerate(COEFFICIENTS))
LOW, HIGH = (
    (Rational(8485, 10_000), Rational(8486, 10_000)),
    (Rational(59_445, 10_000), Rational(59_446, 10_000)),
)
"""Between which entropies the factor crosses 1, upwards and downwards."""
PEAK, AT = Rational(24_214, 10_000), Rational(44_124, 10_000)
"""The largest factor, rounded upwards, and where it is."""
BETWEEN = Allowance(3e-4, "the steps of the search")
KEYS = (256, 512, 1024)
LABEL = "polynomial at a row’s mean entropy"


def _side(title: str, domain: Interval, relation: str, name: str) -> Route:
    under = Hypotheses().restricted(H, domain)
    step = Step(S.One, "Sturm’s theorem counts the roots of the difference", Compared(relation))
    return Route.of(title, FACTOR, step, defines="the factor, before it is cut off", name=name, under=under)


def derive() -> Derivation:
    """Derive the largest factor, and where it is above and below 1."""
    peak = one_step("The largest factor", FACTOR, PEAK, "Sturm’s theorem counts the roots of the difference",
                    Compared(), defines="the factor, before it is cut off")  # fmt: skip
    lemmas = (
        _side("Where it acts", Interval(LOW[1], HIGH[0]), ">", "acts"),
        _side("Where entropy is high", Interval(HIGH[1], oo), "<", "high"),
        _side("Where entropy is low", Interval(-oo, LOW[0]), "<", "low"),
    )
    return Derivation.of(peak, lemmas=lemmas)


def largest_factor() -> float:
    """Return the largest factor that the published code has, by search."""
    return float(factor_at(np.linspace(0, 7, 70_001)).max())


def place_of_largest() -> float:
    """Return the entropy at which the published code has its largest factor, by search."""
    entropies = np.linspace(0, 7, 70_001)
    return float(entropies[factor_at(entropies).argmax()])


def acts_from_to(last: bool) -> float:
    """Return the first entropy, or the ``last`` one, at which the published code sharpens."""
    entropies = np.linspace(0, 7, 70_001)
    return float(entropies[factor_at(entropies) > 1][-1 if last else 0])


def _at_normal_scores(keys: int) -> float:
    """Return the polynomial at the mean entropy of standard normal scores."""
    return float(OF_ENTROPY(math.log(keys) - row_integrals.mean_lost(keys, 1.0).value))


OF_ENTROPY = function((H,), FACTOR)


def experiment(derivation: Derivation, tolerance: float) -> Experiment:
    """Measure the factor of rows of normal scores, and search for what the published code does."""
    cells = {keys: cell_of(f"n{keys}", AdaptiveRows(keys)) for keys in KEYS}
    factor = Smooth(lambda mean: OF_ENTROPY(mean["entropy"] - (mean["control"] - 1)), positive=False)
    values = over_cells("factor-{cell}", LABEL, cells, factor, _at_normal_scores, Tolerance(0.5))
    label, where = "largest factor of the published code", {"entropies": "0 to 7 nats"}
    peak = computed("peak", label, where, derivation.result, largest_factor, relation="≤")
    near = computed("peak-reached", label, where, PEAK, largest_factor, allowance=BETWEEN)
    label = "entropy at which the published code has its largest factor"
    at = computed("peak-at", label, where, AT, place_of_largest, allowance=BETWEEN)
    label = "entropy at which the published code {} to sharpen"
    begins, ends = (
        computed(name, label.format(name), where, end, acts_from_to, last, allowance=BETWEEN)
        for name, end, last in (("begins", LOW[1], False), ("ceases", HIGH[0], True))
    )
    return Experiment((*values.values(), peak, near, at, begins, ends), (
        wrong(values[512], "as-at-fewer-keys", "the factor for {cell:n} keys equals that for {factor-n256:n}",
              values[256]),
        wrong(values[1024], "still-acts", "the factor still sharpens rows of {cell:n} keys", S.One,
              relation="≥"),
        wrong(peak, "lower-peak", "the largest factor is lower by a hundredth", PEAK * Rational(99, 100)),
        wrong(near, "higher-peak", "the largest factor is higher by a hundredth", PEAK * Rational(101, 100)),
        wrong(at, "peak-earlier", "the factor is largest at an entropy smaller by a fortieth",
              AT * Rational(39, 40)),
        wrong(ends, "ceases-later", "it sharpens up to an entropy larger by a hundredth",
              HIGH[0] * Rational(101, 100)),
        wrong(begins, "begins-later", "it sharpens only from an entropy larger by a hundredth",
              LOW[1] * Rational(101, 100)),
        biased(values[256], tolerance, at="n"),
    ))  # fmt: skip


def facts() -> tuple[Fact, ...]:
    """Return the published factor at equal weights, and from how many keys on these are left as they are."""
    return (
        fact("even-n1024", "the polynomial at 1024 equal weights", FACTOR.subs(H, log(1024))),
        fact("even-keys", "number of keys whose equal weights are left unchanged", exp(HIGH[1])),
        fact(
            "normal-keys",
            "number of keys of normal scores whose mean entropy is that",
            Float(_normal_keys(), 6),
        ),
    )


def _normal_keys() -> float:
    """Return for how many keys the mean entropy of standard normal scores is where the factor falls to 1."""

    def beyond(keys: float) -> float:
        low = math.floor(keys)
        of_two = [math.log(one) - row_integrals.mean_lost(one, 1.0).value for one in (low, low + 1)]
        return of_two[0] + (keys - low) * (of_two[1] - of_two[0]) - float(HIGH[1])

    return float(optimize.brentq(beyond, 500, 800, xtol=0.1))


def figures(findings: Findings) -> Figure:
    """Draw the polynomial over the entropy, and where rows of normal scores lie."""
    found = findings.matching("factor-n*")
    entropies = [math.log(keys) - row_integrals.mean_lost(keys, 1.0).value for keys in KEYS]
    measured_at = estimates("normal scores", entropies, ((one.estimate, one.interval) for one in found))
    return figure(
        "factor",
        "The published factor rises with the entropy, falls again, and is cut off below one",
        "The factor on scores over the entropy of a row, in nats: a curve that is above one between about "
        "one and six, with its peak between four and five; three measured points lie on its falling side.",
        "factor on scores", line("polynomial", FACTOR, over=(0.5, 6.6)), measured_at,
        line("no factor", 1.0, "other", over=(0.5, 6.6)),
        x="entropy, in nats", x_scale="linear", y_scale="linear",
    )  # fmt: skip


CLAIM = Claim(
    title="The published adaptive temperature switches itself off in long texts",
    statement="Adaptive temperature multiplies the scores of a row by a polynomial in its entropy {H}, or "
    "by one where the polynomial is smaller. The polynomial is bounded: {theorem}. It exceeds one for {H} "
    "between {begins:prediction.4} and {ceases:prediction.4} nats; outside this range, whose ends are "
    "rounded, it is below one.",
    meaning="The factor was fitted to sharpen rows whose attention has spread out too far. Beyond its peak "
    "at an entropy of {peak-at:prediction.4}, however, it falls again as rows spread further, and rows of "
    "high entropy are left unchanged: equal weights over {even-keys:3} keys or more, and standard normal "
    "scores over more than about {normal-keys:3}. At the measured mean entropy of such rows, the polynomial "
    "is {factor-n256:estimate.3} for {factor-n256:n} keys, {factor-n512:estimate.3} for {factor-n512:n} and "
    "{factor-n1024:estimate.3} for {factor-n1024:n}, where one takes its place. For {factor-n1024:n} equal "
    "weights it would be {even-n1024:3}. The factor cannot keep attention sharp in texts much longer than "
    "those it was fitted to.",
    headline="factor-n1024",
    symbols={"H": H},
    references=cite(
        "velickovic2025",
        "P. Veličković et al., Softmax Is Not Enough (for Sharp Size Generalisation), ICML 2025.",
        "https://arxiv.org/abs/2410.01104",
    ),
)
