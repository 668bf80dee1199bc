"""Signs: theorems 0 ≤ e and 0 < e, by what is known of the symbols' domains, and by Sturm's theorem."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from itertools import count
from typing import Any

from sympy import (
    Add,
    Dummy,
    FiniteSet,
    Gt,
    Idx,
    Indexed,
    IndexedBase,
    Integer,
    Integral,
    Interval,
    Mul,
    Ne,
    Poly,
    Pow,
    Range,
    Rational,
    S,
    Sum,
    Symbol,
    Trace,
    binomial,
    cos,
    cosh,
    diff,
    erf,
    erfc,
    exp,
    factor,
    factor_list,
    factorial,
    gamma,
    log,
    oo,
    preorder_traversal,
    prime,
    sin,
    sinh,
    tan,
    tanh,
    together,
)  # fmt: skip
from sympy.core.sorting import default_sort_key
from sympy.matrices.expressions.matexpr import MatrixElement
from sympy.polys.polyerrors import PolynomialError
from sympy.sets.sets import Set, Union

from verify.symbolic.kernel.algebra import SURELY, is_of_numbers, is_zero
from verify.symbolic.kernel.core import Conclusion, Rule, Same, Theorem, prove
from verify.symbolic.kernel.gate import labels_in
from verify.symbolic.kernel.hypotheses import (
    Hypotheses,
    Refused,
    assumed,
    free_symbols,
    parts_of,
)
from verify.symbolic.kernel.words import OPAQUE, E, Var, p

_SMOOTH = (Add, Mul, Sum, exp, sin, cos, sinh, cosh, tanh, erf, erfc)
"""What is smooth wherever its parts are."""


@dataclass(frozen=True)
class Sign(Rule):
    """0 ≤ e, or 0 < e if ``strict``, by squares, signs of symbols over their domains, or Sturm's theorem."""

    strict: bool = False
    label = "signs of its parts"

    def conclude(self, before: Any, after: Any, under: Hypotheses) -> Conclusion:
        """Return the inequality."""
        if before != S.Zero:
            raise Refused("a sign is of what is compared with 0")
        if not is_known(after, under, strict=self.strict):
            raise Refused(f"not known to be {'positive' if self.strict else 'nowhere negative'}: {after}")
        return Conclusion("<" if self.strict else "≤", where_defined(after, under))


def signed(
    expression: Any, under: Hypotheses, given: Theorem | None = None, *, strict: bool = False
) -> Theorem:
    """Return the theorem that an expression is not negative: the one ``given``, or one of ``Sign``.

    Raises:
        Refused: the given one is of something else, or the sign is not known.
    """
    if given is None:
        return prove(Sign(strict), S.Zero, expression, under)
    right = given.lhs == S.Zero and given.relation in ({"<"} if strict else {"<", "≤"})
    if not (right and is_zero(given.rhs - expression)):
        raise Refused(f"the theorem is not about the sign of {expression}")
    for one in expression.free_symbols:
        if isinstance(one, Idx | IndexedBase) or given.hypotheses.domain(one) == under.domain(one):
            continue
        if not under.domain(one).is_subset(given.hypotheses.domain(one)):
            raise Refused(f"the theorem is for {one} in {given.hypotheses.domain(one)} only")
    return given


def is_known(expression: Any, under: Hypotheses, *, strict: bool = False) -> bool:
    """Return whether a sign is surely known, by squares and signs of symbols in a few of its forms."""
    return _is_known(expression, Hypotheses(_domains_in(expression, under)), strict)


def _domains_in(expression: Any, under: Hypotheses) -> tuple[tuple[Any, Set], ...]:
    """Return the domains of an expression's symbols, so that what is kept serves other hypotheses as well."""
    return tuple(one for one in under.domains if one[0] in free_symbols(expression))


@cache  # asked again of the same parts, by every rule
def _is_known(expression: Any, under: Hypotheses, strict: bool) -> bool:
    what = "is_positive" if strict else "is_nonnegative"
    if not strict and visibly(expression):
        return True
    for exponential in expression.atoms(exp):
        if expression in {exponential - 1, 1 - exponential}:  # of the sign of the exponent, or the other
            exponent = exponential.args[0]
            return is_known(exponent if expression == exponential - 1 else -exponent, under, strict=strict)
    if _by_sturm(expression, under, strict=strict):
        return True
    return any(
        getattr(one, what) or (not strict and visibly(one)) for one in _forms(expression, under, strict)
    )


def _forms(expression: Any, under: Hypotheses, strict: bool) -> Iterator[Any]:
    """Yield forms of an expression, the dear ones last.

    Symbols of ever more parts are replaced by others that say the signs of what they stand for; each form is
    also brought over one denominator and factored, and its hyperbolic functions written as exponentials.
    """
    forms = [expression, parametrised(expression, under, strict=strict)]
    yield from forms
    opened = _with_signs_of_parts(expression, under)
    if opened != expression:
        forms.append(parametrised(opened, under, strict=strict))
        yield forms[-1]
    for form in dict.fromkeys(forms):
        if _is_negative_somewhere(form):
            continue
        yield factor(together(form))
        if form.has(cosh, sinh, tanh):
            yield factor(together(form.rewrite([cosh, sinh, tanh], exp)))


def _is_negative_somewhere(form: Any) -> bool:
    """Return whether a form is surely no number from 0 on for some values of its symbols, sums and means.

    That settles at once what the dear forms take long over, and only keeps a sign from being known.
    """
    opaque = form.atoms(*OPAQUE)
    outer = (one for one in opaque if not any(other != one and other.has(one) for other in opaque))
    plain = form.xreplace({one: stand_in(one, real=True, nonnegative=visibly(one) or None) for one in outer})
    if not is_of_numbers(plain):
        return False
    symbols = sorted(plain.free_symbols, key=default_sort_key)
    for signs in ((1, 1), (-1, -1), (1, -1)):
        at = {}
        for place, one in enumerate(symbols):
            sign = -1 if one.is_negative else 1 if one.is_nonnegative else signs[place % 2]
            at[one] = sign * Integer(prime(place + 1))
        value = plain.xreplace(at).evalf()
        if value.is_number and value.is_finite and (value.is_real is False or value < -SURELY):
            return True
    return False


_COUNT = count()
"""Numbers the kernel's own symbols."""


@cache  # the same symbol for the same part, so that SymPy knows what it found of it
def stand_in(_part: Any, **assumptions: Any) -> Any:
    """Return a symbol of the kernel's own, which no author's expression holds."""
    return Symbol(f"_at{next(_COUNT)}", **assumptions)


def _with_signs_of_parts(expression: Any, under: Hypotheses) -> Any:
    """Return an expression with symbols for its entries, means, sums and exponentials, of the signs of these.

    Entries are real, a mean or a sum of what is positive is positive, and exp(u) is above 1 for u > 0, below
    for u < 0. What has a sign for any values of the symbols has it for those that the parts have together.
    """
    put = {one: stand_in(one, real=True) for one in parts_of(expression, Indexed)}
    for one in parts_of(expression, Sum, E):
        whole = isinstance(one, E) or _is_not_empty(one, under)
        if whole and is_known(one.args[0], under, strict=True):
            put[one] = stand_in(one, positive=True)
    for one in expression.atoms(exp):
        exponent = parametrised(one.args[0], under, strict=True)
        if exponent.is_nonnegative:
            put[one] = 1 + stand_in(one, positive=exponent.is_positive, nonnegative=True)
        elif exponent.is_nonpositive:
            put[one] = 1 / (1 + stand_in(one, positive=exponent.is_negative, nonnegative=True))
    return expression.xreplace(put)


def _is_not_empty(total: Any, under: Hypotheses) -> bool:
    """Return whether a sum surely has terms, finitely many."""
    return all(
        len(ends) == 2 and ends[1] != oo and is_known(ends[1] - ends[0], under) for _, *ends in total.limits
    )


def visibly(expression: Any) -> bool:
    """Return whether squares and what is not negative make up an expression, under sums and means too."""
    if isinstance(expression, Add | Mul):
        return all(map(visibly, expression.args))
    if isinstance(expression, Sum | E):
        return visibly(expression.args[0])
    if isinstance(expression, Pow) and expression.exp.is_even:
        return is_real(expression.base)
    if isinstance(expression, Pow) and expression.exp.is_integer:
        return visibly(expression.base)
    return bool(expression.is_nonnegative)


def is_real(expression: Any) -> bool:
    """Return whether an expression is real, entries of families being real numbers."""
    plain = expression.xreplace({one: stand_in(one, real=True) for one in parts_of(expression, Indexed)})
    sums = {
        one: stand_in(one, nonnegative=True) if visibly(one) else stand_in(one, real=True)
        for one in plain.atoms(Sum, E, Integral)
        if is_real(one.args[0])
    }
    return bool(plain.xreplace(sums).is_real)


def where_variances_are_real(rule: Rule, under: Hypotheses, *sides: Any) -> Hypotheses:
    """Return hypotheses under which a variance is of what is real, by what stands under its roots.

    Components, and entries of families and matrices, are real.

    Raises:
        Refused: it may be of a complex number.
    """
    drawn = (
        frozenset(one for one in under.law.moments if isinstance(one, Symbol)) if under.law else frozenset()
    )
    variances = set().union(*(parts_of(side, Var) for side in sides))
    for whole in variances if not isinstance(rule, Same) else ():  # a chain begins with its start
        for condition in _roots_of_real(whole, Hypotheses(_domains_in(whole, under)), drawn):
            under = under.having(condition)
    return under


@cache
def _roots_of_real(whole: Any, under: Hypotheses, drawn: frozenset[Any]) -> tuple[Any, ...]:
    """Return the conditions under which a variance is of what is real.

    Raises:
        Refused: it may be of a complex number.
    """
    inside, found = whole.args[0], list[Any]()
    real = set(parts_of(whole, Trace, MatrixElement) | drawn)
    for root in parts_of(inside, Pow):
        if root.exp.is_Rational and not root.exp.is_integer and not root.base.is_nonnegative:
            found += [] if is_known(root.base, under) else [root.base >= 0]
            real.add(root)
    names = parts_of(whole, Symbol) - labels_in(whole) - drawn
    complex_ = [one for one in names if not (one.is_real or under.domain(one).is_subset(S.Reals))]
    if complex_ or not is_real(parametrised(inside.xreplace({one: Dummy(real=True) for one in real}), under)):
        raise Refused(f"a variance is of what is real, which {inside} may not be")
    return tuple(found)


def parametrised(expression: Any, under: Hypotheses, *, strict: bool = False) -> Any:
    """Return an expression with its symbols as functions of others whose signs say what their domains are.

    A closed upper end is reached by continuity, which keeps no strict inequality.
    """
    put = {}
    for one in sorted(free_symbols(expression), key=default_sort_key):
        if not isinstance(one, Idx | IndexedBase):
            put[one] = _by_signs(one, under.domain(one), strict=strict)
    return expression.xreplace(put)


def _by_signs(symbol: Any, domain: Set, *, strict: bool) -> Any:
    if isinstance(domain, Range) and domain.start.is_finite:
        return domain.start + stand_in(symbol, integer=True, nonnegative=True)
    if isinstance(domain, FiniteSet) and len(domain) == 1:
        return next(iter(domain))
    if not isinstance(domain, Interval) or domain == assumed(symbol):
        return symbol
    if domain.start.is_finite:
        if strict and domain.end != oo and not domain.right_open:
            return symbol
        sign = {"positive": True} if domain.left_open else {"nonnegative": True}
        rest = stand_in(symbol, **sign)
        width = domain.end - domain.start
        return domain.start + (rest if domain.end == oo else width * rest / (1 + rest))
    return domain.end - stand_in(symbol, nonnegative=True) if domain.end.is_finite else symbol


def _by_sturm(expression: Any, under: Hypotheses, *, strict: bool) -> bool:
    """Return whether a polynomial in one symbol has that sign on the symbol's whole domain, an interval."""
    free = list(expression.free_symbols)
    if len(free) != 1 or isinstance(free[0], Idx | IndexedBase):
        return False
    domain = under.domain(free[0])
    if not isinstance(domain, Interval | Range) and domain != S.Reals:
        return False
    low, high = domain.inf, domain.sup
    if not all(end.is_Rational or end.is_infinite for end in (low, high)):
        return False
    try:
        found = never_negative(expression, free[0], low, high)
        return found and (not strict or Poly(expression, free[0]).count_roots(_end(low), _end(high)) == 0)
    except PolynomialError:
        return False


def _end(end: Any) -> Any:
    return None if end in {oo, -oo} else end


def never_negative(polynomial: Any, variable: Any, low: Any, high: Any) -> bool:
    """Return whether a polynomial with rational coefficients is nowhere negative between two ends.

    Exact: it is if it is positive at one place, and if no factor of an odd power has a root inside (Sturm's
    theorem), at which it would change its sign.

    Raises:
        PolynomialError: it is no polynomial with rational coefficients.
    """
    if polynomial == S.Zero:
        return True
    whole = Poly(polynomial, variable)
    if not all(one.is_Rational for one in whole.all_coeffs()):
        raise PolynomialError("the coefficients are not rational")
    _, factors = factor_list(polynomial, variable)
    odd = (Poly(one, variable) for one, power in factors if power % 2)
    if any(_roots_inside(one, low, high) for one in odd):
        return False
    # More places than the polynomial has roots, so that it is not 0 at all of them.
    parts = whole.degree() + 2
    start = low if low != -oo else (high - 1 if high != oo else S.Zero)
    width = 1 if oo in {high, -low} else high - low
    values = (whole.eval(start + width * Rational(part, parts)) for part in range(1, parts))
    return bool(next(value for value in values if value != S.Zero) > 0)


def _roots_inside(polynomial: Poly, low: Any, high: Any) -> int:
    ends = sum(polynomial.eval(end) == 0 for end in (low, high) if end not in {oo, -oo})
    return int(polynomial.count_roots(_end(low), _end(high)) - ends)


def lies_in(expression: Any, domain: Set, under: Hypotheses) -> bool:
    """Return whether an expression surely lies in a domain."""
    if expression.is_number and domain.contains(expression) == True:  # noqa: E712  # SymPy's truth
        return True
    if domain == S.Complexes:
        return True
    if isinstance(domain, Union) or not (is_real(expression) or expression.is_integer):
        return False
    if (isinstance(domain, Range) or domain == S.Integers) and not expression.is_integer:
        return False
    low, high = domain.inf, domain.sup
    strictly = bool(getattr(domain, "left_open", False)), bool(getattr(domain, "right_open", False))
    above = low == -oo or is_known(expression - low, under, strict=strictly[0])
    above = above or (low == 0 and _is_positive(expression, under))
    return above and (high == oo or is_known(high - expression, under, strict=strictly[1]))


def refuse_unless_smooth(expression: Any, variable: Any, under: Hypotheses, *, ends: bool = False) -> None:
    """Refuse what is not known to be continuous in a symbol on all of its domain, and smooth inside.

    The sign of a slope says nothing across a pole, such as that of 1/x or of the tangent, or a kink, such as
    that of the root of 1 - cos(x). With ``ends`` it has to be smooth where the domain ends too.

    Raises:
        Refused: it is not known.
    """
    for node in preorder_traversal(expression):
        if node == variable or not node.has(variable):
            continue
        known = isinstance(node, _SMOOTH)
        if isinstance(node, log | gamma):
            known = _is_positive(node.args[0], under)
        elif isinstance(node, Pow):
            known = _is_smooth_power(node, variable, under, ends=ends)
        if not known:
            raise Refused(f"not known to be smooth for all {variable}: {node}")


def _is_smooth_power(power: Any, variable: Any, under: Hypotheses, *, ends: bool) -> bool:
    base, exponent = power.args
    if exponent.has(variable):
        return _is_positive(base, under)
    if exponent.is_integer:
        return bool(exponent.is_nonnegative) or _differs_from_zero(base, under)
    if _is_positive(base, under):
        return True
    at_ends = not ends and exponent.is_positive and is_known(base, under)
    inside = under.domain(variable).interior if at_ends else S.EmptySet
    return inside is not S.EmptySet and _is_positive(base, under.restricted(variable, inside))


def where_defined(expression: Any, under: Hypotheses) -> Hypotheses:
    """Return hypotheses under which no denominator is 0 and every logarithm is of something positive.

    Factorials and binomial coefficients are gamma functions.

    Raises:
        Refused: a denominator is 0 whatever its symbols are.
    """
    found = parts_of(expression, Pow, log, gamma, factorial, binomial)
    poles = {1 / cos(one.args[0]) for one in parts_of(expression, tan)}
    parts = {one for one in found if not (isinstance(one, Pow) and one.exp.is_nonnegative)} | poles
    needed = [
        (one, condition)
        for one in parts
        for condition in _needed(one, expression)
        if not _is_met(condition, under)
    ]
    for one, condition in sorted(needed, key=lambda item: default_sort_key(item[0])):
        if _is_met(condition, under):  # by those before it
            continue
        if isinstance(one, Pow) and is_zero(one.base):
            raise Refused(f"divided by what is 0: {one.base}")
        under = under.having(condition.func(*condition.args))
    return under


def _needed(one: Any, whole: Any) -> list[Any]:
    """Return what must hold so that a power, a logarithm or a gamma function is defined."""
    if isinstance(one, Pow):
        return [Ne(one.base, 0, evaluate=False)]
    inside = one.args[0] + int(isinstance(one, factorial | binomial))
    return [Gt(each, 0, evaluate=False) for each in _at_ends(inside, whole)]


def _is_met(condition: Any, under: Hypotheses) -> bool:
    if isinstance(condition, Gt):
        return _is_positive(condition.lhs, under)
    return condition in under.conditions or _differs_from_zero(condition.lhs, under)


def _at_ends(inside: Any, whole: Any) -> set[Any]:
    """Return what is linear in indices of sums at the ends of these, between which it lies."""
    ends: dict[Any, set[Any]] = {}
    for total in whole.atoms(Sum):
        for index, *both in total.limits:
            ends.setdefault(index, set()).update(both)
    found = {inside}
    for index in [*ends] * len(ends):  # an end may name other indices
        if not any(one.has(Sum) for one in found) and all(diff(one, index, 2) == 0 for one in found):
            found = {one.xreplace({index: end}) for one in found for end in ends[index]}
    return found


def everywhere(expression: Any, variable: Any, under: Hypotheses) -> Hypotheses:
    """Return ``where_defined``, which leaves a variable all the values that it has.

    A slope says nothing of both sides of a pole.

    Raises:
        Refused: the expression is not defined at some of them.
    """
    found = where_defined(expression, under)
    added = found.conditions - under.conditions
    if found.domain(variable) != under.domain(variable) or any(variable in one.free_symbols for one in added):
        raise Refused(f"not known to be defined for every {variable}: {expression}")
    return found


def _is_positive(expression: Any, under: Hypotheses) -> bool:
    if isinstance(expression, Sum):
        there = all((high - low).is_nonnegative for _, low, high in expression.limits)
        return there and _is_positive(expression.function, under)
    if isinstance(expression, exp):
        return is_real(expression.args[0])
    if Gt(expression, 0, evaluate=False) in under.conditions:
        return True
    entries = {one: _of_entry(one, under) for one in expression.atoms(Indexed)}
    return is_known(expression.xreplace(entries), under, strict=True)


def _of_entry(entry: Any, under: Hypotheses) -> Any:
    """Return a symbol of an entry's sign: a probability is positive, and what is defined as something so."""
    meaning = dict(under.definitions).get(entry.base)
    if entry.base == p or (meaning is not None and is_known(meaning.args[1], under, strict=True)):
        return stand_in(entry, positive=True)
    return stand_in(entry, real=True)


def _differs_from_zero(expression: Any, under: Hypotheses) -> bool:
    entries = under.definitions and expression.has(Indexed)  # what they stand for has symbols of its own
    domains = under.domains if entries else _domains_in(expression, under)
    return _is_never_zero(expression, Hypotheses(domains, under.conditions, None, under.definitions))


@cache
def _is_never_zero(expression: Any, under: Hypotheses) -> bool:
    if isinstance(expression, Mul):
        return all(_differs_from_zero(one, under) for one in expression.args)
    if isinstance(expression, gamma | factorial):
        return True
    if expression.is_nonzero or parametrised(expression, under).is_nonzero:
        return True
    return _is_positive(expression, under) or _is_positive(-expression, under)
