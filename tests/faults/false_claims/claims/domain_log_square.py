"""False: ln s² - s is at most ln 4 - 2 for every s other than 0; at s = -10 it is far more."""

from sympy import S, Symbol, log

from tests.faults.false_claims.shared import claim, steps
from verify.spec.rules import AtItsMost

CLAIM = claim(
    "The logarithm of a squared score",
    lambda: steps(
        log(Symbol("x", real=True, nonzero=True) ** 2) - Symbol("x", real=True, nonzero=True),
        (log(S(4)) - 2, AtItsMost(Symbol("x", real=True, nonzero=True), S(2))),
    ),
)
