"""Checks of steps over expectations: every index written out, or the moment calculus on both sides.

Without more said, both take any moments: every moment of every component is a symbol of its own, so that
nothing passes because a mean happens to be 0. A step that puts the assumed moments in says so.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any, ClassVar

from sympy import Dummy, Indexed, Mul, Poly, PolynomialError, S, Sum, expand, fraction, together

from verify.symbolic.algebra import is_zero
from verify.symbolic.expectation import (
    DerivationError,
    E,
    Var,
    component,
    evaluate,
    refuse_nested,
)
from verify.symbolic.printing import latex, plain

if TYPE_CHECKING:
    from verify.symbolic.derivation import Reach
    from verify.symbolic.expectation import Population


@dataclass(frozen=True)
class Expansion:
    """Both sides, written out index by index at concrete dimensions, are the same function of the dimension.

    Their difference is a polynomial in it over a common denominator. ``holds`` bounds its degree and writes
    out as many dimensions as exceed it, which is not a sample but a proof; where that takes more than
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
        where = f"at as many ${latex(self.population.dimension)}$ as the degree asks for"
        return f"exact expansion {where}, {_with_moments(assumed=self.assumed)}"

    def holds(self, before: Any, after: Any) -> bool:
        """Return whether both sides agree at so many dimensions that this settles the matter."""
        enough = degree_bound(before, after, self.population) + 1
        if enough > self.most:
            return False
        law = _law(self.population, before, after, assumed=self.assumed)
        return all(is_zero(expanded(before, law, n) - expanded(after, law, n)) for n in range(1, enough + 1))


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


@cache  # a step's expression is the next step's start, and claims share their first steps
def expanded(expression: Any, population: Population, dimension: int) -> Any:
    """Return the value of ``expression`` at one concrete dimension, by writing every index out.

    Shares no rule with ``by_index``: sums are written out with distinct entries, multiplied out, and each
    monomial's expectation is the product of its entries' moments. A variance is the mean squared deviation.

    Raises:
        DerivationError: an expectation stands inside another, or a moment is needed that is not assumed.
    """
    refuse_nested(expression)

    def squared_deviation(x: Any) -> Any:
        return E((x - _mean(x, population, dimension)) ** 2)

    means = expression.replace(Var, squared_deviation).replace(E, lambda x: _mean(x, population, dimension))
    return expand(means.subs(population.dimension, dimension).doit())


@cache
def _mean(argument: Any, population: Population, dimension: int) -> Any:
    terms = expand(argument.subs(population.dimension, dimension).doit())
    randoms = population.randoms(terms)
    if not randoms:
        return terms
    total = S.Zero
    for powers, coefficient in Poly(terms, *randoms).terms():
        moments = [population.moment(component(a), n) for a, n in zip(randoms, powers, strict=True)]
        total += coefficient * Mul(*moments)
    return expand(total)


def degree_bound(one: Any, other: Any, population: Population) -> int:
    """Return a bound on the degree in the dimension of (one - other) times their denominators.

    A sum over the index contributes at most one power of the dimension to an expectation, as long as its
    terms are alike. Where odd powers of the dimension's root occur, the degree is that in the root, for so
    many positive zeros there can be.

    Raises:
        DerivationError: an expression is no rational function of the dimension or of its root, or the
            terms of a sum in it are not alike.
    """
    dimension, root = population.dimension, Dummy(positive=True)

    def powers(expression: Any) -> list[list[int]]:
        _refuse_unlike_terms(expression, population)
        # Factors of their own keep E[x²] and E[x]², or two sums, from cancelling as numbers would.
        bare = expression.replace(Var, lambda x: Dummy() * x**2).replace(E, lambda x: Dummy() * x)
        skeleton = bare.replace(Sum, lambda x, *_: dimension * Dummy() * x).subs(dimension, root**2)
        top, bottom = fraction(together(expand(skeleton)))
        try:
            return [[power for (power,) in Poly(part, root).monoms()] for part in (top, bottom)]
        except PolynomialError as error:
            raise DerivationError(
                f"{plain(expression)}: no rational function of {plain(dimension)}"
            ) from error

    (top, bottom), (other_top, other_bottom) = powers(one), powers(other)
    found = {a + b for a in top for b in other_bottom} | {a + b for a in other_top for b in bottom}
    mixed = len({power % 2 for power in found}) > 1
    return max(found) if mixed else max(found) // 2


def _refuse_unlike_terms(expression: Any, population: Population) -> None:
    """Refuse sums whose terms do not all add the same to an expectation, whatever the dimension."""
    for one in expression.atoms(Sum):
        variable, *ends = one.limits[0]
        if len(one.limits) > 1 or ends != [1, population.dimension] or one.function.has(Sum):
            raise DerivationError(
                f"{plain(one)}: only single sums from 1 to {plain(population.dimension)} are covered"
            )
        entries = one.function.atoms(Indexed)
        if any(entry.indices != (variable,) or not population.is_random(entry) for entry in entries):
            raise DerivationError(f"{plain(one)}: its terms are not independent and alike")
        if variable in one.function.xreplace({entry: Dummy() for entry in entries}).free_symbols:
            raise DerivationError(f"{plain(one)}: the index stands outside the components")
    for mean in expression.atoms(E, Var):
        outside = mean.args[0].replace(Sum, lambda *_: Dummy())
        if mean.has(Sum) and any(isinstance(one, Indexed) for one in population.randoms(outside)):
            raise DerivationError(
                f"{plain(mean.args[0])}: a component stands outside the sums over its index"
            )
