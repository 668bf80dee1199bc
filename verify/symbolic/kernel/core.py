"""Theorems: hypotheses, two sides, a relation and a reach, made by rules alone and made again by replay.

``prove`` is the only maker. It takes a rule of the kernel's own, what the rule is applied to, and lets the
rule say what follows: the relation, the hypotheses and the reach are the rule's, never the author's. One gate
refuses what is not well formed, and ``Chain`` composes relations by a table. Python cannot keep a seal, so a
theorem keeps its rule, and whatever was stored or comes from elsewhere is replayed.
"""

from __future__ import annotations

import re
import sys
from contextvars import ContextVar, copy_context
from dataclasses import dataclass, fields, is_dataclass, replace
from enum import IntEnum
from functools import cache, wraps
from itertools import combinations, combinations_with_replacement
from typing import TYPE_CHECKING, Any, ClassVar, ParamSpec, TypeVar
from weakref import WeakKeyDictionary

from sympy import (
    Basic,
    Derivative,
    Dummy,
    Eq,
    FiniteSet,
    Function,
    Ge,
    Gt,
    Idx,
    Indexed,
    IndexedBase,
    Integral,
    Intersection,
    Interval,
    Le,
    Limit,
    Lt,
    Matrix,
    Mul,
    Ne,
    Pow,
    Range,
    Rel,
    S,
    Sum,
    Symbol,
    exp,
    expand,
    factor,
    fraction,
    latex,
    log,
    oo,
    preorder_traversal,
    together,
)  # fmt: skip
from sympy.core.function import AppliedUndef
from sympy.core.sorting import default_sort_key
from sympy.logic.boolalg import BooleanFalse, BooleanTrue
from sympy.matrices.expressions import MatrixSymbol
from sympy.sets.sets import Set, Union

from verify.symbolic.kernel.words import RELATION, E, Ordered, Var, is_word, largest, p, s

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping


class Refused(Exception):  # noqa: N818  # a rule refuses
    """A rule does not apply, a side condition is not decided, or what follows is not well formed."""


class Reach(IntEnum):
    """How far a theorem reaches; that of a whole is the least of its parts."""

    NUMERICALLY = 0
    REVIEWED = 1
    THESE_VALUES = 2
    ALL_VALUES = 3


_NAMES = (Symbol, Indexed, IndexedBase, MatrixSymbol)
_MOST_VECTORS = 6
"""The most dependent vectors whose covariances by numbers are decided."""

_proving = ContextVar("_proving", default=False)
_Given = ParamSpec("_Given")
_Found = TypeVar("_Found")


def kept(function: Callable[_Given, _Found]) -> Callable[_Given, _Found]:
    """Return a function that keeps what it found, while a theorem is made apart from all other times.

    Only what a theorem is made of is admitted; another object may claim to equal everything.
    """

    @cache
    def found(_while_proving: bool, *given: _Given.args, **named: _Given.kwargs) -> _Found:
        return function(*given, **named)

    @wraps(function)
    def asked(*given: _Given.args, **named: _Given.kwargs) -> _Found:
        return found(_proving.get(), *given, **named)  # type: ignore[arg-type]  # all can be hashed

    return asked


@kept  # SymPy walks through equal parts again, and through the whole for each question
def _all_parts(expression: Any) -> frozenset[Any]:
    found: set[Any] = set()
    waiting = [expression]
    while waiting:
        one = waiting.pop()
        if one not in found:
            found.add(one)
            waiting.extend(one.args)
    return frozenset(found)


@kept
def parts_of(expression: Any, *kinds: Any) -> frozenset[Any]:
    """Return the parts of these kinds in an expression, itself among them."""
    return frozenset(one for one in _all_parts(expression) if isinstance(one, kinds))


@kept
def free_symbols(expression: Any) -> frozenset[Any]:
    """Return the symbols in an expression that are not bound there."""
    return frozenset(expression.free_symbols)


def has_any(expression: Any, names: Iterable[Any]) -> bool:
    """Return whether one of some names occurs in an expression, bound or free."""
    inside = _all_parts(expression)
    return any(one in inside if isinstance(one, _NAMES) else expression.has(one) for one in names)


def component(atom: Any) -> Any:
    """Return the component that ``atom`` is an entry of, or is."""
    return atom.base if isinstance(atom, Indexed) else atom


@dataclass(frozen=True, init=False)
class Population:
    """Independent random components: what each is, and what is assumed of its law.

    ``laws`` pairs every component with its raw moments (1, E x, E x², …) as far as they are assumed, or with
    None where any law will do; ``moments`` is the same as a dictionary. An ``IndexedBase`` stands for entries
    that are independent and alike over their index, a ``Symbol`` for one random variable. ``dimension`` is
    the symbol of the upper limit of sums over the index, ``alike`` are groups of components that follow one
    law, ``normal`` those whose law is normal.
    """

    laws: tuple[tuple[Any, tuple[Any, ...] | None], ...]
    dimension: Symbol | None
    alike: tuple[tuple[Any, ...], ...]
    normal: tuple[Any, ...]

    def __init__(
        self,
        moments: Mapping[Any, Any],
        dimension: Symbol | None = None,
        alike: tuple[tuple[Any, ...], ...] = (),
        normal: tuple[Any, ...] = (),
    ) -> None:
        laws = tuple((one, None if law is None else tuple(map(S, law))) for one, law in moments.items())
        given = {"laws": laws, "dimension": dimension, "alike": alike, "normal": normal}
        for name, value in given.items():
            object.__setattr__(self, name, value)
        object.__setattr__(self, "_hash", hash(tuple(given.values())))

    def __hash__(self) -> int:
        return self._hash  # type: ignore[attr-defined, no-any-return]

    @property
    def moments(self) -> dict[Any, tuple[Any, ...] | None]:
        """The assumed moments by component."""
        return dict(self.laws)

    def of_any_law(self) -> Population:
        """Return the same components with nothing assumed but independence, and which are ``alike``."""
        return Population(dict.fromkeys(self.moments), self.dimension, self.alike)

    def moment(self, atom: Any, order: int) -> Any:
        """Return E[x**order] of a component, or of an entry of one.

        Raises:
            Refused: nothing is assumed about that moment.
        """
        known = self.moments[component(atom)]
        if known is None or order >= len(known):
            raise Refused(f"nothing is assumed about the moment of order {order} of {component(atom)}")
        return known[order]

    def is_random(self, atom: Any) -> bool:
        """Return whether ``atom`` is one of the components or an entry of one."""
        return component(atom) in self.moments

    def randoms(self, expression: Any) -> list[Any]:
        """Return the components and entries in ``expression``, in a fixed order."""
        atoms = expression.atoms(Indexed) | {
            one for one in expression.atoms(Symbol) if not isinstance(one, Idx) and self.is_random(one)
        }
        return sorted((one for one in atoms if self.is_random(one)), key=default_sort_key)

    def with_laws_of(self, other: Population | Vectors) -> Population:
        """Return the components of both, each with what either assumes.

        Raises:
            Refused: they assume different things of one component.
        """
        if isinstance(other, Vectors):
            raise Refused("random vectors beside other laws")
        if self.dimension and other.dimension and self.dimension != other.dimension:
            raise Refused(f"two dimensions: {self.dimension} and {other.dimension}")
        found = self.moments
        for one, law in other.laws:
            mine, theirs = found.get(one) or (), law or ()
            if any(a != b for a, b in zip(mine, theirs, strict=False)):
                raise Refused(f"two laws of {one}: {mine} and {theirs}")
            found[one] = max(mine, theirs, key=len) or None
        normal = tuple(dict.fromkeys((*self.normal, *other.normal)))
        alike = tuple(dict.fromkeys((*self.alike, *other.alike)))
        return Population(found, self.dimension or other.dimension, alike, normal)


@dataclass(frozen=True)
class Vectors:
    """Random vectors with real entries, d×1 matrices: their means, and the covariances of those that depend.

    ``means`` pairs each vector with its mean, a d×1 matrix or 0. ``covariances`` are (one, other, matrix),
    the matrix of Cov(one_i, other_j); a number c stands for c times the unit matrix. Vectors that no
    covariances link are independent. If ``normal`` those that are linked are jointly normal; else nothing
    more is assumed of them.
    """

    means: tuple[tuple[Any, Any], ...]
    covariances: tuple[tuple[Any, Any, Any], ...]
    normal: bool = False

    def __post_init__(self) -> None:
        for name in ("means", "covariances"):
            object.__setattr__(self, name, tuple(tuple(map(S, one)) for one in getattr(self, name)))

    @property
    def moments(self) -> dict[Any, None]:
        """The vectors, none of which stands for any other law."""
        return dict.fromkeys(one for one, _ in self.means)

    def groups(self) -> tuple[tuple[Any, ...], ...]:
        """Return the vectors in groups that are independent of each other."""
        found = [{one} for one in self.moments]
        for one, other, _ in self.covariances:
            linked = [group for group in found if group & {one, other}]
            found = [*(group for group in found if group not in linked), set().union(*linked)]
        return tuple(tuple(one for one in self.moments if one in group) for group in found)

    def minors(self) -> Iterator[Any]:
        """Yield what must not be negative so that there are such vectors: minors of covariances by numbers.

        Covariances by matrices are what they are named, and may be 0 or as large as need be.

        Raises:
            Refused: numbers stand beside matrices or what is not given, so that it is not decided.
        """
        given = {frozenset(pair): matrix for *pair, matrix in self.covariances if not matrix.is_Matrix}
        for group in self.groups():
            pairs = [*combinations_with_replacement(group, 2)]
            known = [frozenset(pair) for pair in pairs if frozenset(pair) in given]
            if len(group) == 1 or all(len(pair) == 1 or given[pair] == 0 for pair in known):
                yield from (given[pair] for pair in known)
                continue
            if len(known) < len(pairs) or len(group) > _MOST_VECTORS:
                names = ", ".join(map(str, group))
                raise Refused(f"whether {names} have these covariances is not known: give each as a number")
            for size in range(1, len(group) + 1):
                for chosen in combinations(group, size):
                    table = Matrix(size, size, lambda a, b, at=chosen: given[frozenset({at[a], at[b]})])
                    yield expand(table.det())

    def with_laws_of(self, other: Any) -> Vectors:
        """Return these, which go with nothing else.

        Raises:
            Refused: always.
        """
        raise Refused("random vectors beside other laws")


@dataclass(frozen=True)
class Hypotheses:
    """What a theorem assumes; the page prints all of it.

    ``domains`` restrict symbols beyond what their own assumptions say, ``conditions`` are relations among
    several symbols, ``law`` is that of what is averaged, None where any will do. ``definitions`` say which
    expression a symbol, or the entry of a family, stands for. ``entries`` are properties of families, such as
    ("ordered", p): the first is the largest, the second the next; and ("runs", i, n): the index i is one of
    1, …, n wherever it is free.
    """

    domains: tuple[tuple[Any, Set], ...] = ()
    conditions: frozenset[Any] = frozenset()
    law: Population | Vectors | None = None
    definitions: tuple[tuple[Any, Any], ...] = ()
    entries: frozenset[tuple[Any, ...]] = frozenset()

    def domain(self, symbol: Any) -> Set:
        """Return the values that a symbol may have."""
        domains = [to for one, to in self.domains if one == symbol]
        return _in_both(assumed(symbol), *domains) if domains else assumed(symbol)

    @property
    def ranges(self) -> dict[Any, Any]:
        """Up to where free indices run, from 1 on."""
        return {about[0]: about[1] for kind, *about in self.entries if kind == "runs"}

    def about(self, *sides: Any) -> Hypotheses:
        """Return these without the ranges of indices that are free nowhere; there is a first of each."""
        stated = (*sides, *self.conditions, *(meaning for _, meaning in self.definitions))
        free = set().union(*map(free_symbols, stated))
        idle = {one for one, size in self.ranges.items() if one not in free and size.is_positive}
        kept = (one for one in self.entries if one[0] != "runs" or one[1] not in idle)
        return replace(self, entries=frozenset(kept))

    def restricted(self, symbol: Any, to: Set) -> Hypotheses:
        """Return these with a symbol restricted to a set.

        Raises:
            Refused: no value is left.
        """
        now = self.domain(symbol)
        new = _in_both(now, to)
        if new is S.EmptySet:
            raise Refused(f"no value of {symbol} is left")
        if new == now:
            return self
        domains = {**dict(self.domains), symbol: new}
        return replace(self, domains=tuple(sorted(domains.items(), key=lambda item: str(item[0]))))

    def having(self, condition: Any) -> Hypotheses:
        """Return these and one more relation; one in a single symbol cuts that symbol's domain.

        Raises:
            Refused: it is false.
        """
        condition = _plainer(condition)
        if condition == True:  # noqa: E712  # SymPy's truth
            return self
        if condition == False:  # noqa: E712
            raise Refused("a condition is false")
        free = list(condition.free_symbols)
        if (
            len(free) == 1
            and type(free[0]) in _SYMBOLS
            and condition.lhs.is_polynomial()
            and condition.rhs.is_Rational
        ):
            return self.restricted(free[0], _where(condition, free[0]))
        return replace(self, conditions=self.conditions | {condition})

    def defining(self, *definitions: tuple[Any, Any]) -> Hypotheses:
        """Return these and more definitions.

        Raises:
            Refused: one symbol stands for two things.
        """
        found = dict(self.definitions)
        for name, meaning in definitions:
            if found.setdefault(name, meaning) != meaning:
                raise Refused(f"{name} stands for two things: {found[name]} and {meaning}")
        return replace(self, definitions=tuple(sorted(found.items(), key=lambda item: str(item[0]))))

    def merged(self, other: Hypotheses) -> Hypotheses:
        """Return what both assume together.

        Raises:
            Refused: they contradict each other.
        """
        laws = [one for one in (self.law, other.law) if one]
        law = laws[0] if len(set(laws)) == 1 else laws[0].with_laws_of(laws[1]) if laws else None
        found = replace(
            self,
            conditions=self.conditions | other.conditions,
            law=law,
            entries=self.entries | other.entries,
        ).defining(*other.definitions)
        for one in other.domains:
            found = found if one in self.domains else found.restricted(*one)
        if len(found.ranges) != sum(one[0] == "runs" for one in found.entries):
            raise Refused("an index runs over two ranges")
        return found


NOTHING = Hypotheses()
"""No hypotheses but the symbols' own domains."""


@kept
def _in_both(one: Set, other: Set) -> Set:
    return Intersection(one, other)


@kept
def _where(condition: Any, symbol: Any) -> Set:
    """Return the real numbers for which a relation in one symbol holds; some complex number may not do."""
    shift = condition.lhs - symbol  # by hand, for SymPy takes long
    if shift.is_number and shift.is_real and isinstance(condition, Ge | Gt | Ne):
        end = condition.rhs - shift
        above = Interval(end, oo, left_open=not isinstance(condition, Ge))
        return Union(Interval.open(-oo, end), above) if isinstance(condition, Ne) else above
    return Intersection(S.Reals, condition.xreplace({symbol: Dummy(real=True)}).as_set())


def _plainer(condition: Any) -> Any:
    """Return e > 0 or e ≠ 0 as what it is equivalent to: without positive factors, roots and logarithms."""
    if not isinstance(condition, Ne | Gt) or condition.rhs != 0:
        return condition
    top, bottom = fraction(together(condition.lhs))
    known = "is_positive" if isinstance(condition, Gt) else "is_nonzero"
    rest = Mul(*(one for one in Mul.make_args(factor(top)) if not getattr(one, known)))
    kind = condition.func
    if isinstance(rest, Pow) and rest.exp == S.Half:
        rest = rest.base
    elif isinstance(rest, Pow) and rest.exp.is_even and rest.exp.is_positive and rest.base.is_real:
        kind, rest = Ne, rest.base
    elif isinstance(rest, log) and kind is Gt:
        rest = rest.args[0] - 1
    if not bottom.is_positive or rest == condition.lhs:
        return condition
    return _plainer(kind(rest, 0))


@kept
def assumed(symbol: Any) -> Set:
    """Return the domain that a symbol's own assumptions say; they are hypotheses like all others."""
    if symbol.is_integer:
        low = 1 if symbol.is_positive else 0 if symbol.is_nonnegative else None
        return S.Integers if low is None else Range(low, oo)
    if symbol.is_positive:
        return Interval.open(0, oo)
    if symbol.is_nonnegative:
        return Interval(0, oo)
    if symbol.is_negative:
        return Interval.open(-oo, 0)
    if symbol.is_real:
        return S.Reals - FiniteSet(0) if symbol.is_zero is False else S.Reals
    return S.Complexes


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


class Rule:
    """A way to a theorem. Only those that the kernel's own modules register prove anything.

    A rule is a frozen dataclass whose fields are expressions, theorems and other plain values. ``conclude``
    gets the two sides, of which the second is what the author says follows, and the hypotheses so far; it
    decides or refuses. ``moves`` is whether it turns a whole theorem, its field ``known``, into another,
    ``integrates`` whether it shows by itself that the integrals in its two sides converge.
    """

    moves: ClassVar[bool] = False
    integrates: ClassVar[bool] = False
    label: Any = ""

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
    return all(getattr(one, name, None) is kept for name, kept in zip(_FIELDS, _made[one], strict=True))


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
    _proving.set(True)
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
    _refuse_complex(found.relation, hypotheses, lhs, rhs)
    _refuse_unless_large(found.order, hypotheses, lhs, rhs)
    reach = min([found.reach, *(premise.reach for premise in premises)])
    free = free_symbols(lhs) | free_symbols(rhs)
    if any(isinstance(to, FiniteSet) and one in free for one, to in hypotheses.domains):
        reach = min(reach, Reach.THESE_VALUES)
    theorem: Theorem = object.__new__(Theorem)
    kept = (lhs, found.relation, rhs, hypotheses, reach, found.order, rule, under)
    for name, value in zip(_FIELDS, kept, strict=True):
        object.__setattr__(theorem, name, value)
    _made[theorem] = kept
    return theorem


def _where_possible(rule: Rule, found: Hypotheses, *sides: Any) -> Hypotheses:
    """Return hypotheses under which sums run upwards, or are empty, a law has its covariances, and the gates.

    Raises:
        Refused: one never does, or that is not decided.
    """
    for total in set().union(*(parts_of(side, Sum) for side in sides)):
        for condition in _upwards(total):
            found = found.having(condition)
    for minor in found.law.minors() if isinstance(found.law, Vectors) else ():
        found = found.having(_at_least_0(minor, f"no vectors have these covariances, for which {minor} ≥ 0"))
    for gate in _GATES:
        found = gate(rule, found, *sides)
    return found


@kept
def _upwards(total: Any) -> tuple[Any, ...]:
    """Return the conditions under which a sum runs upwards, or is empty; none where it surely does.

    Raises:
        Refused: it never does, or that is not decided.
    """
    found = []
    for index, low, high in total.limits:
        terms = high - low + 1
        if terms.is_integer and terms.is_nonnegative:
            continue
        inner = {one for one in free_symbols(terms) if isinstance(one, Idx) or one in bound_in(total)}
        if inner or not terms.is_integer:
            raise Refused(f"not known: {index} runs upwards, from one whole number to another, in {total}")
        found.append(_at_least_0(terms, f"{index} runs backwards in {total}"))
    return tuple(found)


def _at_least_0(number: Any, otherwise: str) -> Any:
    """Return that a number is not negative, as a relation.

    Raises:
        Refused: it is, or may be complex.
    """
    if not number.is_real or number.is_negative:
        raise Refused(otherwise)
    return number >= 0


def refuse_hidden_random(law: Any, under: Hypotheses, *sides: Any) -> None:
    """Refuse what would count as a constant under what may be a law, and is made of what is random.

    Raises:
        Refused: there is something.
    """
    if not isinstance(law, Population | Vectors):
        return
    hidden = random_names(replace(under, law=law)) - law.moments.keys()
    for one in hidden | ({p, largest} if s in law.moments else set()):
        if any(has_any(side, [one]) for side in sides):
            raise Refused(f"{one} is made of what is random, and no constant")


def _refuse_complex(relation: str, hypotheses: Hypotheses, *sides: Any) -> None:
    """Refuse an order of what may be complex numbers.

    Raises:
        Refused: it is one.
    """
    if relation not in "≤<≥>":
        return
    for one in set().union(*map(free_symbols, sides)) - labels_in(*sides):
        if type(one) in _SYMBOLS and hypotheses.domain(one) == S.Complexes:
            raise Refused(f"{one} may be any complex number, and these have no order")


def _refuse_unless_large(order: tuple[Any, int] | None, found: Hypotheses, *sides: Any) -> None:
    """Refuse first terms for large values of a symbol that is bounded, or does not grow alone.

    Raises:
        Refused: it is such a symbol.
    """
    if order is None:
        return
    large, _ = order
    if found.domain(large).sup != oo:
        raise Refused(f"{large} is bounded")
    for one in depending_on(large, found) - {large}:
        if any(side.has(one) for side in sides):
            raise Refused(f"{one} depends on {large}")
    for condition in found.conditions:
        if large in condition.free_symbols and not isinstance(condition, Ne):
            raise Refused(f"not known for large {large}: {condition}")


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


def depending_on(symbol: Any, found: Hypotheses) -> set[Any]:
    """Return what is defined by a symbol, and the symbol itself."""
    holding = {symbol}
    for _ in found.definitions:
        holding |= {_of_all(name) for name, meaning in found.definitions if has_any(meaning, holding)}
    return holding


def _of_all(name: Any) -> Any:
    """Return the function of which one value is defined, for all others may follow; else what is defined."""
    return name.func if isinstance(name, AppliedUndef) else name


def random_names(hypotheses: Hypotheses, *sides: Any) -> set[Any]:
    """Return what is random: components of the law, and what is defined by them, but not by means of them.

    Where no law is assumed, what is defined by the families inside means: these themselves may be given.
    """
    law = hypotheses.law
    first = set(law.moments) if law else averaged(*sides)
    found = set(first)
    for _ in hypotheses.definitions:
        pairs = ((_of_all(name), outside_means(meaning)) for name, meaning in hypotheses.definitions)
        found |= {name for name, meaning in pairs if has_any(meaning, found)}
    return found if law else found - first


def averaged(*sides: Any) -> set[Any]:
    """Return the families that stand inside a mean; scores, probabilities and the largest go together."""
    means = [one for side in sides for one in parts_of(side, E, Var)]
    found = {base for one in means for base in parts_of(one, IndexedBase)}
    rows = {p, s, largest}
    return found | rows if any(has_any(one, rows) for one in means) else found


def outside_means(side: Any) -> Any:
    """Return an expression with 1 for every mean in it."""
    means = parts_of(side, E, Var)
    return side.xreplace(dict.fromkeys(means, S.One)) if means else side


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
_SYMBOLS = {Symbol, Dummy, Ordered}
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
            raise Refused(f"{type(node).__name__} is no word of the kernel: {str(node)[:60]}")
        waiting += node.args


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
        return tuple(getattr(one, part.name) for part in fields(one))
    raise Refused(f"{kind.__name__} is no word of the kernel")


_BINDERS = (Sum, Integral, Limit)


def bound_in(expression: Any) -> set[Any]:
    """Return the names that sums, integrals and limits of an expression bind."""
    found: set[Any] = set()
    for one in parts_of(expression, *_BINDERS):
        found.update(one.args[1:2] if isinstance(one, Limit) else one.variables)
    return found


def labels_in(*expressions: Any) -> set[Any]:
    """Return the symbols that name families of entries in expressions."""
    return {family.label for one in expressions for family in parts_of(one, IndexedBase)}


def _refuse_labels_as_numbers(hypotheses: Hypotheses, sides: tuple[Any, ...]) -> None:
    """Refuse a symbol that names a family and a number, for what holds of one would be said of the other.

    Raises:
        Refused: there is one.
    """
    stated = (*sides, *hypotheses.conditions)
    numbers = {one for one, _ in (*hypotheses.domains, *hypotheses.definitions)}
    for one in stated:
        numbers |= _numbers_in(one)
    if both := labels_in(*stated) & numbers:
        raise Refused(f"names a family and a number: {', '.join(sorted(map(str, both)))}")


@kept
def _numbers_in(expression: Any) -> frozenset[Any]:
    """Return the symbols of an expression, but for those in its entries."""
    found: set[Any] = set()
    walk = preorder_traversal(expression)
    for node in walk:
        if isinstance(node, Indexed):
            walk.skip()
        elif isinstance(node, Symbol):
            found.add(node)
    return frozenset(found)


def changed_in(expression: Any) -> set[Any]:
    """Return the names that an expression binds, and those by which it differentiates."""
    by = {one for each in parts_of(expression, Derivative) for one in each.variables}
    return bound_in(expression) | by


def refuse_malformed(hypotheses: Hypotheses, *sides: Any) -> None:
    """Refuse two symbols of one name, a name both bound and free, and what is random outside every mean.

    An index may be bound on one side and free on the other: it names any one entry there, and no number.

    Raises:
        Refused: a side is not well formed.
    """
    names: dict[str, Any] = {}
    for side in sides:
        _refuse_names(side)
        for one in parts_of(side, Symbol, MatrixSymbol):
            if names.setdefault(_printed(one.name), one) != one:
                raise Refused(f"two symbols print as {one}")
    _refuse_never(hypotheses)
    _refuse_definitions(hypotheses, *sides)
    if hypotheses.law:
        _refuse_impossible(hypotheses, hypotheses.law)
    for side in sides:
        _refuse_ranges_outside(side)
    _refuse_bound_and_free(hypotheses, sides)
    _refuse_labels_as_numbers(hypotheses, sides)
    if any(parts_of(side, E, Var) for side in sides):
        _refuse_random_outside(hypotheses, sides)


@cache
def _printed(name: str) -> str:
    """Return how a name is printed: d1 as d_1, and alpha as a Greek letter."""
    return re.sub(r"[\s{}]", "", latex(Symbol(name)))


def _refuse_never(hypotheses: Hypotheses) -> None:
    """Refuse a condition that is never true, and a domain of what is no symbol.

    Raises:
        Refused: there is one.
    """
    for condition in hypotheses.conditions:
        if _is_false(condition):
            raise Refused(f"never true: {condition}")
    if any(type(one) not in _SYMBOLS for one, _ in hypotheses.domains):
        raise Refused("only a symbol has a domain")


@kept
def _is_false(condition: Any) -> bool:
    """Return whether a relation is false for all values of its symbols, as far as SymPy knows."""
    return bool(condition.func(*condition.args) == False)  # noqa: E712  # SymPy's truth


def _refuse_bound_and_free(hypotheses: Hypotheses, sides: tuple[Any, ...]) -> None:
    bound = {one for side in sides for one in bound_in(side)}
    stated = set().union(*map(free_symbols, (*sides, *hypotheses.conditions)))
    free = {one for one in stated if not isinstance(one, Idx)} | {one for one, _ in hypotheses.domains}
    for one in hypotheses.conditions:
        free |= free_symbols(one.xreplace(dict.fromkeys(parts_of(one, Indexed), S.One)))
    if bound & free:
        raise Refused(f"a name is bound and free: {', '.join(sorted(map(str, bound & free)))}")


def _refuse_random_outside(hypotheses: Hypotheses, sides: tuple[Any, ...]) -> None:
    """Refuse what is random outside every mean, and what is assumed to equal something.

    Where scores are random probabilities and the largest score are.

    Raises:
        Refused: there is something.
    """
    random = random_names(hypotheses, *sides)
    if s in random:
        random |= {p, largest}
    given = (one for one in hypotheses.conditions if isinstance(one, Eq)) if hypotheses.law else ()
    outside = [outside_means(one) for one in (*sides, *given)]
    for one in random:
        if any(has_any(part, [one]) for part in outside):
            raise Refused(f"{one} is random, and stands outside every mean")


def _refuse_names(side: Any) -> None:
    """Refuse a name that prints as a number, a relation or a mean, or looks like another.

    Raises:
        Refused: there is one.
    """
    directions = {one.args[3] for one in parts_of(side, Limit)}
    named = [one.name for one in parts_of(side, Symbol) - directions if not isinstance(one, Dummy)]
    named += [type(one).__name__ for one in parts_of(side, Function)]
    for name in named:
        # A relation between brackets, as of a probability, says nothing about the whole.
        outside = re.sub(r"\(.*\)|\{.*\}", "", name)
        strange = "$" in outside or RELATION.search(outside) or re.search(r"\\(?:operatorname|math)", name)
        plain = name.isascii() and name.isprintable() and re.match(r"[^\W\d]|[|\\]", name)
        if strange or not plain:
            raise Refused(f"{name} is no name of a symbol")


def _refuse_definitions(hypotheses: Hypotheses, *sides: Any) -> None:
    """Refuse that a symbol stands for what a side binds or differentiates by.

    The symbol would be a constant there, and what it stands for is none.

    Raises:
        Refused: one does.
    """
    if not hypotheses.definitions:
        return
    binders = {one for side in sides for one in parts_of(side, *_BINDERS, Derivative)}
    for name, meaning in hypotheses.definitions:
        if not (type(name) in _SYMBOLS or isinstance(name, IndexedBase | Indexed | AppliedUndef)):
            raise Refused(f"{name} stands for itself")
        if name == largest or (name == p and not _is_softmax(*meaning.args)):
            raise Refused(f"{name} has a meaning of its own, and is not {meaning}")
        if has_any(meaning, depending_on(name, hypotheses)):
            raise Refused(f"{name} is defined by itself")
        if isinstance(name, IndexedBase):
            continue
        changed = {one for each in binders if has_any(each, [_of_all(name)]) for one in changed_in(each)}
        if any(rests_on(meaning, one) for one in changed):
            raise Refused(f"{name} stands for {meaning}, which is no constant here")


def rests_on(meaning: Any, by: Any) -> bool:
    """Return whether a symbol is free in a meaning, or an entry may be one of its family's there."""
    if not isinstance(by, Indexed):
        return by in free_symbols(meaning)
    return has_any(meaning, [by.base, *([p, largest] if by.base == s else [])])


def _is_softmax(indices: Any, weight: Any) -> bool:
    """Return whether a weight is an exponential of what is real over the sum of all."""
    top, total = fraction(weight, exact=True)
    if not (isinstance(top, exp) and isinstance(total, Sum) and len(total.limits) == 1):
        return False
    real = {one: Dummy(real=True) for one in top.atoms(Indexed)}
    each = total.function.xreplace({total.variables[0]: indices[-1]})
    return bool(each == top and top.args[0].xreplace(real).is_real)


def _refuse_impossible(hypotheses: Hypotheses, law: Population | Vectors) -> None:
    """Refuse a law of numbers that no random variable has, or one that is a constant elsewhere.

    Raises:
        Refused: it is.
    """
    for one in hypotheses.entries:
        if one[0] == "constant" and one[1] in law.moments:
            raise Refused(f"{one[1]} is random in one part, and a constant in another")
    for one in law.moments.keys() & dict(hypotheses.definitions).keys():
        raise Refused(f"{one} is random by itself, and defined by something else")
    if isinstance(law, Vectors):
        return
    for group in law.alike:
        if len({law.moments.get(one) for one in group}) > 1:
            raise Refused(f"different laws of what is alike: {', '.join(map(str, group))}")
    _refuse_impossible_moments(Hypotheses(hypotheses.domains), law)


@kept
def _refuse_impossible_moments(hypotheses: Hypotheses, law: Population) -> None:
    for one, moments in law.laws:
        if moments is None:
            continue
        if moments[:1] != (S.One,):
            raise Refused(f"the mean of 1 is 1, not {moments[:1]}")
        if one in law.normal and not _is_of_normal(moments):
            raise Refused(f"these are no moments of a normal number: {', '.join(map(str, moments))}")
        domain = hypotheses.domain(one) if isinstance(one, Symbol) else S.Reals
        if _contradict(moments) or (domain.is_subset(Interval(0, oo)) and _contradict(moments[1:])):
            raise Refused(f"no law has the moments of {one}")
        if len(moments) > 1 and domain.contains(moments[1]) is S.false:
            raise Refused(f"the mean of {one} lies outside its domain")


@cache
def _is_of_normal(moments: tuple[Any, ...]) -> bool:
    """Return whether moments are those of a normal law, as far as they are given."""
    spread = moments[2] - moments[1] ** 2 if len(moments) > len("01") else S.Zero
    orders = range(len("012"), len(moments))
    following = (moments[1] * moments[one - 1] + (one - 1) * spread * moments[one - 2] for one in orders)
    return all(expand(known - found) == 0 for known, found in zip(moments[3:], following, strict=True))


@cache
def _contradict(moments: tuple[Any, ...]) -> bool:
    """Return whether no random variable has these moments: a square would have a negative mean.

    Without the first they are those of a law weighted by the variable, which must not be negative then.
    """
    size = (len(moments) + 1) // 2
    hankel = Matrix(size, size, lambda row, column: moments[row + column])
    return any(hankel[:order, :order].det().is_negative for order in range(1, size + 1))


def _refuse_ranges_outside(side: Any) -> None:
    """Refuse a sum or integral over values that its variable, by its own assumptions, does not have.

    Raises:
        Refused: there is one.
    """
    for one in parts_of(side, Sum, Integral):
        for variable, *ends in one.limits:
            if isinstance(variable, Idx) or len(ends) != 2:
                continue
            low, high = ends
            domain = assumed(variable)
            # An integral may run backwards, so that either of its ends may be the lower one.
            lower, upper = (ends, ends) if isinstance(one, Integral) else ([low], [high])
            rooms = [end - domain.inf for end in lower] if domain.inf != -oo else []
            rooms += [domain.sup - end for end in upper] if domain.sup != oo else []
            if domain != S.Complexes and not all(room.is_extended_nonnegative for room in rooms):
                raise Refused(f"{variable} runs from {low} to {high}, and is assumed to be in {domain}")


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
