"""Chains of steps: short forms, what the kernel makes of each step, and how far an author's word reaches."""

from typing import Any

import pytest
from sympy import Derivative, Eq, Interval, S, Symbol, symbols

from verify.symbolic.derivation import Derivation
from verify.symbolic.kernel.calculus import Compared
from verify.symbolic.kernel.core import Reach, Reviewed, prove
from verify.symbolic.kernel.equations import Applied, Equivalent, Identity, PutIn, Turned
from verify.symbolic.kernel.hypotheses import NOTHING, Refused
from verify.symbolic.kernel.limits import Between, FirstTerms
from verify.symbolic.kernel.signs import Sign
from verify.symbolic.routes import By, Definition, Route, Step, by, one_step

x, a, h = symbols("x a h", positive=True)
r = Symbol("r", real=True)
MORE = Step((x + 1) ** 2, "a square", Identity()), Step(x * (x + 2) + 1, "another form", Identity())
START = x**2 + 2 * x + 1


@by("one more")
def one_more(before: Any, after: Any) -> bool:
    """Return whether one is added."""
    return bool(before + 1 == after)


def test_short_forms_are_what_they_stand_for() -> None:
    """The subject is where the first route starts, the result where it ends."""
    assert (
        Route.of("r", START, *MORE) == Route("r", START, MORE) == Route.of("r", START, MORE[0]).then(MORE[1])
    )
    route = Route.of("r", START, *MORE)
    step = Step(START, "put together", Identity())
    lemma = Route.of("l", 1 + x * (x + 2), step, name="form").defining("one less")
    assert lemma == Route("l", lemma.start, (step,), Definition(lemma.start, "one less"), "form")
    assert lemma == Route.of("l", lemma.start, step, defines="one less").called("form")
    assert lemma == one_step(
        "l", lemma.start, START, *(step.words, step.rule), defines="one less", name="form"
    )
    short = Derivation.of(route, lemmas=(lemma,), beyond="all else")
    assert short == Derivation((route,), (lemma,), beyond="all else")
    assert (short.subject, short.result, short.chains) == (START, route.end, (lemma, route))


def test_a_chain_makes_a_theorem() -> None:
    """From its start to its end, under what it starts with and what its rules assume."""
    route = Route.of(
        "r", (r**2 - 1) / (r - 1), Step(r + 1, "", Identity()), under=NOTHING.restricted(r, Interval(0, 2))
    )
    theorem = route.proved()
    assert (theorem.lhs, theorem.relation, theorem.rhs) == (route.start, "=", route.end)
    assert theorem.hypotheses.domain(r) == Interval.Ropen(0, 1) + Interval.Lopen(1, 2)
    assert [one.relation for one in route.followed().steps] == ["="]


def test_relations_are_those_of_the_rules() -> None:
    """What follows is not said beside a kernel's rule; the whole is composed."""
    bound = Route.of(
        "b", S.Zero, Step((r - 1) ** 2, "a square", Sign()), Step(r**2 - 2 * r + 1, "", Identity())
    )
    assert bound.proved().relation == "≤"
    claimed = Route.of("b", S.Zero, Step((r - 1) ** 2, "a square", Sign(), "≥"))
    assert claimed.proved().relation == "≤"
    terms = Route.of("t", a / (a + x), Step(1 - x / a, "", FirstTerms(a, 1)))
    assert terms.proved().relation == "~"
    one, other = Eq(2 * r, 2 * x, evaluate=False), Eq(r, x, evaluate=False)
    assert one_step("e", one, other, "halved", Equivalent(S(2))).proved().relation == "⇔"


def test_rules_that_move_a_theorem_print_as_consequences() -> None:
    """Each gets the theorem that the chain has come to, and what follows has other sides."""
    put_in = Step((3 * a + 1) ** 2, "", PutIn({x: 3 * a}))
    applied = Step(18 * a + 6, "", Applied(Derivative(h, a), h))
    route = Route.of("m", START, MORE[0], put_in, applied)
    followed = route.followed()
    assert [one.relation for one in followed.steps] == ["=", "⇒", "⇒"]
    theorem = route.proved()
    assert (theorem.lhs, theorem.relation, theorem.rhs) == (
        Derivative(9 * a**2 + 6 * a + 1, a),
        "=",
        18 * a + 6,
    )
    bound = Route.of("b", S.Zero, Step((r - 1) ** 2, "", Sign()), Step(r**2 + 1, "", Turned(start=2 * r)))
    assert [one.relation for one in bound.followed().steps] == ["≤", "⇒"]
    assert (bound.proved().lhs, bound.proved().rhs) == (2 * r, r**2 + 1)


def test_a_step_that_does_not_follow_says_why() -> None:
    """Nor does what comes after it, which has nothing to follow from; the chain makes no theorem."""
    wrong = Step(2 * START, "twice", Identity())
    route = Route.of("r", START, MORE[0], wrong, Step(2 * (x + 1) ** 2, "", Identity()))
    followed = route.followed()
    assert [one.holds for one in followed.steps] == [True, False, False]
    assert followed.steps[1].problem.startswith("does not follow (not known to be equal: ")
    assert followed.steps[2].problem == "does not follow (a step before it does not hold)"
    assert followed.theorem is None
    with pytest.raises(Refused, match="“r”: does not follow"):
        route.proved()


def test_a_start_with_a_rounded_number() -> None:
    """It is refused in the first step's place."""
    route = Route.of("r", 0.5 * x, Step(x / 2, "", Identity()))
    (taken,) = route.followed().steps
    assert taken.problem.startswith("does not follow (0.500000000000000 is a rounded number; ")


class TestBy:
    """An author's own rule is reviewed, below proved."""

    def test_its_test_decides(self) -> None:
        """The decorator makes it of a function, with the label given."""
        assert one_more == By("one more", one_more.test)
        good, bad = (one_step("r", x, x + step, "", one_more).followed() for step in (1, 2))
        assert good.theorem is not None
        assert (good.theorem.relation, good.theorem.reach) == ("=", Reach.REVIEWED)
        assert bad.steps[0].problem == "does not follow (one more)"

    def test_numbers_reach_less(self) -> None:
        """And whatever a kernel's rule makes of either reaches no further."""
        for numerically, reach in ((True, Reach.NUMERICALLY), (False, Reach.REVIEWED)):
            trusting = By("yes", lambda *_: True, numerically)
            route = Route.of("r", START, MORE[0], Step(a, "", trusting), Step(a * 1 + 0, "", Identity()))
            assert route.proved().reach is reach
            assert [one.reach for one in route.followed().steps] == [
                Reach.ALL_VALUES,
                reach,
                Reach.ALL_VALUES,
            ]

    def test_a_step_reaches_no_further_than_what_its_rule_rests_on(self) -> None:
        """A limit between two bounds, of which the other one is reviewed."""
        above = prove(Reviewed("it is read", "≤"), a / (x + 1), a / x)
        steps = Step(S.Zero, "", Compared("≥")), Step(S.Zero, "", Between(x, above))
        followed = Route.of("r", a / (x + 1), *steps).followed()
        assert followed.theorem is not None
        assert followed.theorem.reach is Reach.REVIEWED
        assert [one.reach for one in followed.steps] == [Reach.ALL_VALUES, Reach.REVIEWED]

    @pytest.mark.parametrize(
        ("relations", "whole"),
        [
            ("==", "="),
            ("≤=", "≤"),
            ("≥≥", "≥"),
            ("≤≤", "≤"),
            ("≤≥", None),
            ("≥≤", None),
            ("≤⇒", "="),
            ("≤⇒≥", "≥"),
        ],
    )
    def test_up_or_down(self, relations: str, whole: str | None) -> None:
        """From x ≤ y ≥ z nothing follows; after ⇒ the chain speaks of something else."""
        yes = By("yes", lambda *_: True)
        steps = (Step(x**power, "", yes, one) for power, one in enumerate(relations, 2))  # type: ignore[arg-type]
        theorem = Route.of("r", x, *steps).followed().theorem
        assert (theorem and theorem.relation) == whole
        if theorem is not None and "⇒" in relations:
            assert theorem.lhs == x ** (relations.index("⇒") + 2)

    def test_a_test_that_raises_fails_the_step(self) -> None:
        """What cannot be checked is no pass, and the reason says what went wrong."""

        def broken(_: Any, __: Any) -> bool:
            raise ZeroDivisionError("nothing to divide by")

        (taken,) = one_step("broken", x, x, "", By("broken", broken)).followed().steps
        assert (
            taken.problem
            == "does not follow (could not be checked (ZeroDivisionError: nothing to divide by))"
        )
