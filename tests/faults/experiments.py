"""The experiments of the catalogue, each made once for all tests of this folder."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

import pytest

from verify.engine.catalogue import catalogue
from verify.evidence import PROFILES

if TYPE_CHECKING:
    from verify.montecarlo.experiment import Experiment
    from verify.symbolic.derivation import Derivation

CATALOGUE = catalogue()
EACH = pytest.mark.parametrize("name", CATALOGUE)
EACH_SIXTH = pytest.mark.parametrize(
    "name",
    [
        name if place % 6 == 0 else pytest.param(name, marks=pytest.mark.slow)
        for place, name in enumerate(CATALOGUE)
    ],
)
"""Each sixth claim at once, the others among the longer studies."""


@cache
def derivation(name: str) -> Derivation:
    """Return the derivation of a claim."""
    return CATALOGUE[name].derive()


@cache
def experiment(name: str, tolerance: float = PROFILES["quick"]) -> Experiment:
    """Return what a claim measures in a run of this tolerance."""
    return CATALOGUE[name].experiment(derivation(name), tolerance)
