"""False: E 1/|k|² is 1/(d - 2) for every d; for one dimension there is no mean."""

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
    measured(component("inverse"), None, InverseLengths(), n=1),
    "For every {d_k}, {theorem}.",
)
