"""True: it is from three dimensions on."""

from sympy import Integral, exp, gamma, oo

from tests.faults.false_claims.shared import InverseLengths, claim, measured, steps, w
from verify.spec import component, d
from verify.spec.rules import EulerIntegrals

CLAIM = claim(
    "The mean of an inverse squared length",
    lambda: steps(
        Integral(w ** (d / 2 - 2) * exp(-w / 2) / (2 ** (d / 2) * gamma(d / 2)), (w, 0, oo)),
        (1 / (d - 2), EulerIntegrals(w)),
    ),
    measured(component("inverse"), None, InverseLengths(), n=12),
    "For {d_k} above two, {theorem}.",
)
