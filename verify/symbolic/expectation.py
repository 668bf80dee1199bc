"""Expectation over components that are independent index by index, with symbolic dimension.

A score is ``Sum(q[i]*k[i], (i, 1, d))``. The entries of one component base (``q``) are i.i.d. over the
index, and different bases are independent. Then the expectation of a product of such sums is itself a
sum over the ways in which the factors' indices can coincide (set partitions), each pattern with b
distinct indices occurring d(d-1)...(d-b+1) times. That is what ``by_index`` does; ``expanded`` computes
the same for one concrete dimension by writing every index out, sharing no code with it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from sympy import Dummy, Function, Idx, Indexed, Mul, Poly, S, Sum, Symbol, expand
from sympy.core.sorting import default_sort_key
from sympy.utilities.iterables import multiset_partitions

from verify.errors import VerifyError

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


@dataclass(frozen=True)
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
            raise DerivationError(f"nothing is assumed about the moment of order {order} of {component}")
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
        raise DerivationError(f"{argument}: a component stands outside the sums over the index {index}")
    total = S.Zero
    for powers, coefficient in Poly(outside, *stand_ins).terms():
        factors = [t for t, n in zip(terms, powers, strict=True) for _ in range(n)]
        total += coefficient * _sum_over_patterns(factors, population.dimension)
    return total


def _common_index(sums: list[Any], population: Population) -> tuple[Any, list[Any]]:
    index = sums[0].limits[0][0]
    for one in sums:
        if len(one.limits) != 1 or tuple(one.limits[0][1:]) != (1, population.dimension):
            raise DerivationError(f"{one}: only sums from 1 to {population.dimension} are covered")
    return index, [one.function.subs(one.limits[0][0], index) for one in sums]


def _sum_over_patterns(factors: list[Any], dimension: Any) -> Any:
    if not factors:
        return S.One
    total = S.Zero
    for pattern in multiset_partitions(list(range(len(factors)))):
        occurrences = Mul(*[dimension - j for j in range(len(pattern))])
        total += occurrences * Mul(*[E(Mul(*[factors[j] for j in group])) for group in pattern])
    return total


def _per_monomial(argument: Any, population: Population, moment: Callable[[Any, int], Any]) -> Any:
    randoms = population.randoms(argument)
    if not randoms:
        return argument
    if argument.atoms(Sum):
        raise DerivationError(f"{argument}: split the sums by index first")
    total = S.Zero
    for powers, coefficient in Poly(expand(argument), *randoms).terms():
        total += coefficient * Mul(*[moment(a, n) for a, n in zip(randoms, powers, strict=True) if n])
    return total
