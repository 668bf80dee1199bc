"""Derivations: right ones are proved, and a mistake planted in any step is found and named."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from sympy import Eq, FiniteSet, Ge, Gt, Le, Lt, S, Symbol, symbols

from tests.catalogue import derivation
from tests.following import with_step
from verify.errors import ClaimError
from verify.symbolic.derivation import Approx, Derivation, Iff, relation_of, tried
from verify.symbolic.falsifier import CORNERS
from verify.symbolic.kernel.core import Reviewed, prove
from verify.symbolic.kernel.equations import Assuming, Equivalent, Identity
from verify.symbolic.kernel.limits import FirstTerms
from verify.symbolic.kernel.hypotheses import NOTHING, Hypotheses, Population
from verify.symbolic.kernel.signs import Sign
from verify.symbolic.kernel.words import E, Var
from verify.symbolic.printing import latex
from verify.symbolic.routes import By, Definition, Route, Step, one_step
from verify.symbolic.scores import (
    GENERAL, STANDARD, d, mean_route, score, sigma_q, variance_route,
)  # fmt: skip

x, y = symbols("x y", positive=True)
r = Symbol("r", real=True)
count = Symbol("m", integer=True, positive=True)
ROUTE = variance_route(score, GENERAL)
YES, NO = By("yes", lambda *_: True), By("no", lambda *_: False)


MISTAKES: dict[str, Callable[[Any], Any]] = {
    "wrong sign": lambda e: -e,
    "one dimension more": lambda e: e.subs(d, d + 1),
    "the dimension squared": lambda e: e.subs(d, d**2) if not e.has(score) else e * d,
    "a small term too much": lambda e: e + sigma_q**2 / 1000,
    "a factor 1 + 1e-9": lambda e: e * (1 + S(10) ** -9),
}


class TestPlantedMistakes:
    """Each mistake is planted in each step of the derivation of the score's variance."""

    def test_the_right_derivation_is_proved(self) -> None:
        """Without a mistake every step holds and the reason counts them."""
        examined = Derivation.of(ROUTE).examine()
        assert (examined.status, examined.holds) == ("proved", True)
        assert examined.reason == "all 5 steps hold, the route ends in the stated result"
        assert examined.theorem is not None
        assert (examined.theorem.lhs, examined.theorem.rhs) == (Var(score), ROUTE.end)
        assert all(step.holds and not step.problem for one in examined.routes for step in one.steps)

    @pytest.mark.parametrize("position", range(5))
    @pytest.mark.parametrize("mistake", MISTAKES)
    def test_a_mistake_in_one_step(self, mistake: str, position: int) -> None:
        """The step with the mistake does not follow, and no theorem is left."""
        wrong = with_step(ROUTE, position, expression=MISTAKES[mistake](ROUTE.steps[position].expression))
        examined = Derivation.of(wrong).examine()
        assert (examined.status, examined.holds, examined.theorem) == ("failed", False, None)
        assert examined.reason.startswith(f"“Index by index”, step {position + 1}: does not follow (")
        assert [step.holds for step in examined.routes[0].steps] == [at < position for at in range(5)]

    @pytest.mark.parametrize(
        ("position", "wrong"),
        [(0, lambda e: 2 * e), (0, lambda e: e + 1), (1, lambda e: e**2), (2, lambda e: -e)],
    )
    def test_in_the_second_route_of_a_claim(self, position: int, wrong: Callable[[Any], Any]) -> None:
        """Every step by the logarithm has a rule that its mistakes do not pass."""
        right = derivation("softmax-jacobian")
        first, second = right.routes
        assert right.examine().agreement == "2 routes end in the same result"
        other = with_step(second, position, expression=wrong(second.steps[position].expression))
        examined = replace(right, routes=(first, other)).examine()
        assert not examined.holds
        assert f"“{second.title}”, step {position + 1}: " in examined.reason


class TestReach:
    """What is called proved was proved for all values, and the claim says no more than was derived."""

    @pytest.mark.parametrize("position", range(5))
    @pytest.mark.parametrize(("numerically", "status"), [(True, "checked-at-examples"), (False, "reviewed")])
    def test_one_step_on_an_authors_word_is_enough(
        self, position: int, numerically: bool, status: str
    ) -> None:
        """In the route or in a lemma: the whole is reviewed, or was checked at examples."""
        weaker = with_step(ROUTE, position, rule=By("read", lambda *_: True, numerically))
        assert Derivation.of(weaker).examine().status == status
        assert Derivation.of(ROUTE, lemmas=(weaker,)).examine().status == status
        assert Derivation.of(ROUTE, weaker).examine().status == status

    def test_values_one_by_one(self) -> None:
        """What was shown for some sizes only says so."""
        some = NOTHING.restricted(count, FiniteSet(2, 3))
        step = Step(count**2 + count, "", Identity())
        route = Route.of("r", count * (count + 1), step, under=some)
        assert Derivation.of(route).examine().status == "checked-at-examples"

    def test_a_statement_that_says_more_is_derived_in_part(self) -> None:
        """However well its steps hold; a wrong step fails all the same."""
        examined = Derivation.of(ROUTE, beyond="what training comes to").examine()
        assert (examined.status, examined.holds) == ("in-part", True)
        broken = with_step(ROUTE, 2, rule=NO)
        assert Derivation.of(broken, beyond="what training comes to").examine().status == "failed"

    @pytest.mark.parametrize("rule", [Identity(), YES])
    def test_both_sides_alike_prove_nothing(self, rule: Any) -> None:
        """X = x holds of whatever x is; a bound of something by itself says little, and is one."""
        examined = Derivation.of(one_step("r", x, x, "", rule)).examine()
        assert (examined.status, examined.reason) == ("failed", "both sides are alike: that proves nothing")
        bound = Route.of("r", x, Step(x, "", YES, "≤"))
        assert Derivation.of(bound).examine().status == "reviewed"


class TestTheorems:
    """What a derivation proves is found by name, and printed as a relation."""

    def test_by_name(self) -> None:
        """The first route's has none; lemmas and other routes are called by theirs."""
        lemma = mean_route(score, GENERAL).defining("the mean").called("mean")
        whole = Derivation.of(ROUTE, lemmas=(lemma,))
        assert [one and one.lhs for one in (whole.theorem(), whole.theorem("mean"))] == [Var(score), E(score)]
        with pytest.raises(ClaimError, match="meen"):
            whole.theorem("meen")
        with pytest.raises(ClaimError, match="nothing is derived"):
            Derivation.none("measured").theorem()
        assert Derivation.of(with_step(ROUTE, 0, rule=NO)).theorem() is None

    @pytest.mark.parametrize(("relation", "kind"), [("=", Eq), ("≤", Le), ("≥", Ge), ("<", Lt), (">", Gt)])
    def test_relations_are_not_evaluated(self, relation: str, kind: Any) -> None:
        """Both sides are printed even where SymPy could decide."""
        theorem = prove(Reviewed("read", relation), S.One, S(2))
        assert relation_of(theorem) == kind(1, 2, evaluate=False)

    def test_equivalences_and_first_terms(self) -> None:
        """An equation and its solutions are no two sides of another equation."""
        one, other = Eq(2 * r, 2 * x, evaluate=False), Eq(r, x, evaluate=False)
        both = relation_of(prove(Equivalent(S(2)), one, other))
        assert both == Iff(one, other)
        assert latex(both) == r"2 r = 2 x \iff r = x"
        terms = relation_of(prove(FirstTerms(x, 1), x / (x + y), 1 - y / x))
        assert terms == Approx(x / (x + y), 1 - y / x)
        assert r" \sim " in latex(terms)


class TestResults:
    """Routes must lead from the subject to one result."""

    def test_one_of_two_routes_ends_elsewhere(self) -> None:
        """Right steps that lead to another expression prove nothing of this one; the stray is named."""
        right = variance_route(score, STANDARD)
        stray = replace(mean_route(score, STANDARD), title="Another").defining("the mean")
        examined = Derivation.of(right, stray).examine()
        assert not examined.holds
        assert examined.reason == "“Another” does not end in the stated result"
        assert examined.agreement == "the routes do not all end in the stated result"

    def test_a_derivation_has_steps(self) -> None:
        """Measured claims may have none, and are not proved."""
        assert Derivation.none("it is an experiment").misfits() == []
        examined = Derivation.none("it is an experiment").examine()
        assert (examined.status, examined.reason, examined.holds) == (
            "measured",
            "it is an experiment",
            False,
        )


def at_will(title: str, start: Any, *expressions: Any) -> Route:
    """Return a chain of steps that all hold."""
    return Route.of(title, start, *(Step(one, "", YES) for one in expressions))


class TestStarts:
    """Every chain starts at something established."""

    MAIN = at_will("route", x, x + 1)

    def holds(self, *lemmas: Route) -> bool:
        """Return whether the route holds together with lemmas."""
        return Derivation.of(self.MAIN, lemmas=lemmas).examine().holds

    @pytest.mark.parametrize("start", [x, x + 1], ids=["subject", "result"])
    def test_at_the_subject_or_the_result(self, start: Any) -> None:
        """Both are established."""
        assert self.holds(at_will("lemma", start, x**2))

    def test_at_nothing(self) -> None:
        """However well its steps hold, a lemma about something else shows nothing, until it is defined."""
        lemma = at_will("lemma", x**3, x**4)
        examined = Derivation.of(self.MAIN, lemmas=(lemma,)).examine()
        assert (examined.status, examined.holds) == ("failed", False)
        assert examined.reason.startswith("“lemma” starts at nothing established: not the subject")
        assert self.holds(lemma.defining("a cube"))
        assert not self.holds(replace(lemma, definition=Definition(x**3 + 1, "another")))

    def test_at_the_end_of_a_lemma_before(self) -> None:
        """What was shown may be used, but not before it is."""
        first, second = at_will("first", x, x**5), at_will("second", x**5, x**6)
        assert self.holds(first, second)
        assert not self.holds(second, first)

    def test_what_is_defined_is_used(self) -> None:
        """A definition that no chain starts at stands for nothing."""
        route = replace(self.MAIN, definition=Definition(x**3, "a cube"))
        assert Derivation.of(route).examine().reason == "nothing starts at the definition “a cube”"

    @pytest.mark.parametrize("name", ["heavy-tails", "self-score", "row-variance"])
    def test_wrong_starts_in_the_catalogue(self, name: str) -> None:
        """Whatever chain of a claim starts elsewhere fails the claim."""
        right = derivation(name)
        assert not right.misfits()
        for number, lemma in enumerate(right.lemmas):
            lemmas = list(right.lemmas)
            lemmas[number] = replace(lemma, start=2 * lemma.start)
            assert replace(right, lemmas=tuple(lemmas)).misfits(), lemma.title


def test_hypotheses_come_from_all_steps() -> None:
    """The main theorem assumes what any of its steps does."""
    route = Route.of(
        "r", (r**2 - 1) / (r - 1), Step(r + 1, "", Identity()), Step((r**2 + r) / r, "", Identity())
    )
    theorem = route.proved()
    assert Derivation.of(route).theorem() is not None
    assert not {S.Zero, S.One} & set(theorem.hypotheses.domain(r).intersect(FiniteSet(0, 1, 2)))
    law = variance_route(score, STANDARD).proved().hypotheses.law
    assert law == Population(dict(STANDARD.moments), d)
    bound = Derivation.of(one_step("b", S.Zero, (r - 1) ** 2, "", Sign())).examine()
    assert bound.theorem is not None
    assert bound.theorem.relation == "≤"


def test_hypotheses_that_contradict_each_other_prove_nothing() -> None:
    """The falsifier finds no point at which they hold."""
    assumed = Step(y + 1, "Both assumed", Assuming((Eq(x, y + 1),)))
    of_two = Route.of("Both at once", x, assumed, under=Hypotheses(conditions=frozenset([Eq(x, y)])))
    squared = Step(x**2 + 2 * x + 1, "Multiplied out", Identity())
    under = Hypotheses(conditions=frozenset([x > y, y > r, r > x]))
    of_three = Route.of("Nowhere", (x + 1) ** 2, squared, under=under)
    for route in (of_two, of_three):
        examined = Derivation.of(route).examine()
        assert examined.status == "proved"
        assert tried(examined, CORNERS, whole=False).status == "failed"
