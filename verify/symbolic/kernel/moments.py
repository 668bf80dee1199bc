"""Expectation over components that are independent index by index, with symbolic dimension.

A score is ``Sum(q[i]*k[i], (i, 1, d))``. The entries of one component base (``q``) are i.i.d. over the
index, and different bases are independent. Then the expectation of a product of such sums is itself a
sum over the ways in which the factors' indices can coincide (set partitions), each pattern with b
distinct indices occurring d(d-1)...(d-b+1) times.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from itertools import combinations, product
from math import comb, prod
from typing import Any

from sympy import Add, Dummy, Indexed, Mul, Poly, PolynomialError, Pow, S, Sum, symbols
from sympy.core.sorting import default_sort_key

from verify.symbolic.kernel.algebra import is_zero, replaced, with_powers
from verify.symbolic.kernel.core import Conclusion, Rule
from verify.symbolic.kernel.gate import averaged, outside_means
from verify.symbolic.kernel.hypotheses import Hypotheses, Population, Refused
from verify.symbolic.kernel.signs import where_defined
from verify.symbolic.kernel.words import E, Var

_ORDERS = 12
"""The highest order of a moment that stands for any law; no derivation comes near it."""


@cache  # one object for the same components, so that what was evaluated once is known to all claims
def any_moments(population: Population) -> Population:
    """Return the components with a symbol of its own for every moment of every law.

    What holds there uses no assumption but independence, and which components are alike.
    """
    alike = population.alike
    apart = (one for one in population.moments if not any(one in group for group in alike))
    groups = [*alike, *((one,) for one in apart)]
    laws = [(S.One, *symbols(f"m1:{_ORDERS + 1}", cls=Dummy)) for _ in groups]
    moments = {one: law for group, law in zip(groups, laws, strict=True) for one in group}
    return Population(moments, population.dimension, alike)


@cache  # the rules that are applied in turn, and their checks, ask it of the same expressions
def refuse_nested(expression: Any) -> None:
    """Refuse an expectation or variance inside another: a value that depends on nothing, or a condition.

    Raises:
        Refused: there is one.
    """
    for outer in expression.atoms(E, Var):
        if outer.args[0].has(E, Var):
            one = min(outer.args[0].atoms(E, Var), key=default_sort_key)
            raise Refused(
                f"{outer}: {one} stands inside another expectation; it is a number, so take it out, "
                f"E(x*{one}) = E(x)*{one}, write Var(x) for E((x - E(x))**2), and a mean given some of the "
                "components as the expression that it is"
            )


def pointwise(expression: Any) -> Any:
    """Return what is averaged, of an expression that is linear in its expectations.

    Numbers stay as they are: a relation between two such random variables is one between their means.

    Raises:
        Refused: the expression is not linear in its expectations, or what is averaged stands outside, too.
    """
    refuse_nested(expression)
    outer = outside_means(expression)
    if kept := [one for one in averaged(expression) if outer.has(one)]:
        raise Refused(f"{expression}: {kept[0]} is averaged, and stands outside every mean")
    means = {mean: Dummy() for mean in expression.atoms(E)}
    outside = expression.xreplace(means)
    if any(outside.diff(one).has(*means.values()) for one in means.values()):
        raise Refused(f"{expression}: not linear in its expectations")
    return outside.xreplace({stand_in: mean.args[0] for mean, stand_in in means.items()})


def unfold(expression: Any) -> Any:
    """Return ``expression`` with every Var(x) written E[x^2] - E[x]^2."""
    refuse_nested(expression)
    return replaced(expression, Var, lambda x: E(x**2) - E(x) ** 2)


def by_index(expression: Any, population: Population) -> Any:
    """Return ``expression`` with every expectation of sums split by which indices coincide.

    What remains inside E[...] concerns a single index; uses independence of different indices only.
    """
    refuse_nested(expression)
    return replaced(expression, E, lambda x: _split_sums(x, population))


def by_component(expression: Any, population: Population) -> Any:
    """Return ``expression`` with every single-index E[...] split by linearity and independence."""
    refuse_nested(expression)
    return replaced(expression, E, lambda x: _per_monomial(x, population, lambda atom, n: E(atom**n)))


def by_moments(expression: Any, population: Population) -> Any:
    """Return ``expression`` with every single-index E[...] replaced by the assumed moments."""
    refuse_nested(expression)
    return replaced(expression, E, lambda x: _per_monomial(x, population, population.moment))


def evaluate(expression: Any, population: Population) -> Any:
    """Return ``expression`` with all variances and expectations evaluated, symbolic in the dimension."""
    return replaced(unfold(expression), E, lambda x: _mean(x, population))


@cache  # a step's expression is the next step's start, and claims share their first steps
def _mean(argument: Any, population: Population) -> Any:
    """Return E[argument]: over the indexed components first, given the others, then over these."""

    def of_entries(x: Any) -> Any:
        entries = [one for one in population.randoms(x) if isinstance(one, Indexed)]
        return with_powers(x, entries, population.moment)

    given = argument
    if argument.has(Sum):
        index, terms, outside, stand_ins = _apart(argument, population)
        if any(isinstance(one, Indexed) for one in population.randoms(outside)):
            raise Refused(f"{argument}: an entry stands outside the sums over the index {index}")
        patterns = (
            coefficient * _sum_over_patterns(terms, powers, population.dimension, of_entries)
            for powers, coefficient in Poly(outside, *stand_ins).terms()
        )
        given = Add(*patterns)
    randoms = population.randoms(given)
    _refuse_maybe_one(randoms)
    return with_powers(given, randoms, population.moment) if randoms else given


def _refuse_maybe_one(randoms: list[Any]) -> None:
    """Refuse two entries of one family that may be one, as their indices may be equal.

    Raises:
        Refused: there are two.
    """
    for one, other in combinations(randoms, 2):
        if isinstance(one, Indexed) and isinstance(other, Indexed) and one.base == other.base:
            apart = (a - b for a, b in zip(one.indices, other.indices, strict=True))
            if not any(gap.is_nonzero for gap in apart):
                raise Refused(f"{one} and {other} may be one")


def _split_sums(argument: Any, population: Population) -> Any:
    if not argument.has(Sum):
        return E(argument)
    index, terms, outside, stand_ins = _apart(argument, population)
    if population.randoms(outside) or any(
        not isinstance(one, Indexed) for term in terms for one in population.randoms(term)
    ):
        raise Refused(f"{argument}: a component stands outside the sums over the index {index}")
    return Add(
        *(
            coefficient * _sum_over_patterns(terms, powers, population.dimension, E)
            for powers, coefficient in Poly(outside, *stand_ins).terms()
        )
    )


def _apart(argument: Any, population: Population) -> tuple[Any, list[Any], Any, list[Any]]:
    """Return the common index of the sums in an expression, their terms, and the rest with symbols for them.

    Raises:
        Refused: a sum does not run from 1 to the dimension, or depends on its index by more than its entries.
    """
    sums = sorted(argument.atoms(Sum), key=default_sort_key)
    index = sums[0].limits[0][0]
    for one in sums:
        if len(one.limits) != 1 or tuple(one.limits[0][1:]) != (1, population.dimension):
            raise Refused(f"{one}: only sums from 1 to {population.dimension} are covered")
        variable = one.limits[0][0]
        entries = {a: Dummy() for a in population.randoms(one.function) if a.has(variable)}
        rest = one.function.xreplace(entries)
        # Neither another index than the sum's, nor what is no random component and differs from term to term.
        others = any(getattr(a, "indices", ()) != (variable,) for a in entries)
        if (
            others
            or rest.has(variable)
            or any(isinstance(left, Indexed) for left in population.randoms(rest))
        ):
            raise Refused(f"{one}: its terms are not independent and alike")
    stand_ins = [Dummy() for _ in sums]
    outside = argument.xreplace(dict(zip(sums, stand_ins, strict=True)))
    return index, [one.function.subs(one.limits[0][0], index) for one in sums], outside, stand_ins


def _sum_over_patterns(
    terms: list[Any], powers: tuple[int, ...], dimension: Any, mean: Callable[[Any], Any]
) -> Any:
    """Return the mean of the product of the sums over ``terms`` to their ``powers``."""
    found = []
    for groups, count in _patterns(powers).items():
        occurrences = (dimension - j for j in range(len(groups)))
        means = (mean(Mul(*[t**n for t, n in zip(terms, group, strict=True)])) for group in groups)
        found.append(Mul(count, *occurrences, *means))
    return Add(*found)


@cache
def _patterns(powers: tuple[int, ...]) -> Counter[tuple[tuple[int, ...], ...]]:
    """Return the set partitions of a product's factors, alike ones counted together.

    ``powers`` says how often each distinct factor occurs; a pattern is a sorted tuple of groups, each
    saying how often it holds each factor. Built group by group: first the one that holds the first factor.
    """
    if not any(powers):
        return Counter({(): 1})
    first = next(j for j, n in enumerate(powers) if n)
    choices = [range(1 if j == first else 0, n + 1) for j, n in enumerate(powers)]
    found: Counter[tuple[tuple[int, ...], ...]] = Counter()
    for group in product(*choices):
        ways = prod(
            comb(n - (j == first), g - (j == first))
            for j, (n, g) in enumerate(zip(powers, group, strict=True))
        )
        left = tuple(n - g for n, g in zip(powers, group, strict=True))
        for others, count in _patterns(left).items():
            found[tuple(sorted((group, *others)))] += ways * count
    return found


def _per_monomial(argument: Any, population: Population, moment: Callable[[Any, int], Any]) -> Any:
    randoms = population.randoms(argument)
    if not randoms:
        return argument
    if argument.atoms(Sum):
        raise Refused(f"{argument}: split the sums by index first")
    _refuse_maybe_one(randoms)
    return with_powers(argument, randoms, moment)


@dataclass(frozen=True)
class Evaluation(Rule):
    """Both sides have one value in the moments, symbolic in the dimension: by which indices coincide.

    The moments are symbols of their own, so that nothing holds because a mean happens to be 0, or the
    ``assumed`` ones of the population.
    """

    population: Population
    assumed: bool = False

    @property
    def label(self) -> str:
        """How the step follows, in words."""
        return f"moment calculus, {'the assumed moments put in' if self.assumed else 'for any moments'}"

    def conclude(self, before: Any, after: Any, under: Hypotheses) -> Conclusion:
        """Return the equation, with the population as its law."""
        moments = self.population if self.assumed else any_moments(self.population)
        gap = evaluate(before, moments) - evaluate(after, moments)
        if not is_zero(gap):
            raise Refused(f"the sides differ by {gap}")
        assumed = self.population if self.assumed else self.population.of_any_law()
        found = under.merged(Hypotheses(law=assumed))
        law = found.law if isinstance(found.law, Population) else assumed
        for side in (before, after):
            found = where_defined(_with_known_denominators(side, law), found)
        return Conclusion(hypotheses=found)


def _with_known_denominators(side: Any, law: Population) -> Any:
    """Return a side with the means below its fractions evaluated, where the law says their moments.

    Raises:
        Refused: one is 0.
    """
    known = {}
    for one in side.atoms(Pow):
        if one.exp.could_extract_minus_sign() and one.base.has(E, Var):
            try:
                value = evaluate(one.base, law)
            except (Refused, PolynomialError):
                continue
            if is_zero(value):
                raise Refused(f"{one.base} is 0, and stands below a fraction")
            known[one] = value**one.exp
    return side.xreplace(known)
