"""What a check says of a line."""

from typing import Any

from sympy import S, symbols, sympify

from verify.symbolic.chains import LineCheck
from verify.symbolic.vocabulary import Law, StepError, k, q

kappa_q, kappa_k, skew = symbols("kappa_q kappa_k gamma", real=True)
FOUR = {
    q: Law("mean 0, variance 1 and kurtosis κ_q", (S.One, S.Zero, S.One, skew, kappa_q)),
    k: Law("mean 0, variance 1 and kurtosis κ_k", (S.One, S.Zero, S.One, skew, kappa_k)),
}
"""Components of which four moments are known."""


def refused(check: LineCheck, before: Any, after: Any, relation: Any = "=") -> str:
    """Return why a line is refused, in one line; empty where it is accepted."""
    text = ""
    try:
        check.decide(sympify(before), sympify(after), relation)
    except StepError as error:
        text = str(error)
    assert "\n" not in text
    return text
