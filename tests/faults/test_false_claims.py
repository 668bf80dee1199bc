"""None of the false claims gets through, and the nearest true claim beside each passes."""

import random

import pytest

from tests.faults.false_claims.campaign import ended, names, table
from verify.evidence import FalseClaims
from verify.evidence.load import stored_table

SAMPLE = random.Random(1).sample(names(), 20)  # noqa: S311  # a sample, and no secret


@pytest.mark.parametrize(
    "name", [*SAMPLE[:10], *(pytest.param(one, marks=pytest.mark.slow) for one in SAMPLE[10:])]
)
def test_a_false_claim_is_caught_and_its_neighbour_passes(name: str) -> None:
    """A sample, the same each time, half of it in the longer studies; the campaign runs all, by hand."""
    false, true = ended(name), ended(name, true=True)
    assert false.is_caught, false
    assert true.passes, true


def test_the_stored_table_is_of_these_claims() -> None:
    """As many of each kind as there are pairs; all are caught, and all neighbours pass."""
    stored = stored_table(FalseClaims)
    kinds = [name.partition("_")[0] for name in names()]
    counted = {one.kind: one.of for one in stored.kinds}
    assert counted == {kind: kinds.count(kind) for kind in kinds}
    assert stored.caught == stored.neighbours == stored.of >= 80


def test_what_gets_through_is_counted_as_such() -> None:
    """A true claim that stands for a false one is proved, and so not caught."""
    through = ended(names("domain")[0], true=True)
    (row,) = table([(through, through)]).kinds
    assert (row.caught, row.of, row.neighbours, row.by) == (0, 1, 1, {})
