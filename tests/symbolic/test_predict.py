"""Predictions: the derived expression itself, evaluated in double precision."""

from __future__ import annotations

import pytest
from sympy import Symbol

from verify.symbolic.printing import function
from verify.symbolic.scores import d


def test_an_expression_with_an_unknown_symbol_has_no_value() -> None:
    """A prediction that still holds a symbol nobody gave a value to is an error, not a number."""
    with pytest.raises(TypeError, match="to float"):
        float(function((d,), d * Symbol("unknown"))(3))
