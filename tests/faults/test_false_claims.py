"""None of the false claims gets through, and the nearest true claim beside each passes."""

from __future__ import annotations

import random

import pytest

from tests.faults.false_claims.campaign import ONLY_FALSIFIER, ended, files, neighbour, table
from verify.evidence import FalseClaims
from verify.evidence.load import stored_table

SAMPLE = random.Random(1).sample(files(), 20)  # noqa: S311  # a sample, and no secret


@pytest.mark.parametrize(
    "path",
    [*SAMPLE[:5], *(pytest.param(path, marks=pytest.mark.slow) for path in SAMPLE[5:])],
    ids=lambda path: path.stem,
)
def test_a_false_claim_is_caught_and_its_neighbour_passes(path: object) -> None:
    """A few of them, the same each time, and more in CI; the campaign runs all, by hand."""
    false, true = ended(path), ended(neighbour(path))  # type: ignore[arg-type]
    assert false.is_caught, false
    assert true.passes, true


def test_each_false_claim_has_its_neighbour() -> None:
    """And what is listed apart is there."""
    names = {path.stem for path in files()}
    assert all(neighbour(path).exists() for path in files())
    assert names >= ONLY_FALSIFIER


def test_the_stored_table_is_of_these_claims() -> None:
    """As many of each kind as there are files; all are caught, and all neighbours pass."""
    stored = stored_table(FalseClaims)
    kinds = [path.stem.partition("_")[0] for path in files()]
    counted = {one.kind: one.of for one in stored.kinds}
    assert counted == {kind: kinds.count(kind) for kind in kinds}
    assert stored.caught == stored.neighbours == stored.of >= 80


def test_what_gets_through_is_counted_as_such() -> None:
    """A true claim that stands for a false one is proved, and so not caught."""
    through = ended(neighbour(files("domain")[0]))
    (row,) = table([(through, through)]).kinds
    assert (row.caught, row.of, row.neighbours, row.by) == (0, 1, 1, {})
