"""True: a limit of a sum in closed form is that of the form."""

from sympy import Limit, Sum, oo

from tests.faults.false_claims.shared import claim, h, j_, steps
from verify.spec import n
from verify.spec.rules import Applied, ClosedSums

CLAIM = claim(
    "A limit and a mean",
    lambda: steps(
        Sum(j_, (j_, 1, n)),
        (n * (n + 1) / 2, ClosedSums()),
        (Limit(n * (n + 1) / (2 * n**2), n, oo), Applied(Limit(h / n**2, n, oo), h)),
    ),
)
