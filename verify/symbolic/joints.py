"""Small joint laws of random vectors, with the means and covariances that a statement assumes of them."""

from __future__ import annotations

from functools import reduce
from itertools import product
from typing import TYPE_CHECKING, Any

from flint import arb, arb_mat, fmpq
from sympy import Add, Mul, Pow, S, Sum, Trace
from sympy.matrices.expressions import MatAdd, MatMul, MatPow, MatrixSymbol, Transpose
from sympy.matrices.expressions.matexpr import MatrixElement

from verify.symbolic.arithmetics import Unknown
from verify.symbolic.balls import value, whole
from verify.symbolic.kernel.words import E, Var

if TYPE_CHECKING:
    import random
    from collections.abc import Iterator

    from verify.symbolic.balls import Scene
    from verify.symbolic.kernel.core import Vectors

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
