"""True: it is a name."""

from tests.faults.false_claims.shared import a, claim, steps
from verify.spec.rules import Identity

CLAIM = claim(
    "A sum",
    lambda: steps((a + 1) ** 2, (1 + a**2 + 2 * a, Identity())),
    statement="{theorem}.",
)
