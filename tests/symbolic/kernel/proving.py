"""What the tests of the kernel ask of it: a theorem for all values, or a refusal and why."""

from typing import Any

import pytest

from verify.symbolic.kernel.core import Reach, Theorem, prove
from verify.symbolic.kernel.hypotheses import NOTHING, Hypotheses, Refused


def proved(rule: Any, before: Any, after: Any, under: Hypotheses = NOTHING, relation: str = "=") -> Theorem:
    """Return the theorem of a rule, which is for all values."""
    theorem = prove(rule, before, after, under)
    assert theorem.relation == relation
    assert theorem.reach is Reach.ALL_VALUES
    return theorem


def refused(rule: Any, before: Any, after: Any, under: Hypotheses = NOTHING) -> str:
    """Return why the kernel makes no theorem of it."""
    with pytest.raises(Refused) as caught:
        prove(rule, before, after, under)
    text = str(caught.value)
    assert text
    assert "\n" not in text
    return text
