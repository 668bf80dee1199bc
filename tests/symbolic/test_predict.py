"""Predictions: the derived expression itself, evaluated in double precision."""

import math

import numpy as np
import pytest
from hypothesis import given
from scipy import special
from sympy import Rational, Symbol, erf, exp, sqrt

from tests.strategies import examples, floats
from verify.symbolic.printing import function
from verify.symbolic.scores import d, mu_q, sigma_q


@examples(50)
@given(floats(0.1, 50), floats(-5, 5), floats(0.1, 5))
def test_agrees_with_sympy(n: float, mean: float, spread: float) -> None:
    """The compiled function and SymPy's own substitution give the same number."""
    expression = d * (mu_q**2 + sigma_q**2) + sqrt(d) * exp(-sigma_q) / 3
    exact = float(
        expression.subs({d: Rational(n), mu_q: Rational(mean), sigma_q: Rational(spread)}).evalf(30)
    )
    value = function((d, mu_q, sigma_q), expression)(n, mean, spread)
    assert math.isclose(value, exact, rel_tol=1e-13, abs_tol=1e-13)


def test_arguments_go_by_position_even_if_names_agree() -> None:
    """Symbols of one name but different assumptions stay apart."""
    first, second = Symbol("x"), Symbol("x", positive=True)
    assert function((first, second), first - 2 * second)(10.0, 1.0) == 8.0


def test_special_functions_and_arrays() -> None:
    """With SciPy behind it, a prediction takes arrays and special functions."""
    x = Symbol("x")
    grid = np.linspace(-2, 2, 5)
    assert np.allclose(function((x,), erf(x), modules="scipy")(grid), special.erf(grid), rtol=1e-14)


def test_an_expression_with_an_unknown_symbol_has_no_value() -> None:
    """A prediction that still holds a symbol without a value is an error, not a number."""
    with pytest.raises(TypeError, match="to float"):
        float(function((d,), d * Symbol("unknown"))(3))
