"""The lesson: scenes that the page draws, with the measured values that their words name."""

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from verify.evidence import ClaimRecord, Verdict
from verify.report.cards import Card, FigureView
from verify.report.tables import value_of


class _Plan(NamedTuple):
    """What a scene needs of its claim: its figure, the checks that its words name, and those it draws.

    The latter by the name of their series and the starts of their ids; those of 16 keys where keys differ.
    """

    claim: str
    figure: str
    named: tuple[str, ...]
    drawn: Mapping[str, tuple[str, ...]]


_PLANS = {
    "variance": _Plan(
        "score-variance",
        "score-variance.variance-line",
        ("variance-d64", "variance-d512", "variance-d1024", "slope"),
        {"variance": ("variance-d",)},
    ),
    "softmax": _Plan(
        "attention-concentration",
        "attention-concentration.freezing",
        ("raw-n16-d64", "raw-n256-d64", "scaled-n16-d64"),
        {f"{side}-n{n}": (f"{side}-n{n}-d",) for side in ("raw", "scaled") for n in (16, 256)},
    ),
    "gradient": _Plan(
        "vanishing-or-exploding",
        "vanishing-or-exploding.two-answers",
        (
            "median-above-1-n16-d16",
            "median-below-1-n16-d128",
            "median-vanishes",
            "rms-queries-d16",
            "rms-queries-d64",
            "rms-grows",
        ),
        {
            "median": ("median-above-1-n16-d", "median-below-1-n16-d", "median-vanishes"),
            "rms": ("rms-queries-d", "rms-grows"),
        },
    ),
}
_OTHER_QUANTITIES = ("rms-grows-keys", "rms-grows-values")

Point = tuple[int, float, float, float, str, str]
"""Dimension, estimate, both ends of the interval, the estimate as it is printed, and the check's key."""


class LessonScene(NamedTuple):
    """A scene: its name, its claim, the figure that stands for it where nothing moves, its points by series.

    ``numbers`` are the measured values that its words name, as they are printed, by their keys.
    """

    name: str
    claim: str
    still: FigureView
    points: Mapping[str, tuple[Point, ...]]
    numbers: Mapping[str, str]


def scenes(cards: Mapping[str, Card]) -> Iterator[LessonScene]:
    """Yield the scenes whose claim the run confirmed, with all that their words name."""
    for name, plan in _PLANS.items():
        if plan.claim not in cards or cards[plan.claim].claim.verdict is not Verdict.CONFIRMED:
            continue
        claim = cards[plan.claim].claim
        checks = {check.id: check for check in claim.checks}
        stills = [view for view in cards[plan.claim].figures if view.key == plan.figure]
        if stills and checks.keys() >= set(plan.named):
            yield LessonScene(
                name,
                claim.id,
                stills[0],
                {series: tuple(_points(claim, starts)) for series, starts in plan.drawn.items()},
                {f"{claim.id}.{check}": value_of(checks[check]) for check in plan.named},
            )


def _points(claim: ClaimRecord, starts: Sequence[str]) -> Iterator[Point]:
    for check in claim.checks:
        width = check.cell.get("d_k")
        wanted = check.id.startswith(tuple(starts)) and check.id not in _OTHER_QUANTITIES
        if wanted and isinstance(width, int):
            value, low, high = (float(f"{number:.5g}") for number in (check.estimate, *check.interval))
            yield width, value, low, high, value_of(check), f"{claim.id}.{check.id}"
