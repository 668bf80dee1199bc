"""Bands are about as wide as what is resolved."""

import pytest

from verify.engine.catalogue import catalogue
from verify.evidence import Check, RunRecord


CHAPTERS = {"raw_scores", "scaling", "limits"}
WIDEST = 5.0
"""Bands may be this many times as wide as the intervals that lie within them."""
REASONS = {
    ("score-mean", "mean-d1"): "one batch of blocks, the least that is drawn, is more than it takes",
    ("score-variance-any-law", "rademacher-variance-d1"): "a product of two signs squared is always 1",
}
"""Checks whose sample resolves more than their band, each with why."""


@pytest.mark.parametrize("name", [name for name, claim in catalogue().items() if claim.chapter in CHAPTERS])
def test_bands_fit_what_is_resolved(reference: RunRecord, name: str) -> None:
    """A band far wider than its interval lets a wrong constant through that the sample could see."""
    (record,) = (claim for claim in reference.claims if claim.id == name)
    loose = {check.id for check in record.checks if looseness(check) > WIDEST}
    assert loose <= {check for claim, check in REASONS if claim == name}


def looseness(check: Check) -> float:
    """Return how many times as wide as its interval a two-sided check's band is; 0 for all others.

    Where nothing is expected of what cannot be negative, the interval lies on one side.
    """
    low, high = check.band
    if check.method == "exact" or low is None or high is None:
        return 0.0
    least, most = check.interval
    reach = most - least if least == 0 == check.prediction else (most - least) / 2
    return (high - low) / 2 / reach
