"""The limit of n·E Σp²: its steps hold, and not for anything else."""

from __future__ import annotations

from sympy import Integral, Limit, oo

from verify.symbolic import effective_keys
from verify.symbolic.kernel.words import n


def test_the_laplace_transform_counts_every_factor() -> None:
    """n² for n, t² for t, or a power of ψ more do not follow from the mean of squares."""
    route = effective_keys.for_many()
    step = route.steps[0]
    t, psi = effective_keys.t, effective_keys.psi
    bend = psi(t).diff(t, 2)
    assert step.check.holds(route.start, step.expression)
    for factor, inside in (
        (n, t * bend * psi(t) ** (n - 1)),
        (n**2, t**2 * bend * psi(t) ** (n - 1)),
        (n**2, t * bend * psi(t) ** n),
    ):
        wrong = factor * Integral(inside, (t, 0, oo))
        assert not step.check.holds(route.start, Limit(wrong, n, oo))
