"""Integrals, means, limits and derivatives that need not exist, and cancel; or are taken in another order."""

from typing import Any

from sympy import Abs, Derivative, IndexedBase, Integral, Limit, S, Sum, Symbol, cos, exp, oo, sign, sin, sqrt

from tests.faults.false_claims.shared import NOTHING, Pair, a, h, of_derivations, r, steps, t, w
from verify.spec import Derivation, E, Population, Var, d, i
from verify.spec.rules import AtLimit, EulerIntegrals, Hypotheses, Identity, Shifted

y = IndexedBase("y")
NORMAL = Population({y: (1, 0, 1)}, d, normal=(y,))
OF_TWO = Hypotheses(law=Population({y: (1, 0, 1)}, d))
OF_FOUR = Hypotheses(law=Population({y: (1, 0, 1, 0, 2)}, d))

N = Symbol("N", integer=True, positive=True)
OF_N = Hypotheses(law=Population({N: (1, a)}))


def cancelled(part: Any, under: Hypotheses = NOTHING) -> Derivation:
    """Return the derivation of a² from what cancels, where the part is a number."""
    return steps((part + a) ** 2 - part**2 - 2 * a * part, (a**2, Identity()), under=under)


def shifted(part: Any, moved: Any) -> Derivation:
    """Return the derivation of a mean with its normal number shifted by h."""
    return steps(E(part), (E(moved * exp(-h * y[1] - h**2 / 2)), Shifted(y[1], h, NORMAL)))


def slope_of_root(x: Any) -> Derivation:
    """Return the derivation of the slope of the root of x⁴ + x², times that root."""
    root = sqrt(x**4 + x**2)
    return steps(Derivative(root, x) * root, (2 * x**3 + x, Identity()))


PAIRS: dict[str, Pair] = {
    "derivative": of_derivations(
        # False: abs(r) has the slope sign(r), at r = 0 too; true: r² has the slope 2r.
        lambda: steps(Derivative(Abs(r), r), (sign(r), Identity())),
        lambda: steps(Derivative(r**2, r), (2 * r, Identity())),
    ),
    "integral": of_derivations(
        # False: ∫e^(tw) dw may be subtracted from itself; true: ∫e^(-tw) dw may.
        lambda: cancelled(Integral(exp(t * w), (w, 0, oo))),
        lambda: cancelled(Integral(exp(-t * w), (w, 0, oo))),
    ),
    "kink": of_derivations(
        # False: the root of r⁴ + r² has a slope at r = 0; true: that of t⁴ + t² has, for t > 0.
        lambda: slope_of_root(r),
        lambda: slope_of_root(t),
    ),
    "limit": of_derivations(
        # False: the limit of aw is a number; true: that of a·cos(w) at 0 is a.
        lambda: cancelled(Limit(a * w, w, oo)),
        lambda: steps(Limit(a * cos(r), r, 0), (a, AtLimit())),
    ),
    "moment": of_derivations(
        # False: a law of which two moments are known has the fourth; true: of which four are.
        lambda: cancelled(E(y[1] ** 4), OF_TWO),
        lambda: cancelled(E(y[1] ** 4), OF_FOUR),
    ),
    "order": of_derivations(
        # False: ∫∫sin(rw)e^(-tw) is done over t first; true: what is nowhere negative is.
        lambda: steps(
            Integral(sin(r * w) * exp(-t * w), (w, 0, oo), (t, 0, oo)),
            (Integral(sin(r * w) / w, (w, 0, oo)), EulerIntegrals(t)),
        ),
        lambda: steps(
            Integral(w * exp(-w - t * w), (w, 0, oo), (t, 0, oo)),
            (Integral(exp(-w), (w, 0, oo)), EulerIntegrals(t)),
            (S.One, EulerIntegrals(w)),
        ),
    ),
    "shift": of_derivations(
        # False: E e^(y²) of a standard normal y stays what it is if y is shifted. Shifted by
        # h and by -h, and with both added, it would be less than itself. True: E e^y is one.
        lambda: shifted(exp(y[1] ** 2), exp((y[1] + h) ** 2)),
        lambda: shifted(exp(y[1]), exp(y[1] + h)),
    ),
    "terms": of_derivations(
        # False: a sum of N terms, each the random N, has a mean if N has one; true: of d terms.
        lambda: cancelled(E(Sum(N, (i, 1, N))), OF_N),
        lambda: cancelled(E(Sum(N, (i, 1, d))), OF_N),
    ),
    "variance": of_derivations(
        # False: squares of what has three moments have a variance; true: of what has four.
        lambda: cancelled(Var(y[1] ** 2), OF_TWO),
        lambda: cancelled(Var(y[1] ** 2), OF_FOUR),
    ),
}
