"""Rules by which keys are hidden, and the axis that weights add up over."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from verify.auditing.probing.weights import Mask, axis_of, mask_of


@given(st.integers(2, 9), st.integers(2, 9), st.integers(-3, 5), st.integers(2, 9))
def test_masks_by_positions_are_recognised(queries: int, keys: int, shift: int, window: int) -> None:
    """Any causal rule with any window hides what the rule that is found hides."""
    seen = Mask(shift, window).visible(queries, keys)
    found = mask_of(np.where(seen, 0.5, 0.0)[None, None])
    ahead = (np.arange(keys) - np.arange(queries)[:, None])[seen]
    lone = not ahead.size or np.ptp(ahead) == 0
    assert found.known == (not lone or bool(seen.all()))
    assert lone or np.array_equal(found.visible(queries, keys), seen)


def test_masks_by_no_rule_or_by_head_are_not_known() -> None:
    """Keys hidden at random, or in one head only, are no rule of positions."""
    seen = np.ones((1, 2, 4, 4))
    seen[0, :, 2, 1] = 0
    assert not mask_of(seen).known
    seen = np.ones((1, 2, 4, 4))
    seen[0, 0] = np.tri(4)
    assert not mask_of(seen).known


def test_rows_that_are_no_numbers_see_nothing() -> None:
    """Programs give NaN for a query without keys."""
    found = np.where(Mask(-2).visible(5, 3), 0.5, 0.0)
    found[:2] = np.nan
    assert mask_of(found[None, None]) == Mask(-2)


@pytest.mark.parametrize(("axis", "name"), [*enumerate(["sequences", "heads", "queries", "keys"])])
def test_axis_is_that_of_the_sums(axis: int, name: str) -> None:
    """Only one axis adds up to 1; none where several do, or none does."""
    numbers = np.random.default_rng(axis).random((2, 3, 4, 5))
    assert axis_of(numbers / numbers.sum(axis=axis, keepdims=True)) == name
    assert axis_of(numbers) is None
    assert axis_of(np.full((2, 2, 2, 2), 0.5)) is None
