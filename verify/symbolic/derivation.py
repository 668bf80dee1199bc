"""Derivations: chains of expressions in which every step is checked, by a route other than its rule."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Protocol

import mpmath
from sympy import Eq, Expr, Function, Ge, Le, N, Rel

from verify.symbolic.algebra import is_zero

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping


Reach = Literal["general", "examples", "numerical"]
"""What a check covers: all values, exactly a few sizes, or numbers at a few points within rounding."""


class Iff(Function):  # type: ignore[misc]  # SymPy has no types
    """That two propositions are equivalent, in this order; SymPy's own sorts them."""

    nargs = 2

    def _latex(self, printer: Any) -> str:
        return r" \iff ".join(printer.doprint(one) for one in self.args)


class Checker(Protocol):
    """Decides whether one expression follows from another; ``label`` is printed beside the step."""

    @property
    def label(self) -> str:
        """How the step is checked, in words."""

    @property
    def reach(self) -> Reach:
        """What the check covers; beyond that the step stands on its rule alone."""

    def holds(self, before: Any, after: Any) -> bool:
        """Return whether ``after`` follows from ``before``."""


@dataclass(frozen=True)
class Identity:
    """SymPy simplifies the difference of the two sides to zero."""

    label: str = "SymPy: the difference simplifies to 0"
    reach: ClassVar[Reach] = "general"

    def holds(self, before: Any, after: Any) -> bool:
        """Return whether the difference of the evaluated sides is identically zero."""
        return is_zero(before.doit() - after.doit())


@dataclass(frozen=True)
class Numeric:
    """Both sides agree at stated points to thirty digits; a numerical check, and printed as one."""

    points: tuple[Mapping[Any, Any], ...]
    digits: int = 30
    reach: ClassVar[Reach] = "numerical"

    @property
    def label(self) -> str:
        """How the step is checked, in words."""
        number = len(self.points)
        return f"numerically, {self.digits} digits at {number} point{'s' * (number != 1)}"

    def holds(self, before: Any, after: Any) -> bool:
        """Return whether the two sides agree to ``digits`` digits at every point."""
        allowed = mpmath.mpf(10) ** -self.digits
        for point in self.points:
            one, other = (N(side.subs(point).doit(), self.digits + 10) for side in (before, after))
            size = max(abs(one), abs(other)) if one and other else 1
            if not abs(one - other) <= allowed * size:
                return False
        return bool(self.points)


@dataclass(frozen=True)
class By:
    """A check written for one step; ``test`` gets the expression before and after it.

    Its ``reach`` has no default: only who wrote the test knows what it covers.
    """

    label: str
    test: Callable[[Any, Any], bool] = field(repr=False)
    reach: Reach

    def holds(self, before: Any, after: Any) -> bool:
        """Return what the test says."""
        return bool(self.test(before, after))


def by(label: str, reach: Reach) -> Callable[[Callable[[Any, Any], bool]], By]:
    """Return a decorator that makes of a test the check ``By`` of this label and reach."""
    return lambda test: By(label, test, reach)


@dataclass(frozen=True)
class Step:
    """An expression, the rule that leads to it from the one before, and how that is checked.

    ``relation`` is "=", "≤" or "≥" to the expression before or, where it follows without being comparable,
    "⇒", or "⇔" where each follows from the other. A checker that has a relation of its own decides it: a
    step shows what was checked.
    """

    expression: Any
    rule: str
    check: Checker
    relation: Literal["=", "⇒", "⇔", "≤", "≥"] = "="

    def __post_init__(self) -> None:
        object.__setattr__(self, "relation", getattr(self.check, "relation", self.relation))


@dataclass(frozen=True)
class Route:
    """A chain of steps from ``start`` to the expression of the last one."""

    title: str
    start: Any
    steps: tuple[Step, ...]

    @classmethod
    def of(cls, title: str, start: Any, *steps: Step) -> Route:
        """Return the chain of ``steps`` from ``start``."""
        return cls(title, start, steps)

    @classmethod
    def telling(cls, title: str, start: Any, steps: Iterable[Step]) -> Route:
        """Return the route with those of ``steps`` that change the form of what they are applied to.

        For rules applied in turn to whatever expression is given: not each has something to do each time.
        """
        kept: list[Step] = []
        for step in steps:
            if step.expression != (kept[-1].expression if kept else start):
                kept.append(step)
        return cls(title, start, tuple(kept))

    def then(self, *steps: Step) -> Route:
        """Return this chain with more steps at its end."""
        return replace(self, steps=(*self.steps, *steps))

    @property
    def end(self) -> Any:
        """The expression that the route ends in."""
        return self.steps[-1].expression


@dataclass(frozen=True)
class CheckedStep:
    """A step with the outcome of its check; ``problem`` says why it does not hold, if it does not."""

    step: Step
    holds: bool
    problem: str


@dataclass(frozen=True)
class Definition:
    """A quantity that a chain may start at besides the subject, and what it is, in words."""

    expression: Any
    meaning: str


CheckedRoutes = tuple[tuple[Route, tuple[CheckedStep, ...]], ...]


@dataclass(frozen=True)
class Examined:
    """A derivation after all its checks; ``reason`` is one sentence."""

    routes: CheckedRoutes
    agreement: str
    status: Literal["proved", "checked-at-examples", "in-part", "failed", "not-claimed"]
    reason: str

    @property
    def holds(self) -> bool:
        """Whether every step holds and the routes lead from the subject to the result."""
        return self.status not in {"failed", "not-claimed"}


@dataclass(frozen=True)
class Derivation:
    """One or more routes from ``subject`` to ``result``; proved only if every step is checked in general.

    All routes must end in the result, and one at least start at the subject; others may reach it in words,
    as a density does its characteristic function. ``lemmas`` are chains that the claim needs besides, such
    as the mean beside a variance. Every chain starts at something established: the subject, the end of a
    lemma before it or of the routes, or one of the ``definitions``, each of which is some chain's start.

    ``relation`` is what the routes show: that the subject equals the result, or is bounded by it. Where a
    claim rests on measurement alone, ``unclaimed`` says why nothing is derived; there may be lemmas still.
    ``beyond`` says what of the claim's statement goes beyond all chains, and what it rests on instead.
    """

    subject: Any
    result: Any
    routes: tuple[Route, ...]
    lemmas: tuple[Route, ...] = ()
    relation: Literal["=", "≤", "≥"] = "="
    unclaimed: str = ""
    beyond: str = ""
    definitions: tuple[Definition, ...] = ()

    @classmethod
    def of(
        cls,
        *routes: Route,
        lemmas: tuple[Route, ...] = (),
        relation: Literal["=", "≤", "≥"] = "=",
        beyond: str = "",
        definitions: tuple[Definition, ...] = (),
    ) -> Derivation:
        """Return the derivation of what the first of ``routes`` starts at, as what it ends in."""
        start, end = routes[0].start, routes[0].end
        return cls(start, end, routes, lemmas, relation, beyond=beyond, definitions=definitions)

    @classmethod
    def none(
        cls, reason: str, lemmas: tuple[Route, ...] = (), definitions: tuple[Definition, ...] = ()
    ) -> Derivation:
        """Return the derivation of a claim that is only measured, for the ``reason`` given."""
        return cls(None, None, (), lemmas, unclaimed=reason, definitions=definitions)

    @property
    def equation(self) -> Any:
        """Subject and result as one equation, equivalence or inequality, unevaluated."""
        if isinstance(self.subject, Rel):
            return Iff(self.subject, self.result)
        kind = {"=": Eq, "≤": Le, "≥": Ge}[self.relation]
        return kind(self.subject, self.result, evaluate=False)

    def examine(self) -> Examined:
        """Return the derivation with every step checked and the routes' ends compared."""
        routes = tuple((route, _checked(route)) for route in (*self.lemmas, *self.routes))
        wrong = [
            f"“{route.title}”, step {number}: {one.problem}"
            for route, steps in routes
            for number, one in enumerate(steps, 1)
            if not one.holds
        ]
        wrong += self.misfits()
        if self.unclaimed:
            return Examined(
                routes, "", "failed" if wrong else "not-claimed", "; ".join(wrong) or self.unclaimed
            )
        agreement = _agreement(len(self.routes), bool(self._strays()))
        if wrong:
            return Examined(routes, agreement, "failed", "; ".join(wrong))
        reaches = [one.step.check.reach for _, steps in routes for one in steps]
        reason = f"{_all_hold(len(reaches))}, {agreement}"
        if self.beyond:
            return Examined(routes, agreement, "in-part", reason)
        general = all(reach == "general" for reach in reaches)
        return Examined(routes, agreement, "proved" if general else "checked-at-examples", reason)

    def meaning_of(self, start: Any) -> str:
        """Return what a chain's start is, in words, if it is a definition."""
        return next((one.meaning for one in self.definitions if one.expression == start), "")

    def misfits(self) -> list[str]:
        """Return why the chains, however well their steps hold, do not show what is stated."""
        wrong = [f"“{title}” does not end in the stated result" for title in self._strays()]
        wrong += self._astray()
        wrong += [
            f"“{route.title}” goes both up and down: nothing follows from ≤ and ≥ in one chain"
            for route in (*self.lemmas, *self.routes)
            if _turns(route)
        ]
        return wrong if self.unclaimed else wrong + self._unfit()

    def _strays(self) -> list[str]:
        return [route.title for route in self.routes if not _same(route.end, self.result)]

    def _astray(self) -> list[str]:
        """Return which chains start at nothing established, and which definitions are no chain's start."""
        ends = [] if self.unclaimed else [self.subject, self.result]
        established = [*ends, *(one.expression for one in self.definitions)]
        wrong = []
        for route in (*self.lemmas, *self.routes):
            if route.start not in established:
                wrong.append(
                    f"“{route.title}” starts at nothing established: not the subject or the result, nor the "
                    "end of a lemma before it, nor a definition"
                )
            established.append(route.end)
        starts = [route.start for route in (*self.lemmas, *self.routes)]
        unused = [one.meaning for one in self.definitions if one.expression not in starts]
        return wrong + [f"nothing starts at the definition “{meaning}”" for meaning in unused]

    def _unfit(self) -> list[str]:
        """Return why the routes do not lead from the subject to the result."""
        wrong = [] if any(route.steps for route in (*self.lemmas, *self.routes)) else ["it has no steps"]
        if not any(route.start == self.subject for route in self.routes):
            wrong.append("no route starts at its subject")
        taken = {step.relation for route in self.routes for step in route.steps} - {"=", "⇒", "⇔"}
        if taken - {self.relation}:
            wrong.append(f"its routes show {', '.join(sorted(taken))}, and it states {self.relation}")
        return wrong


def _turns(route: Route) -> bool:
    """Return whether ≤ and ≥ follow each other with nothing but equations between."""
    directions: set[str] = set()
    for step in route.steps:
        directions = set() if step.relation in {"⇒", "⇔"} else directions | {step.relation} - {"="}
        if len(directions) > 1:
            return True
    return False


def _all_hold(steps: int) -> str:
    return "its one step holds" if steps == 1 else f"all {steps} steps hold"


def _agreement(routes: int, strays: bool) -> str:
    if strays:
        return "the routes do not all end in the stated result"
    return "the route ends in the stated result" if routes == 1 else f"{routes} routes end in the same result"


def _checked(route: Route) -> tuple[CheckedStep, ...]:
    before: Any = route.start
    outcomes: list[CheckedStep] = []
    for step in route.steps:
        outcomes.append(_check(before, step))
        before = step.expression
    return tuple(outcomes)


def _check(before: Any, step: Step) -> CheckedStep:
    try:
        holds = step.check.holds(before, step.expression)
    except Exception as error:  # noqa: BLE001  # a check that cannot be done is a step that does not hold
        reason = f"could not be checked ({type(error).__name__}: {error})"
        return CheckedStep(step, holds=False, problem=reason)
    return CheckedStep(step, holds, "" if holds else f"does not follow ({step.check.label})")


def _same(one: Any, other: Any) -> bool:
    if isinstance(one, Expr) and isinstance(other, Expr):
        return is_zero(one - other)
    return bool(one == other)
