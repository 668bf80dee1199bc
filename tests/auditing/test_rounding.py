"""What rounding does to an output: as much as programs lose, and the same in rows that are alike."""

from __future__ import annotations

import numpy as np
import pytest

from tests.auditing.calls import SCALE, arrays, attention, call
from verify.auditing.heads import head_of
from verify.auditing.recording import Call
from verify.auditing.rounding import Rounding
from verify.auditing.scale import implied_scale


def test_copies_of_a_row_share_all_their_errors_and_different_rows_none() -> None:
    """Errors of 12 copies add up to 12 times one; their variance is 12 times that of independent errors."""
    head = head_of(call(), 0, 0, 12)
    copies = head.at(np.zeros(12, dtype=int))
    for one, share in ((copies, 11.0), (head, 0.0)):
        rounding = Rounding.of(one, SCALE)
        slope = one.attended(SCALE)[1]
        # The model's bounds stand for standard deviations in one, and for bounds in the other.
        assert rounding.shared_along(slope) / (0.18 * rounding.along(slope)) == pytest.approx(share, abs=0.01)


def test_single_precision_fits_where_scores_are_large() -> None:
    """A few weights make up the output; the largest of 64 residuals stays below what rounding may leave."""
    for seed in (0, 3):
        made = arrays(seed, sequences=1, heads=32, queries=64, keys=64, deviation=16.0)
        q, k, v = (array.astype(np.float32) for array in made)
        one = Call(q, k, v, attention(q, k, v, scale=SCALE))
        found = [implied_scale(head_of(one, 0, head, 16), [SCALE]) for head in range(32)]
        assert all(each.fits for each in found)
        assert max(each.residual / each.rounding for each in found) > 0.3
