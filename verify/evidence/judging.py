"""The words for results, and the one judge: from intervals to verdicts, within a budget for the whole run.

Records ask it whenever a verdict is read, so none is ever stored that its numbers contradict.
"""

from __future__ import annotations

import math
from enum import StrEnum


class Verdict(StrEnum):
    """What the measurement says of a prediction or of a whole claim."""

    CONFIRMED = "confirmed"
    APPROXIMATE = "approximate"
    REFUTED = "refuted"
    UNDECIDED = "undecided"


class Proof(StrEnum):
    """What the symbolic side says of a claim.

    Proved: derived, and what the main chain shows is a theorem that Coq checked, printed from the chain.
    Derived: every line follows by a check, and no attempt refuted it. Citing: as derived, but a line rests on
    a published theorem, which is named. Measured: nothing is derived for what the claim says. Failed: a
    line does not hold; then nothing was drawn, and the record has no checks.
    """

    PROVED = "proved"
    DERIVED = "derived"
    CITING = "derived-citing"
    FAILED = "failed"
    MEASURED = "measured"

    @property
    def stands(self) -> bool:
        """Whether something is derived, and every line holds."""
        return self in {Proof.PROVED, Proof.DERIVED, Proof.CITING}


class Outcome(StrEnum):
    """What the run says of a statement of a source document."""

    HOLDS = "holds"
    WITH_CONDITIONS = "holds-with-conditions"
    MISPRINTED = "misprinted"
    WRONG = "wrong"
    OPEN = "open"


Interval = tuple[float, float]

PLACES = 1000
"""Shares of the budget. A fixed number, so that no check's level depends on which claims are run."""
RULE = f"each check has 1/{PLACES} of the rate, look k of it 6/(π²k²) of that"
WIDE = 2.0
"""A tolerance of more than this many times the run's needs a reason in words."""
GROWTH, PLANNED_LOOK, MAX_LOOKS = 1.5, 2, 11
"""A sample grows by half of itself at each look after the first.

The second is of the planned size, of a bound the first. Two of three checks are decided at the first look,
and of those that are open at the planned size most by the next half. The last is of 38 times the planned
size; then a check is undecided.
"""
_ENDLESS = 1e12  # the number of blocks that is never reached


def share(rate: float, look: int) -> float:
    """Return the false-exclusion rate of one check at its look number ``look``, from 1 on.

    Each check gets 1/PLACES of the run's false-alarm ``rate`` (Bonferroni), and look k of it 6/(π²k²) of
    that; the looks' shares add up to at most the check's, however many there are.
    """
    return rate / PLACES * 6 / (math.pi * look) ** 2


def judge(interval: Interval, prediction: float, within: Interval, *, reliable: bool = True) -> Verdict:
    """Return what a simultaneous interval says of a prediction with its band ``within``.

    Disjoint from the band, or wholly beyond a bound: refuted; the tolerance of a bound lets an interval
    around it reach over, it makes no value beyond it right. Inside the band: confirmed, or approximate if
    that is no bound's and the exact prediction is excluded. Anything else, and any unreliable interval:
    undecided.
    """
    low, high = interval
    # An interval that may be wrong refutes as little as it confirms.
    if not reliable:
        return Verdict.UNDECIDED
    least, most = tenable(prediction, within)
    if high < least or low > most:
        return Verdict.REFUTED
    if within[0] <= low and high <= within[1]:
        agrees = low <= prediction <= high or not all(map(math.isfinite, within))
        return Verdict.CONFIRMED if agrees else Verdict.APPROXIMATE
    return Verdict.UNDECIDED


def judge_exact(value: float, within: Interval) -> Verdict:
    """Return confirmed where a computed value lies in the band, else refuted."""
    return Verdict.CONFIRMED if within[0] <= value <= within[1] else Verdict.REFUTED


def still_open(estimate: float, interval: Interval, prediction: float, within: Interval, blocks: int) -> str:
    """Return how many blocks would take an interval that reaches over the band's edge to one side of it.

    Of a bound, to one side of the bound itself will do.
    """
    low, high = interval
    needed = []
    for edge in {*within, *tenable(prediction, within)}:
        if low < edge < high:
            side = estimate - low if edge < estimate else high - estimate
            # The width shrinks with the root of the blocks.
            times = side / abs(edge - estimate) if edge != estimate else math.inf
            needed.append(times * times)
    # A band is decided when the interval clears all of its edges, a bound when it clears either.
    every = all(map(math.isfinite, within))
    times = (max if every else min)(needed, default=math.inf)
    if not times * blocks <= _ENDLESS:  # infinity times no blocks is neither
        return "the estimate lies on the edge of the band, where no number of blocks would decide"
    return (
        f"the interval reaches over the edge of the band; about {math.ceil(times * blocks):,} blocks "
        "would decide, if the estimate is right"
    )


def ends_of(band: tuple[float | None, float | None]) -> Interval:
    """Return the ends of a band; a side that a bound leaves open is infinite."""
    low, high = band
    return -math.inf if low is None else low, math.inf if high is None else high


def tenable(prediction: float, within: Interval) -> Interval:
    """Return the values that an interval misses only if it refutes: the band, or what satisfies a bound.

    The tolerance of a bound lets an interval around it reach over; it makes no value beyond it right.
    """
    low, high = within
    return prediction if high == math.inf else low, prediction if low == -math.inf else high
