"""Rows of normal scores."""

from __future__ import annotations

import numpy as np
import pytest

from verify.montecarlo.distributions import NORMAL
from verify.montecarlo.rows import NormalRows


def test_normal_rows_have_their_deviation() -> None:
    """Of tiny deviation, a row is nearly even; of a huge one, nearly all on one key."""
    even = NormalRows(8, 4, 1e-6, NORMAL, ("squares",)).sample(np.random.default_rng(3), 10)
    frozen = NormalRows(8, 4, 1e6, NORMAL, ("squares",)).sample(np.random.default_rng(3), 10)
    assert even == pytest.approx(1 / 8)
    assert frozen == pytest.approx(1)
