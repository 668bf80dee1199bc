"""Chains that are written for a question: its definition, what its terms contribute, and the value."""

from __future__ import annotations

from typing import Any

from sympy import Poly, S, Sum
from sympy import factor, fraction, sympify, together

from verify.symbolic import vocabulary as words
from verify.symbolic.calculus import expected
from verify.symbolic.chains import Chain, Line
from verify.symbolic.checks import algebra, moments
from verify.symbolic.vocabulary import Cov, E, Index, Law, Laws, Var, families_of


def derive(expression: Any, laws: Laws) -> Chain:
    """Return a chain from an expression in means to its value, by definitions and means of components.

    Raises:
        NotDerived: its value does not follow from the moments.
    """
    start, value = sympify(expression), expected(expression, laws)
    opened = start.replace(lambda x: isinstance(x, Var | Cov), lambda x: x.definition)
    named = [name for kind, name in ((Var, "variance"), (Cov, "covariance")) if start.has(kind)]
    lines = [] if opened == start else [Line(opened, f"definition of the {' and the '.join(named)}", algebra)]
    for known in ((), (0, 1)):
        written = _multiplied_out(opened, _by_name(opened, laws, known))
        if written not in (value, opened) and written.count_ops() <= LONGEST:
            reason = "components are independent: what equal indices contribute, and different ones"
            lines.append(Line(written, reason, moments(laws)))
            break
    lines.append(Line(value, "the moments of the components", moments(laws)))
    return Chain(start, *lines)


LONGEST = 45
"""The operations of a line that a reader still follows, as SymPy counts them."""


def _multiplied_out(x: Any, laws: Laws) -> Any:
    """Put in each mean in falling factorials: d·… of equal indices, d(d - 1)·… of two different ones."""
    if isinstance(x, Sum):
        return expected(x, laws)
    if not isinstance(x, E):
        return x.func(*(_multiplied_out(part, laws) for part in x.args)) if x.has(E) else x
    value = expected(x, laws)
    sizes = [symbol for symbol in value.free_symbols if symbol.is_integer and not isinstance(symbol, Index)]
    over, under = fraction(together(value))
    if len(sizes) != 1 or not over.is_polynomial(sizes[0]):
        return value
    size, number, falling, result = sizes[0], 0, S.One, S.Zero
    left = Poly(over, size)
    while not left.is_zero:
        left, rest = left.div(Poly(size - number, size))
        result += falling * factor(rest.as_expr())
        falling *= size - number
        number += 1
    return result / under


def _by_name(expression: Any, laws: Laws, known: tuple[int, ...]) -> Laws:
    """Return laws whose moments are written as means of a component, but those whose values are known."""
    usual = {words.m: words.a, words.n: words.j, words.d: words.i, words.d_v: words.e}
    named = {}
    for family in families_of(expression) & set(laws):
        places = (usual.get(size, words.l if at else words.j) for at, size in enumerate(family.ranges))
        component, law = family[tuple(places)], laws[family]
        raw = [x if order == 0 or x in known else E(component**order) for order, x in enumerate(law.raw)]
        named[family] = Law(law.words, tuple(raw), law.whole)
    return named
