"""The one judge: from intervals and bands to verdicts, within one false-alarm budget for the whole run.

Records ask it whenever a verdict is read, so none is ever stored that its numbers contradict.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Protocol

from verify.errors import SettingsError
from verify.evidence.verdicts import Outcome, Proof, Verdict

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
_DERIVED = {
    Proof.PROVED: "proved; ",
    Proof.DERIVED: "derived; ",
    Proof.CITING: "derived, citing a theorem; ",
}
_KINDS = {"monte-carlo": "measurement", "fit": "fit", "exact": "computed value"}
_ENDLESS = 1e12  # the number of blocks that is never reached


class _Judged(Protocol):
    """What is asked of a check or a control: its id and what it came to."""

    @property
    def id(self) -> str: ...
    @property
    def verdict(self) -> Verdict: ...


class _JudgedCheck(_Judged, Protocol):
    """What is asked of a check besides: how it was made, and what keeps it open."""

    @property
    def method(self) -> str: ...
    @property
    def reason(self) -> str: ...


class _StatedPart(Protocol):
    """What is asked of a part of a statement; ``holds`` is None while it is open."""

    @property
    def kind(self) -> str: ...
    @property
    def printed(self) -> str | None: ...
    @property
    def holds(self) -> bool | None: ...
    @property
    def exactly(self) -> bool: ...


@dataclass(frozen=True)
class ErrorBudget:
    """The false-alarm rate of the whole run and the share of each check at each look.

    Each check gets 1/PLACES of the rate (Bonferroni), and look k of it 6/(π²k²) of that; the looks'
    shares add up to at most the check's, however many there are.
    """

    rate: float

    def share(self, look: int) -> float:
        """Return the false-exclusion rate of one check at its look number ``look``, from 1 on."""
        return self.rate / PLACES * 6 / (math.pi * look) ** 2

    def spent(self, checks: int) -> float:
        """Return the false-alarm rate of a run of so many measured checks."""
        return self.rate * checks / PLACES

    @staticmethod
    def refuse_too_many(checks: int) -> None:
        """Refuse more measured checks than there are shares.

        Raises:
            SettingsError: there are too many.
        """
        if checks > PLACES:
            raise SettingsError(
                f"{checks} checks, but the false-alarm budget has {PLACES} places; run fewer claims at once"
            )


def judge(interval: Interval, prediction: float, within: Interval, *, reliable: bool = True) -> Verdict:
    """Return what a simultaneous interval says of a prediction with its band ``within``.

    Disjoint from the band, or wholly beyond a bound: refuted; the tolerance of a bound lets an interval
    around it reach over, it makes no value beyond it right. Inside the band: confirmed, or approximate if
    that is no bound's and the exact prediction is excluded. Anything else, and any unreliable interval:
    undecided.
    """
    low, high = interval
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
    """Return the values of which an interval that does not refute holds one: the band, or what keeps a bound.

    The tolerance of a bound lets an interval around it reach over; it makes no value beyond it right.
    """
    low, high = within
    return prediction if high == math.inf else low, prediction if low == -math.inf else high


def claim_verdict(
    proof: Proof, proof_reason: str, checks: Sequence[_JudgedCheck], controls: Sequence[_Judged]
) -> tuple[Verdict, str]:
    """Return the verdict of a whole claim and one sentence of reason."""
    refuted, approximate = (_named(checks, verdict) for verdict in (Verdict.REFUTED, Verdict.APPROXIMATE))
    undecided = "; ".join(
        f"{check.id} ({check.reason})" if check.reason else check.id
        for check in checks
        if check.verdict is Verdict.UNDECIDED
    )
    standing = ", ".join(control.id for control in controls if control.verdict is not Verdict.REFUTED)
    unmeasured = not checks or not controls
    failed = f"the derivation failed, so nothing was drawn: {proof_reason}"
    cases = (
        (proof is Proof.FAILED, Verdict.UNDECIDED, failed),
        (unmeasured, Verdict.UNDECIDED, "nothing was measured, or no negative control was judged"),
        (refuted, Verdict.REFUTED, f"by {refuted}"),
        (standing, Verdict.UNDECIDED, f"negative control not rejected: {standing}"),
        (undecided, Verdict.UNDECIDED, f"undecided at the largest sample: {undecided}"),
        (
            approximate,
            Verdict.APPROXIMATE,
            f"within tolerance, but the exact value is excluded: {approximate}",
        ),
    )
    for applies, verdict, reason in cases:
        if applies:
            return verdict, reason
    return Verdict.CONFIRMED, _success(proof, checks, len(controls))


def _named(checks: Iterable[_Judged], verdict: Verdict) -> str:
    return ", ".join(check.id for check in checks if check.verdict is verdict)


def _success(proof: Proof, checks: Sequence[_JudgedCheck], controls: int) -> str:
    """Return such as "derived; 16 measurements and 1 fit agree, 6 wrong versions rejected"."""
    counts = {name: sum(check.method == method for check in checks) for method, name in _KINDS.items()}
    *others, last = (_counted(number, name) for name, number in counts.items() if number)
    agreeing = f"{', '.join(others)} and {last}" if others else last
    verb = "agrees" if len(checks) == 1 else "agree"
    return f"{_DERIVED.get(proof, '')}{agreeing} {verb}, {_counted(controls, 'wrong version')} rejected"


def _counted(number: int, what: str) -> str:
    return f"{number} {what}" if number == 1 else f"{number} {what}s"


def outcome_of(parts: Sequence[_StatedPart]) -> Outcome:
    """Return what a statement's parts come to."""
    if any(part.holds is None for part in parts):
        return Outcome.OPEN
    if any(part.kind == "prints" and not part.holds for part in parts):
        return Outcome.MISPRINTED
    said = [part for part in parts if part.kind == "says"]
    # A figure that is false is so under any condition.
    if any(part.printed is not None and not part.holds for part in said) or (
        said and not any(part.holds for part in said)
    ):
        return Outcome.WRONG
    exactly = all(part.exactly for part in parts)
    return Outcome.HOLDS if all(part.holds for part in said) and exactly else Outcome.WITH_CONDITIONS
