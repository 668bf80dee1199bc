"""False: the mean square of scores is their variance, also of components with a mean: the theorem is about the variance."""

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
)

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
