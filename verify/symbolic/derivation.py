"""Derivations: chains of expressions in which every step is checked, by a route other than its rule."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from sympy import Eq, Expr, Function, Ge, Le, Rel

from verify.errors import ClaimError, described, unknown
from verify.symbolic.algebra import is_zero
from verify.symbolic.routes import Route, Theorem

if TYPE_CHECKING:
    from verify.symbolic.routes import Definition, Step


class Iff(Function):  # type: ignore[misc]  # SymPy has no types
    """That two propositions are equivalent, in this order; SymPy's own sorts them."""

    nargs = 2

    def _latex(self, printer: Any) -> str:
        return r" \iff ".join(printer.doprint(one) for one in self.args)


@dataclass(frozen=True)
class CheckedStep:
    """A step with the outcome of its check; ``problem`` says why it does not hold, if it does not."""

    step: Step
    holds: bool
    problem: str


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
    lemma before it or of the routes, or what a chain's ``definition`` says in words.

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

    @classmethod
    def of(
        cls,
        *routes: Route,
        lemmas: tuple[Route, ...] = (),
        relation: Literal["=", "≤", "≥"] = "=",
        beyond: str = "",
    ) -> Derivation:
        """Return the derivation of what the first of ``routes`` starts at, as what it ends in."""
        start, end = routes[0].start, routes[0].end
        return cls(start, end, routes, lemmas, relation, beyond=beyond)

    @classmethod
    def none(cls, reason: str, lemmas: tuple[Route, ...] = ()) -> Derivation:
        """Return the derivation of a claim that is only measured, for the ``reason`` given."""
        return cls(None, None, (), lemmas, unclaimed=reason)

    @property
    def chains(self) -> tuple[Route, ...]:
        """The lemmas and the routes, in this order."""
        return (*self.lemmas, *self.routes)

    @property
    def definitions(self) -> tuple[Definition, ...]:
        """What the chains start at besides the subject and each other's ends."""
        return tuple(one.definition for one in self.chains if one.definition)

    @property
    def equation(self) -> Any:
        """Subject and result as one equation, equivalence or inequality, unevaluated."""
        if isinstance(self.subject, Rel):
            return Iff(self.subject, self.result)
        kind = {"=": Eq, "≤": Le, "≥": Ge}[self.relation]
        return kind(self.subject, self.result, evaluate=False)

    def theorem(self, name: str = "") -> Theorem:
        """Return what is derived as a whole or, by its ``name``, what one of the chains shows.

        Raises:
            ClaimError: nothing is derived, or no chain has the name.
        """
        if name:
            named = {one.name: one for one in self.chains if one.name}
            if name not in named:
                raise ClaimError(unknown("route", name, named, "name it with Route.called"))
            return named[name].theorem
        if self.unclaimed:
            raise ClaimError("nothing is derived for the claim itself; name a lemma or a check")
        return Theorem(self.subject, "⇔" if isinstance(self.subject, Rel) else self.relation, self.result)

    def examine(self) -> Examined:
        """Return the derivation with every step checked and the routes' ends compared."""
        routes = tuple((route, _checked(route)) for route in self.chains)
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
            for route in self.chains
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
        for route in self.chains:
            if route.start not in established:
                wrong.append(
                    f"“{route.title}” starts at nothing established: not the subject or the result, nor the "
                    "end of a lemma before it, nor a definition"
                )
            established.append(route.end)
        starts = [route.start for route in self.chains]
        unused = [one.meaning for one in self.definitions if one.expression not in starts]
        return wrong + [f"nothing starts at the definition “{meaning}”" for meaning in unused]

    def _unfit(self) -> list[str]:
        """Return why the routes do not lead from the subject to the result."""
        wrong = [] if any(route.steps for route in self.chains) else ["it has no steps"]
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
        reason = f"could not be checked ({described(error)})"
        return CheckedStep(step, holds=False, problem=reason)
    return CheckedStep(step, holds, "" if holds else f"does not follow ({step.check.label})")


def _same(one: Any, other: Any) -> bool:
    if not (isinstance(one, Expr) and isinstance(other, Expr)):
        return bool(one == other)
    try:
        return is_zero(one - other)
    except Exception:  # noqa: BLE001  # what SymPy cannot compare is not known to be the same
        return False
