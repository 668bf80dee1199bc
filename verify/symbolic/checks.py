"""What decides a line, as authors write it: ``algebra``, ``moments(laws)``, ``substitute({…})``."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from sympy import Derivative, Eq, Function, Indexed, Integral, S, Sum, factor
from sympy import sympify

from verify.errors import ClaimError
from verify.symbolic.vocabulary import StepError
from verify.symbolic.bounds import put_in
from verify.symbolic.calculus import MomentMissing, NotDerived, expected
from verify.symbolic.chains import LineCheck, Relation
from verify.symbolic.conditioning import conditional
from verify.symbolic.modular import Unequal, decide_equality, is_size
from verify.symbolic.notation import said
from verify.symbolic.points import Undecided
from verify.symbolic.vocabulary import Cov, Dot, E, Family, Index, Laws, Made, Var, definition, families_of
from verify.symbolic.vocabulary import free_indices, free_symbols, range_of


@dataclass(frozen=True)
class Algebra(LineCheck):
    """The two sides are one expression, whatever its symbols stand for; definitions are put in."""

    def compare(self, before: Any, after: Any, _: Relation) -> None:
        """Return where both sides are equal; else as ``decide``."""
        try:
            decide_equality(before, after)
        except Unequal as error:
            raise StepError(f"{error}{_difference(sympify(before), sympify(after))}") from None
        except Undecided as error:
            raise StepError(f"algebra could not decide it: {error}") from None


algebra = Algebra(words="algebra")
"""The line is the same expression, written otherwise."""


@dataclass(frozen=True)
class MomentCalculus(LineCheck):
    """The two sides have the same value under laws, for every size."""

    def compare(self, before: Any, after: Any, _: Relation) -> None:
        """Return where both sides have one value under the laws; else as ``decide``."""
        laws = self.laws or {}
        try:
            values = [expected(side, laws, short=False) for side in (before, after)]
        except MomentMissing as missing:
            raise StepError(str(missing)) from None
        except NotDerived as missing:
            self._decide_without_all_values(before, after, missing)
            return
        try:
            decide_equality(*values)
        except Unequal:
            raise StepError(f"{self._under} they differ{_difference(*values)}") from None
        except Undecided as error:
            raise StepError(f"{self._under} both have a value, and {error}") from None

    def _decide_without_all_values(self, before: Any, after: Any, missing: NotDerived) -> None:
        """Put in the values that there are; of the other means, try any functional and then drawn laws.

        Before that, families that stand in functions are given.
        """
        laws, sides = self.laws or {}, (before, after)
        before, after = (_as_entries(side, laws) for side in sides)
        try:
            decide_equality(_with_values(before, laws), _with_values(after, laws))
        except StepError as error:
            if any(isinstance(family, Made) for side in (before, after) for family in families_of(side)):
                raise StepError(
                    f"{self._under} the means without a program are put in, and {error}"
                ) from None
            with suppress(StepError, ClaimError):
                decide_equality(*(conditional(side, laws) for side in sides))
                return
            try:
                decide_equality(before, after, laws)
            except Unequal as error:
                raise StepError(f"{self._under}, {error}") from None
            except Undecided as error:
                raise StepError(f"moments do not decide it: {missing}; {error}") from None

    @property
    def _under(self) -> str:
        return "under " + ", ".join(dict.fromkeys(law.words for law in (self.laws or {}).values()))


def _as_entries(x: Any, laws: Laws) -> Any:
    """Return scores of families without a law as entries of one: what holds of any rows holds of theirs."""

    def entry(product: Any) -> Any:
        left, first, right, second = product.args
        return Family(f"{left}{right}", left.ranges[0], right.ranges[0])[first, second]

    others = x.atoms(Indexed)
    apart = [
        part
        for part in x.atoms(Dot)
        if not {part.args[0], part.args[2]} & ({*laws} | {other.base for other in others})
        and part.args[0] != part.args[2]
    ]
    return x.xreplace({part: entry(part) for part in apart})


def _with_values(x: Any, laws: Laws) -> Any:
    """Put in the means that have a value; those under a sum stay, which may bind their indices."""
    if isinstance(x, E | Var | Cov):
        try:
            return expected(x, laws)
        except NotDerived:
            return x
    if isinstance(x, Sum | Integral | Derivative) or not x.args:
        return x
    return x.func(*(_with_values(part, laws) for part in x.args))


def moments(laws: Laws) -> MomentCalculus:
    """Return the check that both sides have the same value under laws, for every size.

    Example:
        >>> Line(d, "independent components", moments(STANDARD))
    """
    return MomentCalculus(words="moment calculus", laws=laws)


@dataclass(frozen=True)
class Substitution(LineCheck):
    """The line is the one before with values put in for symbols, sizes or free indices."""

    values: Mapping[Any, Any] = field(hash=False)

    @property
    def assumes(self) -> tuple[str, ...]:
        """The values of sizes and symbols, as sentences; which places are meant is no assumption."""
        symbols = {x: value for x, value in self.values.items() if x.is_Symbol and not isinstance(x, Index)}
        return said(Eq(symbol, value, evaluate=False) for symbol, value in symbols.items())

    @property
    def conditions(self) -> tuple[Any, ...]:
        """The values, as equations of SymPy; nothing is one where d + 1 is put in for d."""
        values = {sympify(symbol): sympify(value) for symbol, value in self.values.items()}
        if any(value.has(*values) for value in values.values()):
            return (S.false,)
        return tuple(Eq(symbol, value, evaluate=False) for symbol, value in values.items())

    def compare(self, before: Any, after: Any, _: Relation) -> None:
        """Return where the line is the one before with the values put in; else as ``decide``."""
        opened = definition(before)
        values = {sympify(symbol): sympify(value) for symbol, value in self.values.items()}
        for symbol in values:
            if not symbol.is_Symbol:
                raise StepError(
                    f"{symbol} is no symbol; values are put in for symbols, sizes and free indices"
                )
            if symbol not in opened.free_symbols:
                names = ", ".join(sorted(map(str, free_symbols(opened))))
                raise StepError(f"{symbol} does not stand in the line before, where {names} do")
        _keep_apart(opened, values)
        # A size is put in by evaluating there: families keep their ranges.
        sizes = {
            symbol: int(value) for symbol, value in values.items() if is_size(symbol) and value.is_Integer
        }
        others = {symbol: value for symbol, value in values.items() if symbol not in sizes}
        try:
            decide_equality(put_in(opened, others), after, sizes=sizes)
        except Unequal as error:
            put = ", ".join(f"{symbol} = {value}" for symbol, value in self.values.items())
            raise StepError(f"with {put} put in, {error}") from None
        except Undecided as error:
            raise StepError(f"values put in could not be decided: {error}") from None


def _keep_apart(x: Any, values: Mapping[Any, Any]) -> None:
    """Raise where two free indices over one range, which mean different places, become one."""
    places: dict[tuple[Any, Any], Any] = {}
    for index in sorted(free_indices(x), key=str):
        with suppress(ClaimError):
            value = values.get(index, index)
            first = places.setdefault((range_of(x, index), value), index)
            if first != index:
                raise StepError(f"{first} and {index} mean different places; both cannot be {value}")


def substitute(values: Mapping[Any, Any]) -> Substitution:
    """Return the check that a line is the one before with these values put in.

    Example:
        >>> Line(2 * sigma, "two components", substitute({d: 2}))
    """
    return Substitution(values, words="values put in")


def _difference(before: Any, after: Any) -> str:
    """Return by how much two values differ, where that is short to say."""
    difference = before - after
    if difference.atoms(Function, Integral, Sum, Derivative, Indexed) or difference.count_ops() > 200:
        return ""
    return f" by {factor(difference)}"
