"""Characteristic functions of sums and laws, and means over normal variables as integrals over one.

Source: W. Feller, An Introduction to Probability Theory and Its Applications, volume II, chapter XV.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from sympy import (
    Add,
    Derivative,
    Dummy,
    I,
    Idx,
    Indexed,
    Integral,
    Mul,
    Pow,
    S,
    Sum,
    besselk,
    cos,
    cosh,
    diff,
    erf,
    exp,
    expand,
    log,
    oo,
    preorder_traversal,
    sin,
    sinh,
    sqrt,
    tanh,
)

from verify.symbolic.kernel.core import Conclusion, Existence, Rule, Theorem
from verify.symbolic.kernel.equations import same
from verify.symbolic.kernel.hypotheses import NOTHING, Hypotheses, Population, Refused, component
from verify.symbolic.kernel.laws import (
    density,
    normal_density,
    of_means,
    refuse_for_some,
    refuse_unless_alike,
    refuse_untame,
)
from verify.symbolic.kernel.moments import refuse_nested
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


@dataclass(frozen=True)
class OverNormal(Rule):
    """The mean of a function of one ``combination`` of independent normal variables, as an integral over it.

    A linear combination Σc_i·x_i of independent normal variables is normal, with mean Σc_i·E x_i and variance
    Σc_i²·Var x_i, which must be positive; what is averaged depends on it alone. It is continuous and grows so
    slowly that the integral over the ``variable`` converges.
    """

    existence: ClassVar[Existence] = "alike"
    population: Population
    combination: Any
    variable: Any
    label = "a linear combination of independent normal variables is normal"

    def conclude(self, before: Any, after: Any, under: Hypotheses) -> Conclusion:
        """Return the equation, with the population as its law."""
        rest, inside = _averaged(before)
        parts = self._parts()
        mean = Add(*(one * self.population.moment(atom, 1) for atom, one in parts.items()))
        variance = Add(
            *(
                one**2 * (self.population.moment(atom, 2) - self.population.moment(atom, 1) ** 2)
                for atom, one in parts.items()
            )
        )
        if not (is_known(variance, under, strict=True) and is_real(mean)):
            raise Refused(f"not known to be positive: the variance {variance}")
        first, factor = next(iter(parts.items()))
        others = self.combination - factor * first
        self._refuse_others(rest, inside)

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

    def _refuse_others(self, rest: Any, inside: Any) -> None:
        """Refuse what is random besides: outside the means, or made of scores."""
        if s in self.population.moments and inside.has(p, largest):
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


@dataclass(frozen=True)
class LargestOfNormal(Rule):
    """The mean of a function f of the largest of n normal scores is ∫ f(σz)·n·φ(z)·Φ(z)^(n-1) dz.

    The largest of n independent standard normal variables is at most z where all are, with probability
    Φ(z)^n, whose derivative is its density. Source: H. A. David, H. N. Nagaraja, Order Statistics, 2.1.
    """

    existence: ClassVar[Existence] = "alike"
    variable: Any
    label = r"the largest is at most z with probability $\Phi(z)^n$, whose derivative is its density"

    def conclude(self, before: Any, after: Any, under: Hypotheses) -> Conclusion:
        """Return the equation, over normal scores."""
        rest, inside = _averaged(before)
        if inside.has(Indexed) or rest.has(p, s, largest):
            raise Refused("only the largest score may be random")

        def integrand(at: Any) -> Any:
            below = (1 + erf(at / sqrt(2))) / 2
            return inside.xreplace({largest: sigma * at}) * n * normal_density(at, S.One) * below ** (n - 1)

        found = _compared(rest, after, self.variable, integrand, under)
        return Conclusion(hypotheses=found.merged(Hypotheses(law=NORMAL_SCORES)))


@dataclass(frozen=True)
class Multiplied(Rule):
    """From E exp(c·g_i) = r, the same of the sum of d independent g_i alike: E exp(c·Σg_i) = r^d.

    The g_i are real and made of entries of index i alone, and c is real or imaginary.
    """

    law: Population
    index: Any
    known: Any = None
    moves: ClassVar[bool] = True
    label = "independent and alike: the mean of the product is the power of one mean"

    def conclude(self, before: Any, after: Any, under: Hypotheses) -> Conclusion:
        """Return the theorem of the sum."""
        known, i = self.known, self.index
        if known.relation != "=" or not (isinstance(known.lhs, E) and isinstance(known.lhs.args[0], exp)):
            raise Refused(f"{known.lhs} is no mean of an exponential")
        exponent = known.lhs.args[0].args[0]
        entries = [one for one in exponent.atoms(Indexed) if self.law.is_random(one)]
        fixed = [one for one in Mul.make_args(exponent) if not self.law.randoms(one)]
        c, g = Mul(*fixed), Mul(*(one for one in Mul.make_args(exponent) if one not in fixed))
        if not (c.is_real or (c / I).is_real) or not isinstance(i, Idx):
            raise Refused(f"{c} is neither real nor imaginary")
        rest = g.xreplace({one: Dummy(real=True) for one in entries})
        if not entries or any(one.indices != (i,) for one in entries) or not rest.is_real:
            raise Refused(f"{g} is not made of entries of the index {i}")
        if rest.has(i) or self.law.randoms(rest) or known.rhs.has(i) or known.hypotheses.conditions:
            raise Refused(f"the terms of index {i} are not independent and alike")
        size = self.law.dimension
        if not same(known.rhs**size, after):
            raise Refused(f"it is {known.rhs**size}")
        hypotheses = known.hypotheses.merged(Hypotheses(law=self.law))
        return Conclusion(hypotheses=hypotheses, lhs=E(exp(c * Sum(g, (i, 1, size)))))


_SMOOTH = (Add, Mul, exp, cos, sin, cosh, sinh, tanh, erf)


def _refuse_rough(function: Any, t: Any) -> None:
    """Refuse a function that is not visibly smooth in a real symbol."""
    for one in preorder_traversal(function):
        if one == t or not one.has(t) or isinstance(one, _SMOOTH):
            continue
        inside, power = one.as_base_exp() if isinstance(one, Pow) else (one.args[0], S.NegativeOne)
        whole = power.is_nonnegative and power.is_integer
        if not isinstance(one, Pow | log) or not (whole or inside.is_positive):
            raise Refused(f"{one} is not known to be smooth")


def _transformed(known: Theorem) -> tuple[Any, Any, Any]:
    """Return X, t and the function of t, of a theorem on the mean of exp(itX) for all real t.

    Raises:
        Refused: it is another theorem.
    """
    exponent = known.lhs.args[0].args[0] if isinstance(known.lhs, E) and known.lhs.args[0].args else S.Zero
    if known.relation != "=" or known.lhs != E(exp(exponent)):
        raise Refused(f"{known.lhs} is no characteristic function")
    for t in sorted(known.rhs.free_symbols, key=str):
        x = exponent.coeff(t, 1) / I if exponent.is_Mul else S.Zero
        if t.is_Symbol and x != 0 and is_real(x) and not x.has(t) and known.hypotheses.domain(t) == S.Reals:
            stated = set().union(*(one.free_symbols for one in known.hypotheses.conditions))
            if t not in stated and same(exponent, I * t * x):
                return x, t, known.rhs
    raise Refused(f"{known.lhs} is no characteristic function for all real arguments")


@dataclass(frozen=True)
class Moments(Rule):
    """Moments are derivatives of the characteristic function φ at 0: E X^n is φ⁽ⁿ⁾(0)/iⁿ.

    If φ is smooth, all moments exist. The variance is that of order 2 less the square of that of order 1.
    """

    of: Any
    known: Any = None
    moves: ClassVar[bool] = True
    label = "derivatives of the characteristic function at 0"

    def conclude(self, before: Any, after: Any, under: Hypotheses) -> Conclusion:
        """Return the theorem of the moment."""
        x, t, function = _transformed(self.known)
        _refuse_rough(function, t)

        def moment(order: int) -> Any:
            return diff(function, t, order).subs(t, 0) / I**order

        if self.of == Var(x):
            value = moment(2) - moment(1) ** 2
        else:
            order = self._order(x)
            value = moment(order)
        if not same(value, after):
            raise Refused(f"it is {value}")
        return Conclusion(hypotheses=self.known.hypotheses, lhs=self.of)

    def _order(self, x: Any) -> int:
        base, order = self.of.args[0].as_base_exp() if self.of.args else (None, S.Zero)
        if self.of == E(x):
            return 1
        if base != x or self.of != E(x**order) or not (order.is_Integer and order > 0):
            raise Refused(f"{self.of} is no moment of {x}")
        return int(order)


def _kernel(inside: Any, t: Any) -> tuple[Any, Any, bool]:
    """Return u and the rest, of a product with exp(itu), or with cos(tu): then True.

    Raises:
        Refused: it has another form.
    """
    weight = inside.xreplace({t: S.Zero})
    for one in Mul.make_args(inside):
        if isinstance(one, cos) and one.has(t):
            u = one.args[0] / t
            if not u.has(t) and u.is_real and same(inside, weight * cos(t * u)):
                return u, weight, True
    u = sum((one.args[0] for one in Mul.make_args(inside) if isinstance(one, exp)), S.Zero).diff(t) / I
    if u.has(t) or not u.is_real or not same(inside, weight * exp(I * t * u)):
        raise Refused(f"{inside} is no kernel of a transform")
    return u, weight, False


def _pair(of: Theorem, transform: Theorem) -> tuple[Any, Any, Any, bool]:
    """Return X, and u, weight and whether it is of a cosine, of two theorems with the same function.

    Raises:
        Refused: they do not show that both have one law.
    """
    x, t, function = _transformed(of)
    refuse_for_some(transform, t, S.Reals)
    if not isinstance(transform.lhs, Integral) or transform.lhs.has(Sum, E):
        raise Refused(f"{transform.lhs} is no transform")
    if not same(transform.rhs, function):
        raise Refused(f"the transform is {transform.rhs}, and the characteristic function {function}")
    u, weight, of_cosine = _kernel(transform.lhs.function, t)
    if not is_known(_with_positive_bessel(weight), NOTHING, strict=True):
        raise Refused(f"not known to be positive: {weight}")
    return x, u, weight, of_cosine


def _with_positive_bessel(expression: Any) -> Any:
    """Return an expression with a positive symbol for K of real order where its argument is positive."""
    parts = (one for one in expression.atoms(besselk) if one.args[0].is_real and one.args[1].is_positive)
    return expression.xreplace({one: Dummy(positive=True) for one in parts})


@dataclass(frozen=True)
class SameLaw(Rule):
    """A characteristic function determines its law: means of a function of X are integrals against a weight.

    ``of`` says that E exp(itX) is φ(t), ``transform`` that ∫ exp(itu)·ρ is φ(t) too, for all real t and a
    positive weight ρ: then X has the law of u under ρ, and E g(X) is ∫ g(u)·ρ for a g that is bounded or
    nowhere negative. If it is ∫ cos(tu)·ρ, then X is symmetric, and E g(X) is ∫ (g(u) + g(-u))/2·ρ.
    """

    existence: ClassVar[Existence] = "alike"
    of: Theorem
    transform: Theorem
    label = "the same characteristic function, which determines the law"

    def conclude(self, before: Any, after: Any, under: Hypotheses) -> Conclusion:
        """Return the equation."""
        x, u, weight, of_cosine = _pair(self.of, self.transform)
        h = Dummy(real=True)

        def turned(inside: Any) -> Any:
            g = inside.xreplace({x: h})
            if g == inside or g.free_symbols & set(self.transform.lhs.variables):
                return None
            law = self.of.hypotheses.law
            refuse_untame(g, law if isinstance(law, Population) else Population({}))
            at = g.xreplace({h: u})
            value = (at + g.xreplace({h: -u})) / 2 if of_cosine else at
            return Integral(value * weight, *self.transform.lhs.limits)

        refuse_unless_alike(of_means(before, turned), after)
        return Conclusion(hypotheses=under)


@dataclass(frozen=True)
class DensityByTransform(Rule):
    """A characteristic function determines its law: the density with this transform is that of X.

    ``of`` says that E exp(itX) is φ(t), ``transform`` that ∫ 2cos(tx)·f(x) dx, over x > 0, is φ(t) too, for
    all real t and a positive f, which is then the density at every x > 0 where it is continuous.
    """

    existence: ClassVar[Existence] = "all"
    of: Theorem
    transform: Theorem
    label = "the density with this transform; a characteristic function determines its law"

    def conclude(self, before: Any, after: Any, under: Hypotheses) -> Conclusion:
        """Return the equation."""
        x, u, weight, of_cosine = _pair(self.of, self.transform)
        limits = self.transform.lhs.limits
        if not of_cosine or len(limits) != 1 or tuple(limits[0]) != (u, S.Zero, oo):
            raise Refused("the transform is not over the values from 0 on")
        at = before.variables[0] if isinstance(before, Derivative) else u
        if before != density(x, at) or x.has(at) or not is_known(at, under, strict=True):
            raise Refused(f"{before} is not the density at a positive place")
        _refuse_rough(_with_positive_bessel(weight), u)
        refuse_unless_alike((weight / 2).xreplace({u: at}), after)
        return Conclusion(hypotheses=under)
