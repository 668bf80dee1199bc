"""Entries put in, indices in their range, signs, absolute values and recursions: what is false is refused."""

from typing import Any

import pytest
from sympy import (
    Abs, Derivative, Dummy, Function, Integral, KroneckerDelta, Rational, S, Sum, Symbol,
    exp, sign, symbols,
)  # fmt: skip

from verify.symbolic.kernel.core import Theorem, chained, prove
from verify.symbolic.kernel.entries import FamilyPutIn, Induction, OfSigns, PositiveFactor, with_entries
from verify.symbolic.kernel.equations import Applied, Identity, Replaced, Turned, Unfolded
from verify.symbolic.kernel.hypotheses import Hypotheses, Population, Refused
from verify.symbolic.kernel.moments import Evaluation
from verify.symbolic.kernel.sums import SumIdentity, Surplus
from verify.symbolic.kernel.terms import Families
from verify.symbolic.kernel.words import E, M, n, p, s, x
from verify.symbolic.softmax import i, j

c, m, y = Symbol("c", positive=True), Symbol("m", integer=True, positive=True), Symbol("y", real=True)
u, v = symbols("u v", real=True)
hole, at = Dummy(), Dummy("i", integer=True)
TOTAL, LENGTH = Sum(x[i], (i, 1, n)), Sum(x[i] ** 2, (i, 1, n))
SQUARED = prove(SumIdentity(), TOTAL**2, Sum(x[i] * x[j], (i, 1, n), (j, 1, n)))


def _put(families: Any, known: Theorem) -> Theorem:
    return prove(FamilyPutIn(families, known), known.lhs, with_entries(known.rhs, families))


def test_entries_are_put_in_on_both_sides() -> None:
    """A direction in the index, in a sum and for a single entry."""
    found = _put({x: ((at,), y * at)}, SQUARED)
    assert found.lhs == Sum(y * i, (i, 1, n)) ** 2
    assert found.rhs == Sum(y**2 * i * j, (i, 1, n), (j, 1, n))


@pytest.mark.parametrize(
    ("value", "why"),
    [
        pytest.param(x[i] * y, "bound", id="a bound name"),
        pytest.param(S.ImaginaryUnit, "real", id="no real number"),
        pytest.param(Function("f")(y), "real", id="a function known by name"),
    ],
)
def test_entries_that_cannot_be_put_in(value: Any, why: str) -> None:
    """A name in the value would be bound, or the entries are no real numbers."""
    with pytest.raises(Refused, match=why):
        _put({x: ((at,), value)}, SQUARED)


def test_nothing_is_put_in_for_a_family_of_which_something_is_assumed() -> None:
    """A bounded family, a defined one and what it rests on, a random one."""
    bounded = prove(Surplus((M - x[1]) * (M + x[1]), bounded=True), x[1] ** 2, M**2)
    softmax = prove(SumIdentity(), Sum(p[i], (i, 1, n)), S.One)
    random = prove(SumIdentity(Families(variances={x: c})), E(x[1] ** 2), c)
    for family, known in ((x, bounded), (p, softmax), (s, softmax), (x, random)):
        with pytest.raises(Refused):
            _put({family: ((at,), y)}, known)


def test_the_other_side_must_be_that_with_the_entries() -> None:
    """Not one per cent more, and not the theorem without them."""
    for wrong in (SQUARED.rhs, Rational(101, 100) * Sum(y**2, (i, 1, n), (j, 1, n))):
        with pytest.raises(Refused, match="with these entries"):
            prove(FamilyPutIn({x: ((at,), y)}, SQUARED), SQUARED.lhs, wrong)


PICKED = prove(SumIdentity(), Sum(KroneckerDelta(i, j) * x[i], (i, 1, n)), x[j])
"""A sum to n picks the term of an index that is one of 1, …, n."""


def test_what_holds_for_every_entry_holds_for_their_sum() -> None:
    """Over all entries, and then the index is free nowhere."""
    assert PICKED.hypotheses.ranges == {j: n}
    found = prove(Applied(Sum(hole, (j, 1, n)), hole, PICKED), S.Zero, Sum(x[j], (j, 1, n)))
    assert not found.hypotheses.ranges


@pytest.mark.parametrize("limits", [(j, 1, 2 * n), (j, 1, m), (j, 0, n)])
def test_but_not_for_other_sums(limits: Any) -> None:
    """Further than the entries, or to another size."""
    with pytest.raises(Refused, match="from 1 to n only"):
        prove(Applied(Sum(hole, limits), hole, PICKED), S.Zero, Sum(x[j], limits))
    whole = Sum(2 * PICKED.lhs, limits)
    with pytest.raises(Refused, match="from 1 to n only"):
        prove(Replaced(PICKED), whole, Sum(2 * x[j], limits))


def test_names_under_a_derivative_are_constants() -> None:
    """What depends on the variable has to be written out, in sums, in a definition, and in a context."""
    slope = Derivative(p[i], s[j])
    with pytest.raises(Refused, match="write it out"):
        prove(SumIdentity(), slope, p[i] * (KroneckerDelta(i, j) - p[j]))
    with pytest.raises(Refused):
        prove(Identity(), slope, S.Zero)
    named = Unfolded({y: exp(u)})
    with pytest.raises(Refused, match="write it out"):
        prove(named, Derivative(y * u, u), exp(u) * (u + 1))
    with pytest.raises(Refused, match="write it out"):
        prove(named, Integral(y, (u, 0, 1)), Integral(exp(u), (u, 0, 1)))
    known = prove(named, y, exp(u))
    with pytest.raises(Refused, match="depends on u"):
        prove(Applied(Derivative(hole, u), hole, known), S.Zero, exp(u))


def test_a_positive_factor_leaves_the_sign() -> None:
    """One that may be negative, or another difference, does not."""
    assert prove(PositiveFactor(c), sign(c * u - c * v), sign(u - v)).relation == "="
    for factor, after in (
        (c, sign(v - u)),
        (c, sign(u - Rational(99, 100) * v)),
        (y, sign(u - v)),
        (c, u - v),
    ):
        with pytest.raises(Refused):
            prove(PositiveFactor(factor), sign(factor * u - factor * v), after)


AVERAGE = Sum(p[i] * x[i], (i, 1, n))
TOWARD = Sum(p[i] * (M**2 - x[i] * x[j]), (i, 1, n)) / M
APART = prove(Surplus(TOWARD, bounded=True), S.Zero, TOWARD)


def test_the_absolute_value_of_a_difference_of_signs() -> None:
    """It is that towards the own sign; the law says that all are M or -M."""
    found = prove(OfSigns(x, M, APART), E(c * Abs(x[j] - AVERAGE)), E(c * TOWARD))
    assert found.hypotheses.law == Population({x: (1, 0, M**2, 0, M**4)})
    mean = prove(SumIdentity(Families(variances={x: M**2})), found.rhs, c * M * (1 - p[j]))
    assert chained(found, mean).hypotheses.law == found.hypotheses.law


def test_false_absolute_values_are_refused() -> None:
    """A square that differs, a constant one per cent off, another size, a side of unknown sign."""
    start, end = E(Abs(x[j] - AVERAGE)), E(TOWARD)
    turned = prove(Surplus(LENGTH), S.Zero, LENGTH)
    for size, value, before, after in (
        (M, APART, E(Abs(x[j] + AVERAGE)), end),
        (M, APART, start, E(TOWARD * 99 / 100)),
        (2 * M, APART, start, end),
        (y, APART, start, end),
        (M, turned, start, end),
        (M, APART, E(x[j] - AVERAGE), end),
    ):
        with pytest.raises(Refused):
            prove(OfSigns(x, size, value), before, after)


f, g = Function("f"), Function("g")
steps, depth = Symbol("L", integer=True, positive=True), Symbol("l", integer=True, nonnegative=True)
START, NEXT = {f(0): S.One, g(0): 1 / n}, {f(depth + 1): f(depth) + g(depth), g(depth + 1): 2 * g(depth)}
CLOSED = {f(depth): 1 + (2**depth - 1) / n, g(depth): 2**depth / n}


def test_a_recursion_has_a_closed_form() -> None:
    """At a symbol and at a number, with the recursion as definitions."""
    found = prove(
        Induction(depth, START, NEXT, CLOSED), f(steps) / f(3), (1 + (2**steps - 1) / n) / (1 + 7 / n)
    )
    assert dict(found.hypotheses.definitions) == START | NEXT


def _spoiled(**changes: Any) -> Induction:
    return Induction(**({"at": depth, "starts": START, "steps": NEXT, "closed": CLOSED} | changes))


FALSE_INDUCTIONS = {
    "another start": {"starts": START | {f(0): Rational(101, 100)}},
    "another step": {"steps": NEXT | {f(depth + 1): f(depth) + 2 * g(depth)}},
    "another form": {"closed": CLOSED | {g(depth): 2**depth}},
    "a step that looks ahead": {"steps": NEXT | {g(depth + 1): g(depth + 1)}},
    "a start further on": {"starts": {f(1): 1 + 1 / n, g(0): 1 / n}},
}  # fmt: skip


@pytest.mark.parametrize("changes", FALSE_INDUCTIONS.values(), ids=FALSE_INDUCTIONS.keys())
def test_false_inductions_are_refused(changes: dict[str, Any]) -> None:
    """The first value, the next one, or what makes it a recursion at all is wrong."""
    with pytest.raises(Refused):
        prove(_spoiled(**changes), f(steps), 1 + (2**steps - 1) / n)


@pytest.mark.parametrize("place", [Symbol("z", integer=True), u, Symbol("r", positive=True)])
def test_an_induction_holds_from_its_start_on(place: Any) -> None:
    """Not at negative numbers, and not between."""
    with pytest.raises(Refused):
        prove(Induction(depth, START, NEXT, CLOSED), f(place), 1 + (2**place - 1) / n)


def test_what_stands_for_something_random_is_random() -> None:
    """E y = y holds for a constant, and y := exp(u) is none where u is random."""
    law = Population({u: (1, 0, 1), v: (1, 0, 1)})
    constant = prove(Evaluation(law), E(y * v**2), y * E(v**2))
    named = prove(Unfolded({y: exp(u)}), y, exp(u))
    inside = prove(Replaced(named), E(y * v**2), E(exp(u) * v**2), Hypotheses(law=law))
    turned = prove(Turned(inside), S.Zero, E(y * v**2))
    with pytest.raises(Refused, match="a constant in another"):
        chained(turned, constant)
