"""What an expression is at a point."""

from typing import Any

import numpy as np
import pytest
from flint import arb, arb_mat, fmpq
from sympy import (
    Derivative,
    Idx,
    KroneckerDelta,
    Limit,
    MatrixSymbol,
    Sum,
    Symbol,
    Trace,
    Tuple,
    exp,
    log,
    oo,
    sin,
)

from verify.symbolic.arithmetics import Unknown
from verify.symbolic.balls import Scene, value, values
from verify.symbolic.kernel.words import MatrixShape, largest, n, p, s

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
