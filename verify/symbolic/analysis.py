"""Integrals, limits, leading terms, derivatives and equivalent equations.

SymPy carries out what it can, and the conditions that it returns have to be given. Where it has no closed
form, the author's is taken by its derivative (``integral(primitive)``) or compared to 30 digits
(``numerically``).
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from itertools import islice
from typing import Any

import mpmath
from sympy import Abs, Add, Derivative, Dummy, Eq, Float, Indexed, Integral, Limit, Mul, Piecewise, Poly, Pow
from sympy import Rational, S, Subs, Sum, Tuple, cancel, cos, degree, exp, expand, lambdify, log, oo, pi
from sympy import preorder_traversal, simplify, sin, sqrt, tanh
from sympy import limit as sympy_limit

from verify.symbolic.bounds import equal, put_in, resting_on
from verify.symbolic.chains import Chain, LineCheck, Relation
from verify.symbolic.evaluation import derived, differentiated
from verify.symbolic.modular import decide_equality
from verify.symbolic.signs import Signs
from verify.symbolic.vocabulary import BINDERS, Dot, E, Indicator, Laws, Named, StepError, definition
from verify.symbolic.vocabulary import families_of

POINTS, DIGITS = 3, 30
"""At how many points of their parameters numbers are compared, and to how many digits."""

CONDITION_POINTS = 40
"""At how many points a condition of SymPy's is asked."""


def integral(primitive: Any = None, *, given: tuple[Any, ...] = ()) -> LineCheck:
    """Decide that the lines are equal once their integrals are carried out.

    Args:
        primitive: The author's primitive of the single integral before; by default SymPy integrates. Of drawn
            components it is between finite ends, and visibly has no pole.
        given: Inequalities under which the integral is what it is, such as ``(d > 2,)``.

    Example:
        >>> Line(log(2), "its primitive is -log(1 + exp(-x))", integral(-log(1 + exp(-x))))
    """

    def value(part: Any) -> Any:
        if primitive is None:
            return _by_sympy(part, given)
        if len(part.limits) > 1:
            raise StepError("a primitive is for an integral over one variable")
        variable, low, high = part.limits[0]
        try:
            decide_equality(derived(Derivative(primitive, variable)), part.function)
        except StepError as error:
            raise StepError(f"the derivative of {primitive} is not the integrand: {error}") from error
        # A primitive that jumps within the limits has the right derivative and the wrong rise.
        if families_of(primitive):
            opened = definition(primitive)
            if not {low, high}.isdisjoint({oo, -oo}):
                raise StepError(f"that {primitive} has no jump from {low} to {high} is not visible")
            _require_continuous(opened, variable, Signs(given))
            rise = put_in(opened, {variable: high}) - put_in(opened, {variable: low})
            # A constant summed over an index is that constant times the number of terms.
            return rise.xreplace({part: part.doit() for part in rise.atoms(Sum) if part.function.is_number})
        # From inside, for at an end the primitive may have a limit and no value.
        rise = sympy_limit(primitive, variable, high, "-") - sympy_limit(primitive, variable, low, "+")
        _agree(part, rise, given, digits=10)
        return rise

    return _carried_out((Integral,), "integration", value, given)


def _by_sympy(integral: Any, given: tuple[Any, ...]) -> Any:
    """Return an integral as SymPy carries it out, where the conditions of that hold."""
    value = integral.doit()
    # SymPy returns a closed form where a condition holds, such as d > 2; that has to be given.
    for pieces in value.atoms(Piecewise):
        closed, condition = pieces.args[0]
        symbols = integral.free_symbols | set().union(*(relation.free_symbols for relation in given))
        for point in islice(_points(symbols, given), CONDITION_POINTS):
            if simplify(condition.subs(point)) != True:  # noqa: E712 - SymPy's
                raise StepError(f"{integral} has this value where {condition}; state it as given=(…)")
        value = value.xreplace({pieces: closed})
    if value.has(oo, -oo, S.NaN, S.ComplexInfinity):
        raise StepError(f"{integral} does not converge: SymPy gives {value}")
    return value


_CONTINUOUS = (Indexed, Add, Mul, Sum, Tuple, exp, tanh, sin, cos)


def _require_continuous(x: Any, variable: Any, signs: Signs, at: Any = None) -> None:
    """Raise where an expression may have a pole or jump in a variable, ``at`` a value of it or anywhere."""
    for part in preorder_traversal(x):
        if not part.args or isinstance(part, _CONTINUOUS) or not part.has(variable):
            continue
        exponent = part.exp if isinstance(part, Pow) else S.NegativeOne
        if exponent.is_Integer and exponent.is_positive:
            continue
        inside = part.args[0] if at is None else part.args[0].xreplace({variable: at})
        known = any(strict and equal(inside, fact) for fact, strict in signs.facts)
        is_smooth = known or signs.nonnegative(inside, strict=not exponent.is_positive)
        if not (isinstance(part, Pow | log) and is_smooth):
            raise StepError(f"it is not visible that {part} is continuous in {variable}")


def numerically() -> LineCheck:
    """Decide that the lines are the same numbers at several points; for integrals."""
    words = f"equal to {DIGITS} digits at {POINTS} points"
    return LineCheck(compare=lambda x, y, _: _agree(x, y, (), DIGITS), words=words, is_exact=False)


def limit(*, given: tuple[Any, ...] = ()) -> LineCheck:
    """Decide that the lines are equal once each ``Limit`` in them is carried out.

    SymPy does that; of drawn components, a limit is the value there of a visibly continuous expression: of
    sums, products and exponentials, and of powers of a base that is positive there.
    """

    def reached(part: Any) -> Any:
        x, variable, to, _ = part.args
        if not families_of(x) or x.has(E) or not to.is_finite:
            return _tends(x, variable, to)
        opened = definition(x)
        _require_continuous(opened, variable, Signs(given), to)
        return opened.xreplace({variable: to})

    return _carried_out((Limit,), "limit", reached, given)


def derivative() -> LineCheck:
    """Decide that the lines are equal once each ``Derivative``, also at a point (``Subs``), is carried out.

    Example:
        >>> second = Derivative((1 + t**2) ** (-d / 2), (t, 2))
        >>> Chain(-Subs(second, t, 0), Line(d, "the second derivative at 0", derivative()))
    """

    def value(part: Any) -> Any:
        # Of weights, the definition is derived: SymPy knows no slopes of functions of ours.
        slopes = differentiated(part)
        return slopes.doit() if slopes.has(Derivative, Subs) else slopes

    return _carried_out((Derivative, Subs), "differentiation", value)


def _carried_out(
    kinds: tuple[Any, ...], words: str, value: Callable[[Any], Any], given: tuple[Any, ...] = ()
) -> LineCheck:
    def compare(before: Any, after: Any, _: Relation) -> None:
        sides = [
            side.xreplace({part: value(part) for part in outermost(side, kinds)}) for side in (before, after)
        ]
        # SymPy returns what it cannot do as it was.
        for side in sides:
            if side.has(*kinds):
                raise StepError(f"SymPy does not carry out {side}; give a primitive, or use numerically()")
        try:
            decide_equality(*sides)
        except StepError as error:
            # By SymPy's rules for special functions, too.
            left, right = sides
            if families_of(left - right) or simplify(left - right) != 0:
                raise StepError(f"carried out, it is {left}, and this line {right}: {error}") from error

    return LineCheck(compare=compare, words=words, given=given)


def by_density(variables: Mapping[Any, Any], laws: Laws) -> LineCheck:
    """Decide that means of functions of components are integrals over their densities.

    Args:
        variables: The variable of integration for each component, the innermost first; a positive variable
            stands for the size of a component whose sign does not matter, and goes from 0 on.
        laws: The laws of their families, which are normal or have a density.

    Example:
        >>> density = exp(-(x**2) / 2) / sqrt(2 * pi)
        >>> Line(Integral(f(x) * density, (x, -oo, oo)), "…", by_density({q[a, i]: x}, laws))
    """

    def over_densities(mean: Any) -> Any:
        # A size is first a number of either sign, to see that the sign does not matter.
        signed = {y: Dummy("y", real=True) if y.is_positive else y for y in variables.values()}
        x = mean.args[0].xreplace({entry: signed[y] for entry, y in variables.items()})
        if left := families_of(x):
            raise StepError(f"{mean} has components of {next(iter(left))} left; give each a variable")
        for component, variable in variables.items():
            y, density = signed[variable], density_of(component.base)
            even = equal(density(y), density(-y))
            event = x.args[0] if isinstance(x, Indicator) and x.args[0].is_polynomial(y) else S.Zero
            if even and degree(event, y) == 1:
                # A component of either sign has the same law, so that of the factor does not matter.
                times, rest = Poly(event, y).all_coeffs()
                x = Integral(density(variable), (variable, -oo, rest / Abs(times)))
            elif not x.has(y) or y == variable:
                x = Integral(x * density(y), (y, -oo, oo)) if x.has(y) else x
            elif even and x.xreplace({y: -y}) == x:
                x = Integral(2 * x.xreplace({y: variable}) * density(variable), (variable, 0, oo))
            else:
                raise StepError(f"{variable} is a size; it is not visible that the sign does not matter")
        return x

    def density_of(base: Any) -> Callable[[Any], Any]:
        law = laws.get(base)
        if law is not None and law.density:
            return law.density
        if law is None or not law.is_normal:
            raise StepError(f"{base} is not normal, and no density is given; say so in the laws")
        centre, variance = law.raw[1], law.raw[2] - law.raw[1] ** 2
        return lambda y: exp(-((y - centre) ** 2) / (2 * variance)) / sqrt(2 * pi * variance)

    def compare(before: Any, after: Any, _: Relation) -> None:
        written = definition(before).replace(lambda part: isinstance(part, E), over_densities)
        if not equal(written, after):
            raise StepError(f"with the densities put in it is {written}, which is not this line")

    return LineCheck(compare=compare, words="the density put in", laws=laws)


def leading(variable: Any) -> LineCheck:
    """Decide that this line is the leading term of the line before as a variable grows, written ~."""

    def compare(before: Any, after: Any, _: Relation) -> None:
        if before == 0 or after == 0:
            raise StepError("0 has no leading term")
        value = _tends(before / after, variable, oo)
        if value != 1:
            raise StepError(f"before/after tends to {value}, not to 1, as {variable} grows")

    return LineCheck(compare=compare, words="the quotient tends to 1", relations="~")


def between(lower: Chain, upper: Chain) -> LineCheck:
    """Decide a ``Limit`` by two chains that bound its expression from below and above."""
    rests = resting_on(lower, upper)
    # The chains' own conditions hold in the limit: that is checked below.
    in_the_end = (*lower.stated, *upper.stated)
    assumed = tuple(x for x in rests.pop("assumed") if x not in in_the_end)
    moments = [moment for law in (rests["laws"] or {}).values() for moment in law.raw]

    def compare(before: Any, after: Any, _: Relation) -> None:
        if not isinstance(before, Limit):
            raise StepError("the line before has to be a Limit, of what lies between the bounds")
        quantity, variable, to, _ = before.args
        # A sum over a range, such as softmax, depends on the range's size, which is not written there.
        sized = (variable, *((Dot, Named, *BINDERS) if variable.is_integer else ()))
        moves, signs = any(moment.has(variable) for moment in moments), Signs()
        for chain, relations, side in ((lower, "≥>", "below"), (upper, "≤<", "above")):
            if chain.problem:
                raise StepError(chain.problem)
            # A bound of the other direction is read from its end.
            sides = (chain.start, chain.end)
            start, end = sides if chain.relation in relations else reversed(sides)
            if chain.relation not in "≤<≥>" or not equal(start, quantity):
                name = chain.title or chain.name or "the chain"
                raise StepError(f"{name} does not bound {quantity} from {side}")
            # A bound that holds for n > 2 alone bounds the limit as n grows: there every condition holds.
            for condition in chain.given:
                gap = condition.gts - condition.lts
                if variable in condition.free_symbols and not _tends(gap, variable, to).is_extended_positive:
                    raise StepError(f"that {condition} holds in the end is not visible")
            # A mean that does not depend on the variable, not as a size either, is a number in the limit.
            constant = (mean for mean in end.atoms(E) if not (moves or mean.has(*sized)))
            means = {x: Dummy("E", real=True, positive=signs.positive(x) or None) for x in constant}
            value = _tends(end.xreplace(means), variable, to)
            if not equal(value, after.xreplace(means)):
                raise StepError(f"the bound from {side} tends to {value}, not to {after}")

    words = "it lies between two bounds that tend there"
    return LineCheck(compare=compare, words=words, assumed=assumed, **rests)


def equivalent() -> LineCheck:
    """Decide that two equations have the same solutions, related by ⇔.

    The gap between the sides of either is a visibly positive or negative multiple of the gap of the other.
    """

    def compare(before: Any, after: Any, _: Relation) -> None:
        if not isinstance(before, Eq) or not isinstance(after, Eq):
            raise StepError("this check is for two equations, related by ⇔")
        gap, other = (equation.lhs - equation.rhs for equation in (before, after))
        quotient = cancel(expand(gap) / expand(other))
        if not equal(quotient * other, gap) or Signs().sign(quotient, strict=True) == 0:
            gaps = "the gaps between their sides"
            raise StepError(f"{gaps} have the quotient {quotient}, which may be 0 or infinite")

    return LineCheck(compare=compare, words="equivalent equations", relations="⇔")


# ---- shared by these checks ------------------------------------------------------------------------------


def _tends(x: Any, variable: Any, to: Any) -> Any:
    """Return SymPy's limit of an expression, as of a real variable."""
    if families_of(x):
        raise StepError(f"SymPy knows no limits of means; cite a theorem for {x}, or use between()")
    # As of a real variable: of a whole one SymPy knows fewer limits.
    moving = Dummy(variable.name, positive=True)
    x = x.xreplace({variable: moving})
    with suppress(NotImplementedError, ValueError, TypeError):
        value = sympy_limit(x, moving, to)
        if not value.has(Limit, moving):
            return value
    raise StepError(f"SymPy does not know the limit of {x}")


def outermost(x: Any, kind: Any) -> Iterator[Any]:
    """Yield the parts of a kind that stand in no other of it."""
    if isinstance(x, kind):
        yield x
        return
    for part in x.args:
        yield from outermost(part, kind)


def _points(symbols: Any, given: tuple[Any, ...]) -> Iterator[dict[Any, Any]]:
    """Yield random points of symbols at which all that is given holds, the same in every run."""
    draw = random.Random(1)  # noqa: S311 - for points, not for secrets
    for _ in range(100 * CONDITION_POINTS):
        point = {}
        for symbol in sorted(symbols, key=str):
            size = S(draw.randint(1, 9)) if symbol.is_integer else Rational(draw.randint(20, 300), 100)
            point[symbol] = size if symbol.is_nonnegative else size * draw.choice((-1, 1))
        if all(relation.xreplace(point) == True for relation in given):  # noqa: E712 - SymPy's
            yield point


def _agree(before: Any, after: Any, given: tuple[Any, ...], digits: int) -> None:
    """Raise where two expressions are not the same numbers at points of their symbols, or no numbers."""
    symbols = before.free_symbols | after.free_symbols
    if families_of(before) | families_of(after):
        raise StepError("it speaks of what is random, which has no value at a point")
    points = list(islice(_points(symbols, given), POINTS))
    if not points:
        raise StepError("no point was found at which all that is given holds")
    for point in points:
        at = ", ".join(f"{symbol} = {value}" for symbol, value in point.items())
        try:
            with mpmath.workdps(digits + 10):
                left, right = (number_of(side.xreplace(point)) for side in (before, after))
                near = mpmath.mpf(10) ** -digits * (abs(left) + abs(right))
                if not abs(left - right) <= near:
                    shown = [mpmath.nstr(value, 12) for value in (left, right)]
                    raise StepError(f"at {at or 'these values'} it is {shown[0]}, and this line {shown[1]}")
        except (ZeroDivisionError, ValueError, TypeError, NameError, mpmath.mp.NoConvergence) as error:
            raise StepError(f"it could not be evaluated at {at}: {error}") from error


def number_of(x: Any) -> Any:
    """Return an expression without symbols as a number, integrals by tanh-sinh quadrature.

    It has as many digits as mpmath works with, less about ten.
    """
    names, values = {}, []
    for integral in outermost(x, Integral):
        (variable, low, high), names[integral] = integral.limits[0], Dummy()
        if len(integral.limits) > 1 or integral.function.has(Integral):
            raise StepError(f"{integral} is a double integral; carry out the inner one first")
        ends = [{oo: mpmath.inf, -oo: -mpmath.inf}.get(end) or number_of(end) for end in (low, high)]
        # The real line is cut at 0, where functions of sizes have their kinks, a ray a unit from its start.
        cut = [mpmath.mpf(0) if low == -oo else ends[0] + 1] * (high == oo)
        function = lambdify([variable], integral.function, "mpmath")
        value, error = mpmath.quad(function, [ends[0], *cut, ends[1]], error=True, maxdegree=9)
        if not error <= mpmath.mpf(10) ** (12 - mpmath.mp.dps) * (1 + abs(value)):
            shown = integral.xreplace({number: Float(number, 3) for number in integral.atoms(Float)})
            raise StepError(f"{shown} does not converge, or too slowly to be compared")
        values.append(value)
    return mpmath.mpmathify(lambdify(list(names.values()), x.xreplace(names), "mpmath")(*values))
