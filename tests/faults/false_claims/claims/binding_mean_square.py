"""False: the mean square of scores with a mean is measured; the theorem is about their variance."""

from tests.faults.false_claims.shared import claim, measured
from verify.spec import (
    NORMAL,
    Derivation,
    Population,
    ScoreMoments,
    component,
    d,
    k,
    q,
    score,
    variance_route,
)  # fmt: skip

CLAIM = claim(
    "The spread of scores with a mean",
    lambda: Derivation.of(variance_route(score, Population({q: (1, 1, 2), k: (1, 1, 2)}, d))),
    measured(
        component("square", positive=True),
        d * (d + 3),
        ScoreMoments(),
        query=NORMAL.moved(1, 1),
        key=NORMAL.moved(1, 1),
    ),
)
