"""Expectation over components that are independent index by index, with symbolic dimension.

A score is ``Sum(q[i]*k[i], (i, 1, d))``. The entries of one component base (``q``) are i.i.d. over the
index, and different bases are independent. Then the expectation of a product of such sums is itself a
sum over the ways in which the factors' indices can coincide (set partitions), each pattern with b
distinct indices occurring d(d-1)...(d-b+1) times. That is what ``by_index`` does; ``expansion`` computes
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
    Add,
    Dummy,
    Function,
    Idx,
    Indexed,
    Mul,
    Poly,
    S,
    Sum,
    Symbol,
    symbols,
)
from sympy.core.sorting import default_sort_key

from verify.errors import VerifyError
from verify.symbolic.algebra import replaced, with_powers
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
    random variable without an index. ``dimension`` is the symbol of the sums' upper limit. ``alike`` are
    groups of components that follow one law, where a derivation rests on that.
    """

    moments: Mapping[Component, tuple[Any, ...]]
    dimension: Symbol
    alike: tuple[tuple[Component, ...], ...] = ()

    def any_law(self) -> Population:
        """Return the same components with a symbol of its own for every moment of every law.

        What holds there uses no assumption but independence, and which components are ``alike``.
        """
        return _any_law(frozenset(self.moments), self.alike, self.dimension)

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


_ORDERS = 12
"""The highest order of a moment that stands for any law; no derivation comes near it."""


@cache  # one object for the same components, so that what was expanded once is known to all claims
def _any_law(
    components: frozenset[Component], alike: tuple[tuple[Component, ...], ...], dimension: Symbol
) -> Population:
    groups = [*alike, *((one,) for one in components - {one for group in alike for one in group})]
    laws = [(S.One, *symbols(f"m1:{_ORDERS + 1}", cls=Dummy)) for _ in groups]
    moments = {one: law for group, law in zip(groups, laws, strict=True) for one in group}
    return Population(moments, dimension, alike)


@cache  # the rules that are applied in turn, and their checks, ask it of the same expressions
def refuse_nested(expression: Any) -> None:
    """Refuse an expectation or variance inside another: a value that depends on nothing, or a condition.

    Raises:
        DerivationError: there is one.
    """
    for outer in expression.atoms(E, Var):
        if outer.args[0].has(E, Var):
            one = plain(min(outer.args[0].atoms(E, Var), key=default_sort_key))
            raise DerivationError(
                f"{plain(outer)}: {one} stands inside another expectation; it is a number, so take it out, "
                f"E(x*{one}) = E(x)*{one}, write Var(x) for E((x - E(x))**2), and a mean given some of the "
                "components as the expression that it is"
            )


def pointwise(expression: Any) -> Any:
    """Return what is averaged, of an expression that is linear in its expectations.

    Numbers stay as they are: a relation between two such random variables is one between their means.

    Raises:
        DerivationError: the expression is not linear in its expectations.
    """
    refuse_nested(expression)
    means = {mean: Dummy() for mean in expression.atoms(E)}
    outside = expression.xreplace(means)
    if any(outside.diff(one).has(*means.values()) for one in means.values()):
        raise DerivationError(f"{plain(expression)}: not linear in its expectations")
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

    def known(atom: Any, order: int) -> Any:
        return population.moment(component(atom), order)

    refuse_nested(expression)
    return replaced(expression, E, lambda x: _per_monomial(x, population, known))


def evaluate(expression: Any, population: Population) -> Any:
    """Return ``expression`` with all variances and expectations evaluated, symbolic in the dimension."""
    return by_moments(by_index(unfold(expression), population), population)


def component(atom: Any) -> Component:
    """Return the component that ``atom`` is an entry of, or is."""
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
    return Add(
        *(
            coefficient * _sum_over_patterns(terms, powers, population.dimension)
            for powers, coefficient in Poly(outside, *stand_ins).terms()
        )
    )


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
    found = []
    for groups, count in _patterns(powers).items():
        occurrences = (dimension - j for j in range(len(groups)))
        means = (E(Mul(*[t**n for t, n in zip(terms, group, strict=True)])) for group in groups)
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
        raise DerivationError(f"{plain(argument)}: split the sums by index first")
    return with_powers(argument, randoms, moment)
