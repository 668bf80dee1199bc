"""Many independent terms that are alike: the normal law of their sum, and the first terms of a mean.

Source: W. Feller, An Introduction to Probability Theory and Its Applications, volume II, chapter VIII.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from sympy import (
    Add,
    Dummy,
    Indexed,
    Limit,
    Mul,
    Poly,
    S,
    Sum,
    diff,
    erf,
    exp,
    expand,
    oo,
    powsimp,
    sign,
    sqrt,
)

from verify.symbolic.kernel.core import (
    Conclusion,
    Hypotheses,
    Population,
    Refused,
    Rule,
    rule,
)
from verify.symbolic.kernel.equations import same
from verify.symbolic.kernel.laws import is_nowhere_negative, of_means, positive_symbol
from verify.symbolic.kernel.moments import evaluate
from verify.symbolic.kernel.signs import is_known, where_defined
from verify.symbolic.kernel.words import E, Var


@rule
@dataclass(frozen=True)
class CentralLimit(Rule):
    """Sums of ever more terms, independent and alike, of finite variance, become normal (Lindeberg, Lévy).

    The chance that a sum of d of them, less its mean and over its standard deviation, is at most x tends to
    (1 + erf(x/√2))/2. The mean and the variance of a term are those of the ``law``, by the moment calculus.
    """

    law: Population
    label = "the central limit theorem"

    def conclude(self, before: Any, after: Any, under: Hypotheses) -> Conclusion:
        """Return the limit, with the population as its law."""
        size, sums = self.law.dimension, sorted(before.atoms(Sum), key=str)
        if len(sums) != 1:
            raise Refused("there is not one sum")
        term = _term(sums[0], self.law)
        mean, variance = (evaluate(kind(term), self.law) for kind in (E, Var))
        if mean.has(size) or variance.has(size):
            raise Refused("the law depends on the number of terms")
        if not is_known(variance, under, strict=True):
            raise Refused(f"not known to be positive: {variance}")
        x = _place(after)
        deviation = (sums[0] - size * mean) / sqrt(size * variance)
        inside = (
            before.args[0].args[0] if isinstance(before, Limit) and isinstance(before.args[0], E) else S.Zero
        )
        if before != Limit(E(inside), size, oo) or not same(
            *map(_sign_of, (inside, (1 + sign(x - deviation)) / 2))
        ):
            raise Refused(f"{before} is not the limit of that chance")
        return Conclusion(hypotheses=where_defined(before, under).merged(Hypotheses(law=self.law)))


@rule
@dataclass(frozen=True)
class AboutTheMean(Rule):
    """The first terms, for many of them, of the mean of a function h of the mean U of d terms.

    The terms are independent and alike, nowhere negative, with mean m > 0, variance σ² and a finite fourth
    moment, which the ``law`` says; ``value`` is a positive symbol for U. If the third derivative of h is
    bounded for positive values, then E h(U) is h(m) + h''(m)·σ²/(2d) up to a multiple of E|U - m|³, which is
    at most (E(U - m)⁴)^(3/4) and so falls like d^(-3/2): the rest is smaller than 1/d.
    """

    law: Population
    total: Any
    value: Any
    label = "Taylor’s series about the mean, with a bounded third derivative"

    def conclude(self, before: Any, after: Any, under: Hypotheses) -> Conclusion:
        """Return the first terms."""
        size: Any = self.law.dimension
        u = positive_symbol(self.value, before)
        term = _term(self.total, self.law)
        mean, spread, _ = (evaluate(one, self.law) for one in (E(term), Var(term), E(term**4)))
        if not (is_nowhere_negative(term.xreplace(_as_real(term))) and is_known(mean, under, strict=True)):
            raise Refused(f"not known to be positive: {term}, or its mean {mean}")
        if mean.has(size) or spread.has(size) or under.domain(size).sup != oo:
            raise Refused("the law depends on the number of terms, or that is bounded")

        def turned(inside: Any) -> Any:
            h = inside.xreplace({self.total: size * u})
            if h == inside or h.has(size) or self.law.randoms(h):
                return None
            if not _is_bounded_from_zero(diff(h, u, 3), u):
                raise Refused(f"the third derivative of {h} is not known to be bounded")
            return h.xreplace({u: mean}) + diff(h, u, 2).xreplace({u: mean}) * spread / (2 * size)

        opened = of_means(before, turned)
        if opened.has(E) or not same(opened, after):
            raise Refused(f"the first terms are {opened}")
        self._refuse_steep(before)
        law = Hypotheses(law=self.law)
        return Conclusion("~", under.merged(law), order=(size, 1))

    def _refuse_steep(self, before: Any) -> None:
        """Refuse a mean that something multiplies which grows with the number of terms."""
        means = {one: Dummy() for one in before.atoms(E)}
        opened = before.xreplace(means)
        if any(diff(opened, one).has(self.law.dimension, *means.values()) for one in means.values()):
            raise Refused("the mean may only be added to, and multiplied by what does not grow")


def _as_real(term: Any) -> dict[Any, Any]:
    return {one: Dummy(real=True) for one in term.atoms(Indexed)}


def _is_bounded_from_zero(expression: Any, u: Any) -> bool:
    """Return whether an expression is visibly bounded for all positive values of u.

    That is so if in s, with u = s² or 1/s², it is a sum of polynomials in s, each times an exponential of a
    polynomial that falls to -∞: then it is continuous for s ≥ 0, and goes to 0.
    """
    s = Dummy(positive=True)
    for power in (2, -2):
        terms = Add.make_args(expand(powsimp(expand(expression.xreplace({u: s**power})))))
        if all(_falls_away(one, s) for one in terms):
            return True
    return False


def _falls_away(term: Any, s: Any) -> bool:
    exponent = sum((one.args[0] for one in Mul.make_args(term) if isinstance(one, exp)), S.Zero)
    rest = term / exp(exponent)
    if not (rest.is_polynomial(s) and exponent.is_polynomial(s)) or not exponent.has(s):
        return False
    leading = Poly(exponent, s).LC()
    return bool(leading.is_negative)


def _term(total: Any, law: Population) -> Any:
    """Return the term of a sum of independent ones that are alike, over all entries.

    Raises:
        Refused: it is no such sum.
    """
    if not isinstance(total, Sum) or len(total.limits) != 1:
        raise Refused(f"{total} is no sum over one index")
    index, *ends = total.limits[0]
    entries = law.randoms(total.function)
    if (
        ends != [1, law.dimension]
        or not entries
        or any(getattr(e, "indices", ()) != (index,) for e in entries)
    ):
        raise Refused(f"the terms of {total} are not independent and alike")
    if total.function.xreplace(dict.fromkeys(entries, S.One)).has(index, law.dimension):
        raise Refused(f"the terms of {total} are not alike")
    return total.function


def _sign_of(inside: Any) -> Any:
    """Return X where an expression is (1 + sign X)/2.

    Raises:
        Refused: it has another form.
    """
    signs = list(inside.atoms(sign))
    if len(signs) != 1 or not same(inside, (1 + signs[0]) / 2):
        raise Refused(f"{inside} is no chance")
    return signs[0].args[0]


def _place(after: Any) -> Any:
    """Return x where an expression is the normal law's (1 + erf(x/√2))/2.

    Raises:
        Refused: it has another form.
    """
    found = list(after.atoms(erf))
    x = found[0].args[0] * sqrt(2) if len(found) == 1 else S.Zero
    if not (x.is_Symbol and x.is_real) or not same(after, (1 + erf(x / sqrt(2))) / 2):
        raise Refused(f"{after} is not the normal law")
    return x
