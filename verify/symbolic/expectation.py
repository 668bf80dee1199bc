"""Expectation over components that are independent index by index, with symbolic dimension.

A score is ``Sum(q[i]*k[i], (i, 1, d))``. The entries of one component base (``q``) are i.i.d. over the
index, and different bases are independent. Then the expectation of a product of such sums is itself a
sum over the ways in which the factors' indices can coincide (set partitions), each pattern with b
distinct indices occurring d(d-1)...(d-b+1) times. That is what ``by_index`` does; ``expanded`` computes
the same for one concrete dimension by writing every index out, sharing no code with it.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from functools import cache
from itertools import product
from math import comb, prod
from typing import TYPE_CHECKING, Any

from sympy import (
    Dummy,
    Function,
    Idx,
    Indexed,
    Mul,
    Poly,
    PolynomialError,
    S,
    Sum,
    Symbol,
    expand,
    fraction,
    together,
)
from sympy.core.sorting import default_sort_key

from verify.errors import VerifyError
from verify.symbolic.printing import plain

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

Component = Any
"""An ``IndexedBase``, whose entries are i.i.d., or a ``Symbol`` for one random variable."""


class DerivationError(VerifyError):
    """An expression is outside what the moment calculus covers."""


class E(Function):  # type: ignore[misc]  # SymPy has no types
    """An expectation, left unevaluated until a rule evaluates it."""

    nargs = 1

    def _latex(self, printer: Any, exp: Any = None) -> str:
        body = rf"\mathbb{{E}}\left[{printer.doprint(self.args[0])}\right]"
        return body if exp is None else rf"{body}^{{{exp}}}"


class Var(Function):  # type: ignore[misc]  # SymPy has no types
    """A variance, left unevaluated until it is unfolded into expectations."""

    nargs = 1

    def _latex(self, printer: Any, exp: Any = None) -> str:
        argument = self.args[0]
        inside = printer.doprint(argument)
        body = rf"\operatorname{{Var}}\left({inside}\right)"
        return body if exp is None else rf"{body}^{{{exp}}}"


@dataclass(frozen=True, eq=False)  # compared and hashed as the object it is
class Population:
    """Mutually independent components and their raw moments.

    ``moments[q]`` holds (1, E q, E q^2, ...) of every entry of ``q``; a plain ``Symbol`` stands for one
    random variable without an index. ``dimension`` is the symbol of the sums' upper limit.
    """

    moments: Mapping[Component, tuple[Any, ...]]
    dimension: Symbol

    def moment(self, component: Component, order: int) -> Any:
        """Return E[x**order].

        Raises:
            DerivationError: the assumptions say nothing about that moment.
        """
        known = self.moments[component]
        if order >= len(known):
            raise DerivationError(
                f"nothing is assumed about the moment of order {order} of {plain(component)}"
            )
        return known[order]

    def is_random(self, atom: Any) -> bool:
        """Return whether ``atom`` is one of the components or an entry of one."""
        return (atom.base if isinstance(atom, Indexed) else atom) in self.moments

    def randoms(self, expression: Any) -> list[Any]:
        """Return the components and entries in ``expression``, in a fixed order."""
        atoms = expression.atoms(Indexed) | {
            a for a in expression.atoms(Symbol) if not isinstance(a, Idx) and self.is_random(a)
        }
        return sorted((a for a in atoms if self.is_random(a)), key=default_sort_key)


def unfold(expression: Any) -> Any:
    """Return ``expression`` with every Var(x) written E[x^2] - E[x]^2."""
    return expression.replace(Var, lambda x: E(x**2) - E(x) ** 2)


def by_index(expression: Any, population: Population) -> Any:
    """Return ``expression`` with every expectation of sums split by which indices coincide.

    What remains inside E[...] concerns a single index; uses independence of different indices only.
    """
    return expression.replace(E, lambda x: _split_sums(x, population))


def by_component(expression: Any, population: Population) -> Any:
    """Return ``expression`` with every single-index E[...] split by linearity and independence."""
    return expression.replace(E, lambda x: _per_monomial(x, population, lambda atom, n: E(atom**n)))


def by_moments(expression: Any, population: Population) -> Any:
    """Return ``expression`` with every single-index E[...] replaced by the assumed moments."""

    def known(atom: Any, order: int) -> Any:
        return population.moment(_component(atom), order)

    return expression.replace(E, lambda x: _per_monomial(x, population, known))


def evaluate(expression: Any, population: Population) -> Any:
    """Return ``expression`` with all variances and expectations evaluated, symbolic in the dimension."""
    return by_moments(by_index(unfold(expression), population), population)


@cache  # a step's expression is the next step's start
def expanded(expression: Any, population: Population, dimension: int) -> Any:
    """Return the value of ``expression`` at one concrete dimension, by writing every index out.

    Shares no rule with ``by_index``: sums are written out with distinct entries, multiplied out, and each
    monomial's expectation is the product of its entries' moments. A variance is the mean squared deviation.
    """

    def mean(x: Any) -> Any:
        terms = expand(x.subs(population.dimension, dimension).doit())
        randoms = population.randoms(terms)
        if not randoms:
            return terms
        total = S.Zero
        for powers, coefficient in Poly(terms, *randoms).terms():
            factors = [population.moment(_component(a), n) for a, n in zip(randoms, powers, strict=True)]
            total += coefficient * Mul(*factors)
        return total

    concrete = expression.replace(Var, lambda x: E((x - mean(x)) ** 2))
    return expand(concrete.replace(E, mean).subs(population.dimension, dimension).doit())


def degree_bound(one: Any, other: Any, dimension: Any) -> int:
    """Return a bound on the degree in the dimension of (one - other) times their denominators.

    A sum over the index contributes at most one power of the dimension to an expectation, as long as the
    index stands only in components. Where odd powers of the dimension's root occur, the degree is that in
    the root, for so many positive zeros there can be.

    Raises:
        DerivationError: an expression is no rational function of the dimension or of its root, or a
            summand depends on the index itself.
    """
    root = Dummy(positive=True)

    def powers(expression: Any) -> list[list[int]]:
        for one_sum in expression.atoms(Sum):
            outside = one_sum.function.replace(lambda x: isinstance(x, Indexed), lambda _: Dummy())
            if one_sum.limits[0][0] in outside.free_symbols:
                raise DerivationError(f"{plain(one_sum)}: the index stands outside the components")
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


def _component(atom: Any) -> Component:
    return atom.base if isinstance(atom, Indexed) else atom


def _split_sums(argument: Any, population: Population) -> Any:
    sums = sorted(argument.atoms(Sum), key=default_sort_key)
    if not sums:
        return E(argument)
    index, terms = _common_index(sums, population)
    stand_ins = [Dummy() for _ in sums]
    outside = argument.xreplace(dict(zip(sums, stand_ins, strict=True)))
    if population.randoms(outside):
        raise DerivationError(
            f"{plain(argument)}: a component stands outside the sums over the index {index}"
        )
    total = S.Zero
    for powers, coefficient in Poly(outside, *stand_ins).terms():
        total += coefficient * _sum_over_patterns(terms, powers, population.dimension)
    return total


def _common_index(sums: list[Any], population: Population) -> tuple[Any, list[Any]]:
    index = sums[0].limits[0][0]
    for one in sums:
        if len(one.limits) != 1 or tuple(one.limits[0][1:]) != (1, population.dimension):
            raise DerivationError(
                f"{plain(one)}: only sums from 1 to {plain(population.dimension)} are covered"
            )
        variable = one.limits[0][0]
        entries = {a: Dummy() for a in one.function.atoms(Indexed) if a.indices == (variable,)}
        rest = one.function.xreplace(entries)
        if rest.has(variable) or population.randoms(rest):
            raise DerivationError(f"{plain(one)}: its terms are not independent and alike")
    return index, [one.function.subs(one.limits[0][0], index) for one in sums]


def _sum_over_patterns(terms: list[Any], powers: tuple[int, ...], dimension: Any) -> Any:
    """Return E of the product of the sums over ``terms`` to their ``powers``."""
    total = S.Zero
    for groups, count in _patterns(powers).items():
        occurrences = Mul(*[dimension - j for j in range(len(groups))])
        means = [E(Mul(*[t**n for t, n in zip(terms, group, strict=True)])) for group in groups]
        total += count * occurrences * Mul(*means)
    return total


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
        raise DerivationError(f"{plain(argument)}: split the sums by index first")
    total = S.Zero
    for powers, coefficient in Poly(expand(argument), *randoms).terms():
        total += coefficient * Mul(*[moment(a, n) for a, n in zip(randoms, powers, strict=True) if n])
    return total
