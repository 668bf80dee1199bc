"""The checks of lines, as authors write them: ``algebra``, ``moments(laws)``, ``substitute({…})``."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from typing import Any

from sympy import Derivative, Eq, Function, Indexed, Integral, Poly, S, Sum, factor, fraction, sympify
from sympy import together

from verify.errors import ClaimError
from verify.symbolic import vocabulary as of
from verify.symbolic.bounds import put_in
from verify.symbolic.calculus import MomentMissing, NotDerived, conditional, expected
from verify.symbolic.chains import Chain, Line, LineCheck, Relation
from verify.symbolic.evaluation import Undecided
from verify.symbolic.modular import Unequal, decide_equality, is_size
from verify.symbolic.vocabulary import Cov, E, Index, Law, Laws, Made, StepError, Var, definition, families_of
from verify.symbolic.vocabulary import free_indices, free_symbols, range_of


def _by_algebra(before: Any, after: Any, _: Relation) -> None:
    try:
        decide_equality(before, after)
    except Unequal as error:
        raise StepError(f"{error}{_difference(sympify(before), sympify(after))}") from None
    except Undecided as error:
        raise StepError(f"algebra could not decide it: {error}") from None


algebra = LineCheck(compare=_by_algebra, words="algebra")
"""The line is the same expression, written otherwise: whatever its symbols stand for, definitions put in."""


def moments(laws: Laws) -> LineCheck:
    """Return the check that both sides have the same value under laws, for every size.

    Example:
        >>> Line(d, "independent components", moments(STANDARD))
    """
    under = "under " + ", ".join(dict.fromkeys(law.words for law in laws.values()))

    def compare(before: Any, after: Any, _: Relation) -> None:
        try:
            values = [expected(side, laws, short=False) for side in (before, after)]
        except MomentMissing as missing:
            raise StepError(str(missing)) from None
        except NotDerived as missing:
            _decide_given_functions(before, after, laws, under, missing)
            return
        try:
            decide_equality(*values)
        except Unequal:
            raise StepError(f"{under} they differ{_difference(*values)}") from None
        except Undecided as error:
            raise StepError(f"{under} both have a value, and {error}") from None

    return LineCheck(compare=compare, words="moment calculus", laws=laws)


def _decide_given_functions(before: Any, after: Any, laws: Laws, under: str, missing: NotDerived) -> None:
    """Compare means over the families in no function, given the rest; if they differ, over drawn laws."""
    try:
        decide_equality(conditional(before, laws), conditional(after, laws))
    except (StepError, ClaimError) as error:
        if any(isinstance(family, Made) for side in (before, after) for family in families_of(side)):
            raise StepError(f"{under} the means without a program are put in, and {error}") from None
    else:
        return
    try:
        decide_equality(before, after, laws)
    except Unequal as error:
        raise StepError(f"{under}, {error}") from None
    except Undecided as error:
        raise StepError(f"moments do not decide it: {missing}; {error}") from None


def substitute(values: Mapping[Any, Any]) -> LineCheck:
    """Return the check that a line is the line before at values of symbols, sizes or free indices.

    Example:
        >>> Line(2 * sigma, "two components", substitute({d: 2}))
    """
    put = {sympify(symbol): sympify(value) for symbol, value in values.items()}
    equations = tuple(Eq(symbol, value, evaluate=False) for symbol, value in put.items())
    if any(value.has(*put) for value in put.values()):
        equations = (S.false,)  # nothing is d + 1 where that is put in for d

    def compare(before: Any, after: Any, _: Relation) -> None:
        opened = definition(before)
        for symbol in put:
            if not symbol.is_Symbol:
                raise StepError(
                    f"{symbol} is no symbol; values are put in for symbols, sizes and free indices"
                )
            if symbol not in opened.free_symbols:
                names = ", ".join(sorted(map(str, free_symbols(opened))))
                raise StepError(f"{symbol} does not stand in the line before, where {names} do")
        # Two free indices over one range mean different places, which must not become the same.
        places: dict[tuple[Any, Any], Any] = {}
        for index in sorted(free_indices(opened), key=str):
            with suppress(ClaimError):
                value = put.get(index, index)
                first = places.setdefault((range_of(opened, index), value), index)
                if first != index:
                    raise StepError(f"{first} and {index} mean different places; both cannot be {value}")
        # A size is put in by evaluating there: families keep their ranges.
        sizes = {symbol: int(x) for symbol, x in put.items() if is_size(symbol) and x.is_Integer}
        others = {symbol: value for symbol, value in put.items() if symbol not in sizes}
        try:
            decide_equality(put_in(opened, others), after, sizes=sizes)
        except Unequal as error:
            at = ", ".join(f"{symbol} = {value}" for symbol, value in put.items())
            raise StepError(f"with {at} put in, {error}") from None
        except Undecided as error:
            raise StepError(f"values put in could not be decided: {error}") from None

    # Which places are meant is no assumption.
    symbols = {x: value for x, value in put.items() if x.is_Symbol and not isinstance(x, Index)}
    assumed = tuple(Eq(symbol, value, evaluate=False) for symbol, value in symbols.items())
    return LineCheck(compare=compare, words="values put in", needs=equations, assumed=assumed)


def _difference(before: Any, after: Any) -> str:
    """Return by how much two values differ, where that is short to say."""
    difference = before - after
    if difference.atoms(Function, Integral, Sum, Derivative, Indexed) or difference.count_ops() > 200:
        return ""
    return f" by {factor(difference)}"


# ---- chains that are written for a question: its definition, the share of its terms, and the value --------


def derive(expression: Any, laws: Laws) -> Chain:
    """Return a chain from an expression in means to its value, by definitions and means of components.

    Raises:
        NotDerived: its value does not follow from the moments.
    """
    start, value = sympify(expression), expected(expression, laws)
    opened = start.replace(lambda x: isinstance(x, Var | Cov), lambda x: x.definition)
    named = [name for kind, name in ((Var, "variance"), (Cov, "covariance")) if start.has(kind)]
    lines = [] if opened == start else [Line(opened, f"definition of the {' and the '.join(named)}", algebra)]
    # For a reader, moments from the second on are written as means of a component, such as E(q_i⁴).
    usual, by_name = {of.m: of.a, of.n: of.j, of.d: of.i, of.d_v: of.e}, dict[Any, Law]()
    for family in families_of(opened) & set(laws):
        places = (usual.get(size, of.l if at else of.j) for at, size in enumerate(family.ranges))
        component, law = family[tuple(places)], laws[family]
        raw = [x if order < 2 else E(component**order) for order, x in enumerate(law.raw)]
        by_name[family] = Law(law.words, tuple(raw), law.whole)
    written = _multiplied_out(opened, by_name)
    if written not in (value, opened) and written.count_ops() <= LONGEST:
        reason = "components are independent: what equal indices contribute, and different ones"
        lines.append(Line(written, reason, moments(laws)))
    lines.append(Line(value, "the moments of the components", moments(laws)))
    return Chain(start, *lines)


LONGEST = 45
"""The operations of a line that a reader still follows, as SymPy counts them."""


def _multiplied_out(x: Any, laws: Laws) -> Any:
    """Put in each mean in falling factorials: d·… of equal indices, d(d - 1)·… of two different indices."""
    if isinstance(x, Sum):
        return expected(x, laws)
    if not isinstance(x, E):
        return x.func(*(_multiplied_out(part, laws) for part in x.args)) if x.has(E) else x
    value = expected(x, laws)
    sizes = [symbol for symbol in value.free_symbols if symbol.is_integer and not isinstance(symbol, Index)]
    over, under = fraction(together(value))
    if len(sizes) != 1 or not over.is_polynomial(sizes[0]):
        return value
    size, number, falling, result = sizes[0], 0, S.One, S.Zero
    left = Poly(over, size)
    while not left.is_zero:
        left, rest = left.div(Poly(size - number, size))
        result += falling * factor(rest.as_expr())
        falling *= size - number
        number += 1
    return result / under
