"""True: it is 1 - e/(d + e)."""

from tests.faults.false_claims.shared import claim, e, steps
from verify.spec import d
from verify.spec.rules import Identity

CLAIM = claim(
    "Terms taken for the whole",
    lambda: steps(d / (d + e), (1 - e / (d + e), Identity())),
)
