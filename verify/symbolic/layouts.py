"""What of a statement is free, what is random and what stands for what; and small joint laws of vectors."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property, reduce
from itertools import product
from typing import Any

from flint import arb, arb_mat, fmpq
from sympy import Add, Idx, Indexed, IndexedBase, Mul, Pow, S, Sum, Symbol, Trace
from sympy.matrices.expressions import MatAdd, MatMul, MatPow, MatrixSymbol, Transpose
from sympy.matrices.expressions.matexpr import MatrixElement

from verify.symbolic.arithmetics import EXACT, Unknown
from verify.symbolic.balls import Scene, value, whole
from verify.symbolic.kernel.gate import bound_in
from verify.symbolic.kernel.hypotheses import Vectors
from verify.symbolic.kernel.words import E, Var
from verify.symbolic.means import names_in

_MOST = 3000
"""The most outcomes that are added up."""

LIKE_NORMAL = 5
"""Up to this order the moments of three points are those of a normal law."""


def degree(expression: Any, vectors: frozenset[Any]) -> float:
    """Return the degree of a polynomial in random vectors, infinite where it is none."""
    if not expression.has(*vectors) or isinstance(expression, MatrixSymbol):
        return int(expression in vectors)
    parts = [degree(one, vectors) for one in expression.args]
    if isinstance(expression, (Add, MatAdd)):
        return max(parts)
    if isinstance(expression, (Mul, MatMul)):
        return sum(parts)
    times = (
        expression.exp if isinstance(expression, (Pow, MatPow)) else 2 if isinstance(expression, Var) else 1
    )
    known = isinstance(expression, (Pow, MatPow, Var, E, Sum, Trace, Transpose, MatrixElement))
    if not known or any(parts[1:]) or not (S(times).is_Integer and times > 0):
        return float("inf")
    return parts[0] * int(times)


def joint(law: Vectors, at: Scene, rng: random.Random) -> list[Any]:
    """Return the outcomes of a joint law with their weights, and give its matrices their values.

    Raises:
        Unknown: the covariances are of no such law, or there are too many outcomes.
    """
    many = {one: whole(S(one.shape[0]), at) for one in law.moments}
    for one, mean in law.means:
        if mean != 0 and mean not in at.values:
            at.values[mean] = _integers(many[one], 1, rng)
    outcomes = [_of_group(law, group, many, at, rng) for group in law.groups()]
    if reduce(lambda total, group: total * len(group), outcomes, 1) > _MOST:
        raise Unknown("too many outcomes")
    found: list[Any] = []
    for chosen in product(*outcomes):
        put = reduce(lambda one, other: {**one, **other[0]}, chosen, dict[Any, Any]())
        found.append((put, {}, reduce(lambda weight, other: weight * other[1], chosen, fmpq(1))))
    return found


def _of_group(law: Vectors, group: tuple[Any, ...], many: Any, at: Scene, rng: random.Random) -> list[Any]:
    """Return what vectors that depend on each other may be together, each with its weight."""
    size = sum(many[one] for one in group)
    spread = _spread(law, group, many, at, rng)
    means = dict(law.means)
    found = []
    for draw, weight in _normal_like(size) if law.normal else _uncorrelated(size):
        moved, start, put = spread * draw, 0, {}
        for one in group:
            part = arb_mat([[moved[start + row, 0]] for row in range(many[one])])
            put[one] = part if means[one] == 0 else part + at.values[means[one]]
            start += many[one]
        found.append((put, weight))
    return found


def _uncorrelated(size: int) -> Iterator[tuple[arb_mat, fmpq]]:
    """Yield draws of uncorrelated entries of variance 1 that depend on each other."""
    for place in range(size):
        for sign in (1, -1):
            rows = [[arb(size).sqrt() * sign if row == place else arb(0)] for row in range(size)]
            yield arb_mat(rows), fmpq(1, 2 * size)


def _normal_like(size: int) -> Iterator[tuple[arb_mat, fmpq]]:
    """Yield draws of independent entries with the first five moments of a normal law."""
    if 3**size > _MOST:
        raise Unknown("too many outcomes")
    for draw in product((-1, 0, 1), repeat=size):
        weight = reduce(lambda total, one: total * (fmpq(1, 6) if one else fmpq(2, 3)), draw, fmpq(1))
        yield arb_mat([[arb(3).sqrt() * one] for one in draw]), weight


def _spread(law: Vectors, group: tuple[Any, ...], many: Any, at: Scene, rng: random.Random) -> arb_mat:
    """Return a matrix L of which L·Lᵀ is the covariance matrix of all vectors of a group together.

    Where no covariance has a value yet L is random, and they get theirs.

    Raises:
        Unknown: some have a value and some have none, or there is no such matrix.
    """
    start, size = {}, 0
    for one in group:
        start[one], size = size, size + many[one]
    pairs = [each for each in law.covariances if each[0] in start]
    new = [matrix for *_, matrix in pairs if isinstance(matrix, MatrixSymbol) and matrix not in at.values]
    if new and (len(new) < len(pairs) or len(set(new)) < len(new)):
        raise Unknown("covariances of which some are numbers")
    if new:
        root = _integers(size, size, rng)
        whole_matrix = root * root.transpose()
        for one, other, matrix in pairs:
            rows, columns = range(many[one]), range(many[other])
            at.values[matrix] = arb_mat(
                [
                    [whole_matrix[start[one] + row, start[other] + column] for column in columns]
                    for row in rows
                ]
            )
        return root
    entries = [[arb(0)] * size for _ in range(size)]
    for one, other, matrix in pairs:
        for row, column in product(range(many[one]), range(many[other])):
            entry = _entry(matrix, row, column, at)
            entries[start[one] + row][start[other] + column] = entry
            entries[start[other] + column][start[one] + row] = entry
    return _root(entries)


def _root(entries: list[list[arb]]) -> arb_mat:
    """Return the lower triangular L of which L·Lᵀ is a matrix (Cholesky).

    Raises:
        Unknown: the matrix is not surely positive definite.
    """
    size = len(entries)
    found = [[arb(0)] * size for _ in range(size)]
    for row in range(size):
        for column in range(row + 1):
            done = sum((found[row][at] * found[column][at] for at in range(column)), arb(0))
            left = entries[row][column] - done
            if row == column and not left > 0:
                raise Unknown("no covariance matrix")
            found[row][column] = left.sqrt() if row == column else left / found[column][column]
    return arb_mat(found)


def _entry(matrix: Any, row: int, column: int, at: Scene) -> Any:
    if isinstance(matrix, MatrixSymbol):
        return at.values[matrix][row, column]
    return arb(value(matrix, at)) if row == column else arb(0)


def _integers(rows: int, columns: int, rng: random.Random) -> arb_mat:
    return arb_mat([[rng.randint(-4, 4) for _ in range(columns)] for _ in range(rows)])


def number_at(m: Any, at: Scene) -> fmpq:
    """Return the value of what is a fraction at a point.

    Raises:
        Unknown: it is none.
    """
    found: fmpq = value(m, at.having({}, arithmetic=EXACT))
    return found


LARGEST = r"\max_i s_i"
"""The name of the largest score."""

SYMMETRIC = frozenset(["symmetric", "semidefinite", "positive semidefinite", "covariance"])
"""The properties of a matrix that make the tried ones products of a matrix and its transpose."""

PROPERTIES = SYMMETRIC | {"ordered", "bounded", "runs"}
"""All properties of families and matrices that are known here."""


def _as_pattern(name: Any, meaning: Any) -> tuple[Any, Any]:
    """Return a definition as it is put in: that of a family by an entry of it."""
    if not isinstance(name, IndexedBase):
        return name, meaning
    indices, expression = meaning.args
    return name[tuple(indices)], expression


@dataclass
class Layout:
    """What of a statement is free, and what stands for what."""

    sides: tuple[Any, ...]
    hypotheses: Any

    @cached_property
    def definitions(self) -> dict[Any, Any]:
        """What symbols and entries stand for."""
        return dict(_as_pattern(*one) for one in self.hypotheses.definitions)

    @cached_property
    def law(self) -> Any:
        """The population, None where none is assumed."""
        return None if self.vectors else self.hypotheses.law

    @cached_property
    def vectors(self) -> Any:
        """The random vectors, None where none are assumed."""
        return self.hypotheses.law if isinstance(self.hypotheses.law, Vectors) else None

    @cached_property
    def parts(self) -> tuple[Any, ...]:
        """All expressions that must be evaluated at a point."""
        return (*self.sides, *self.definitions.values(), *self.hypotheses.conditions)

    @cached_property
    def moments(self) -> dict[Any, Any]:
        """The assumed moments of each component."""
        return dict(self.law.moments) if self.law else {}

    @cached_property
    def readable(self) -> dict[Any, tuple[Any, int]]:
        """The symbols that are moments and nothing else, each with a component and a power to read it off."""
        found: dict[Any, tuple[Any, int]] = {}
        taken: set[Any] = set()
        for one, listed in self.moments.items():
            for power, moment_ in enumerate(listed or ()):
                if moment_.is_Symbol and power and one not in self.law.normal:
                    found.setdefault(moment_, (one, power))
                else:
                    taken |= moment_.free_symbols
        return {
            one: where
            for one, where in found.items()
            if one not in taken
            and all(
                listed == self.moments[where[0]]
                for listed in self.moments.values()
                if listed and one in listed
            )
        }

    @cached_property
    def spreads(self) -> frozenset[Any]:
        """The symbols in the moments of normal components."""
        normal = self.law.normal if self.law else ()
        return frozenset(
            symbol for one in normal for m in self.moments[one] or () for symbol in m.free_symbols
        )

    @cached_property
    def indexed(self) -> list[Any]:
        """All entries of families that are written anywhere, in a fixed order."""
        return sorted({one for part in self.parts for one in part.atoms(Indexed)}, key=str)

    @cached_property
    def random(self) -> frozenset[Any]:
        """What is random: the law's components, or all that stands inside means alone."""
        if self.hypotheses.law:
            return frozenset(self.hypotheses.law.moments)
        inside = [one for side in self.sides for one in side.atoms(E, Var)]
        if not inside:
            return frozenset()
        outside = [side.xreplace(dict.fromkeys(side.atoms(E, Var), S.One)) for side in self.sides]
        pairs = tuple(self.hypotheses.definitions)
        fixed = {name for part in outside for name in names_in(part, pairs)} | self.sizes
        # Of a family that is defined by its entries, neither these nor the indices are drawn.
        fixed |= {one for part in self.definitions for one in (part, *part.atoms(Symbol, IndexedBase))}
        found = {name for one in inside for name in names_in(one, pairs)} - fixed
        return frozenset(one for one in found if self._is_value(one) and str(one) != LARGEST)

    @cached_property
    def highs(self) -> dict[tuple[Any, int], set[Any]]:
        """What the indices of each family run to, by base and place."""
        found: dict[tuple[Any, int], set[Any]] = {}
        for part in self.parts:
            for one in part.atoms(Sum):
                ends = {index: high for index, _, high in one.limits}
                for entry in one.function.atoms(Indexed):
                    for place, index in enumerate(entry.indices):
                        if index in ends:
                            found.setdefault((entry.base, place), set()).add(ends[index])
        return found

    @cached_property
    def sizes(self) -> frozenset[Any]:
        """The symbols that count terms, components or rows; they stay small."""
        found: set[Any] = set()
        for part in self.parts:
            found |= {
                one for total in part.atoms(Sum) for limit in total.limits for one in limit[2].free_symbols
            }
            found |= {
                one for matrix in part.atoms(MatrixSymbol) for n in matrix.shape for one in n.free_symbols
            }
        return frozenset(found | ({self.law.dimension} if self.law and self.law.dimension else set()))

    def _is_value(self, one: Any) -> bool:
        if isinstance(one, IndexedBase):
            return True
        is_base = any(one == entry.base.label for entry in self.indexed)
        return isinstance(one, Symbol) and not isinstance(one, Idx) and not is_base

    @cached_property
    def bases(self) -> list[Any]:
        """The families whose entries are given, not defined."""
        named = {one.base for one in self.indexed}
        named |= {one for one in self.random if isinstance(one, IndexedBase)}
        defined = {one.base for one in self.definitions if isinstance(one, Indexed)}
        return sorted(named - defined, key=str)

    @cached_property
    def free_indices(self) -> dict[Any, Any]:
        """The indices that no sum binds, each with a family and the place where it stands."""
        open_parts = (*self.sides, *self.hypotheses.conditions)
        free = {one for part in open_parts for one in part.free_symbols}
        return {
            index: (entry.base, place)
            for entry in self.indexed
            for place, index in enumerate(entry.indices)
            if index in free and (isinstance(index, Idx) or index not in self.sizes)
        }

    @cached_property
    def symbols(self) -> list[Any]:
        """The free symbols that get a value first, in a fixed order."""
        bound = {one for part in self.parts for one in bound_in(part)}
        found = {one for part in self.parts for one in part.free_symbols}
        found |= {one for listed in self.moments.values() for m in listed or () for one in m.free_symbols}
        if self.vectors:
            found |= {one for *_, c in self.vectors.covariances for one in c.free_symbols}
        found |= self.sizes - bound
        left = (
            found - bound - self.random - set(self.readable) - set(self.free_indices) - set(self.definitions)
        )
        return sorted((one for one in left if self._is_symbol(one)), key=str)

    def _is_symbol(self, one: Any) -> bool:
        named = isinstance(one, Symbol) and not isinstance(one, (Idx, Indexed, IndexedBase, MatrixSymbol))
        return named and one.name != LARGEST and self._is_value(one)

    @cached_property
    def matrices(self) -> list[Any]:
        """The matrices whose entries are given."""
        return sorted({one for part in self.parts for one in part.atoms(MatrixSymbol)}, key=str)

    @cached_property
    def known(self) -> dict[str, set[Any]]:
        """The properties of families and matrices: by name, of which."""
        found: dict[str, set[Any]] = {}
        for name, *about in self.hypotheses.entries:
            found.setdefault(str(name), set()).update(about[:1])
        return found

    def domain(self, symbol: Any) -> Any:
        """Return the values that a symbol may have, real ones where nothing is said."""
        if symbol not in self._domains:
            found = self.hypotheses.domain(symbol)
            self._domains[symbol] = found if found.is_subset(S.Reals) else S.Reals
        return self._domains[symbol]

    @cached_property
    def _domains(self) -> dict[Any, Any]:
        return {}

    @cached_property
    def strange(self) -> str:
        """What of the hypotheses is not understood, so that they may hold nowhere here; else nothing."""
        names = sorted(set(self.known) - PROPERTIES)
        if names:
            return f"the property {names[0]}"
        if self.vectors and self.vectors.normal:
            orders = [degree(one, self.random) for side in self.sides for one in side.atoms(E, Var)]
            if max(orders, default=0) > LIKE_NORMAL:
                return "a high moment of normal vectors"
        others = [one for one in self.moments if not isinstance(one, (Symbol, IndexedBase))]
        return f"the random {others[0]}" if others else ""

    def bound_of(self, base: Any, at: Scene) -> fmpq | None:
        """Return what the entries of a family are at most, in size."""
        for name, *about in self.hypotheses.entries:
            if name == "bounded" and about[0] == base:
                return number_at(S(about[1]), at)
        return None

    def moves(self, symbol: Any) -> bool:
        """Return whether a symbol is continuous, and changes no law and no size."""
        if symbol in self.sizes or self.domain(symbol).is_subset(S.Integers) is not False:
            return False
        return not any(m.has(symbol) for listed in self.moments.values() for m in listed or ())
