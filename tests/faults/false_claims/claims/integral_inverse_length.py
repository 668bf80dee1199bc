"""False: E 1/|k|² is 1/(d - 2) for every d; for one dimension there is no mean."""

from dataclasses import dataclass

from sympy import Integral, exp, gamma, oo

from tests.faults.false_claims.shared import claim, measured, steps, w
from verify.spec import Array, EulerIntegrals, Statistic, component, d


@dataclass(frozen=True)
class InverseLengths(Statistic):
    """The mean of 1/|k|²."""

    names = ("inverse",)

    def reduce(self, queries: Array, keys: Array) -> Array:
        """Return the means, shape (blocks, 1)."""
        inverse: Array = (1 / (keys**2).sum(axis=2)).mean(axis=1, keepdims=True)
        return inverse


CLAIM = claim(
    "The mean of an inverse squared length",
    lambda: steps(
        Integral(w ** (d / 2 - 2) * exp(-w / 2) / (2 ** (d / 2) * gamma(d / 2)), (w, 0, oo)),
        (1 / (d - 2), EulerIntegrals(w)),
    ),
    measured(component("inverse"), None, InverseLengths(), n=1),
    "For every {d_k}, {theorem}.",
)
