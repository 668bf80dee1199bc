"""What all records have in common: frozen, strict, finite, and found by id."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from pydantic import ValidationError

from tests.strategies import CHECKS, examples
from verify.evidence import (
    Check,
    Fact,
)


@examples(20)
@given(CHECKS)
def test_records_are_frozen_and_strict(check: Check) -> None:
    """Nothing can be set, and unknown fields are errors."""
    with pytest.raises(ValidationError, match="frozen"):
        setattr(check, "estimate", 1.0)  # noqa: B010  # mypy would refuse the plain assignment
    with pytest.raises(ValidationError, match="Extra inputs"):
        Check.model_validate({**check.model_dump(), "estimates": 1.0})


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
def test_numbers_must_be_finite(value: float) -> None:
    """JSON has no word for infinity or not-a-number, so no record holds one."""
    with pytest.raises(ValidationError, match="finite"):
        Fact(id="f", what="", latex="", value=value)
