"""What decides a line, as authors write it: ``algebra``, ``moments(laws)``, ``substitute({…})``."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from sympy import (
    Derivative,
    Dummy,
    Eq,
    Function,
    Indexed,
    IndexedBase,
    Integral,
    Sum,
    Symbol,
    factor,
    sympify,
)

from verify.errors import ClaimError
from verify.symbolic.calculus import MomentMissing, NotDerived, expected
from verify.symbolic.chains import LineCheck, Relation, StepError
from verify.symbolic.modular import Unequal, decide_equality, is_size
from verify.symbolic.notation import in_line
from verify.symbolic.points import Undecided, derived
from verify.symbolic.vocabulary import Cov, E, Index, Laws, Var, definition, free_indices, range_of


def _only_equality(relation: Relation, words: str) -> None:
    if relation != "=":
        raise StepError(f'{words} decides "=", and this line says "{relation}"')


@dataclass(frozen=True)
class Algebra(LineCheck):
    """The two sides are one expression, whatever its symbols stand for; definitions are put in."""

    @property
    def words(self) -> str:
        """What it is called in print."""
        return "algebra"

    def decide(self, before: Any, after: Any, relation: Relation) -> None:
        """Return where both sides are equal.

        Raises:
            StepError: they differ, or it could not be decided.
        """
        _only_equality(relation, self.words)
        try:
            decide_equality(before, after)
        except Unequal as error:
            raise StepError(f"{error}{_difference(sympify(before), sympify(after))}") from None
        except Undecided as error:
            raise StepError(f"algebra could not decide it: {error}") from None


algebra = Algebra()
"""The line is the same expression, written otherwise."""


@dataclass(frozen=True)
class MomentCalculus(LineCheck):
    """The two sides have the same value under laws, for every size."""

    given: Laws = field(hash=False)

    @property
    def words(self) -> str:
        """What it is called in print."""
        return "moment calculus"

    @property
    def laws(self) -> Laws:
        """The laws that it assumes."""
        return self.given

    def decide(self, before: Any, after: Any, relation: Relation) -> None:
        """Return where both sides have one value under the laws.

        Raises:
            StepError: they have not, or that could not be decided.
        """
        _only_equality(relation, self.words)
        try:
            values = expected(before, self.given), expected(after, self.given)
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
        """Put in the values that there are; of the other means, try any functional and then drawn laws."""
        try:
            decide_equality(_with_values(before, self.given), _with_values(after, self.given))
        except StepError:
            try:
                decide_equality(before, after, self.given)
            except Unequal as error:
                raise StepError(f"{self._under}, {error}") from None
            except Undecided as error:
                raise StepError(f"moments do not decide it: {missing}; {error}") from None

    @property
    def _under(self) -> str:
        return "under " + ", ".join(dict.fromkeys(law.words for law in self.given.values()))


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
    return MomentCalculus(laws)


@dataclass(frozen=True)
class Substitution(LineCheck):
    """The line is the one before with values put in for symbols, sizes or free indices."""

    values: Mapping[Any, Any] = field(hash=False)

    @property
    def words(self) -> str:
        """What it is called in print."""
        return "values put in"

    @property
    def equations(self) -> tuple[Any, ...]:
        """The values, as equations of SymPy."""
        return tuple(Eq(symbol, value, evaluate=False) for symbol, value in self.values.items())

    @property
    def assumes(self) -> tuple[str, ...]:
        """The values of sizes and symbols, as sentences; which places are meant is no assumption."""
        symbols = [equation for equation in self.equations if isinstance(equation.lhs, Symbol)]
        return tuple(f"${in_line(x)}$." for x in symbols if not isinstance(x.lhs, Index))

    def decide(self, before: Any, after: Any, relation: Relation) -> None:
        """Return where the line is the one before with the values put in.

        Raises:
            StepError: it is not, or a symbol does not stand in the line before.
        """
        _only_equality(relation, self.words)
        opened = definition(before)
        values = {sympify(symbol): sympify(value) for symbol, value in self.values.items()}
        for symbol in values:
            if not symbol.is_Symbol:
                raise StepError(
                    f"{symbol} is no symbol; values are put in for symbols, sizes and free indices"
                )
            if symbol not in opened.free_symbols:
                names = ", ".join(sorted(map(str, free_indices(opened) | _plain_symbols(opened))))
                raise StepError(f"{symbol} does not stand in the line before, where {names} do")
        _keep_apart(opened, values)
        # A size is put in by evaluating there: families keep their ranges.
        sizes = {
            symbol: int(value) for symbol, value in values.items() if is_size(symbol) and value.is_Integer
        }
        others = {symbol: value for symbol, value in values.items() if symbol not in sizes}
        try:
            decide_equality(_put(opened, others), after, sizes=sizes)
        except Unequal as error:
            put = ", ".join(f"{symbol} = {value}" for symbol, value in self.values.items())
            raise StepError(f"with {put} put in, {error}") from None
        except Undecided as error:
            raise StepError(f"values put in could not be decided: {error}") from None


def substitute(values: Mapping[Any, Any]) -> Substitution:
    """Return the check that a line is the one before with these values put in.

    Example:
        >>> Line(2 * sigma, "two components", substitute({d: 2}))
    """
    return Substitution(values)


def _keep_apart(x: Any, values: Mapping[Any, Any]) -> None:
    """Raise where two free indices over one range, which mean different places, become one."""
    places: dict[tuple[Any, Any], Any] = {}
    for index in sorted(free_indices(x), key=str):
        with suppress(ClaimError):
            first = places.setdefault((range_of(x, index), values.get(index, index)), index)
            if first != index:
                raise StepError(
                    f"{first} and {index} mean different places; both cannot be {values.get(index, index)}"
                )


def _put(x: Any, values: Mapping[Any, Any]) -> Any:
    """Put values in: bound symbols are renamed first, so that none catches a value; derivatives are taken."""
    if not values or not x.has(*values):
        return x
    if x in values:
        return values[x]
    if isinstance(x, Derivative) and any(variable in values for variable in x.variables):
        return _put(derived(x), values)
    if isinstance(x, Sum | Integral):
        own = {limit[0]: Dummy(limit[0].name, **limit[0].assumptions0) for limit in x.limits}
        limits = [
            (own[symbol], *(_put(end.xreplace(own), values) for end in ends)) for symbol, *ends in x.limits
        ]
        return x.func(_put(x.function.xreplace(own), values), *limits)
    return x.func(*(_put(part, values) for part in x.args))


def _plain_symbols(x: Any) -> set[Any]:
    labels = {part.label for part in x.atoms(IndexedBase)}
    return {symbol for symbol in x.free_symbols if symbol.is_Symbol} - labels


def _difference(before: Any, after: Any) -> str:
    """Return by how much two values differ, where that is short to say."""
    difference = before - after
    if difference.atoms(Function, Integral, Sum, Derivative, Indexed) or difference.count_ops() > 200:
        return ""
    return f" by {factor(difference)}"
