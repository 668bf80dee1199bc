"""False: 2ⁿ is n² - n + 2, as sizes up to three show."""

from tests.faults.false_claims.shared import claim, steps
from verify.spec import n
from verify.spec.rules import by

CLAIM = claim(
    "Powers of two",
    lambda: steps(
        2**n,
        (
            n**2 - n + 2,
            by("tried for up to three keys")(
                lambda one, other: all((one - other).subs(n, size) == 0 for size in (1, 2, 3))
            ),
        ),
    ),
)
