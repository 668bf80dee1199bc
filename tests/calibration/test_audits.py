"""The audit is audited: smaller runs of its calibration study."""

import numpy as np
import pytest

from tests.calibration.audits import (
    LAWS, LEVELS, QUANTITIES, Missed, coverage, row_variances, sequences, share_coverage,
    tokens_as_independent, warnings,
)  # fmt: skip


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


@pytest.mark.parametrize(("alike", "found"), [(1, (0, 1)), (8, (195, 200))])
def test_dependent_sequences_are_warned_of_and_others_are_not(alike: int, found: tuple[int, int]) -> None:
    """Two hundred samples of two hundred sequences each."""
    assert found[0] <= warnings(alike, 200, 200) <= found[1]


@pytest.mark.slow
@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize("name", [*QUANTITIES, "share"])
def test_no_interval_misses_more_often_than_it_may(name: str, law: str) -> None:
    """At 5% and at the level of a large audit, whatever the law of sequences."""
    for alpha in LEVELS:
        for count in (48, 200):
            found = (
                coverage(name, law, count, alpha, 150)
                if name in QUANTITIES
                else share_coverage(law, count, alpha, 150)
            )
            assert found.compatible_with(alpha), (alpha, count, found)
