"""Theorems: hypotheses, two sides, a relation and a reach, made by rules alone and made again by replay.

``prove`` is the only maker. It takes a rule of the kernel's own, what the rule is applied to, and lets the
rule say what follows: the relation, the hypotheses and the reach are the rule's, never the author's. One gate
refuses what is not well formed, and ``Chain`` composes relations by a table. Python cannot keep a seal, so a
theorem keeps its rule, and whatever was stored or comes from elsewhere is replayed.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextvars import copy_context
from dataclasses import dataclass, fields, is_dataclass, replace
from enum import IntEnum
from typing import Any, ClassVar, Literal
from weakref import WeakKeyDictionary

from sympy import Basic, Eq, FiniteSet, Ge, Gt, Le, Lt, Ne, Rel, S, Sum, Symbol  # fmt: skip
from sympy.logic.boolalg import BooleanFalse, BooleanTrue
from sympy.sets.sets import Set

from verify.symbolic.kernel.gate import (
    at_least_0,
    bound_in,
    depending_on,
    outside_means,
    random_names,
    refuse_complex,
    refuse_hidden_random,
    refuse_malformed,
    refuse_unless_large,
    upwards,
)
from verify.symbolic.kernel.hypotheses import (
    NOTHING,
    Hypotheses,
    Population,
    Refused,
    Vectors,
    free_symbols,
    has_any,
    parts_of,
    proving,
)
from verify.symbolic.kernel.words import E, Var, is_word


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
    """A way to a theorem. Only those that the kernel's own modules register prove anything.

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


_RULES: set[type[Rule]] = set()
_GATES: tuple[Callable[..., Hypotheses], ...] = ()
_open = True


def rule(kind: type[Rule]) -> type[Rule]:
    """Register a rule of the kernel's own; none is taken once the kernel has been imported.

    Raises:
        Refused: it comes too late.
    """
    if not _open:
        raise Refused(f"{kind.__name__}: the kernel's rules are complete; use `by` for a rule of your own")
    _RULES.add(kind)
    return kind


def close(*gates: Callable[..., Hypotheses]) -> frozenset[type[Rule]]:
    """End the registration, and return all rules.

    ``gates`` refuse what a rule made, or add to its hypotheses, by what is known of signs and ranges.
    """
    global _open, _RULES, _GATES  # noqa: PLW0603
    _open, _GATES = False, gates
    _RULES = frozenset(_RULES)  # type: ignore[assignment]
    return _RULES  # type: ignore[return-value]


class Theorem:
    """lhs relation rhs, for all values that the hypotheses allow. Made by ``prove`` alone."""

    __slots__ = ("__weakref__", "hypotheses", "lhs", "order", "reach", "relation", "rhs", "rule", "under")
    lhs: Any
    relation: str
    rhs: Any
    hypotheses: Hypotheses
    reach: Reach
    order: tuple[Any, int] | None
    rule: Rule
    under: Hypotheses

    def __init__(self, *_given: Any) -> None:
        raise TypeError("only `prove` makes a theorem")

    def __init_subclass__(cls) -> None:
        raise TypeError("a theorem has no other kinds")

    def __setattr__(self, name: str, value: Any) -> None:
        raise AttributeError("a theorem does not change")

    def __repr__(self) -> str:
        return f"⊢ {self.lhs} {self.relation} {self.rhs}  [{self.reach.name.lower()}]"

    def __reduce__(self) -> tuple[Any, tuple[Any, ...]]:
        return prove, (self.rule, self.lhs, self.rhs, self.under)


_FIELDS = ("lhs", "relation", "rhs", "hypotheses", "reach", "order", "rule", "under")

_made: WeakKeyDictionary[Theorem, tuple[Any, ...]] = WeakKeyDictionary()


def is_theorem(one: Any) -> bool:
    """Return whether this is a theorem that ``prove`` made in this process, unchanged."""
    if type(one) is not Theorem or one not in _made:
        return False
    *made, sealed = _made[one]
    same = all(getattr(one, name, None) is kept for name, kept in zip(_FIELDS, made, strict=True))
    return same and sealed == _seal(one.hypotheses)


def _seal(hypotheses: Hypotheses) -> int:
    """Return what changes with anything in hypotheses that is set behind their back."""
    return hash((hypotheses, *(vars(hypotheses.law).values() if hypotheses.law else ())))


def prove(rule: Rule, before: Any, after: Any, under: Hypotheses = NOTHING) -> Theorem:
    """Return the theorem that a rule makes of two sides under hypotheses.

    Raises:
        Refused: the rule is none of the kernel's, does not apply, or what follows is not well formed.
    """
    try:
        return copy_context().run(_concluded, rule, before, after, under)
    except Refused:
        raise
    except Exception as error:  # whatever SymPy says of what it was not made for
        text = " ".join(str(error).split())
        raise Refused(f"could not be checked ({type(error).__name__}: {text})") from error


def _concluded(rule: Rule, before: Any, after: Any, under: Hypotheses) -> Theorem:
    if not any(type(rule) is one for one in _RULES):  # a class may claim to equal another
        raise Refused(f"{type(rule).__name__} is no rule of the kernel")
    given = [getattr(rule, part.name) for part in fields(rule)]  # type: ignore[arg-type]
    admit((before, after, under, *given))
    proving.set(True)
    premises = tuple(premises_of(rule))
    found = rule.conclude(before, after, under)
    lhs = before if found.lhs is None else found.lhs
    rhs = after if found.rhs is None else found.rhs
    hypotheses = found.hypotheses.merged(under)
    for premise in premises:
        # What a premise assumes its conclusion assumes, but for the theorem that is moved as a whole.
        if not (rule.moves and premise is rule.known):  # type: ignore[attr-defined]
            hypotheses = hypotheses.merged(premise.hypotheses)
    for premise in premises:
        _refuse_turned_random(premise, hypotheses, (lhs, rhs))
        _refuse_turned_dependent(premise, hypotheses)
    for one in given:
        refuse_hidden_random(one, hypotheses, lhs, rhs)
    hypotheses = _where_possible(rule, hypotheses.about(lhs, rhs), lhs, rhs)
    refuse_malformed(hypotheses, lhs, rhs)
    admit((lhs, rhs))  # what was put in may be at a pole
    refuse_complex(found.relation, hypotheses, lhs, rhs)
    refuse_unless_large(found.order, hypotheses, lhs, rhs)
    reach = min([found.reach, *(premise.reach for premise in premises)])
    free = free_symbols(lhs) | free_symbols(rhs)
    if any(isinstance(to, FiniteSet) and one in free for one, to in hypotheses.domains):
        reach = min(reach, Reach.THESE_VALUES)
    theorem: Theorem = object.__new__(Theorem)
    kept = (lhs, found.relation, rhs, hypotheses, reach, found.order, rule, under)
    for name, value in zip(_FIELDS, kept, strict=True):
        object.__setattr__(theorem, name, value)
    _made[theorem] = (*kept, _seal(hypotheses))
    return theorem


def _where_possible(rule: Rule, found: Hypotheses, *sides: Any) -> Hypotheses:
    """Return hypotheses under which sums run upwards, or are empty, a law has its covariances, and the gates.

    Raises:
        Refused: one never does, or that is not decided.
    """
    for total in set().union(*(parts_of(side, Sum) for side in sides)):
        for condition in upwards(total):
            found = found.having(condition)
    for minor in found.law.minors() if isinstance(found.law, Vectors) else ():
        found = found.having(at_least_0(minor, f"no vectors have these covariances, for which {minor} ≥ 0"))
    for gate in _GATES:
        found = gate(rule, found, *sides)
    return found


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


def _refuse_turned_dependent(premise: Theorem, found: Hypotheses) -> None:
    """Refuse that a definition makes a constant of a premise depend on what is bound there.

    Raises:
        Refused: it does.
    """
    if isinstance(premise.rule, Same):
        return
    taken = dict(premise.hypotheses.definitions)
    for bound in bound_in(premise.lhs) | bound_in(premise.rhs):
        for one in depending_on(bound, found) - depending_on(bound, premise.hypotheses):
            if one not in taken and any(has_any(side, [one]) for side in (premise.lhs, premise.rhs)):
                raise Refused(f"{one} depends on {bound} in one part, and is a constant in another")


def premises_of(rule: Rule) -> Iterator[Theorem]:
    """Yield the theorems that a rule rests on."""
    for part in fields(rule):  # type: ignore[arg-type]
        value = getattr(rule, part.name)
        for one in value if isinstance(value, tuple) else (value,):
            if isinstance(one, Theorem):
                yield one


def replayed(theorem: Theorem) -> Theorem:
    """Return the theorem made again from its rule, its premises and their premises.

    Raises:
        Refused: what is made is not what it says.
    """
    given = theorem.rule
    again: dict[str, Any] = {}
    for part in fields(given):  # type: ignore[arg-type]
        value = getattr(given, part.name)
        if isinstance(value, Theorem):
            again[part.name] = replayed(value)
        elif isinstance(value, tuple) and any(isinstance(one, Theorem) for one in value):
            again[part.name] = tuple(replayed(one) if isinstance(one, Theorem) else one for one in value)
    before, after = (theorem.lhs, theorem.rhs) if not given.moves else (S.Zero, theorem.rhs)
    found = prove(replace(given, **again) if again else given, before, after, theorem.under)  # type: ignore[type-var]
    for name in ("lhs", "relation", "rhs", "hypotheses", "reach", "order"):
        if getattr(found, name) != getattr(theorem, name):
            raise Refused(f"replayed, its {name} is {getattr(found, name)}, not {getattr(theorem, name)}")
    return found


_PLAIN = frozenset(map(id, [bool, int, str, type(None), Reach]))

_BESIDE = frozenset(map(id, [Eq, Ne, Lt, Le, Gt, Ge, BooleanTrue, BooleanFalse]))
"""Relations, and what they and the ends of intervals come to, by identity like all classes here."""


def admit(one: Any) -> None:
    """Refuse whatever is not plain data of the kernel's vocabulary.

    Raises:
        Refused: it is something else, such as an object that claims to equal everything.
    """
    _admit(one, {})


def _admit(one: Any, seen: dict[int, Any]) -> None:
    kind = type(one)
    if kind is Theorem:
        if not is_theorem(one):
            raise Refused("a premise is no theorem of this process, or was changed; replay it")
    elif isinstance(one, Basic):
        _admit_expression(one, seen)
    elif id(kind) not in _PLAIN:
        for part in _parts_of(one):
            _admit(part, seen)


def _admit_expression(one: Basic, seen: dict[int, Any]) -> None:
    """Refuse an expression, a relation or a set with a node that is no word of the kernel.

    Nodes that were ``seen`` are known by identity, for a part may claim to equal another.
    """
    waiting = [one]
    while waiting:
        node = waiting.pop()
        if id(node) in seen:
            continue
        seen[id(node)] = node
        if not (is_word(node) or id(type(node)) in _BESIDE or _is_set(node)):
            raise Refused(f"{type(node).__name__} is no word of the kernel: {str(node)[:60]}{_why(node)}")
        waiting += node.args


def _why(node: Basic) -> str:
    """Return what a symbol may be; empty for anything else."""
    if not isinstance(node, Symbol):
        return ""
    return (
        "; a symbol assumes that it is real, positive, negative, nonnegative or an integer, or nothing, and "
        "its name begins with a letter; say all else by a domain"
    )


def _is_set(node: Basic) -> bool:
    return isinstance(node, Set) and _is_of(type(node), "sympy.sets.")


def _is_of(kind: type, package: str) -> bool:
    """Return whether a class is one of a package's own, and does not only say so."""
    said = kind.__module__
    if type(said) is not str or not said.startswith(package):
        return False
    return getattr(sys.modules.get(said), kind.__name__, None) is kind


def _parts_of(one: Any) -> tuple[Any, ...]:
    """Return what a plain container, or a record of the kernel's own, holds."""
    kind = type(one)
    if kind is tuple or kind is frozenset:
        return tuple(one)
    if kind is dict:
        return tuple(one.items())
    if is_dataclass(one) and _is_of(kind, "verify.symbolic.kernel."):
        parts = tuple(getattr(one, part.name) for part in fields(one))
        if kind is Population and hash(one) != hash(parts):  # what was found of it is kept by that
            raise Refused("a law was changed")
        return parts
    raise Refused(f"{kind.__name__} is no word of the kernel")


_COMPOSED = (
    {("=", one): one for one in "=≤<≥>~"}
    | {(one, "="): one for one in "=≤<≥>~"}
    | {(a, b): c for a, b, c in ("≤≤≤", "≤<<", "<≤<", "<<<", "≥≥≥", "≥>>", ">≥>", ">>>", "~~~")}
    | {("⇔", "⇔"): "⇔"}
)

FLIPPED = {"=": "=", "≤": "≥", "≥": "≤", "<": ">", ">": "<", "⇔": "⇔"}


@rule
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
        if (before, after) != (first.lhs, second.rhs):
            raise Refused("the chain has other ends")
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


@rule
@dataclass(frozen=True)
class Same(Rule):
    """Anything equals itself, where it is defined."""

    def conclude(self, before: Any, after: Any, under: Hypotheses) -> Conclusion:
        """Return the equation."""
        if before != after:
            raise Refused("two different expressions")
        return Conclusion("⇔" if isinstance(before, Rel) else "=")


@rule
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
