"""The audit is audited: smaller runs of its calibration study."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest

from tests.calibration.audits import (
    Missed,
    coverage,
    false_alarms,
    population,
    row_variances,
    sequences,
    statistical,
    tokens_as_independent,
)

if TYPE_CHECKING:
    from verify.auditing.statistical import Statistical


def test_tokens_counted_as_independent_are_shown_to_fail() -> None:
    """With dependent tokens such an interval misses in more than half of all cases, not in 5%."""
    rows = row_variances(sequences(np.random.default_rng(1), 600))
    naive = tokens_as_independent(rows, 32, 0.05, 200)
    assert naive.misses > 100
    assert not naive.compatible_with(0.05)


def test_surprising_misses_are_noticed() -> None:
    """Of 1000 trials at 5%, fifty misses are no surprise, and ninety are."""
    assert Missed(1000, 1000, 50).compatible_with(0.05)
    assert not Missed(1000, 1000, 90).compatible_with(0.05)


@pytest.mark.slow
@pytest.mark.parametrize("kind", statistical(), ids=lambda kind: kind.name)
@pytest.mark.parametrize("count", [32, 128])
def test_no_interval_misses_more_often_than_it_may(kind: Statistical, count: int) -> None:
    """Every finding on sequences of strongly dependent tokens, at 5%."""
    found = coverage(kind, population(3000), count, 0.05, 400)
    assert all(one.compatible_with(0.05) for one in found.values())


@pytest.mark.slow
def test_whole_audits_alarm_no_more_often_than_their_rate() -> None:
    """Two heads, every finding gated at the true value, a rate of 20%."""
    alarms = false_alarms(population(3000), 32, 0.2, 2, 300)
    assert alarms.compatible_with(0.2)
