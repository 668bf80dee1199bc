"""The cosine of a query and a key of independent standard normal components."""

from __future__ import annotations

from typing import Any

from sympy import S, exp, oo, pi, sqrt, symbols

from verify.symbolic.checks import by
from verify.symbolic.integrals import runs_over
from verify.symbolic.kernel.equations import same
from verify.symbolic.kernel.integrals import euler_integral
from verify.symbolic.kernel.words import E
from verify.symbolic.law import CHI_SQUARE, w
from verify.symbolic.printing import ordered
from verify.symbolic.scores import d

COSINE = ordered(r"\hat{q}\cdot\hat{k}:a0", real=True)
n = ordered("n:b", integer=True, positive=True)
"""Half the order of a moment."""

z = symbols("z", positive=True)
ALONG, ACROSS = 2 * exp(-(z**2) / 2) / sqrt(2 * pi), CHI_SQUARE.subs(d, d - 1)
"""Densities of the size z of a query's component along the key, and of the others' sum of squares w."""


@by("Euler’s integrals: the Laplace transforms of a normal number’s square and of d − 1 of them")
def along_the_key(before: Any, after: Any) -> bool:
    """Return whether an even moment of the cosine is averaged over z and w: cos² = z²/(z² + w).

    Of a query that lies anyhow one component is along the key. Squares have the transform (1 + 2t)^(-1/2)
    each. A transform has one law: nothing else can pass.
    """
    t, u = symbols("t u", positive=True)
    law = after.function * (z**2 + w) ** n / z ** (2 * n)
    found = euler_integral(euler_integral(law * exp(-t * z**2 - u * w), z), w)
    whole = before == E(COSINE ** (2 * n)) and runs_over(after, (z, 0, oo), (w, 0, oo))
    return whole and same(found, (1 + 2 * t) ** -S.Half * (1 + 2 * u) ** ((1 - d) / 2))
