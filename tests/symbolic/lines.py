"""What a check says of a line."""

from typing import Any

from sympy import sympify

from verify.symbolic.chains import LineCheck
from verify.symbolic.vocabulary import StepError


def refused(check: LineCheck, before: Any, after: Any, relation: Any = "=") -> str:
    """Return why a line is refused, in one line; empty where it is accepted."""
    text = ""
    try:
        check.decide(sympify(before), sympify(after), relation)
    except StepError as error:
        text = str(error)
    assert "\n" not in text
    return text
