"""Theorems: hypotheses, two sides, a relation and a reach, made by rules.

``prove`` takes a rule and what the rule is applied to, and lets the rule say what follows: the relation, the
hypotheses and the reach are the rule's, never the author's. One gate refuses what is not well formed, and
``Chain`` composes relations by a table.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, fields
from enum import IntEnum
from typing import Any, ClassVar, Literal

from sympy import FiniteSet, Rel, Sum

from verify.symbolic.kernel.gate import (
    outside_means,
    random_names,
    refuse_complex,
    refuse_malformed,
    upwards,
)
from verify.symbolic.kernel.hypotheses import (
    NOTHING,
    Hypotheses,
    Refused,
    free_symbols,
    has_any,
    parts_of,
)
from verify.symbolic.kernel.words import E, Var


class Reach(IntEnum):
    """How far a theorem reaches; that of a whole is the least of its parts."""

    NUMERICALLY = 0
    REVIEWED = 1
    THESE_VALUES = 2
    ALL_VALUES = 3


@dataclass(frozen=True)
class Conclusion:
    """What a rule says follows: ``lhs`` and ``rhs`` where they are not what the rule was applied to.

    ``order`` is (symbol, power) of first terms: the rest is smaller than one over that power of the symbol.
    """

    relation: str = "="
    hypotheses: Hypotheses = NOTHING
    reach: Reach = Reach.ALL_VALUES
    lhs: Any = None
    rhs: Any = None
    order: tuple[Any, int] | None = None


Existence = Literal["", "alike", "all"]
"""What a rule says of what its sides name: nothing, that one exists if the other does, or that all does."""


class Rule:
    """A way to a theorem.

    A rule is a frozen dataclass whose fields are expressions, theorems and other plain values. ``conclude``
    gets the two sides, of which the second is what the author says follows, and the hypotheses so far; it
    decides or refuses. ``moves`` is whether it turns a whole theorem, its field ``known``, into another,
    ``integrates`` whether it shows by itself that integrals over the variables in its fields converge, or the
    limit that it finds. ``existence`` is "alike" where what one side names exists if what the other does, and
    "all" where all of that does. ``put`` is what a part becomes where a whole theorem is moved.
    """

    moves: ClassVar[bool] = False
    integrates: ClassVar[bool] = False
    existence: ClassVar[Existence] = ""
    label: Any = ""

    def put(self, part: Any) -> Any:
        """Return what a part of the theorem that is moved becomes."""
        return part

    def conclude(self, before: Any, after: Any, under: Hypotheses) -> Conclusion:
        """Return what follows.

        Raises:
            Refused: it does not follow, or that is not decided.
        """
        raise NotImplementedError


GATES: tuple[Callable[..., Hypotheses], ...] = ()
"""What refuses what a rule made, or adds to its hypotheses, by rules of its own; the package names them."""


@dataclass(frozen=True, eq=False)
class Theorem:
    """lhs relation rhs, for all values that the hypotheses allow, by a ``rule``."""

    lhs: Any
    relation: str
    rhs: Any
    hypotheses: Hypotheses
    reach: Reach
    order: tuple[Any, int] | None
    rule: Rule

    def __repr__(self) -> str:
        return f"⊢ {self.lhs} {self.relation} {self.rhs}  [{self.reach.name.lower()}]"


def prove(rule: Rule, before: Any, after: Any, under: Hypotheses = NOTHING) -> Theorem:
    """Return the theorem that a rule makes of two sides under hypotheses.

    Raises:
        Refused: the rule does not apply, or what follows is not well formed.
    """
    try:
        return _concluded(rule, before, after, under)
    except Refused:
        raise
    except Exception as error:  # whatever SymPy says of what it was not made for
        text = " ".join(str(error).split())
        raise Refused(f"could not be checked ({type(error).__name__}: {text})") from error


def _concluded(rule: Rule, before: Any, after: Any, under: Hypotheses) -> Theorem:
    premises = tuple(premises_of(rule))
    conclusion = rule.conclude(before, after, under)
    lhs = before if conclusion.lhs is None else conclusion.lhs
    rhs = after if conclusion.rhs is None else conclusion.rhs
    hypotheses = conclusion.hypotheses.merged(under)
    for premise in premises:
        # What a premise assumes its conclusion assumes, but for the theorem that is moved as a whole.
        if not (rule.moves and premise is rule.known):  # type: ignore[attr-defined]
            hypotheses = hypotheses.merged(premise.hypotheses)
    for premise in premises:
        _refuse_turned_random(premise, hypotheses, (lhs, rhs))
    hypotheses = hypotheses.about(lhs, rhs)
    for total in parts_of(lhs, Sum) | parts_of(rhs, Sum):
        for condition in upwards(total):
            hypotheses = hypotheses.having(condition)
    for gate in GATES:
        hypotheses = gate(rule, hypotheses, lhs, rhs)
    refuse_malformed(hypotheses, lhs, rhs)
    refuse_complex(conclusion.relation, hypotheses, lhs, rhs)
    reach = min([conclusion.reach, *(premise.reach for premise in premises)])
    free = free_symbols(lhs) | free_symbols(rhs)
    if any(isinstance(domain, FiniteSet) and symbol in free for symbol, domain in hypotheses.domains):
        reach = min(reach, Reach.THESE_VALUES)
    return Theorem(lhs, conclusion.relation, rhs, hypotheses, reach, conclusion.order, rule)


def _refuse_turned_random(premise: Theorem, theorem: Hypotheses, sides: tuple[Any, ...]) -> None:
    """Refuse that something is random that a premise with a mean took for a constant.

    Under a law that is all else in it; without one, what stands outside its means.

    Raises:
        Refused: it is.
    """
    theirs = (premise.lhs, premise.rhs)
    if not any(parts_of(side, E, Var) for side in theirs):
        return
    now = random_names(theorem, *sides, *theirs)
    if premise.hypotheses.law is None:
        held, there = now, [outside_means(side) for side in theirs]
    else:
        held, there = now - random_names(premise.hypotheses, *theirs), list(theirs)
    for one in held:
        if any(has_any(side, [one]) for side in there):
            raise Refused(f"{one} is random in one part, and a constant in another")


def premises_of(rule: Rule) -> Iterator[Theorem]:
    """Yield the theorems that a rule rests on."""
    for part in fields(rule):  # type: ignore[arg-type]
        value = getattr(rule, part.name)
        for one in value if isinstance(value, tuple) else (value,):
            if isinstance(one, Theorem):
                yield one


_COMPOSED = (
    {("=", one): one for one in "=≤<≥>~"}
    | {(one, "="): one for one in "=≤<≥>~"}
    | {(a, b): c for a, b, c in ("≤≤≤", "≤<<", "<≤<", "<<<", "≥≥≥", "≥>>", ">≥>", ">>>", "~~~")}
    | {("⇔", "⇔"): "⇔"}
)

FLIPPED = {"=": "=", "≤": "≥", "≥": "≤", "<": ">", ">": "<", "⇔": "⇔"}


@dataclass(frozen=True)
class Chain(Rule):
    """From a R b and b R' c what the table makes of both: a R″ c."""

    first: Theorem
    second: Theorem

    def conclude(self, before: Any, after: Any, under: Hypotheses) -> Conclusion:
        """Return the composed relation."""
        first, second = self.first, self.second
        if first.rhs != second.lhs:
            raise Refused(f"the chain breaks: {first.rhs} and {second.lhs}")
        if (first.relation, second.relation) not in _COMPOSED:
            raise Refused(f"nothing follows from {first.relation} and {second.relation} in one chain")
        orders = [one for one in (first.order, second.order) if one]
        if len({symbol for symbol, _ in orders}) > 1:
            raise Refused("first terms in two symbols")
        order = min(orders, key=lambda one: one[1]) if orders else None
        return Conclusion(_COMPOSED[first.relation, second.relation], order=order)


def chained(first: Theorem, second: Theorem) -> Theorem:
    """Return the theorem that two make one after the other."""
    return prove(Chain(first, second), first.lhs, second.rhs)


@dataclass(frozen=True)
class Same(Rule):
    """Anything equals itself, where it is defined."""

    def conclude(self, before: Any, after: Any, under: Hypotheses) -> Conclusion:
        """Return the equation."""
        if before != after:
            raise Refused("two different expressions")
        return Conclusion("⇔" if isinstance(before, Rel) else "=")


@dataclass(frozen=True)
class Reviewed(Rule):
    """What an author's own rule says, checked by a reader: below proved, and printed as such."""

    words: str
    relation: str = "="
    numerically: bool = False

    def conclude(self, before: Any, after: Any, under: Hypotheses) -> Conclusion:
        """Return what the author says."""
        if self.relation not in FLIPPED:
            raise Refused(f"{self.relation} is no relation")
        reach = Reach.NUMERICALLY if self.numerically else Reach.REVIEWED
        return Conclusion(self.relation, reach=reach)
