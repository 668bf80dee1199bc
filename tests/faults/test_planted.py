"""Every check is refuted under a planted fault."""

import pytest

from tests.catalogue import CATALOGUE, experiment
from tests.faults.planted import first_faults, refuted, refuted_under

QUICKEST = {"attention-definition", "softmax-identities", "sqrt-scaling-unique"}
"""Claims that take a second or less."""
CLAIMS = list(CATALOGUE)[1::12]
"""A part of the others, tried among the longer studies; the campaign tries all, by hand."""


@pytest.mark.parametrize(
    "name",
    [
        *sorted(QUICKEST),
        *(pytest.param(name, marks=pytest.mark.slow) for name in CLAIMS if name not in QUICKEST),
    ],
)
def test_every_check_is_refuted_under_some_fault(name: str) -> None:
    """None is vacuous."""
    assert [check for check, fault in first_faults(name).items() if fault is None] == []


def test_without_a_fault_nothing_is_refuted() -> None:
    """No check of a claim that holds is refuted, also when faults were planted before."""
    name = "sqrt-scaling-unique"
    checks = [check.id for check in experiment(name).checks]
    assert refuted_under("components 10% larger", name, checks) != set()
    assert refuted(name, checks) == set()
