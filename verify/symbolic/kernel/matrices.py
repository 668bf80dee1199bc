"""Matrices and random vectors of symbolic size: shapes, entries, moments, and sums over many vectors.

Whatever is made of matrices is written as sums of products of their entries, and compared by the normal form
of index sums, so that an identity holds for every size. Entries are numbered from 0, as SymPy has it; in the
normal form they are families numbered from 1. A symmetric matrix is half the sum of a matrix and its
transpose, and sines and cosines are exponentials.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from itertools import pairwise
from typing import Any

from sympy import (
    Add,
    Dummy,
    Idx,
    Indexed,
    IndexedBase,
    Integer,
    KroneckerDelta,
    Mul,
    Poly,
    Pow,
    S,
    Sum,
    Symbol,
    Trace,
    Transpose,
    Tuple,
    cos,
    exp,
    sin,
)
from sympy.matrices.expressions import MatAdd, MatMul, MatPow, MatrixSymbol
from sympy.matrices.expressions.matexpr import MatrixElement

from verify.symbolic.kernel.algebra import is_zero, replaced
from verify.symbolic.kernel.core import Conclusion, Rule
from verify.symbolic.kernel.hypotheses import Hypotheses, Population, Refused, Vectors, parts_of
from verify.symbolic.kernel.moments import any_moments, evaluate, refuse_nested, unfold
from verify.symbolic.kernel.special_integrals import outermost
from verify.symbolic.kernel.sums import vanishes
from verify.symbolic.kernel.terms import Families, Reader, Term
from verify.symbolic.kernel.words import E, MatrixShape, Var


@dataclass(frozen=True)
class WhichCoincide(Rule):
    """Means of products of sums over a ``number`` of vectors, by which of the summed indices coincide.

    The entries x_ic of the family ``vectors`` are independent and alike. A product of sums over vectors is
    one sum over several indices; each way in which these name b different vectors occurs
    N(N - 1)…(N - b + 1) times, with the same mean as for the ``letters``, families of one index with the
    same law. Then both sides have one value in the moments, for any law.
    """

    law: Population
    vectors: Any
    number: Any
    letters: tuple[Any, ...]
    label = "which of the vectors coincide; then the moment calculus, for any moments"

    def conclude(self, before: Any, after: Any, under: Hypotheses) -> Conclusion:
        """Return the equation, with the population as its law."""
        refuse_nested(before)
        if not any({self.vectors, *self.letters} <= set(group) for group in self.law.alike):
            raise Refused(f"{self.vectors} and its letters are not known to be alike")
        expanded = replaced(before, E, self._mean)
        law = any_moments(self.law)
        if not is_zero(evaluate(expanded, law) - evaluate(after, law)):
            raise Refused(f"by which coincide, it is {expanded}")
        return Conclusion(hypotheses=Hypotheses(law=self.law.of_any_law()))

    def _mean(self, inside: Any) -> Any:
        """Return the mean of a polynomial in sums over vectors."""
        sums = [one for one in outermost(inside, Sum) if one.has(self.vectors)]
        stand_ins = [Dummy() for _ in sums]
        outside = inside.xreplace(dict(zip(sums, stand_ins, strict=True)))
        if outside.has(self.vectors):
            raise Refused(f"{outside}: an entry stands outside the sums over vectors")
        terms = Poly(outside, *stand_ins).terms() if sums else [((), outside)]
        found = []
        for powers, coefficient in terms:
            factors = [one for one, power in zip(sums, powers, strict=True) for _ in range(power)]
            found.append(coefficient * self._of_product(factors))
        return Add(*found)

    def _of_product(self, sums: list[Any]) -> Any:
        """Return the mean of a product of sums over vectors, by which indices coincide."""
        indices: list[Any] = []
        inside = [self._with_own_names(one, indices) for one in sums]
        cases: Counter[Any] = Counter()
        for blocks in _partitions(len(indices)):
            term = self._named(Mul(*inside), dict(zip(indices, blocks, strict=True)))
            cases[term, max(blocks, default=0)] += 1
        found = []
        for (term, different), times in cases.items():
            if term == 0:
                continue
            if different > len(self.letters):
                raise Refused(f"{different} vectors are different, and there are {len(self.letters)} letters")
            occurs = (self.number - one for one in range(different))
            found.append(Mul(times, *occurs) * E(self._in_letters(term)))
        return Add(*found)

    def _with_own_names(self, one: Any, indices: list[Any]) -> Any:
        """Return what a sum over vectors adds up, with new names for its indices, which are put down."""
        over = [limit for limit in one.limits if limit[1:] == (1, self.number)]
        within = [limit for limit in one.limits if limit not in over]
        names = {index: Dummy(integer=True) for index, *_ in over}
        fixed = not any(end.has(*names) for _, *ends in within for end in ends)
        if not (names and fixed and all(isinstance(index, Idx) for index in names)):
            raise Refused(f"{one} is no sum over all vectors")
        indices.extend(names.values())
        function = Sum(one.function, *within) if within else one.function
        inside = function.xreplace(names)
        places = {entry: Dummy() for entry in inside.atoms(Indexed) if entry.base == self.vectors}
        deltas = {one: Dummy() for one in inside.atoms(KroneckerDelta) if set(one.args) <= {*names.values()}}
        if inside.xreplace(places | deltas).has(*names.values()):
            raise Refused(f"{one} depends on its indices by more than entries")
        return inside

    def _named(self, term: Any, blocks: dict[Any, int]) -> Any:
        """Return a product for indices that name that many different vectors, numbered from 1 on."""
        numbers = {index: Integer(block) for index, block in blocks.items()}
        return term.xreplace(numbers)

    def _in_letters(self, term: Any) -> Any:
        entries = (one for one in term.atoms(Indexed) if one.base == self.vectors)
        return term.xreplace({one: self.letters[int(one.indices[0]) - 1][one.indices[1]] for one in entries})


def _partitions(count: int) -> Iterator[tuple[int, ...]]:
    """Yield for every way to part a number of things into groups the number of the group that each is in."""
    if count == 0:
        yield ()
        return
    for rest in _partitions(count - 1):
        for group in range(1, max(rest, default=0) + 2):
            yield (*rest, group)


_PAIR = 2
"""The number of entries of which a covariance tells the mean product, whatever their law."""


def shape_of(matrix: Any) -> tuple[Any, Any]:
    """Return the numbers of rows and columns of what matrices make.

    Raises:
        Refused: it is none of symbols, products, sums and transposes, or its parts do not fit.
    """
    if isinstance(matrix, MatrixSymbol):
        return matrix.shape  # type: ignore[no-any-return]
    if isinstance(matrix, Transpose):
        return shape_of(matrix.arg)[::-1]
    shapes = [shape_of(one) for one in _factors(matrix)]
    if isinstance(matrix, MatAdd):
        if len(set(shapes)) > 1:
            raise Refused(f"{matrix}: the shapes differ")
        return shapes[0]
    for (_, columns), (rows, _) in pairwise(shapes):
        if columns != rows:
            raise Refused(f"{matrix}: {columns} columns meet {rows} rows")
    return shapes[0][0], shapes[-1][1]


def _factors(matrix: Any) -> tuple[Any, ...]:
    """Return the matrices that a product multiplies, those that a sum adds, or the matrix itself."""
    if type(matrix) is MatPow:
        if not (matrix.exp.is_Integer and matrix.exp > 0):
            raise Refused(f"{matrix} is no product")
        return (matrix.base,) * int(matrix.exp)
    if type(matrix) in {MatAdd, MatMul}:
        return tuple(one for one in matrix.args if one.is_Matrix)
    raise Refused(f"{matrix}: only sums, products and transposes of matrices are covered")


@dataclass(frozen=True)
class ShapeOfProduct(Rule):
    """A product has the rows of its first factor and the columns of its last; each two that meet fit."""

    label = "rows of the first factor, columns of the last, and those between agree"

    def conclude(self, before: Any, after: Any, under: Hypotheses) -> Conclusion:
        """Return the equation."""
        if not isinstance(before, MatrixShape):
            raise Refused("that is no shape")
        if (found := Tuple(*shape_of(before.args[0]))) != after:
            raise Refused(f"the shape is {found}")
        return Conclusion()


class _Entries:
    """Writes what is made of matrices as sums of products of their entries."""

    def __init__(self, symmetric: Iterable[Any]) -> None:
        self._symmetric = frozenset(symmetric)
        self._matrices: dict[Any, Any] = {}

    @property
    def families(self) -> Families:
        """The entries of all matrices read so far, with the sizes of their indices."""
        return Families(sizes={family: one.shape for one, family in self._matrices.items()}, made_of={})

    def family(self, matrix: Any) -> Any:
        """Return the family of a matrix's entries."""
        return self._matrices.setdefault(matrix, IndexedBase(matrix.name))

    def read(self, expression: Any) -> Any:
        """Return an expression with sums of entries for its traces, and its sums from 1 on.

        Raises:
            Refused: something else is made of matrices than sums, products, powers, means, sines and cosines.
        """
        if isinstance(expression, Trace):
            rows, _ = shape_of(expression.arg)
            return self._over(rows, lambda one: self.entry(expression.arg, one, one))
        if isinstance(expression, MatrixElement):
            return self.entry(expression.parent, *map(_place, expression.indices))
        if isinstance(expression, Sum):
            return self._sum(expression)
        if not expression.has(Trace, MatrixElement, MatrixSymbol, Sum, Indexed):
            return expression
        if type(expression) in {Add, Mul, Pow, E, Var}:
            return expression.func(*map(self.read, expression.args))
        if type(expression) in {sin, cos} and isinstance(expression.args[0].as_coeff_Mul()[1], MatrixElement):
            return expression.func(self.read(expression.args[0]))
        raise Refused(f"{expression} is nothing that entries of matrices make")

    def entry(self, matrix: Any, row: Any, column: Any) -> Any:
        """Return an entry of what matrices make."""
        if isinstance(matrix, MatrixSymbol):
            one = self.family(matrix)[row, column]
            return (one + one.base[column, row]) / 2 if matrix in self._symmetric else one
        if isinstance(matrix, Transpose):
            return self.entry(matrix.arg, column, row)
        if isinstance(matrix, MatAdd):
            shape_of(matrix)
            return Add(*(self.entry(one, row, column) for one in matrix.args))
        factors = _factors(matrix)
        number = Mul(*(one for one in matrix.args if not one.is_Matrix)) if type(matrix) is MatMul else S.One
        return self.read(number) * self._of_product(factors, row, column)

    def _of_product(self, factors: tuple[Any, ...], row: Any, column: Any) -> Any:
        first, *rest = factors
        if not rest:
            return self.entry(first, row, column)
        inner = shape_of(first)[1]
        if inner != shape_of(rest[0])[0]:
            raise Refused(f"{first} and {rest[0]} do not fit")
        return self._over(
            inner, lambda one: self.entry(first, row, one) * self._of_product(tuple(rest), one, column)
        )

    @staticmethod
    def _over(size: Any, term: Callable[[Any], Any]) -> Any:
        """Return the sum of a term over as many values of an index."""
        if size == 1:
            return term(S.One)
        index = Dummy("i", integer=True)
        return Sum(term(index), (index, 1, size))

    def _sum(self, expression: Any) -> Any:
        """Return a sum over entries with its indices from 1 on, where these number entries only."""
        inside, limits = expression.function, []
        apart = inside.xreplace({one: Dummy() for one in inside.atoms(MatrixElement)})
        for index, low, high in expression.limits:
            if low != 0 or apart.has(index) or any(index in end.free_symbols for end in (low, high)):
                raise Refused(f"{expression}: only sums over entries, from 0 on, are covered")
            limits.append((index, 1, high + 1))
        return Sum(self.read(inside), *limits)


def _place(index: Any) -> Any:
    """Return the number of an entry from 1 on; an index stands for it as it is."""
    if index.is_Integer and index >= 0:
        return index + 1
    if isinstance(index, Idx | Symbol):
        return index
    raise Refused(f"{index} numbers no entry")


@dataclass(frozen=True)
class MatrixIdentity(Rule):
    """Both sides are the same sum of products of entries, for every size.

    The matrices of ``symmetric`` are assumed to be such; covariances of random vectors are.
    """

    symmetric: tuple[Any, ...] = ()
    label = "any size: written as sums over entries, with symbolic limits"

    def conclude(self, before: Any, after: Any, under: Hypotheses) -> Conclusion:
        """Return the equation, which holds where every entry that is named by number is there."""
        if before.has(E, Var) or after.has(E, Var):
            raise Refused("a mean is none of entries")
        known = _symmetric(under.law) if isinstance(under.law, Vectors) else set()
        entries = _Entries({*self.symmetric, *known})
        sides = entries.read(before), entries.read(after)
        if not vanishes(_in_exponentials(sides[0] - sides[1]), entries.families):
            raise Refused("the sums of entries differ")
        found = entries.families.hypotheses(*sides)
        assumed = frozenset(("symmetric", one) for one in self.symmetric if one not in known)
        return Conclusion(hypotheses=found.merged(Hypotheses(entries=assumed)))


def _symmetric(law: Vectors) -> set[Any]:
    """Return the covariance matrices of vectors with themselves."""
    return {matrix for one, other, matrix in law.covariances if one == other and _is_matrix(matrix)}


def _is_matrix(one: Any) -> bool:
    return isinstance(one, MatrixSymbol)


@dataclass(frozen=True)
class VectorMoments(Rule):
    """Both sides have one value in the means and covariances of random vectors, for every size.

    A mean of products of entries is that of each independent group of vectors: of one entry its mean, of two
    their covariance and the product of their means. Of more it is known for normal ones: by Isserlis (1918)
    the sum over all ways to pair some of them, of the pairs' covariances and the others' means.
    """

    law: Vectors

    @property
    def label(self) -> str:
        """How the step follows, in words."""
        pairings = "pairings of normal entries" if self.law.normal else "means and covariances of entries"
        return f"any size: {pairings}, summed with symbolic limits"

    def conclude(self, before: Any, after: Any, under: Hypotheses) -> Conclusion:
        """Return the equation, with the vectors' law among its hypotheses."""
        entries = _Entries(_symmetric(self.law))
        sides = [entries.read(unfold(side)) for side in (before, after)]
        parts = (part for pair in (*self.law.means, *self.law.covariances) for part in pair)
        for part in filter(_is_matrix, parts):
            entries.family(part)
        values = [replaced(side, E, partial(_mean, entries=entries, law=self.law)) for side in sides]
        if not vanishes(_in_exponentials(values[0] - values[1]), entries.families):
            raise Refused("the means differ")
        found = entries.families.hypotheses(*sides)
        return Conclusion(hypotheses=found.merged(Hypotheses(law=self.law)))


def _in_exponentials(expression: Any) -> Any:
    """Return an expression with the sines and cosines of entries as exponentials."""
    return expression.xreplace({one: one.rewrite(exp) for one in _turns(expression)})


def _turns(expression: Any) -> set[Any]:
    return {one for one in parts_of(expression, cos, sin) if one.has(Indexed)}


def _mean(argument: Any, entries: _Entries, law: Vectors) -> Any:
    """Return the mean of an expression of entries.

    Sines and cosines of constants are entries of families of their own meanwhile, and not multiplied out.

    Raises:
        Refused: one is of what is random.
    """
    vectors = [entries.family(one) for one in law.moments]
    hidden: dict[Any, Any] = {}
    stand_ins: dict[Any, Any] = {}
    for one in _turns(argument):
        number, entry = one.args[0].as_coeff_Mul()
        if not isinstance(entry, Indexed) or one.has(*vectors):
            raise Refused(f"{one} is no product of random entries")
        family = stand_ins.setdefault((one.func, number, entry.base), IndexedBase(Dummy()))
        hidden[one] = family[entry.indices]
    families, argument = entries.families, argument.xreplace(hidden)
    of = {family: kind for kind, family in stand_ins.items()}
    sizes = {family: families.sizes[base] for family, (_, _, base) in of.items()}
    terms = Reader(replace(families, sizes={**families.sizes, **sizes}), argument).terms(argument)
    found = Add(*(_mean_of_term(term, entries, law) for term in terms))
    back = {}
    for one in parts_of(found, Indexed):
        if one.base in of:
            turn, number, base = of[one.base]
            back[one] = turn(number * base[one.indices])
    return found.xreplace(back)


def _mean_of_term(term: Term, entries: _Entries, law: Vectors) -> Any:
    vectors = {entries.family(one): one for one in law.moments}
    drawn: dict[Any, list[Any]] = {one: [] for one in vectors.values()}
    found = term.coefficient
    for part, power in term.powers.items():
        if isinstance(part, Indexed) and part.base in vectors and power > 0:
            drawn[vectors[part.base]] += [part.indices[0]] * int(power)
        elif part.has(*vectors):
            raise Refused(f"{part**power} is no product of random entries")
        else:
            found *= part**power
    for group in law.groups():
        found *= _moment([(one, place) for one in group for place in drawn[one]], entries, law)
    return Sum(found, *((index, 1, size) for index, size in term.bound.items())) if term.bound else found


def _moment(several: list[tuple[Any, Any]], entries: _Entries, law: Vectors) -> Any:
    """Return the mean of a product of entries, given as vectors and places, of one group."""
    if not several:
        return S.One
    if len(several) > _PAIR and not law.normal:
        raise Refused("beyond two entries the law of dependent ones must be known")
    (first, place), *rest = several
    mean = dict(law.means)[first]
    found = S.Zero if mean == 0 else entries.entry(mean, place, S.One) * _moment(rest, entries, law)
    for at, other in enumerate(rest):
        others = rest[:at] + rest[at + 1 :]
        found += _covariance((first, place), other, entries, law) * _moment(others, entries, law)
    return found


def _covariance(one: tuple[Any, Any], other: tuple[Any, Any], entries: _Entries, law: Vectors) -> Any:
    """Return the covariance of two entries.

    Raises:
        Refused: nothing is assumed about it.
    """
    for first, second, matrix in law.covariances:
        for (vector, row), (beside, column) in ((one, other), (other, one)):
            if (vector, beside) == (first, second):
                if _is_matrix(matrix):
                    return entries.entry(matrix, row, column)
                return matrix * KroneckerDelta(row, column)
    raise Refused(f"nothing is assumed about the covariance of {one[0]} and {other[0]}")
