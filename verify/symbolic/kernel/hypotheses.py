"""What a theorem assumes: domains, conditions, laws and definitions, and what its expressions are made of."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

from sympy import (
    CRootOf,
    Dummy,
    FiniteSet,
    Ge,
    Gt,
    Idx,
    Indexed,
    IndexedBase,
    Intersection,
    Interval,
    Mul,
    Ne,
    Poly,
    Pow,
    Range,
    S,
    Symbol,
    factor,
    fraction,
    log,
    oo,
    together,
)  # fmt: skip
from sympy.core.sorting import default_sort_key
from sympy.matrices.expressions import MatrixSymbol
from sympy.sets.sets import Set, Union
from sympy.solvers.inequalities import solve_poly_inequality

from verify.symbolic.kernel.words import Ordered


class Refused(Exception):  # noqa: N818  # a rule refuses
    """A rule does not apply, a side condition is not decided, or what follows is not well formed."""


_NAMES = (Symbol, Indexed, IndexedBase, MatrixSymbol)


@cache  # SymPy walks through equal parts again, and through the whole for each question
def _all_parts(expression: Any) -> frozenset[Any]:
    found: set[Any] = set()
    waiting = [expression]
    while waiting:
        one = waiting.pop()
        if one not in found:
            found.add(one)
            waiting.extend(one.args)
    return frozenset(found)


@cache
def parts_of(expression: Any, *kinds: Any) -> frozenset[Any]:
    """Return the parts of these kinds in an expression, itself among them."""
    return frozenset(one for one in _all_parts(expression) if isinstance(one, kinds))


@cache
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

    def with_laws_of(self, other: Population) -> Population:
        """Return the components of both, each with what either assumes.

        Raises:
            Refused: they assume different things of one component.
        """
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
            and type(free[0]) in SYMBOLS
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
        laws: list[Any] = [one for one in (self.law, other.law) if one]
        law = laws[0] if laws else None
        if len(set(laws)) > 1:
            if any(isinstance(one, Vectors) for one in laws):
                raise Refused("random vectors beside other laws")
            law = laws[0].with_laws_of(laws[1])
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


@cache
def _in_both(one: Set, other: Set) -> Set:
    return Intersection(one, other)


@cache
def _where(condition: Any, symbol: Any) -> Set:
    """Return the real numbers for which a relation in one symbol holds; some complex number may not do."""
    shift = condition.lhs - symbol  # by hand, for SymPy takes long
    if shift.is_number and shift.is_real and isinstance(condition, Ge | Gt | Ne):
        end = condition.rhs - shift
        above = Interval(end, oo, left_open=not isinstance(condition, Ge))
        return Union(Interval.open(-oo, end), above) if isinstance(condition, Ne) else above
    whole = Poly(condition.lhs - condition.rhs, symbol)
    if all(one.is_Rational for one in whole.all_coeffs()):
        exact = Union(*solve_poly_inequality(whole, condition.rel_op))
        if not exact.has(CRootOf):
            return exact
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


@cache
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


SYMBOLS = {Symbol, Dummy, Ordered}
