"""What the explorer marks beside the row that it draws: values that the run measured, by dimension."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

from verify.report.views import MeasuredPanel, MeasuredSide
from verify.text.latex import Prose

if TYPE_CHECKING:
    from collections.abc import Callable

    from verify.evidence import Check, RunRecord


class _Panel(NamedTuple):
    """Which checks a panel marks: those of a claim whose ids start so, for each of its sides."""

    name: str
    title: str
    words: str
    logarithmic: bool
    low: str
    high: str
    sides: tuple[tuple[str, str, str], ...]
    shown: Callable[[float], float]


_PANELS = (
    _Panel(
        "deviation",
        "Standard deviation of a score, measured",
        "Dots: the measured standard deviation of a score against the width of a head, both logarithmic",
        True,
        "0.5",
        "64",
        (("unscaled", "score-variance", "variance-d"), ("scaled", "sqrt-scaling", "variance-d")),
        math.sqrt,
    ),
    _Panel(
        "largest",
        "Mean of the larger of two weights, measured",
        "Dots: the measured mean of the larger of two weights against the width of a head",
        False,
        "0.5",
        "1",
        (
            ("unscaled", "softmax-saturation", "raw-two-keys-d"),
            ("scaled", "softmax-saturation", "scaled-two-keys-d"),
        ),
        float,
    ),
)


def measured_panels(record: RunRecord) -> tuple[MeasuredPanel, ...]:
    """Return the panels of measured values, those for which the run has any."""
    claims = {claim.id: claim for claim in record.claims}
    panels = []
    for panel in _PANELS:
        sides = tuple(
            MeasuredSide(side, " ".join(_point(check, panel.shown) for check in found))
            for side, claim, start in panel.sides
            if claim in claims and (found := [one for one in claims[claim].checks if _measures(one, start)])
        )
        if sides:
            panels.append(
                MeasuredPanel(
                    panel.name,
                    Prose(panel.title),
                    panel.words,
                    panel.logarithmic,
                    panel.low,
                    panel.high,
                    sides,
                )
            )
    return tuple(panels)


def _measures(check: Check, start: str) -> bool:
    return check.id.startswith(start) and check.method == "monte-carlo" and "d_k" in check.cell


def _point(check: Check, shown: Callable[[float], float]) -> str:
    """Return dimension, value and both ends of the interval, as the page's program reads them."""
    numbers = (shown(max(0.0, number)) for number in (check.estimate, *check.interval))
    return ":".join((str(check.cell["d_k"]), *(f"{number:.4g}" for number in numbers)))
