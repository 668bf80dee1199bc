"""None of the false claims gets through, and the nearest true claim beside each passes."""

from collections import Counter

import pytest

from tests.faults.false_claims.campaign import NAMES, Outcome, outcome, outcomes, table
from tests.faults.false_claims.analysis import DOMAIN
from verify.evidence import FalseClaims
from verify.evidence.load import stored_table

FEW = dict(reversed(NAMES))
"""The first mistake of each kind."""


@pytest.mark.parametrize(
    ("kind", "mistake"),
    [one if FEW[one[0]] == one[1] else pytest.param(*one, marks=pytest.mark.slow) for one in NAMES],
)
def test_a_false_claim_is_caught_and_its_neighbour_passes(kind: str, mistake: str) -> None:
    """One of each kind; all of them among the longer studies."""
    false, true = outcomes(kind, mistake)
    assert false.caught_by
    assert not true.caught_by, true


def test_the_stored_table_is_of_these_claims() -> None:
    """As many of each kind as there are pairs; all are caught, and all neighbours pass."""
    stored = stored_table(FalseClaims)
    assert {row.kind: row.of for row in stored.kinds} == Counter(kind for kind, _ in NAMES)
    assert stored.caught == stored.neighbours == stored.of


def test_what_gets_through_is_counted_as_such() -> None:
    """A true claim that stands for a false one is not caught."""
    true = outcome(DOMAIN["tangent"].true(), "domain", "tangent")
    (row,) = table([("domain", true, Outcome(None, "refused"))]).kinds
    assert (row.caught, row.of, row.neighbours, row.by) == (0, 1, 0, {})
