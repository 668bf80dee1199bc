"""No derivation stands with a spoiled expression in it, and the campaign that shows this can find one."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from sympy import IndexedBase, S, Sum, Symbol, symbols

from tests.faults.spoiled_steps import places, spoil, survives
from tests.faults.spoiling import spoiled
from verify.engine.catalogue import catalogue
from verify.symbolic.derivation import Derivation
from verify.symbolic.kernel.equations import Identity, PutIn
from verify.symbolic.kernel.words import E
from verify.symbolic.routes import By, Route, Step
from verify.symbolic.scores import d, index, k, q

SHORT = ("score-mean", "sqrt-scaling", "scaling-exponent")
a, b, x = symbols("a b x", positive=True)


@pytest.mark.parametrize("name", SHORT)
def test_a_sample_of_spoiled_steps(name: str) -> None:
    """Two versions of each expression of a few claims; all are tried by hand, see the campaign."""
    tally = spoil(name, catalogue()[name].derive(), sample=2, seed=0, limit=20.0)
    assert tally.tried >= 6
    assert tally.survivors == []
    assert tally.slow == []


@pytest.mark.slow
@pytest.mark.parametrize("name", list(catalogue())[1::8])
def test_a_sample_of_many_claims(name: str) -> None:
    """One version of each expression of every eighth derivation; all of them, and more, by hand."""
    assert spoil(name, catalogue()[name].derive(), sample=1, seed=1, limit=20.0).survivors == []


def test_a_check_that_sees_nothing_is_found() -> None:
    """Where any step passes, every spoiled expression between start and result survives."""
    blind = By("blind", lambda *_: True)
    derivation = Derivation.of(Route.of("r", x, Step(x + a, "", blind), Step(x + b, "", blind)))
    tally = spoil("none", derivation, 100, 0, 5.0)
    whole = (x, x + a, x + b)
    every = [one for place in whole for one in spoiled(place, [other for other in whole if other != place])]
    assert len(every) > 15
    assert len(tally.survivors) == len(every)
    assert tally.tried == tally.caught + len(tally.survivors)


def test_a_check_at_a_few_sizes_is_found() -> None:
    """What is right for one and two keys only survives where no more is tried."""
    n = Symbol("n", integer=True, positive=True)
    few = By("few", lambda one, two: all((one - two).subs(n, size) == 0 for size in (1, 2)))
    route = Route.of("r", x * n, Step(n * x, "", few), defines="a lemma")
    derivation = Derivation.none("only the lemma", lemmas=(route,))
    survivors = spoil("none", derivation, 100, 0, 5.0).survivors
    assert [one.split(" | ")[2] for one in survivors] == ["another value from 6 on: n"]


def test_a_changed_start_or_result_of_a_second_route_never_survives() -> None:
    """A chain that starts or ends elsewhere than the first is none of that derivation, whatever its steps."""
    blind = By("blind", lambda *_: True)
    route = Route.of("r", x, Step(a, "", blind))
    derivation = Derivation.of(route, replace(route, title="again"))
    *_, start, end = places(derivation)
    assert not survives(derivation, start, x + 1)
    assert not survives(derivation, end, a + 1)
    assert survives(derivation, end, a)


def test_a_step_after_others_has_what_they_assume() -> None:
    """Also where it moves the whole theorem; a wrong expression there is caught."""
    chain = Route.of(
        "r",
        x**2 / (x - b),
        Step(x + b + b**2 / (x - b), "", Identity()),
        Step((x**2 - b**2) / (x - b) + b**2 / (x - b), "", Identity()),
        Step(a**4 / (a**2 - b), "", PutIn({x: a**2})),
    )
    derivation = Derivation.of(chain)
    for place in places(derivation):
        assert survives(derivation, place, place.expression)
        assert not survives(derivation, place, place.expression + 1)


@pytest.mark.parametrize(
    ("expression", "others", "expected"),
    [
        (a * b, (x,), {a, b, a**2 * b, a * b**2, -a * b, x * b, a * x}),
        (a + 1, (), {a, S.One, a - 1, -a + 1, a + 2, 101 * S.One / 100 + a, a**2 + 1}),
        (a**2, (), {a, a**3, a**4, a ** (101 * S.One / 50), a**-2}),
        (
            E(q[index] * k[index]),
            (),
            {E(q[index]), E(k[index]), E(q[index] ** 2), E(q[index] ** 2 * k[index])},
        ),
        (Sum(a, (index, 1, d)), (), {Sum(a, (index, 2, d)), Sum(a, (index, 0, d))}),
        (Symbol("n") * IndexedBase("w")[1], (), {Symbol("n") * IndexedBase("w")[2]}),
    ],
)
def test_what_is_spoiled(expression: Any, others: tuple[Any, ...], expected: set[Any]) -> None:
    """Factors and terms dropped or doubled, signs, powers, numbers and symbols, each at one place."""
    found = {one for _, one in spoiled(expression, others)}
    assert expected <= found
    assert expression not in found


def test_what_is_the_same_is_left_out() -> None:
    """A sign that a square or a mean takes out again spoils nothing."""
    product = E(q[index] * k[index])
    assert E(-q[index] * k[index]) ** 2 not in {one for _, one in spoiled(product**2, ())}
    assert E(-q[index] * k[index]) in {one for _, one in spoiled(product, ())}
