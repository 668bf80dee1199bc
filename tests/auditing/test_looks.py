"""What statistical kinds keep of a block: nothing where there is nothing, and why."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from tests.auditing.calls import arrays
from verify.auditing.block import Block
from verify.auditing.looks import of_pairs, of_rows
from verify.auditing.recording import Call
from verify.auditing.references import entropy_share, squares
from verify.auditing.statistical import Look


def block(partner: Block | None = None, keys: int = 12, **more: Any) -> Block:
    """Return a block of four queries with a scale of 1/2."""
    q, k, _ = arrays(3, sequences=1, heads=1, queries=4, keys=keys, d=4)
    return Block(Call(more.pop("query", q), k, scale=0.5, **more), 0, 0, 0.5, partner)


def test_a_look_at_rows_has_statistics_and_references_of_as_many_keys() -> None:
    """Statistics of the rows that were used, in their order; references averaged over the rows' keys."""
    causal = np.tri(4, 12, 8, dtype=bool)
    look = of_rows(lambda rows: (rows.variance, float(rows.used)), squares, entropy_share)(block(mask=causal))
    one = block()
    q, k = one.query, one.key
    variances = [np.var(0.5 * q[row] @ k[: row + 9].T, ddof=1) for row in range(4)]
    assert look.statistics == pytest.approx((np.mean(variances), 4))
    for found, reference in zip(look.references, (squares, entropy_share), strict=True):
        alone = [
            of_rows(lambda rows: (rows.used,), reference)(block(keys=row + 9)).references[0]
            for row in range(4)
        ]
        assert found == pytest.approx(np.mean(alone))
    assert (look.left_out, look.blind, look.broken) == (0, 0, False)


@pytest.mark.parametrize(
    ("seen", "left_out", "blind"), [(0, 4, 4), (7, 4, 0), (8, 0, 0)], ids=["none", "few", "enough"]
)
def test_rows_that_see_too_few_keys_are_counted_and_not_used(seen: int, left_out: int, blind: int) -> None:
    """From eight keys on; without any row there are no statistics, and that is no fault."""
    mask = np.arange(12) < seen
    look = of_rows(lambda rows: (rows.variance,))(block(mask=mask[None]))
    assert (look.statistics is None) == bool(left_out)
    assert (look.left_out, look.blind, look.broken) == (left_out, blind, False)


@pytest.mark.parametrize("wrong", [math.nan, math.inf])
def test_rows_that_are_not_finite_are_broken(wrong: float) -> None:
    """Nothing is kept of a sequence with such a score."""
    query = np.ones((1, 1, 4, 4))
    query[0, 0, 2] = wrong
    look = of_rows(lambda rows: (rows.variance,))(block(query=query))
    assert (look.statistics, look.broken) == (None, True)


def test_a_pair_is_looked_at_once_both_are_there() -> None:
    """The block without a partner keeps nothing; the other gives both, itself first."""
    first = block()
    second = block(first)
    look = of_pairs(lambda one, other: (float(one is second), float(other is first)))
    assert look(first) == Look(None)
    assert look(second) == Look((1.0, 1.0))


@pytest.mark.parametrize("of", ["block", "partner", "neither"])
def test_a_pair_without_numbers_is_broken_only_where_scores_are(of: str) -> None:
    """A number that does not exist, as of a single vector, is no fault of the program."""
    nan = np.full((1, 1, 4, 4), math.nan)
    first = block(query=nan) if of == "partner" else block()
    second = block(first, query=nan) if of == "block" else block(first)
    found = of_pairs(lambda *_: (1.0, math.nan))(second)
    assert found == Look(None, broken=of != "neither")
