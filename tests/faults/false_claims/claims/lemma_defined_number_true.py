"""True: b stands for a²."""

from tests.faults.false_claims.shared import a, b, claim, steps
from verify.spec.rules import Unfolded

CLAIM = claim(
    "What is defined is a number",
    lambda: steps(b + 1, (a**2 + 1, Unfolded({b: a**2}))),
)
