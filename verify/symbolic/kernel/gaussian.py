"""Means over independent normal variables as integrals over one: of a combination, and of the largest."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from sympy import Add, Derivative, Dummy, Indexed, S, diff, erf, expand, oo, sqrt

from verify.symbolic.kernel.core import Conclusion, Hypotheses, Population, Refused, Rule, rule
from verify.symbolic.kernel.equations import same
from verify.symbolic.kernel.laws import normal_density
from verify.symbolic.kernel.moments import component, refuse_nested
from verify.symbolic.kernel.normal import NORMAL_SCORES
from verify.symbolic.kernel.ranges import defined, gathered
from verify.symbolic.kernel.signs import is_known, is_real
from verify.symbolic.kernel.words import OPAQUE, E, Var, largest, n, p, s, sigma

SCORES = Population({s: (S.One, S.Zero, sigma**2)}, normal=(s,))
"""Independent normal scores with mean 0 and standard deviation σ, however many."""


def _averaged(expression: Any) -> tuple[Any, Any]:
    """Return what stands outside all means, and what is averaged with its coefficients, added up.

    Raises:
        Refused: there is no mean, or the expression is not linear in its means.
    """
    refuse_nested(expression)
    opaque = expression.atoms(*OPAQUE, Derivative)
    if any(other != one and other.has(one) for one in expression.atoms(E) for other in opaque):
        raise Refused(f"{expression}: a mean stands inside a sum, an integral, a limit or a derivative")
    means = {one: Dummy() for one in expression.atoms(E)}
    opened = expression.xreplace(means)
    factors = {one: diff(opened, stand_in) for one, stand_in in means.items()}
    if not means or opened.has(Var) or any(one.has(*means.values()) for one in factors.values()):
        raise Refused(f"{expression}: not linear in its means, or without any")
    outside = opened.xreplace(dict.fromkeys(means.values(), S.Zero))
    return outside, Add(*(factor * one.args[0] for one, factor in factors.items()))


def _is_hidden(inside: Any, under: Hypotheses, *words: Any) -> bool:
    """Return whether what is averaged names what is defined by something else, or one of the words."""
    return any(inside.has(name) for name in (*words, *(name for name, _ in under.definitions)))


def _compared(rest: Any, after: Any, variable: Any, integrand: Any, under: Hypotheses) -> Hypotheses:
    """Return the hypotheses under which ``after`` is the rest and an integral over the whole line.

    Raises:
        Refused: it is not, or the integral is not known to converge.
    """
    whole = gathered(after, variable)
    on = whole.on(under)
    if (whole.low, whole.high) != (-oo, oo):
        raise Refused("a normal variable has all real values")
    function = integrand(on.at)
    if not (same(function, whole.integrand(variable, on.at)) and same(rest, whole.rest)):
        raise Refused("the other side is not the integral of this function times the density")
    if not on.converges(function):
        raise Refused("not known to converge")
    whole.refuse_split(variable, on)
    return defined(after, under)


@rule
@dataclass(frozen=True)
class OverNormal(Rule):
    """The mean of a function of one ``combination`` of independent normal variables, as an integral over it.

    A linear combination Σc_i·x_i of independent normal variables is normal, with mean Σc_i·E x_i and variance
    Σc_i²·Var x_i, which must be positive; what is averaged depends on it alone. It is continuous and grows so
    slowly that the integral over the ``variable`` converges.
    """

    population: Population
    combination: Any
    variable: Any
    label = "a linear combination of independent normal variables is normal"

    def conclude(self, before: Any, after: Any, under: Hypotheses) -> Conclusion:
        """Return the equation, with the population as its law."""
        rest, inside = _averaged(before)
        parts = self._parts()
        mean = Add(*(one * self._moment(atom, 1) for atom, one in parts.items()))
        variance = Add(
            *(one**2 * (self._moment(atom, 2) - self._moment(atom, 1) ** 2) for atom, one in parts.items())
        )
        if not (is_known(variance, under, strict=True) and is_real(mean)):
            raise Refused(f"not known to be positive: the variance {variance}")
        first, factor = next(iter(parts.items()))
        others = self.combination - factor * first
        self._refuse_others(rest, inside, under)

        def integrand(at: Any) -> Any:
            return inside.xreplace({first: (at - others) / factor}) * normal_density(at - mean, variance)

        found = _compared(rest, after, self.variable, integrand, under)
        return Conclusion(hypotheses=self._there(parts, found).merged(Hypotheses(law=self.population)))

    def _parts(self) -> dict[Any, Any]:
        """Return the coefficients of the combination by its random atoms.

        Raises:
            Refused: it is not linear in normal ones, or a coefficient may be 0.
        """
        atoms = self.population.randoms(self.combination)
        parts = {one: diff(self.combination, one) for one in atoms}
        linear = not expand(self.combination - Add(*(factor * one for one, factor in parts.items())))
        if not atoms or not linear or self.population.randoms(Add(*(one**2 for one in parts.values()))):
            raise Refused(f"{self.combination} is no linear combination of what is random")
        for one, factor in parts.items():
            named = all(index.is_Integer for index in one.indices) if isinstance(one, Indexed) else True
            if component(one) not in self.population.normal or not named:
                raise Refused(f"{one} is not normal, or its index is open")
            if not (is_real(factor) and factor.is_nonzero):
                raise Refused(f"not known to be a real number other than 0: {factor}")
        return parts

    def _moment(self, atom: Any, order: int) -> Any:
        return self.population.moment(component(atom), order)

    def _refuse_others(self, rest: Any, inside: Any, under: Hypotheses) -> None:
        """Refuse what is random besides: outside the means, by its definition, or as a word of the kernel."""
        if _is_hidden(
            inside + self.combination, under, *((p, largest) if s in self.population.moments else ())
        ):
            raise Refused("something else there may be random too")
        if self.population.randoms(rest):
            raise Refused("what is random stands outside the mean")

    def _there(self, parts: dict[Any, Any], under: Hypotheses) -> Hypotheses:
        """Return the hypotheses, and that the entries that are named are there."""
        for one in parts:
            for index in one.indices if isinstance(one, Indexed) else ():
                if index < 1:
                    raise Refused(f"{one}: there is no such entry")
                if self.population.dimension is not None:
                    under = under.having(self.population.dimension - index >= 0)
        return under


@rule
@dataclass(frozen=True)
class LargestOfNormal(Rule):
    """The mean of a function f of the largest of n normal scores is ∫ f(σz)·n·φ(z)·Φ(z)^(n-1) dz.

    The largest of n independent standard normal variables is at most z where all are, with probability
    Φ(z)^n, whose derivative is its density. Source: H. A. David, H. N. Nagaraja, Order Statistics, 2.1.
    """

    variable: Any
    label = r"the largest is at most z with probability $\Phi(z)^n$, whose derivative is its density"

    def conclude(self, before: Any, after: Any, under: Hypotheses) -> Conclusion:
        """Return the equation, over normal scores."""
        rest, inside = _averaged(before)
        if inside.has(Indexed) or _is_hidden(inside, under) or rest.has(p, s, largest):
            raise Refused("only the largest score may be random")

        def integrand(at: Any) -> Any:
            below = (1 + erf(at / sqrt(2))) / 2
            return inside.xreplace({largest: sigma * at}) * n * normal_density(at, S.One) * below ** (n - 1)

        found = _compared(rest, after, self.variable, integrand, under)
        return Conclusion(hypotheses=found.merged(Hypotheses(law=NORMAL_SCORES)))
