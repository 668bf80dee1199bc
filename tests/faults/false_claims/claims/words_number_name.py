"""False: the name of a symbol is a number."""

from sympy import Symbol

from tests.faults.false_claims.shared import claim, steps
from verify.spec.rules import Identity

CLAIM = claim(
    "A sum",
    lambda: steps((Symbol("3") + 1) ** 2, (1 + Symbol("3") ** 2 + 2 * Symbol("3"), Identity())),
    statement="{theorem}.",
)
