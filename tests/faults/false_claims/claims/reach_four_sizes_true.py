"""True: 2ⁿ⁺¹ is twice 2ⁿ."""

from tests.faults.false_claims.shared import claim, steps
from verify.spec import n
from verify.spec.rules import Identity

CLAIM = claim(
    "Powers of two",
    lambda: steps(2 ** (n + 1), (2 * 2**n, Identity())),
)
