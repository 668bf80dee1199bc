"""Derivations: right ones are proved, and a mistake planted in any step is found and named."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest
from sympy import (
    Contains,
    Eq,
    FiniteSet,
    Ge,
    Integer,
    Le,
    S,
    Sum,
    Symbol,
    cos,
    expand,
    interpolate,
    prod,
    sin,
    sqrt,
)
from sympy import E as EULER
from verify.symbolic.expansion import Evaluation, Expansion, expanded

from verify.claims.raw_scores import score_mean, score_variance
from verify.engine.catalogue import catalogue
from verify.symbolic import derivation as module
from verify.symbolic.characteristic import OF_SCORE, STEPS
from verify.symbolic.checks import By, Checker, Identity
from verify.symbolic.derivation import Derivation
from verify.symbolic.kernel.moments import DerivationError, E, Population, Var
from verify.symbolic.printing import latex
from verify.symbolic.routes import Definition, Route, Step
from verify.symbolic.scores import (
    CENTRED,
    GENERAL,
    STANDARD,
    d,
    index,
    k,
    mean_route,
    mu_k,
    q,
    score,
    sigma_k,
    sigma_q,
    variance_route,
)

if TYPE_CHECKING:
    from collections.abc import Callable

x = Symbol("x", positive=True)

ASSUMED = Expansion(STANDARD, assumed=True)

SHORTEN = E(q[index] ** 2 * k[index] ** 2)
PRODUCT = E(q[index] * k[index])


BEYOND = (d - 1) * (d - 2) * (d - 3) * (d - 4) * (d - 5)
"""Zero at the five dimensions that are written out, and nowhere else."""

DEPENDENT = Sum(q[index], (index, 1, d)) * Sum(k[index], (index, 1, d)) - d * score
"""Zero if sums were numbers."""

DEPENDENT_SQUARES = [expanded(E(DEPENDENT**2), STANDARD, n) for n in range(1, 6)]


def derivation_of(route: Route) -> Derivation:
    """Return the derivation that has this one route and states where it ends."""
    return Derivation(route.start, route.end, (route,))


def with_step(route: Route, position: int, expression: Any) -> Route:
    """Return ``route`` with another expression at one step."""
    steps = list(route.steps)
    steps[position] = replace(steps[position], expression=expression)
    return replace(route, steps=tuple(steps))


def one_more(expression: Any) -> Any:
    """Return ``expression`` as if it had one dimension more."""
    return expression.subs(d, d + 1)


class TestCheckers:
    """Every checker accepts a right step and rejects a wrong one."""

    CASES = (
        pytest.param(ASSUMED, Var(score), d, d + 1, id="expansion"),
        pytest.param(
            Expansion(GENERAL), E(score**2), E(score) ** 2 + Var(score), E(score) ** 2, id="moments"
        ),
        pytest.param(Identity(), (d + 1) ** 2, d**2 + 2 * d + 1, d**2 + d + 1, id="identity"),
        pytest.param(Identity(), sin(x) ** 2 + cos(x) ** 2, S.One, S.Zero, id="trigonometric-identity"),
        pytest.param(Evaluation(STANDARD), Var(2 * score), 4 * Var(score), 2 * Var(score), id="evaluation"),
        pytest.param(
            By("a square", lambda before, after: after == before**2, "general"),
            x,
            x**2,
            x**3,
            id="by-its-own-test",
        ),
    )

    @pytest.mark.parametrize(("checker", "before", "right", "wrong"), CASES)
    def test_right_and_wrong(self, checker: Checker, before: Any, right: Any, wrong: Any) -> None:
        """A right step holds, a wrong one does not, and the label says how it was checked."""
        assert checker.holds(before, right) is True
        assert checker.holds(before, wrong) is False
        assert checker.label.strip()

    def test_expansion_says_where_it_looked(self) -> None:
        """The symbol of the dimension, why so many values settle the step, and the moments are printed."""
        n = Symbol("n", integer=True, positive=True)
        other = Population({x: (S.One, S.Zero, S.One)}, n)
        words = "exact expansion at as many $d_{k}$ as its powers ask for, "
        assert Expansion(STANDARD).label == words + "for any moments"
        assert ASSUMED.label == words + "the assumed moments put in"
        assert Expansion(other).label == words.replace("d_{k}", "n") + "for any moments"
        assert Evaluation(other).label == "moment calculus, symbolic $n$, for any moments"

    @pytest.mark.parametrize(
        ("before", "after"),
        [
            pytest.param(Var(score), d + BEYOND, id="agrees-at-the-five-dimensions"),
            pytest.param(Var(score), d * (1 + BEYOND) / (1 + BEYOND / d), id="a-ratio-that-agrees-there"),
            pytest.param(Var(score), d + BEYOND * 2**d, id="no-rational-function"),
            pytest.param(
                E(score**2) ** 6 - E(score) ** 12,
                interpolate([(n, n**6) for n in range(1, 6)], d),
                id="powers-that-cancel-as-numbers",
            ),
            pytest.param(
                E(DEPENDENT**2) ** 3,
                interpolate([(n, value**3) for n, value in enumerate(DEPENDENT_SQUARES, 1)], d),
                id="sums-that-cancel-as-numbers",
            ),
        ],
    )
    def test_expansion_is_not_fooled_by_few_dimensions(self, before: Any, after: Any) -> None:
        """What agrees at d = 1…5 but not beyond, or may not, does not follow."""
        assert all(expand(expanded(before - after, STANDARD, n)) == 0 for n in range(1, 6))
        route = Route("r", before, (Step(after, "", ASSUMED),))
        assert not derivation_of(route).examine().holds

    def test_expansion_is_not_fooled_by_half_powers(self) -> None:
        """A polynomial in √d can vanish at d = 1…5 with degree five in the root."""
        beyond = prod([sqrt(d) - sqrt(n) for n in range(1, 6)])
        assert not ASSUMED.holds(Var(score), d + beyond)

    def test_a_foreign_subject_is_not_proved(self) -> None:
        """A right chain for another quantity proves nothing about this one."""
        route = variance_route(score, STANDARD)
        examined = Derivation(Var(2 * score), route.end, (route,)).examine()
        assert not examined.holds
        assert "no route starts at its subject" in examined.reason

    def test_evaluation_is_not_fooled_by_a_high_degree(self) -> None:
        """The moment calculus keeps d symbolic, so agreement at some dimensions is not enough."""
        assert not Evaluation(STANDARD, assumed=True).holds(Var(score), d + BEYOND)


MISTAKES: dict[str, Callable[[Any], Any]] = {
    "wrong sign": lambda e: -e,
    "one dimension more": one_more,
    "the dimension squared": lambda e: e.subs(d, d**2) if not e.has(score) else e * d,
    "a small term too much": lambda e: e + sigma_q**2 / 1000,
    "a factor 1 + 1e-9": lambda e: e * (1 + S(10) ** -9),
}


class TestReach:
    """What is called proved was checked for all values, and the claim says no more than was derived."""

    ROUTE = variance_route(score, GENERAL)

    def test_general_checks_prove(self) -> None:
        """Every step checked in general: proved."""
        assert derivation_of(self.ROUTE).examine().status == "proved"

    @pytest.mark.parametrize("position", range(5))
    @pytest.mark.parametrize("reach", ["examples", "numerical"])
    def test_one_weaker_check_is_enough(self, position: int, reach: Any) -> None:
        """A single step checked at examples makes it a derivation checked at examples."""
        steps = list(self.ROUTE.steps)
        steps[position] = replace(steps[position], check=By("at examples", lambda *_: True, reach))
        weaker = replace(self.ROUTE, steps=tuple(steps))
        assert derivation_of(weaker).examine().status == "checked-at-examples"
        as_lemma = replace(derivation_of(self.ROUTE), lemmas=(weaker,))
        assert as_lemma.examine().status == "checked-at-examples"

    def test_a_statement_that_says_more_is_derived_in_part(self) -> None:
        """However well its steps are checked."""
        examined = replace(derivation_of(self.ROUTE), beyond="what training comes to").examine()
        assert (examined.status, examined.holds) == ("in-part", True)

    def test_a_wrong_step_fails_all_the_same(self) -> None:
        """Saying that more is claimed does not excuse a step that does not follow."""
        wrong = replace(self.ROUTE.steps[2], check=By("never", lambda *_: False, "examples"))
        steps = (*self.ROUTE.steps[:2], wrong, *self.ROUTE.steps[3:])
        broken = derivation_of(replace(self.ROUTE, steps=steps))
        assert replace(broken, beyond="more").examine().status == "failed"

    def test_a_result_that_sympy_cannot_compare_is_not_reached(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """What SymPy raises on the way is no reason to believe it."""

        def failing(*_: Any) -> bool:
            raise ArithmeticError

        monkeypatch.setattr(module, "is_zero", failing)
        assert derivation_of(self.ROUTE).misfits()


class TestPlantedMistakes:
    """Each mistake is planted in each step of the derivation of the score's variance."""

    ROUTE = variance_route(score, GENERAL)

    def test_the_right_derivation_is_proved(self) -> None:
        """Without a mistake every step holds and the reason counts them."""
        examined = derivation_of(self.ROUTE).examine()
        assert examined.holds
        assert examined.reason == "all 5 steps hold, the route ends in the stated result"
        assert all(step.holds and not step.problem for _, steps in examined.routes for step in steps)

    def test_one_step_is_not_counted(self) -> None:
        """Of a single step the sentence speaks in the singular."""
        route = Route("r", x, (Step(x, "", By("always", lambda *_: True, "general")),))
        assert (
            derivation_of(route).examine().reason == "its one step holds, the route ends in the stated result"
        )

    def test_a_check_written_for_one_step_says_its_reach(self) -> None:
        """Nothing counts as checked in general because nobody said otherwise."""
        with pytest.raises(TypeError, match="reach"):
            By("always", lambda *_: True)  # type: ignore[call-arg]  # that is the point

    @pytest.mark.parametrize("position", range(5))
    @pytest.mark.parametrize("mistake", MISTAKES)
    def test_a_mistake_in_one_step(self, mistake: str, position: int) -> None:
        """The step with the mistake does not follow, whatever comes after it."""
        right = self.ROUTE.steps[position].expression
        wrong = with_step(self.ROUTE, position, MISTAKES[mistake](right))
        examined = replace(derivation_of(self.ROUTE), routes=(wrong,)).examine()
        assert not examined.holds
        assert f"“Index by index”, step {position + 1}: " in examined.reason
        assert not examined.routes[0][1][position].holds

    @pytest.mark.parametrize(
        ("position", "expression"),
        [
            pytest.param(0, E(score**2), id="mean-forgotten"),
            pytest.param(0, E(score**2) - E(score), id="mean-not-squared"),
            pytest.param(1, d * SHORTEN - d**2 * PRODUCT**2, id="off-diagonal-dropped"),
            pytest.param(1, d * SHORTEN + d**2 * PRODUCT**2 - d**2 * PRODUCT**2, id="off-diagonal-d-squared"),
            pytest.param(1, d**2 * (SHORTEN - PRODUCT**2), id="one-pair-reused"),
            pytest.param(2, d * E(q[index]) ** 2 * E(k[index] ** 2) - d * PRODUCT**2, id="square-inside"),
            pytest.param(4, d * sigma_q**2 * mu_k**2, id="product-of-variances-lost"),
        ],
    )
    def test_a_mistake_that_people_make(self, position: int, expression: Any) -> None:
        """Classic mistakes in the derivation of a variance, with means that are not zero."""
        wrong = with_step(self.ROUTE, position, expression)
        examined = replace(derivation_of(self.ROUTE), routes=(wrong,)).examine()
        assert not examined.holds
        assert f"step {position + 1}: does not follow" in examined.reason

    def test_a_mistake_carried_on_correctly_to_the_stated_result(self) -> None:
        """One wrong step fails the claim even if all that follows is right and the result is stated so."""
        reused = d**2 * (SHORTEN - PRODUCT**2)
        steps = (
            *self.ROUTE.steps[:1],
            replace(self.ROUTE.steps[1], expression=reused),
            Step(
                reused.subs({SHORTEN: d, PRODUCT: S.Zero}),
                "carried on",
                By("always", lambda *_: True, "general"),
            ),
        )
        examined = derivation_of(replace(self.ROUTE, steps=steps)).examine()
        assert not examined.holds
        assert examined.reason.startswith(
            "“Index by index”, step 2: does not follow (exact expansion at as many"
        )
        assert [step.holds for step in examined.routes[0][1]] == [True, False, True]

    def test_sympys_square_is_refused_with_route_and_step(self) -> None:
        """The answer d² that ``sympy.stats`` gives comes out not proved, with the place named."""
        step = Step(d**2, "variance of the sum", ASSUMED)
        examined = Derivation(
            Var(score), d**2, (Route("SymPy's own variance", Var(score), (step,)),)
        ).examine()
        assert examined.holds is False
        assert "“SymPy's own variance”, step 1: does not follow" in examined.reason

    def test_a_forgotten_mean_is_seen_though_it_is_assumed_to_be_0(self) -> None:
        """Only a step that puts the moments in may use that the mean is 0, and it does nothing else."""
        assert not Expansion(CENTRED).holds(Var(score), E(score**2))
        assert Expansion(CENTRED, assumed=True).holds(Var(score), d * sigma_q**2 * sigma_k**2)
        with pytest.raises(DerivationError, match="leaves no expectation; make two steps of it"):
            Expansion(CENTRED, assumed=True).holds(Var(score), E(score**2))


class TestScoreVarianceClaim:
    """The two routes of the claim itself, with mistakes in the second one."""

    DERIVATION = score_variance.derive()

    def test_proved_by_two_routes(self) -> None:
        """Both routes end in d."""
        examined = self.DERIVATION.examine()
        assert examined.holds
        assert self.DERIVATION.result == d
        assert examined.agreement == "2 routes end in the same result"

    @pytest.mark.parametrize(
        ("position", "expression"),
        [
            pytest.param(0, sqrt(STEPS[0].expression), id="power-of-one-product"),
            pytest.param(0, 1 / STEPS[0].expression, id="sign-of-the-exponent"),
            pytest.param(1, OF_SCORE**2, id="twice-the-dimensions"),
            pytest.param(1, OF_SCORE.subs(d, d + 1), id="one-dimension-more"),
            pytest.param(1, d * STEPS[0].expression, id="added-instead-of-multiplied"),
            pytest.param(2, -d, id="minus-sign-lost"),
            pytest.param(2, d**2, id="squared"),
            pytest.param(2, d + 1, id="one-more"),
            pytest.param(2, d / 2, id="half"),
        ],
    )
    def test_a_mistake_in_the_characteristic_function(self, position: int, expression: Any) -> None:
        """Every step of the second route has a check that its mistakes do not pass."""
        first, second = self.DERIVATION.routes
        wrong = with_step(second, position, expression)
        examined = replace(self.DERIVATION, routes=(first, wrong)).examine()
        assert not examined.holds
        assert f"“{second.title}”, step {position + 1}: " in examined.reason

    def test_the_mean_claim_is_proved(self) -> None:
        """The mean of centred components is zero, by linearity and independence."""
        derivation = score_mean.derive()
        assert derivation.examine().holds
        assert derivation.result == 0


class TestExamination:
    """What ``examine`` does with checks that break, and with routes that stray."""

    def test_a_check_that_raises_fails_the_step(self) -> None:
        """A check that cannot be done is no pass, and the reason says what went wrong."""

        def broken(_: Any, __: Any) -> bool:
            raise ZeroDivisionError("nothing to divide by")

        route = Route("broken", x, (Step(x, "", By("broken", broken, "general")),))
        examined = derivation_of(route).examine()
        assert not examined.holds
        assert examined.reason == (
            "“broken”, step 1: could not be checked (ZeroDivisionError: nothing to divide by)"
        )

    def test_a_missing_moment_fails_the_step(self) -> None:
        """A step that needs a moment of which nothing is assumed is not proved."""
        route = Route("r", E(score**3), (Step(S.Zero, "", ASSUMED),))
        examined = derivation_of(route).examine()
        assert not examined.holds
        assert "DerivationError: nothing is assumed about the moment of order 3" in examined.reason

    def test_a_route_that_ends_elsewhere_fails(self) -> None:
        """Right steps that lead to another expression than the stated result prove nothing."""
        route = variance_route(score, STANDARD)
        examined = Derivation(Var(score), d + 1, (route,)).examine()
        assert not examined.holds
        assert examined.reason == "“Index by index” does not end in the stated result"
        assert examined.agreement == "the routes do not all end in the stated result"

    def test_one_of_two_routes_ends_elsewhere(self) -> None:
        """Two routes must agree; the stray is named."""
        right = variance_route(score, STANDARD)
        stray = replace(mean_route(score, STANDARD), title="Another").defining("the mean")
        examined = Derivation(Var(score), d, (right, stray)).examine()
        assert not examined.holds
        assert examined.reason == "“Another” does not end in the stated result"

    def test_results_are_compared_as_mathematics(self) -> None:
        """Ends that look different but are equal agree; relations are compared as they stand."""
        route = Route("r", x, (Step((x + 1) ** 2, "", By("", lambda *_: True, "general")),))
        assert Derivation(x, x**2 + 2 * x + 1, (route,)).examine().holds
        relation = Route("r", x, (Step(Eq(x, 1), "", By("", lambda *_: True, "general")),))
        assert Derivation(x, Eq(x, 1), (relation,)).examine().holds
        assert not Derivation(x, Eq(x, 2), (relation,)).examine().holds

    def test_every_wrong_step_is_reported(self) -> None:
        """The reason lists all that is wrong, not only the first."""
        no, yes = By("no", lambda *_: False, "general"), By("yes", lambda *_: True, "general")
        steps = (Step(x, "", no), Step(x, "", yes), Step(x, "", no))
        examined = derivation_of(Route("r", x, steps)).examine()
        assert examined.reason == "“r”, step 1: does not follow (no); “r”, step 3: does not follow (no)"

    def test_the_equation_is_not_evaluated(self) -> None:
        """Subject and result are printed as one equation even where SymPy could decide it."""
        assert Derivation(Integer(2), Integer(2), ()).equation == Eq(2, 2, evaluate=False)
        assert Derivation(EULER, x, ()).equation.lhs == EULER

    def test_propositions_are_equivalent_not_equal(self) -> None:
        """An equation and its solutions are no two sides of another equation."""
        solved = Contains(x, FiniteSet(1), evaluate=False)
        equation = Derivation(Eq(x**2, 1), solved, ()).equation
        assert latex(equation) == r"x^{2} = 1 \iff x \in \left\{1\right\}"


def at_will(title: str, start: Any, *expressions: Any, relations: str = "===") -> Route:
    """Return a chain of steps that all hold."""
    yes = By("yes", lambda *_: True, "general")
    steps = (
        Step(one, "", yes, relation)  # type: ignore[arg-type]  # one of the relations
        for one, relation in zip(expressions, relations, strict=False)
    )
    return Route(title, start, tuple(steps))


class TestStarts:
    """Every chain starts at something established."""

    ROUTE = at_will("route", x, x + 1)

    def holds(self, *lemmas: Route) -> bool:
        """Return whether the route holds together with lemmas."""
        return Derivation(x, x + 1, (self.ROUTE,), lemmas).examine().holds

    @pytest.mark.parametrize("start", [x, x + 1], ids=["subject", "result"])
    def test_at_the_subject_or_the_result(self, start: Any) -> None:
        """Both are established."""
        assert self.holds(at_will("lemma", start, x**2))

    def test_at_nothing(self) -> None:
        """However well its steps hold, a lemma about something else shows nothing, until it is defined."""
        lemma = at_will("lemma", x**3, x**4)
        examined = Derivation(x, x + 1, (self.ROUTE,), (lemma,)).examine()
        assert (examined.status, examined.holds) == ("failed", False)
        assert examined.reason.startswith("“lemma” starts at nothing established: not the subject")
        assert self.holds(lemma.defining("a cube"))
        assert not self.holds(replace(lemma, definition=Definition(x**3 + 1, "another")))

    def test_where_another_chain_is_defined_to_start(self) -> None:
        """What is defined once is established for all chains, whichever comes first."""
        lemma, other = at_will("lemma", x**3, x**4), at_will("other", x**3, x**5)
        assert self.holds(lemma, other.defining("a cube"))
        derivation = Derivation(x, x + 1, (self.ROUTE,), (lemma, other.defining("a cube")))
        assert derivation.definitions == (Definition(x**3, "a cube"),)

    def test_at_the_end_of_a_lemma_before(self) -> None:
        """What was shown may be used, but not before it is."""
        first, second = at_will("first", x, x**5), at_will("second", x**5, x**6)
        assert self.holds(first, second)
        assert not self.holds(second, first)

    def test_a_second_route_too(self) -> None:
        """A route that ends in the result from nowhere shows nothing about the subject."""
        stray = at_will("stray", x**3, x + 1)
        assert not Derivation(x, x + 1, (self.ROUTE, stray)).examine().holds
        assert Derivation(x, x + 1, (self.ROUTE, stray.defining("a cube"))).examine().holds

    def test_what_is_defined_is_used(self) -> None:
        """A definition that no chain starts at stands for nothing."""
        route = replace(self.ROUTE, definition=Definition(x**3, "a cube"))
        examined = Derivation(x, x + 1, (route,)).examine()
        assert examined.reason == "nothing starts at the definition “a cube”"

    def test_without_a_derivation(self) -> None:
        """There is no subject to start at, only definitions."""
        lemma = at_will("lemma", x, x + 1)
        assert Derivation.none("measured", (lemma,)).examine().status == "failed"
        named = Derivation.none("measured", (lemma.defining("a number"),))
        assert named.examine().status == "not-claimed"
        assert named.meaning_of(x) == "a number"
        assert named.meaning_of(x + 1) == ""

    @pytest.mark.parametrize("name", ["score-normal-limit", "heavy-tails", "self-score", "row-variance"])
    def test_wrong_starts_in_the_catalogue(self, name: str) -> None:
        """Whatever chain of a claim starts elsewhere fails the claim."""
        derivation = catalogue()[name].derive()
        assert not derivation.misfits()
        for number, lemma in enumerate(derivation.lemmas):
            lemmas = list(derivation.lemmas)
            lemmas[number] = replace(lemma, start=2 * lemma.start)
            assert replace(derivation, lemmas=tuple(lemmas)).misfits(), lemma.title

    @pytest.mark.parametrize(
        ("relations", "fits"), [("≤≥", False), ("≥=≤", False), ("≤⇒≥", True), ("≥≥=", True)]
    )
    def test_up_or_down(self, relations: str, fits: bool) -> None:
        """From x ≤ y ≥ z nothing follows; after ⇒ the chain speaks of something else."""
        lemma = at_will("lemma", x, x**2, x**3, x**4, relations=relations)
        assert self.holds(lemma) is fits


class TestBoundsAndNothing:
    """Chains of inequalities, and claims for which nothing is derived."""

    ROUTE = Route(
        "r",
        x,
        (
            Step(x + 1, "", By("yes", lambda *_: True, "general"), relation="≤"),
            Step(x + 1, "", By("yes", lambda *_: True, "general")),
        ),
    )

    def test_a_chain_shows_what_it_states(self) -> None:
        """An upper bound is proved as an upper bound, and as nothing else."""
        assert Derivation(x, x + 1, (self.ROUTE,), relation="≤").examine().holds
        for relation in ("=", "≥"):
            examined = Derivation(x, x + 1, (self.ROUTE,), relation=relation).examine()
            assert not examined.holds
            assert examined.reason == f"its routes show ≤, and it states {relation}"

    def test_the_inequality_is_printed_as_one(self) -> None:
        """Subject and result stand on their own sides."""
        assert Derivation(x, x + 1, (), relation="≤").equation == Le(x, x + 1, evaluate=False)
        assert Derivation(x, x - 1, (), relation="≥").equation == Ge(x, x - 1, evaluate=False)

    def test_measured_only(self) -> None:
        """Without a derivation nothing is proved and nothing has failed, but a wrong lemma fails."""
        examined = Derivation.none("it is an experiment").examine()
        assert (examined.status, examined.reason, examined.holds) == (
            "not-claimed",
            "it is an experiment",
            False,
        )
        wrong = Route("lemma", x, (Step(x, "", By("no", lambda *_: False, "general")),))
        failed = Derivation.none("it is an experiment", (wrong.defining("a number"),))
        assert failed.examine().status == "failed"
