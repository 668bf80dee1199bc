"""Gauss's rules: moments that are known in closed form, and integrals by another route."""

from __future__ import annotations

import pytest

from verify.symbolic.gauss import integrals


def test_what_does_not_converge_is_an_error() -> None:
    """The integral of 1/x from 0 is infinite."""
    with pytest.raises(ArithmeticError, match="no integral within 1e-14 near 0"):
        integrals(lambda x: 1 / x, (0.0, 1.0), 1e-14)
