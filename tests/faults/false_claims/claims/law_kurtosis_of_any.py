"""False: it is 3 + 6/d for components of any law with mean 0 and variance 1."""

from tests.faults.false_claims.shared import claim, steps
from verify.spec import STANDARD, E, d, score
from verify.spec.rules import Evaluation

CLAIM = claim(
    "The kurtosis of a score",
    lambda: steps(E(score**4) / E(score**2) ** 2, (3 + 6 / d, Evaluation(STANDARD, assumed=True))),
)
