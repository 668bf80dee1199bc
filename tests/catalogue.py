"""The catalogue for tests: each claim's derivation and experiment, made once in a process and shared."""

from functools import cache
from typing import Any

import pytest

from verify.engine import catalogue
from verify.evidence import PROFILES
from verify.montecarlo.experiment import Experiment

CATALOGUE = catalogue.catalogue()
QUICKLY_MADE = {
    "over-scaling",
    "scaling-exponent",
    "softmax-identities",
    "softmax-two-keys",
    "sqrt-scaling-unique",
    "variance-of-multiple",
    "worked-dot-products",
}
"""Claims that take a fraction of a second: exact and drawn ones, with fits and without."""
QUICKLY_RUN = {
    *QUICKLY_MADE,
    "ignored-keys",
    "score-variance",
}
"""Claims of the quick run by default: those, and two with a second route, facts, and figures of their own."""
EACH_QUICKLY_MADE = pytest.mark.parametrize(
    "name",
    [name if name in QUICKLY_MADE else pytest.param(name, marks=pytest.mark.slow) for name in CATALOGUE],
)
"""For tests that derive every claim again: those at once, the others among the longer studies."""


@cache
def derivation(name: str) -> Any:
    """Return the derivation of a claim, its steps unchecked."""
    return CATALOGUE[name].derived()


@cache
def experiment(name: str, tolerance: float = PROFILES["quick"]) -> Experiment:
    """Return what a claim measures in a run of this tolerance."""
    return CATALOGUE[name].measured_by(derivation(name), tolerance)


def derived_in(experiment: Experiment) -> tuple[str, ...]:
    """Return the ids of the checks that are of a derived quantity, and of the fits through such checks."""
    return tuple(check.id for check in experiment.checks if check.prediction.origin == "derived")
