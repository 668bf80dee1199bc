"""What an expression is at a point, in fractions, balls and floats; integrals and means there."""

from typing import Any

import numpy as np
import pytest
from flint import arb, arb_mat, fmpq
from sympy import (
    Abs, Derivative, Idx, IndexedBase, Integral, KroneckerDelta, Limit, MatrixSymbol, Max, S, Sum, Symbol,
    Trace, Tuple, besselk, binomial, cos, erf, exp, factorial, gamma, log, oo, pi, sign, sin, sqrt, tanh,
)  # fmt: skip

from verify.symbolic.arithmetics import (
    Undefined, Unknown,
)  # fmt: skip
from verify.symbolic.balls import Scene, value, values
from verify.symbolic.kernel.words import E, MatrixShape, Var, largest, n, p, s
from verify.symbolic.means import ComponentLaw, laws_with, moment

pytestmark = pytest.mark.slow  # of the former core, which is no longer worked on

i, j = Idx("i"), Idx("j")
a = Symbol("a", positive=True)
SCORES = {(s, 1): fmpq(0), (s, 2): fmpq(1), (s, 3): fmpq(-2)}
SOFTMAX = {p[i]: exp(s[i]) / Sum(exp(s[j]), (j, 1, n))}


def scene(**more: Any) -> Scene:
    """Return three scores and their probabilities."""
    return Scene(values={n: fmpq(3)}, entries=dict(SCORES), definitions=SOFTMAX, shapes={s: (3,)}, **more)


def both(expression: Any) -> float:
    """Return a value in floats, which is that of the ball too."""
    at = scene()
    found = float(value(expression, at).mid())
    assert np.isclose(np.squeeze(value(expression, at.in_floats())), found)
    return found


def test_sums_run_over_entries_and_definitions() -> None:
    """Probabilities add up to 1, also where their own index is that of the sum around them."""
    assert both(Sum(p[j], (j, 1, n))) == pytest.approx(1)
    assert both(Sum(p[i] * (KroneckerDelta(i, j) - p[j]), (i, 1, n), (j, 1, n))) == pytest.approx(0)
    assert both(Sum(i**2, (i, 1, n))) == 14


def test_the_largest_score_is_the_largest() -> None:
    """In balls and in floats."""
    assert both(largest) == 1


def test_derivatives_are_by_entries_too() -> None:
    """Of the logarithm of the total, and of a probability by a score that another index names."""
    total = log(Sum(exp(s[i]), (i, 1, n)))
    assert both(Derivative(total, s[2]) - p[2]) == pytest.approx(0)
    assert both(Derivative(p[1], s[2]) + p[1] * p[2]) == pytest.approx(0)
    at = scene().having({j: 3})
    assert abs(value(Derivative(total, s[j]) - p[3], at)) < arb("1e-12")
    assert abs(value(Derivative(Sum(s[j] ** 2, (j, 1, n)), s[j]), at) + 4) < arb("1e-12")


def test_limits_must_settle() -> None:
    """Fast enough, at infinity and elsewhere."""
    assert value(Limit((2 * a + 1) / a, a, oo), Scene()).contains(2)
    assert value(Limit(sin(a) / a, a, 0), Scene()).contains(1)
    with pytest.raises(Unknown, match="settle"):
        value(Limit(1 / log(a), a, oo), Scene())


def test_matrices_are_small_and_numeric() -> None:
    """Traces, entries and shapes."""
    big = MatrixSymbol("A", 2, 2)
    at = Scene(values={big: arb_mat([[1, 2], [3, 4]])})
    assert value(Trace(big * big.T), at) == 30
    assert value(big[0, 1], at) == 2
    assert values(MatrixShape(big), at) == values(Tuple(2, 2), at)
    assert values(big + big.T, at) == [2, 5, 5, 8]


def test_what_is_not_known_is_named() -> None:
    """A symbol without a value, an entry that is not there."""
    with pytest.raises(Unknown, match="no value of a"):
        value(a, Scene())
    with pytest.raises(Unknown, match="no entry s"):
        value(s[7], scene())


@pytest.mark.parametrize(
    "expression",
    [
        a**3 - 2 / a, sqrt(a) * exp(-a), log(a) + tanh(a), erf(a) / gamma(a), Max(a, 2) - Abs(1 - a),
        sign(a - 3),
        factorial(a), pi * a, binomial(a, 2), besselk(1, a),
    ],
)  # fmt: skip
def test_a_ball_holds_what_sympy_says(expression: Any) -> None:
    """And floats are close to it, of those functions that they have."""
    at = Scene(values={a: fmpq(5, 2)})
    ball = value(expression, at)
    assert abs(float(ball.mid()) - float(expression.subs(a, S(5) / 2))) < 1e-12
    if not expression.has(binomial, besselk):
        assert np.isclose(value(expression, at.in_floats()), float(ball.mid()))


def test_what_has_no_value_is_undefined() -> None:
    """Not infinite, and no error of arithmetic."""
    at = Scene(values={a: fmpq(0)})
    for expression in (1 / a, log(a), gamma(a), 1 / sqrt(a)):
        with pytest.raises(Undefined):
            value(expression, at)


w = Symbol("w", positive=True)
z = Symbol("z", real=True)
CHI = w ** (a / 2 - 1) * exp(-w / 2) / (2 ** (a / 2) * gamma(a / 2))


@pytest.mark.parametrize("rigorous", [False, True])
@pytest.mark.parametrize(
    ("expression", "known"),
    [
        (Integral(z**2, (z, 0, 3)), 9),
        (Integral(exp(-(z**2) / 2), (z, -oo, oo)) ** 2, 6.283185307179586),
        (Integral(exp(z), (z, -oo, 0)), 1),
        (Integral(CHI, (w, 0, oo)), 1),
        (Integral(1 / (1 + z**2), (z, -oo, oo)), 3.141592653589793),
    ],
)  # fmt: skip
def test_integrals_are_what_they_are(expression: Any, known: float, rigorous: bool) -> None:
    """Over all kinds of ranges, each in a ball that holds the value."""
    found = value(expression, Scene(values={a: fmpq(5)}, rigorous=rigorous))
    assert abs(found - arb(known)) < arb("1e-7")


@pytest.mark.parametrize("many", [10**3, 10**6])
def test_narrow_peaks_are_found(many: int) -> None:
    """Whose factors alone overflow."""
    assert abs(value(Integral(CHI, (w, 0, oo)), Scene(values={a: fmpq(many)})) - 1) < arb("1e-7")


def test_what_grows_without_end_is_infinite() -> None:
    """And what is not resolved is not known."""
    assert value(Integral(z, (z, 0, oo)), Scene()) > 10**9
    for slow in (Integral(a / w ** (1 + a), (w, 1, oo)), Integral(cos(z * 10**6) * z, (z, 0, oo))):
        with pytest.raises(Unknown, match="tail falls slowly"):
            value(slow, Scene(values={a: fmpq(1, 10**6)}))


d = Symbol("d", integer=True, positive=True)
q, k = IndexedBase("q", real=True), IndexedBase("k", real=True)
y = Symbol("y", real=True)
COIN = ComponentLaw(((fmpq(-1), fmpq(1, 2)), (fmpq(1), fmpq(1, 2))))
SKEWED = ComponentLaw(((fmpq(-1), fmpq(2, 3)), (fmpq(2), fmpq(1, 3))))


@pytest.mark.parametrize(
    "moments", [(1, 0, 1), (1, 0, 1, 0, 3), (1, 2, 13), (1, 0, 1, None, 4), (1, 1, 3, 4)]
)
def test_laws_have_exactly_the_moments(moments: tuple[int | None, ...]) -> None:
    """In fractions, and there are several."""
    wanted = tuple(None if one is None else fmpq(one) for one in moments)
    found = laws_with(wanted)
    assert len(found) > 1
    for law in found:
        assert all(one is None or moment(law, power) == one for power, one in enumerate(wanted))
        assert all(weight > 0 for _, weight in law.points)


def test_no_law_has_impossible_moments() -> None:
    """A mean square below the square of the mean."""
    assert laws_with((fmpq(1), fmpq(2), fmpq(3))) == ()


@pytest.mark.parametrize("many", [1, 2, 3])
def test_sums_over_components_are_enumerated(many: int) -> None:
    """The variance of a score is d, and so is that of sums over two indices where they are written out."""
    at = Scene(values={d: fmpq(many)}, laws={q: COIN, k: SKEWED}, shapes={q: (many,), k: (many,)})
    score = Sum(q[i] * k[i], (i, 1, d))
    assert value(Var(score), at).contains(fmpq(2 * many))
    pairs = Sum(q[i] * q[j] * k[i] * k[j], (i, 1, d), (j, 1, d))
    assert value(E(pairs), at).contains(fmpq(2 * many))


def test_draws_give_balls_that_hold_the_mean() -> None:
    """The same with the same seed; what few draws decide is not told."""
    at = Scene(
        values={d: fmpq(5)}, laws={q: ComponentLaw(kind="normal", variance=4)}, shapes={q: (5,)}, budget=10**5
    )
    found = value(E(Sum(q[i] ** 2, (i, 1, d))), at)
    assert found.contains(20)
    assert found.rad() < 2
    with pytest.raises(Unknown, match="tail"):
        value(E(exp(4 * q[1])), at)


def test_rare_events_are_not_left_to_draws() -> None:
    """Draws that have none of them would tell that there is no spread."""
    rare = ComponentLaw(((fmpq(1), fmpq(10**7 - 1, 10**7)), (fmpq(2), fmpq(1, 10**7))))
    at = Scene(values={d: fmpq(40)}, laws={q: rare}, shapes={q: (40,)})
    with pytest.raises(Unknown, match="so rare"):
        value(Var(Sum(q[i] * q[j], (i, 1, d), (j, 1, d))), at)
    with pytest.raises(Unknown, match="all alike"):
        value(E(sign(q[1] - 100)), at.having({}, laws={q: ComponentLaw(kind="normal")}, memo={}))
