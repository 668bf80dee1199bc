"""Checks of steps over expectations: every index written out, or the moment calculus on both sides.

Without more said, both take any moments: every moment of every component is a symbol of its own, so that
nothing passes because a mean happens to be 0. A step that puts the assumed moments in says so.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any, ClassVar

from sympy import Add, Expr, Integer, Pow, S, Sum, expand, fraction

from verify.symbolic.algebra import is_whole_power, is_zero, replaced, with_powers
from verify.symbolic.expectation import (
    DerivationError,
    E,
    Var,
    component,
    evaluate,
    refuse_nested,
)
from verify.symbolic.powers import powers_of_dimension
from verify.symbolic.printing import latex, plain

if TYPE_CHECKING:
    from verify.symbolic.checks import Reach
    from verify.symbolic.expectation import Population


@dataclass(frozen=True)
class Expansion:
    """Both sides, written out index by index at concrete dimensions, are the same function of the dimension.

    Their difference is a sum of powers of it over a common denominator. ``holds`` finds which can occur and
    writes out as many dimensions as there are, which is not a sample but a proof; where that takes more than
    ``most``, the step counts as unchecked.

    The moments are symbols unless the step puts the ``assumed`` ones in; that is then all it may do, and no
    expectation is left after it.
    """

    population: Population
    assumed: bool = False
    most: int = 5
    reach: ClassVar[Reach] = "general"

    @property
    def label(self) -> str:
        """How the step is checked, in words."""
        where = f"at as many ${latex(self.population.dimension)}$ as its powers ask for"
        return f"exact expansion {where}, {_with_moments(assumed=self.assumed)}"

    def holds(self, before: Any, after: Any) -> bool:
        """Return whether both sides agree at so many dimensions that this settles the matter.

        Terms that both sides have do not matter; quotients whose numerators agree, and whose denominators do,
        are equal.
        """
        law = _law(self.population, before, after, assumed=self.assumed)
        shared = set(Add.make_args(before)) & set(Add.make_args(after))
        before, after = (
            Add(*(one for one in Add.make_args(side) if one not in shared)) for side in (before, after)
        )
        parts = tuple(zip(fraction(before), fraction(after), strict=True))
        if S.One not in parts[1] and all(self._agree(*pair, law) for pair in parts):
            return True
        return self._agree(before, after, law)

    def _agree(self, before: Any, after: Any, law: Population) -> bool:
        enough = len(powers_of_dimension(before, after, self.population))
        if enough > self.most:
            return False
        return all(is_zero(_valued(before, law, n) - _valued(after, law, n)) for n in range(1, enough + 1))


@dataclass(frozen=True)
class Evaluation:
    """The moment calculus gives the same value, symbolic in the dimension, for both sides.

    The moments are symbols or the ``assumed`` ones, as for ``Expansion``.
    """

    population: Population
    assumed: bool = False
    reach: ClassVar[Reach] = "general"

    @property
    def label(self) -> str:
        """How the step is checked, in words."""
        symbol = latex(self.population.dimension)
        return f"moment calculus, symbolic ${symbol}$, {_with_moments(assumed=self.assumed)}"

    def holds(self, before: Any, after: Any) -> bool:
        """Return whether both sides evaluate to the same expression."""
        law = _law(self.population, before, after, assumed=self.assumed)
        return is_zero(evaluate(before, law) - evaluate(after, law))


def _with_moments(*, assumed: bool) -> str:
    return "the assumed moments put in" if assumed else "for any moments"


def _law(population: Population, before: Any, after: Any, *, assumed: bool) -> Population:
    """Return the population with the moments that a step is checked under.

    Raises:
        DerivationError: the step puts the assumed moments in and does something else besides.
    """
    if not assumed:
        return population.any_law()
    if before.has(E, Var) and after.has(E, Var):
        raise DerivationError(
            f"{plain(after)}: a step that puts moments in leaves no expectation; make two steps of it"
        )
    return population


def expanded(expression: Any, population: Population, dimension: int) -> Any:
    """Return the value of ``expression`` at one concrete dimension, by writing every index out.

    Shares no rule with ``by_index``: sums are written out with distinct entries, multiplied out, and each
    monomial's expectation is the product of its entries' moments. A variance is the mean squared deviation.

    Raises:
        DerivationError: an expectation stands inside another, or a moment is needed that is not assumed.
    """
    return expand(_valued(expression, population, dimension))


@cache  # a step's expression is the next step's start, and claims share their first steps
def _valued(expression: Any, population: Population, dimension: int) -> Any:
    refuse_nested(expression)

    def squared_deviation(x: Any) -> Any:
        return E((x - _mean(x, population, dimension)) ** 2)

    means = replaced(expression, Var, squared_deviation)
    valued = replaced(means, E, lambda x: _mean(x, population, dimension))
    return _written_out(valued.xreplace({population.dimension: Integer(dimension)}))


def _written_out(expression: Any) -> Any:
    """Return ``expression`` with every sum between numbers as its terms; SymPy would ask much first."""
    if not isinstance(expression, Expr) or not expression.has(Sum):
        return expression
    parts = [_written_out(one) for one in expression.args]
    if is_whole_power(expression):
        return Pow(*parts, evaluate=False)
    inside = expression.func(*parts)
    if not isinstance(inside, Sum):
        return inside
    terms = [inside.function]
    for index, low, high in inside.limits:
        if not (low.is_Integer and high.is_Integer):
            return inside
        terms = [term.xreplace({index: Integer(at)}) for term in terms for at in range(low, high + 1)]
    return Add(*terms)


@cache
def _mean(argument: Any, population: Population, dimension: int) -> Any:
    concrete = _written_out(argument.xreplace({population.dimension: Integer(dimension)}))
    randoms = population.randoms(concrete)
    if not randoms:
        return concrete
    return with_powers(concrete, randoms, lambda one, power: population.moment(component(one), power))
