"""Newer kinds of attention: constants a few per cent off, or a condition that is missing."""

from collections.abc import Callable
from typing import Any

from sympy import (
    Dummy,
    Eq,
    Integral,
    Interval,
    KroneckerDelta,
    MatrixSymbol,
    Range,
    Rational,
    S,
    Sum,
    cosh,
    exp,
    oo,
    sinh,
    tanh,
)

from tests.faults.false_claims.pairs import Pair, a, e, h, of_derivations, of_parts, r, steps, t, y
from verify.claims.newer.adaptive_temperature import FACTOR, PEAK
from verify.former import Derivation, E, Population, Var, i, j, n, ordered, p, s, sigma
from verify.former.rules import (
    Applied,
    Assuming,
    AtItsLeast,
    Compared,
    Evaluation,
    Even,
    GaussIntegrals,
    Hypotheses,
    Identity,
    Jensen,
    Primitive,
    PutIn,
    SumIdentity,
    Surplus,
    Turned,
    VectorMoments,
    Vectors,
    normal_density,
)
from verify.symbolic.kernel.words import M, x

factor, rho = ordered("lambda", nonnegative=True), ordered("rho", real=True)
bits, least = ordered("b", integer=True), ordered("h", integer=True)
R, rise, value, m, mu_2 = ordered("R u x m m_2", positive=True)
N = ordered("N", integer=True, positive=True)
first, second, means, v, c = (MatrixSymbol(one, 1, 1) for one in ("p", "r", "m", "V", "C"))
MOMENTS = ((first, first, v), (second, second, v), (first, second, c))
PAIR = Vectors(((first, means), (second, means)), MOMENTS)
LAW = Population({value: (1, m, mu_2)})
TOTAL = Sum(M + e + x[j], (j, 1, n))
DENSITY = normal_density(y, sigma**2)
LESS, ONE, MORE = (Rational(100 + by, 100) for by in (-2, 0, 2))
"""What a constant is multiplied by: in a false claim, so that it says too much, and in a true one."""


def _off(made: Callable[[Any], Derivation], by: Any) -> Pair:
    """Return the pair of a derivation with a constant multiplied ``by`` some number, and with its own."""
    return of_derivations(lambda: made(by), lambda: made(ONE))


def _noise(by: Any, given: Any = rho) -> Derivation:
    return steps(
        Var(first[0, 0] - factor * second[0, 0]) / v[0, 0],
        (1 + factor**2 - 2 * factor * c[0, 0] / v[0, 0], VectorMoments(PAIR)),
        (1 + factor**2 - 2 * by * factor * given, Assuming((Eq(c[0, 0], given * v[0, 0]),))),
        under=Hypotheses().restricted(rho, Interval(-1, 1)),
    )


def _never_less(most: Any) -> Derivation:
    domains = Hypotheses().restricted(factor, Interval.Ropen(0, 1)).restricted(rho, Interval(-1, most))
    return steps(
        (1 + factor**2 - 2 * factor * rho) / (1 - factor) ** 2,
        (1 + 2 * factor * (1 - rho) / (1 - factor) ** 2, Identity()),
        (S.One, Compared("≥")),
        under=domains,
    )


def _sigmoids(by: Any) -> Derivation:
    total = n * value / (n + value)
    return steps(
        E(total),
        (n * E(value) / (n + E(value)), Jensen(value)),
        (m / (1 + by * m / n), Evaluation(LAW, assumed=True)),
    )


def _sigmoids_from_below(by: Any) -> Derivation:
    tangent = value * (1 / (1 + a / n) - (value - a) / n / (1 + a / n) ** 2)
    gap = value * (value - a) ** 2 / n**2 / ((1 + value / n) * (1 + a / n) ** 2)
    return steps(
        E(n * value / (n + value)),
        (E(tangent), Surplus(gap, "≥")),
        (m / (1 + a / n) - (by * mu_2 - a * m) / n / (1 + a / n) ** 2, Evaluation(LAW, assumed=True)),
    )


def _positive_scores(by: Any) -> Derivation:
    whole, hole = Integral(DENSITY, (y, -oo, oo)), Dummy()
    return steps(
        whole,
        (2 * Integral(DENSITY, (y, 0, oo)), Even(y)),
        (whole, Turned()),
        (S.One, GaussIntegrals(y)),
        (by / 2, Applied(hole / 2, hole)),
    )


def _squares(by: Any, *, bounded: bool = True) -> Derivation:
    low = e * (e + 2 * M)
    square = ((M + e) * TOTAL - n * low) ** 2 / (n * low) / TOTAL**2
    return steps(
        Sum((M + e + x[j]) ** 2, (j, 1, n)) / TOTAL**2,
        (
            by * (M + e) ** 2 / (n * low),
            Surplus(square + Sum(M**2 - x[j] ** 2, (j, 1, n)) / TOTAL**2, bounded=bounded),
        ),
        (by * cosh(R / 2) ** 2 / n, PutIn({e: exp(-R / 2), M: sinh(R / 2)})),
    )


def _leader(by: Any) -> Derivation:
    return steps(1 / (1 + (N - 1) * rise / N), (1 / (1 + by * rise), Compared("≥")))


def _follower(fewest: int) -> Derivation:
    under = Hypotheses().restricted(N, Range(fewest, oo))
    return steps(1 / (1 + (N - 1) * rise / N), (1 / (1 + rise / 2), Compared()), under=under)


def _partial_sum(by: Any) -> Derivation:
    return steps(
        Sum(M + x[j], (j, 1, n)),
        (by * 2 * n * M, Surplus(Sum(M - x[j], (j, 1, n)), bounded=True)),
        (by * n * exp(t), PutIn({M: exp(t) / 2})),
    )


def _reference(by: Any) -> Derivation:
    return steps(exp(s[1] - r) / Sum(exp(s[i] - by * r), (i, 1, n)), (p[1], SumIdentity()))


def _low_sum(by: Any) -> Derivation:
    gap, rest = ordered("g r", nonnegative=True)
    most = 2 ** (bits + least)
    return steps(
        (most - gap) + (2**least - rest),
        (most + 2**least - rest, AtItsLeast(gap, 0)),
        (by * (most + 2**least), AtItsLeast(rest, 0)),
    )


def _row_of_jacobian(by: Any) -> Derivation:
    row = p[i] * (1 - p[i]) + Sum((1 - KroneckerDelta(i, j)) * p[i] * p[j], (j, 1, n))
    return steps(
        row, (2 * p[i] * (1 - p[i]), SumIdentity()), (by / 2, Surplus(2 * (p[i] - Rational(1, 2)) ** 2))
    )


def _form(by: Any) -> Derivation:
    cross = Sum((1 - KroneckerDelta(i, j)) * p[i] * p[j] * (x[i] + x[j]) ** 2, (i, 1, n), (j, 1, n)) / 2
    return steps(
        Sum(p[i] * x[i] ** 2, (i, 1, n)) - Sum(p[i] * x[i], (i, 1, n)) ** 2,
        (2 * Sum(p[i] * (1 - p[i]) * x[i] ** 2, (i, 1, n)), Surplus(cross)),
        (
            by * Sum(x[i] ** 2, (i, 1, n)) / 2,
            Surplus(2 * Sum((p[i] - Rational(1, 2)) ** 2 * x[i] ** 2, (i, 1, n))),
        ),
    )


def _step(by: Any) -> Derivation:
    return steps(1 / (1 + exp(-t)) - 1 / (1 + exp(t)), (tanh(by * t / 2), Identity()))


def _clipped(by: Any) -> Derivation:
    weights = [exp(a * s[k]) / Sum(exp(a * s[i]), (i, 1, n)) for k in (1, 2)]
    return steps(weights[0] / weights[1], (exp(by * a * (s[1] - s[2])), SumIdentity()))


def _error(by: Any) -> Derivation:
    width = ordered("w", positive=True)
    return steps(
        Integral(h**2 / width, (h, -width / 2, width / 2)),
        (by * width**2 / 12, Primitive(h, h**3 / (3 * width))),
    )


NEWER: dict[str, Pair] = {
    # False: the correlation counts 2% more.
    "differential_noise": _off(_noise, MORE),
    # False: with a covariance 2% larger than both variances; true: as large.
    "differential_impossible": of_parts(lambda part: _noise(ONE, part), MORE, ONE),
    # False: whatever the correlation up to 1.02; true: up to 1.
    "differential_never": of_parts(_never_less, MORE, ONE),
    # False: the square of the mean counts 2% more; true: m/(1 + m/n).
    "sigmoid_above": _off(_sigmoids, MORE),
    # False: from a mean square 2% smaller.
    "sigmoid_below": _off(_sigmoids_from_below, LESS),
    # False: 51% of normal scores are positive; true: half.
    "softpick_half": _off(_positive_scores, MORE),
    # False: at most 0.98 cosh²(R/2)/n.
    "bounded_squares": _off(_squares, LESS),
    "bounded_by_nothing": of_derivations(
        # False: whatever the scores; true: within the range.
        lambda: _squares(ONE, bounded=False),
        lambda: _squares(ONE),
    ),
    # False: at least 1/(1 + 0.98 u).
    "scaled_leader": _off(_leader, LESS),
    # False: of one key, too; true: of two or more.
    "scaled_alone": of_parts(_follower, 1, 2),
    # False: at most 0.98 n eᵗ.
    "online_sum": _off(_partial_sum, LESS),
    # False: with a reference 2% larger below.
    "online_reference": _off(_reference, MORE),
    # False: at most 98% of that.
    "low_sum": _off(_low_sum, LESS),
    # False: at most 0.49; true: at most ½.
    "lipschitz_row": _off(_row_of_jacobian, LESS),
    # False: at most 0.49 Σx²; true: at most ½ Σx².
    "lipschitz_form": _off(_form, LESS),
    # False: tanh(0.51 t); true: tanh(t/2).
    "lipschitz_step": _off(_step, MORE),
    # False: by a factor 2% larger.
    "clipped_ratio": _off(_clipped, MORE),
    # False: at most 98% of its peak.
    "adaptive_peak": _off(lambda by: steps(FACTOR, (by * PEAK, Compared())), LESS),
    # False: w²/11.76; true: w²/12.
    "eight_bits": _off(_error, MORE),
}
"""Newer kinds of attention: constants a few per cent off, or a condition that is missing."""
