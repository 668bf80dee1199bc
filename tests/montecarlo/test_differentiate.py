"""Complex steps: against derivatives known in closed form."""

from __future__ import annotations

import numpy as np

from verify.montecarlo.estimands import complex_step


def test_derivatives_of_elementary_functions() -> None:
    """Every entry's derivative, exact to rounding, and zero for the other entries."""
    at = np.array([0.3, -1.2, 2.0])
    found = complex_step(lambda z: np.sin(z) * np.exp(z), at)
    expected = np.diag((np.sin(at) + np.cos(at)) * np.exp(at))
    np.testing.assert_allclose(found, expected, rtol=1e-14)


def test_shape_is_that_of_the_point_then_that_of_the_output() -> None:
    """For x of shape (2, 3), the derivative of x·a by x[r, c] is a[c] in row r and 0 elsewhere."""
    at = np.arange(6.0).reshape(2, 3)
    a = np.array([1.0, -2.0, 0.5])
    found = complex_step(lambda z: z @ a, at)
    assert found.shape == (2, 3, 2)
    np.testing.assert_array_equal(found, np.einsum("rs,c->rcs", np.eye(2), a))


def test_nothing_cancels() -> None:
    """Where differences of nearby values lose half the digits, all digits are right."""
    at = np.array([1e-3])
    exact = -np.sin(at) / 1e-12
    found = complex_step(lambda z: np.cos(z) / 1e-12, at)[0]
    np.testing.assert_allclose(found, exact, rtol=1e-14)
    difference = (np.cos(at + 1e-9) - np.cos(at)) / 1e-9 / 1e-12
    assert abs(difference - exact) > 1e-6 * abs(exact)
