"""Derivations: the chains behind a claim, and what their theorems prove together."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal

from sympy import Eq, Expr, Function, Ge, Gt, Le, Lt, Rel

from verify.errors import ClaimError, unknown
from verify.symbolic.falsifier import NOWHERE, Counterexample, Effort, falsify, falsify_all
from verify.symbolic.kernel.core import Reach, Theorem
from verify.symbolic.kernel.equations import same
from verify.symbolic.kernel.existence import open_in

if TYPE_CHECKING:
    from verify.symbolic.routes import Definition, Followed, Route


class Iff(Function):  # type: ignore[misc]  # SymPy has no types
    """That two propositions are equivalent, in this order; SymPy's own sorts them."""

    nargs = 2

    def _latex(self, printer: Any) -> str:
        return r" \iff ".join(printer.doprint(one) for one in self.args)


class Approx(Function):  # type: ignore[misc]  # SymPy has no types
    """That an expression has these first terms."""

    nargs = 2

    def _latex(self, printer: Any) -> str:
        return r" \sim ".join(printer.doprint(one) for one in self.args)


_RELATIONS = {"=": Eq, "≤": Le, "≥": Ge, "<": Lt, ">": Gt, "⇔": Iff, "~": Approx}

Status = Literal["proved", "reviewed", "checked-at-examples", "in-part", "failed", "measured"]
_BY_REACH: dict[Reach, Status] = {
    Reach.ALL_VALUES: "proved",
    Reach.REVIEWED: "reviewed",
    Reach.THESE_VALUES: "checked-at-examples",
    Reach.NUMERICALLY: "checked-at-examples",
}


def relation_of(theorem: Theorem) -> Any:
    """Return a theorem's two sides as one equation, equivalence or inequality, unevaluated."""
    kind = _RELATIONS[theorem.relation]
    if kind in {Iff, Approx}:
        return kind(theorem.lhs, theorem.rhs)
    return kind(theorem.lhs, theorem.rhs, evaluate=False)


@dataclass(frozen=True)
class ExaminedDerivation:
    """A derivation after all its steps were taken; ``reason`` is one sentence.

    ``theorem`` is the main one, None where nothing is derived or a step does not hold.
    """

    routes: tuple[Followed, ...]
    agreement: str
    status: Status
    reason: str
    theorem: Theorem | None = None

    @property
    def holds(self) -> bool:
        """Whether every step holds and the routes lead from the subject to the result."""
        return self.status not in {"failed", "measured"}


def tried(examined: ExaminedDerivation, budget: Effort, *, whole: bool) -> ExaminedDerivation:
    """Return an examined derivation, failed if what it calls proved is false somewhere, or is about nothing.

    The theorems of all chains are tried, and as a ``whole`` those of their steps too; else the main one
    alone. What rests on a rule of its author's is not called proved, and not tried.
    """
    for followed in examined.routes:
        theorem = followed.theorem
        if theorem is None or theorem.reach <= Reach.REVIEWED or not (whole or theorem is examined.theorem):
            continue
        try:
            found = falsify_all(theorem, budget) if whole else falsify(theorem, **budget)
            wrong = f"says nothing: {NOWHERE}" if NOWHERE in found.why else ""
        except Counterexample as error:
            wrong = f"does not hold everywhere: {error}"
        if wrong:
            reason = f"“{followed.route.title}” {wrong}"
            return replace(examined, status="failed", reason=reason, theorem=None)
    return examined


@dataclass(frozen=True)
class Derivation:
    """One or more routes to one ``result``; proved only if the kernel takes every step, for all values.

    The first route says what is derived: its theorem is the claim's. The others must end in the same result,
    and may start at something else. ``lemmas`` are chains that the claim needs besides, such as the mean
    beside a variance. Every chain starts at something established: the subject, the end of a chain before it,
    or what a chain's ``definition`` says in words.

    Where a claim rests on measurement alone, ``unclaimed`` says why nothing is derived; there may be lemmas
    still. ``beyond`` says what of the claim's statement goes beyond all chains, and what it rests on instead.
    """

    routes: tuple[Route, ...]
    lemmas: tuple[Route, ...] = ()
    unclaimed: str = ""
    beyond: str = ""

    @classmethod
    def of(cls, *routes: Route, lemmas: tuple[Route, ...] = (), beyond: str = "") -> Derivation:
        """Return the derivation of what the first of ``routes`` starts at, as what it ends in."""
        return cls(routes, lemmas, beyond=beyond)

    @classmethod
    def none(cls, reason: str, lemmas: tuple[Route, ...] = ()) -> Derivation:
        """Return the derivation of a claim that is only measured, for the ``reason`` given."""
        return cls((), lemmas, unclaimed=reason)

    @property
    def subject(self) -> Any:
        """What the first route starts at, None where there is none."""
        return self.routes[0].start if self.routes else None

    @property
    def result(self) -> Any:
        """What the first route ends in, None where there is none."""
        return self.routes[0].end if self.routes else None

    @property
    def chains(self) -> tuple[Route, ...]:
        """The lemmas and the routes, in this order."""
        return (*self.lemmas, *self.routes)

    @property
    def definitions(self) -> tuple[Definition, ...]:
        """What the chains start at besides the subject and each other's ends."""
        return tuple(one.definition for one in self.chains if one.definition)

    @cached_property
    def _followed(self) -> tuple[Followed, ...]:
        return tuple(one.followed() for one in self.chains)

    def theorem(self, name: str = "") -> Theorem | None:
        """Return the theorem of the first route or, by its ``name``, that of another chain.

        None where a step does not hold.

        Raises:
            ClaimError: nothing is derived, or no chain has the name.
        """
        if not name and self.unclaimed:
            raise ClaimError("nothing is derived for the claim itself; name a lemma or a check")
        named = {one.route.name: one for one in self._followed if one.route.name}
        if name and name not in named:
            raise ClaimError(unknown("route", name, named, "name it with Route.called"))
        return (named[name] if name else self._followed[len(self.lemmas)]).theorem

    def examine(self) -> ExaminedDerivation:
        """Return the derivation with every step taken."""
        followed = self._followed
        wrong = [
            f"“{one.route.title}”, step {number}: {step.problem}"
            for one in followed
            for number, step in enumerate(one.steps, 1)
            if not step.holds
        ]
        wrong += [
            f"“{one.route.title}”: not known to exist: {doubted[0]}"
            for one in followed
            if one.theorem and (doubted := open_in(one.theorem))
        ]
        wrong += self.misfits()
        if self.unclaimed:
            reason = "; ".join(wrong) or self.unclaimed
            return ExaminedDerivation(followed, "", "failed" if wrong else "measured", reason)
        main = followed[len(self.lemmas)].theorem
        agreement = _agreement(len(self.routes), bool(self._strays()))
        if wrong or main is None:
            return ExaminedDerivation(followed, agreement, "failed", "; ".join(wrong))
        if (main.lhs, main.relation) == (main.rhs, "="):
            return ExaminedDerivation(
                followed, agreement, "failed", "both sides are alike: that proves nothing"
            )
        taken = [step.reach for one in followed for step in one.steps]
        status: Status = "in-part" if self.beyond else _BY_REACH[min(taken)]
        return ExaminedDerivation(followed, agreement, status, f"{_all_hold(len(taken))}, {agreement}", main)

    def meaning_of(self, start: Any) -> str:
        """Return what a chain's start is, in words, if it is a definition."""
        return next((one.meaning for one in self.definitions if one.expression == start), "")

    def misfits(self) -> list[str]:
        """Return why the chains, however well their steps hold, do not show what is stated."""
        wrong = [f"“{title}” does not end in the stated result" for title in self._strays()]
        wrong += self._astray()
        if not self.unclaimed and not any(route.steps for route in self.chains):
            wrong.append("it has no steps")
        return wrong

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


def _all_hold(steps: int) -> str:
    return "its one step holds" if steps == 1 else f"all {steps} steps hold"


def _agreement(routes: int, strays: bool) -> str:
    if strays:
        return "the routes do not all end in the stated result"
    return "the route ends in the stated result" if routes == 1 else f"{routes} routes end in the same result"


def _same(one: Any, other: Any) -> bool:
    if isinstance(one, Rel) or not (isinstance(one, Expr) and isinstance(other, Expr)):
        return bool(one == other)
    try:
        return same(one, other)
    except Exception:  # noqa: BLE001  # what cannot be compared is not known to be the same
        return False
