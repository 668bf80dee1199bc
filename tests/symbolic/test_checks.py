"""Checks of single steps: what is the same is accepted, and each says how far it reaches."""

from __future__ import annotations

from typing import Any

import pytest
from sympy import Derivative, Rational, S, Symbol, cos, sin

from verify.symbolic.checks import By, Identity, by, made_by

x = Symbol("x", positive=True)


@pytest.mark.parametrize(
    ("before", "after"),
    [((x + 1) ** 2, x**2 + 2 * x + 1), (sin(x) ** 2 + cos(x) ** 2, S.One), (Derivative(x**3, x), 3 * x**2)],
)
def test_an_identity_holds_and_a_hundredth_more_does_not(before: Any, after: Any) -> None:
    """SymPy evaluates and simplifies both sides; nothing is tried at points."""
    assert Identity().holds(before, after)
    assert not Identity().holds(before, after * Rational(101, 100))
    assert Identity().reach == "general"


def test_a_check_for_one_step_is_what_its_test_says() -> None:
    """The decorator makes it of a function, with the label and the reach given; neither has a default."""

    @by("one more", "numerical")
    def one_more(before: Any, after: Any) -> bool:
        return bool(before + 1 == after)

    assert one_more == By("one more", one_more.test, "numerical")
    assert one_more.holds(x, x + 1) is True
    assert one_more.holds(x, x + 2) is False
    with pytest.raises(TypeError, match="reach"):
        By("always", lambda *_: True)  # type: ignore[call-arg]  # that is the point


def test_what_is_made_of_the_expression_before_is_nothing_else() -> None:
    """It is compared as it stands, without any algebra."""
    check = made_by("its derivative", lambda before: Derivative(before, x))
    assert (check.label, check.reach) == ("its derivative", "general")
    assert check.holds(x**3, Derivative(x**3, x))
    assert not check.holds(x**3, 3 * x**2)
