"""Derivatives of array code, exact to rounding, without any derived formula."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable

    from verify.montecarlo.distributions import Array

_STEP = 1e-30
"""So small that the error, of the order of its square, is nothing; and no difference is taken."""


def complex_step(function: Callable[[Any], Any], at: Array) -> Array:
    """Return the derivatives of ``function`` by every entry of ``at``, shape ``at.shape`` + output's shape.

    ``function`` must be analytic, and treat axes before those of ``at`` as a batch. Source: W. Squire and
    G. Trapp, Using Complex Variables to Estimate Derivatives of Real Functions, SIAM Rev. 40 (1998).

    Raises:
        TypeError: ``function`` returns real numbers, so its derivative cannot be read off.
    """
    directions = np.eye(at.size).reshape(at.size, *at.shape)
    moved = np.asarray(function(at + 1j * _STEP * directions))
    if not np.iscomplexobj(moved):
        raise TypeError("a function whose gradient is needed must be analytic: no absolute values, no parts")
    derivatives: Array = moved.imag / _STEP
    return derivatives.reshape(*at.shape, *derivatives.shape[1:])
