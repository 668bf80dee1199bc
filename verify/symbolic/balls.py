"""Expressions evaluated at a point: in balls that hold the value, in fractions, or in floats by the thousand.

Nothing here knows a rule of the kernel. ``value`` goes through an expression by the exact types of its nodes.
What a point gives is kept raw, as whole numbers, fractions, balls or arrays; the arithmetic in use lifts it.
"""

from __future__ import annotations

import math
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache, reduce
from typing import Any

import numpy as np
from flint import arb, arb_mat, fmpq
from sympy import (
    Add,
    Derivative,
    Dummy,
    Float,
    Indexed,
    Integer,
    KroneckerDelta,
    Limit,
    Max,
    Mul,
    NumberSymbol,
    Pow,
    Rational,
    S,
    Sum,
    Symbol,
    Trace,
    Transpose,
    exp,
    gamma,
    oo,
)
from sympy.core.numbers import ImaginaryUnit
from sympy.matrices.expressions import MatAdd, MatMul, MatPow, MatrixSymbol
from sympy.matrices.expressions.matexpr import MatrixElement

from verify.symbolic.arithmetics import (
    BALLS,
    EXACT,
    FLOATS,
    FUNCTIONS,
    OutOfTime,
    Unknown,
    fraction,
    log_gamma,
    whole_power,
)
from verify.symbolic.kernel.words import E, MatrixShape, Var, largest


@dataclass
class Scene:
    """A point, and how it is looked at.

    ``values`` are of symbols and indices, and of whole expressions that are numbers already; ``entries`` of
    families, by base and indices; ``tables`` the same as arrays, whose last axis runs over rows. ``laws`` are
    those of random components. ``analytic`` is None outside rigorous integrals. ``depth`` counts the axes of
    arrays in use, ``budget`` says how many numbers may be drawn for a mean; ``reshape`` returns the shapes of
    families at another point.
    """

    values: dict[Any, Any] = field(default_factory=dict)
    entries: dict[Any, Any] = field(default_factory=dict)
    definitions: Mapping[Any, Any] = field(default_factory=dict)
    laws: dict[Any, Any] = field(default_factory=dict)
    shapes: dict[Any, tuple[int, ...]] = field(default_factory=dict)
    arithmetic: Any = BALLS
    rigorous: bool = False
    analytic: bool | None = None
    within: bool = False
    depth: int = 1
    tables: dict[Any, Any] = field(default_factory=dict)
    budget: int = 200_000
    seed: int = 7
    deadline: float = math.inf
    memo: dict[Any, Any] = field(default_factory=dict)
    reshape: Any = None

    def having(self, values: Mapping[Any, Any], **changed: Any) -> Scene:
        """Return this with more values, and other settings changed."""
        found = object.__new__(Scene)
        found.__dict__.update(self.__dict__)
        found.__dict__.update(changed, values={**self.values, **values})
        return found

    def moved(self, values: Mapping[Any, Any]) -> Scene:
        """Return this at other values of symbols, which may count entries."""
        found = self.having(values, memo={})
        if self.reshape is not None:
            found.shapes = self.reshape(found)
        return found

    def in_floats(self, **changed: Any) -> Scene:
        """Return this in floats, of one row unless tables are given."""
        return self.having({}, arithmetic=FLOATS, analytic=None, depth=1, **{"tables": {}, **changed})

    def hurry(self) -> None:
        """Raise ``OutOfTime`` once the limit of time is reached."""
        if time.thread_time() > self.deadline:
            raise OutOfTime


def value(expression: Any, at: Scene) -> Any:
    """Return the value of an expression in the scene's arithmetic.

    Raises:
        Unknown: nothing here can evaluate that.
        Undefined: it has no value there.
        OutOfTime: the limit of time is reached.
    """
    known = at.values.get(expression)
    if known is not None:
        return at.arithmetic.lift(known)
    handler = HANDLERS.get(type(expression)) or _handler_of(type(expression))  # type: ignore[arg-type]
    return handler(expression, at)


@cache
def _handler_of(kind: Any) -> Any:
    for one in kind.__mro__:
        if one in HANDLERS:
            return HANDLERS[one]
    return _unknown


def _unknown(expression: Any, _at: Scene) -> Any:
    raise Unknown(f"{type(expression).__name__} {str(expression)[:40]}")


def _symbol(one: Any, at: Scene) -> Any:
    if one in at.definitions:
        return value(at.definitions[one], at)
    if one == largest:
        return _max_of_scores(at)
    raise Unknown(f"no value of {one}")


def _max_of_scores(at: Scene) -> Any:
    base = next((one for one in at.shapes if str(one) == "s"), None)
    if base is None:
        raise Unknown("no scores to be the largest of")
    if at.arithmetic is FLOATS:
        return _table(base, at).max(axis=0)
    keys = [key for key in at.entries if key[0] == base]
    return at.arithmetic.call(Max, [at.arithmetic.lift(at.entries[key]) for key in keys], at)


def _sum_of(expression: Any, at: Scene) -> Any:
    found = value(expression.args[0], at)
    for one in expression.args[1:]:
        found = found + value(one, at)
    return found


def _product_of(expression: Any, at: Scene) -> Any:
    if at.arithmetic is FLOATS and at.depth > 1 and expression.has(exp):
        return _product_by_logarithms(expression, at)
    found = value(expression.args[0], at)
    for one in expression.args[1:]:
        found = found * value(one, at)
    return found


def _product_by_logarithms(expression: Any, at: Scene) -> Any:
    """Return a product in floats whose factors alone may overflow."""
    found, exponent = np.float64(1), np.float64(0)
    for one in expression.args:
        logarithm = _logarithm_of(one, at)
        if logarithm is None:
            found = found * value(one, at)
        else:
            exponent = exponent + logarithm
    return found * np.exp(exponent)


def _logarithm_of(factor: Any, at: Scene) -> Any:
    """Return the logarithm of an exponential, a power or a gamma function, None where there is none."""
    if isinstance(factor, exp):
        return value(factor.args[0], at)
    if isinstance(factor, gamma):
        return log_gamma(value(factor.args[0], at))
    if isinstance(factor, Pow):
        inside = _logarithm_of(factor.base, at)
        if inside is None:
            base = value(factor.base, at)
            inside = np.log(base) if not np.iscomplexobj(base) and np.all(base > 0) else None
        return None if inside is None else inside * value(factor.exp, at)
    return None


def _power_of(expression: Any, at: Scene) -> Any:
    base, exponent = expression.args
    if at.arithmetic is BALLS and exponent.is_Integer:
        return whole_power(value(base, at), int(exponent.p))
    return at.arithmetic.power(value(base, at), value(exponent, at), at)


def _function_of(expression: Any, at: Scene) -> Any:
    return at.arithmetic.call(type(expression), [value(one, at) for one in expression.args], at)


def whole(expression: Any, at: Scene) -> Any:
    """Return an index or a bound of one: a whole number, or an array of them.

    Raises:
        Unknown: it is none.
    """
    known = at.values.get(expression)
    if known is None and expression.is_Integer:
        return int(expression)
    if known is None:
        known = value(expression, at.having({}, arithmetic=EXACT))
    if type(known) is fmpq and known.q == 1:
        return int(known.p)
    if type(known) is int or (isinstance(known, np.ndarray) and known.dtype.kind == "i"):
        return known
    raise Unknown(f"{expression} is no whole number here")


def _delta(expression: Any, at: Scene) -> Any:
    same = whole(expression.args[0], at) == whole(expression.args[1], at)
    return at.arithmetic.lift(np.asarray(same).astype(int) if isinstance(same, np.ndarray) else int(same))


def _entry(expression: Any, at: Scene) -> Any:
    if expression in at.definitions:
        return value(at.definitions[expression], at)
    base, indices = expression.base, tuple(whole(one, at) for one in expression.indices)
    found = at.entries.get((base, *indices)) if at.arithmetic is not FLOATS else None
    if found is not None:
        return at.arithmetic.lift(found)
    for pattern, meaning in at.definitions.items():
        if isinstance(pattern, Indexed) and pattern.base == base:
            return value(meaning, at.having(dict(zip(pattern.indices, indices, strict=True))))
    if at.arithmetic is not FLOATS:
        raise Unknown(f"no entry {base}{list(indices)}")
    return _table_entry(base, indices, at)


def _table(base: Any, at: Scene) -> Any:
    """Return the entries of a family as an array, its last axis running over rows."""
    if base not in at.tables:
        keys = [key for key in at.entries if key[0] == base]
        if not keys:
            raise Unknown(f"no entries of {base}")
        shape = tuple(max(key[axis] for key in keys) for axis in range(1, len(keys[0])))
        table = np.full((*shape, 1), np.nan)
        for key in keys:
            table[tuple(one - 1 for one in key[1:])] = FLOATS.lift(at.entries[key])
        at.tables[base] = table
    return at.tables[base]


def _table_entry(base: Any, indices: tuple[Any, ...], at: Scene) -> Any:
    table = _table(base, at)
    places = tuple((one[..., 0] if isinstance(one, np.ndarray) else one) - 1 for one in indices)
    if any(np.any(place >= size) for place, size in zip(places, table.shape, strict=False)):
        raise Unknown(f"no such entry of {base}")
    return table[places]


LONGEST = 3000
"""The most terms that a sum may have here."""


@cache
def _outermost(expression: Any) -> tuple[Any, Any, Any, Any]:
    """Return what a sum's last index runs over, the index and its ends."""
    *inner, (index, low, high) = expression.limits
    return Sum(expression.function, *inner) if inner else expression.function, index, low, high


def _total(expression: Any, at: Scene) -> Any:
    function, index, low, high = _outermost(expression)
    first, last = whole(low, at), whole(high, at)
    if isinstance(first, np.ndarray) or isinstance(last, np.ndarray):
        raise Unknown("a sum whose ends vary")
    if last < first - 1:
        raise Unknown("a sum that ends before it starts")
    if last - first > LONGEST:
        raise Unknown("a long sum")
    if at.arithmetic is FLOATS:
        return _total_of_arrays(function, index, range(first, last + 1), at)
    at.hurry()
    found, inside = at.arithmetic.lift(0), at.having({})
    for one in range(first, last + 1):
        inside.values[index] = one
        found = found + value(function, inside)
    return found


def _total_of_arrays(function: Any, index: Any, over: range, at: Scene) -> Any:
    if len(over) == 0:
        return np.float64(0)
    axis = np.arange(over.start, over.stop).reshape(-1, *(1,) * at.depth)
    terms = value(function, at.having({index: axis}, depth=at.depth + 1))
    if np.size(terms) > 3 * 10**7:
        raise Unknown("a sum of too many terms")
    return terms.sum(axis=0) if np.ndim(terms) == at.depth + 1 else terms * len(over)


# Derivatives, limits and matrices.


def _derivative(expression: Any, at: Scene) -> Any:
    return value(_differentiated(expression, tuple(at.definitions.items())), at)


@cache
def _differentiated(expression: Any, definitions: tuple[tuple[Any, Any], ...]) -> Any:
    """Return a derivative done by SymPy, definitions put in and all bound indices renamed first.

    What it is by is itself there, even if it stands for something.
    """
    inside, by = _fresh(expression.expr), {getattr(one, "base", one) for one in expression.variables}
    for name, meaning in definitions:
        if getattr(name, "base", name) in by:
            continue
        if isinstance(name, Indexed):
            there = [one for one in inside.atoms(Indexed) if one.base == name.base]
            inside = inside.xreplace(
                {
                    one: _fresh(meaning).xreplace(dict(zip(name.indices, one.indices, strict=True)))
                    for one in there
                }
            )
        else:
            inside = inside.xreplace({name: _fresh(meaning)})
    unknown = inside.has(E, Var, Limit) or inside.has(largest)
    if unknown:
        raise Unknown("a derivative of a mean, a limit or a largest score")
    return inside.diff(*expression.variables)


def _fresh(expression: Any) -> Any:
    """Return an expression with other names for what its sums bind."""

    def renamed(one: Any) -> Any:
        names = {index: Dummy(str(index), integer=True) for index in one.variables}
        limits = [(names[index], *(end.xreplace(names) for end in ends)) for index, *ends in one.limits]
        return Sum(one.function.xreplace(names), *limits)

    return expression.replace(lambda one: isinstance(one, Sum), renamed)


def _limit(expression: Any, at: Scene) -> Any:
    body, variable, to, direction = expression.args
    if at.within or at.arithmetic is not BALLS:
        return value(_by_sympy(expression), at)
    try:
        return _settled(
            body, variable, [_towards(to, direction, step, at) for step in (10**4, 10**7, 10**10)], at
        )
    except Unknown as error:
        if to != oo or "settle" in str(error):
            raise
        return _settled(body, variable, [20, 80, 320], at)


@cache
def _by_sympy(limit: Any) -> Any:
    found = limit.doit()
    if found.has(Limit):
        raise Unknown("a limit that SymPy does not take")
    return found


def _towards(to: Any, direction: Any, step: int, at: Scene) -> Any:
    if to in {oo, -oo}:
        return step if to == oo else -step
    return value(to, at) + arb(fmpq(1, step)) * (-1 if str(direction) == "-" else 1)


def _settled(body: Any, variable: Any, places: list[Any], at: Scene) -> Any:
    """Return the last of three values in a ball of ten times the last difference.

    Raises:
        Unknown: the second difference is not far smaller than the first.
    """
    one, two, three = (value(body, at.moved({variable: place})) for place in places)
    before, last = abs(two - one), abs(three - two)
    scale = arb("1e-9") * (1 + abs(three))
    if not (last < scale or last * 5 < before):
        raise Unknown("a limit that does not settle")
    return three + arb(0, (10 * last + scale).upper())


def _trace(expression: Any, at: Scene) -> Any:
    matrix = _matrix(expression.arg, at)
    return at.arithmetic.lift(matrix.trace())


def _matrix_entry(expression: Any, at: Scene) -> Any:
    parent, *place = expression.args
    matrix = _matrix(parent, at)
    row, column = (whole(one, at) for one in place)
    if isinstance(row, np.ndarray) or isinstance(column, np.ndarray):
        return np.vectorize(lambda *at: FLOATS.lift(matrix[at]), otypes=[float])(row, column)
    return at.arithmetic.lift(matrix[row, column])


def _matrix(expression: Any, at: Scene) -> Any:
    """Return a matrix of balls.

    Raises:
        Unknown: it is none that is known here.
    """
    at = at.having({}, arithmetic=BALLS)
    known = at.values.get(expression)
    if known is not None:
        return known
    if isinstance(expression, Transpose):
        return _matrix(expression.arg, at).transpose()
    if isinstance(expression, MatAdd):
        return reduce(lambda a, b: a + b, (_matrix(one, at) for one in expression.args))
    if isinstance(expression, MatMul):
        return reduce(
            _times, (_matrix(one, at) if one.is_Matrix else value(one, at) for one in expression.args)
        )
    if isinstance(expression, MatPow):
        base, exponent = _matrix(expression.base, at), whole(expression.exp, at)
        return base**exponent if exponent >= 0 else base.inv() ** -exponent
    raise Unknown(f"the matrix {type(expression).__name__}")


def _times(a: Any, b: Any) -> Any:
    return b * a if isinstance(a, arb) and isinstance(b, arb_mat) else a * b


def values(side: Any, at: Scene) -> list[Any]:
    """Return the values of a side: several of a matrix, a shape or a tuple."""
    if isinstance(side, MatrixShape):
        return [value(S(one), at) for one in side.args[0].shape]
    if getattr(side, "is_Matrix", False):
        return list(_matrix(side, at).entries())
    if type(side).__name__ == "Tuple":
        return [value(one, at) for one in side.args]
    return [value(side, at)]


HANDLERS: dict[Any, Any] = {
    Add: _sum_of, Mul: _product_of, Pow: _power_of, Symbol: _symbol, Indexed: _entry, Sum: _total,
    Derivative: _derivative, Limit: _limit, KroneckerDelta: _delta,
    Trace: _trace, MatrixElement: _matrix_entry, MatrixSymbol: _unknown,
    Integer: lambda one, at: at.arithmetic.lift(int(one.p)),
    Rational: lambda one, at: at.arithmetic.lift(fraction(one)),
    Float: _unknown,
    NumberSymbol: lambda one, at: at.arithmetic.constant(one),
    ImaginaryUnit: lambda one, at: at.arithmetic.constant(one),
    type(S.Infinity): lambda one, at: at.arithmetic.constant(one),
    type(S.NegativeInfinity): lambda one, at: at.arithmetic.constant(one),
    **dict.fromkeys(FUNCTIONS, _function_of),
}  # fmt: skip
"""What evaluates a node, by its type; means add theirs."""
