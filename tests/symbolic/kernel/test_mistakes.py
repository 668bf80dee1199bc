"""Mistakes that an honest author makes: each is refused, and the line says what is wrong."""

from collections.abc import Callable
from typing import Any

import pytest
from sympy import (
    Eq,
    Float,
    I,
    Interval,
    MatrixSymbol,
    Rational,
    S,
    Sum,
    Symbol,
    Trace,
    cos,
    oo,
    pi,
    sin,
    sqrt,
    symbols,
    tan,
)

from verify.symbolic.kernel.calculus import Compared, Rising
from verify.symbolic.kernel.core import prove
from verify.symbolic.kernel.equations import Applied, Assuming, Identity, PutIn, Replaced, Turned
from verify.symbolic.kernel.hypotheses import NOTHING, Hypotheses, Population, Refused, Vectors
from verify.symbolic.kernel.moments import Evaluation
from verify.symbolic.kernel.signs import Sign
from verify.symbolic.kernel.sums import SumIdentity, Surplus
from verify.symbolic.kernel.words import E, Var, n, p
from verify.symbolic.scores import STANDARD, d, k, q, score

a, b, c = symbols("a b c", positive=True)
r, y = symbols("r y", real=True)
z, j = Symbol("z"), Symbol("j", integer=True, positive=True)
v, w = MatrixSymbol("v", d, 1), MatrixSymbol("w", d, 1)
OF_V, OF_W, OF_BOTH = (MatrixSymbol(name, d, d) for name in "VWC")
LINKED = Vectors(((v, 0), (w, 0)), ((v, v, OF_V), (w, w, OF_W), (v, w, OF_BOTH)), normal=True)
FROM_0 = NOTHING.restricted(r, Interval(0, oo))


def of_law(symbol: Any, moments: tuple[Any, ...], **more: Any) -> Any:
    """Return the last of the moments that are assumed of a number."""
    law = Population({symbol: moments}, **more)
    return prove(Evaluation(law, assumed=True), E(symbol ** (len(moments) - 1)), S(moments[-1]))


def one_random_number_for_two() -> Any:
    """Return E b² = E b·E b, from E ab = E a·E b."""
    product = prove(Evaluation(Population({a: None, b: None})), E(a * b), E(a) * E(b))
    return prove(PutIn({a: b}, product), S.Zero, E(b) ** 2)


def a_covariance_beyond_both() -> Any:
    """Return a covariance of two numbers that is 2% more than either varies."""
    more = Rational(51, 50) * OF_V[0, 0]
    return prove(Assuming((Eq(OF_BOTH[0, 0], more),)), OF_BOTH[0, 0], more, Hypotheses(law=LINKED))


MISTAKES: dict[str, tuple[Callable[[], Any], str]] = {
    "a decimal number": (lambda: prove(Identity(), Float("0.5") * a, a * Float("0.5")), "rounded number"),
    "a value at a pole": (
        lambda: prove(PutIn({r: pi / 2}, prove(Identity(), cos(r) * tan(r), sin(r))), S.Zero, S.One),
        "a condition is false",
    ),
    "real=True forgotten": (lambda: prove(Compared("<"), z, z + 1), "may be any complex number"),
    "a complex variance": (
        lambda: prove(Evaluation(STANDARD, assumed=True), Var(z * q[1]), z**2),
        "a variance is of what is real",
    ),
    "an imaginary variance": (
        lambda: prove(Evaluation(STANDARD, assumed=True), Var(I * q[1]), S(-1)),
        "a variance is of what is real",
    ),
    "a size in the place of an index": (
        lambda: prove(
            PutIn({a: j}, prove(Identity(), Sum(a * j, (j, 1, n)), Sum(j * a, (j, 1, n)))),
            S.Zero,
            Sum(j**2, (j, 1, n)),
        ),
        "is bound",
    ),
    "a sum that runs backwards": (lambda: prove(Sign(), S.Zero, Sum(j, (j, 5, 2))), "runs backwards"),
    "a sum without end": (lambda: prove(Sign(), S.Zero, Sum(j, (j, 1, oo))), "not known: j runs upwards"),
    "a score beside its mean": (
        lambda: prove(SumIdentity(), p[1], E(p[1])),
        "averaged, and stands outside every mean",
    ),
    "a negative variance": (lambda: of_law(y, (1, 0, -1)), "no law has the moments of y"),
    "a fourth moment that is too small": (lambda: of_law(y, (1, 0, 1, 0, S.Half)), "no law has the moments"),
    "a fourth moment that no normal number has": (
        lambda: of_law(y, (1, 0, 1, 0, 7), normal=(y,)),
        "no moments of a normal number",
    ),
    "a mean outside the domain": (lambda: of_law(a, (1, -2)), "the mean of a lies outside its domain"),
    "a moment that is not assumed": (
        lambda: prove(Evaluation(STANDARD, assumed=True), E(score**4), 3 * d**2),
        "moment of order 3 of q",
    ),
    "one random number for two": (one_random_number_for_two, "become functions of the same"),
    "a bound the wrong way round": (
        lambda: prove(Surplus(p[1] ** 2), p[1] ** 2, S.Zero),
        "terms are left over",
    ),
    "a bound through a square": (
        lambda: prove(
            Replaced(prove(Turned(prove(Sign(), S.Zero, S.One), r), S.Zero, r + 1)), r**2, (r + 1) ** 2
        ),
        "not known to move one way",
    ),
    "a bound through a factor under a mean": (
        lambda: prove(Applied(E(c * r), c, prove(Sign(), S.Zero, r**2)), S.Zero, E(r**3)),
        "under one mean or sum at a time",
    ),
    "a slope over a pole": (lambda: prove(Rising(r), S.One, -1 / (r - 1), FROM_0), "not known to be"),
    "the root of a square": (lambda: prove(Identity(), sqrt(r**2), r), "not known to be equal"),
    "what is never so, assumed": (
        lambda: prove(Assuming((Eq(a**3, a**2),)), a**3, a**2),
        "no value of its own",
    ),
    "a covariance beyond both variances": (a_covariance_beyond_both, "not known to be a covariance"),
    "different shapes": (
        lambda: prove(Identity(), Trace(MatrixSymbol("A", 2, 2)), Trace(MatrixSymbol("A", 3, 3))),
        "not known",
    ),
    "two laws of one component": (
        lambda: Hypotheses(law=STANDARD).merged(Hypotheses(law=Population({q: (1, 0, 2), k: (1, 0, 1)}, d))),
        "two laws of q",
    ),
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_mistake_is_refused_in_a_line(mistake: str) -> None:
    """No theorem is made of it, and the line says why."""
    make, why = MISTAKES[mistake]
    with pytest.raises(Refused) as caught:
        make()
    assert why in str(caught.value)
    assert "\n" not in str(caught.value)
