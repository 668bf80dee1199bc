"""What the explorer marks: exactly what the run measured, nothing where it measured nothing."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from tests.report.records import PAIRWISE, record
from tests.report.score_variance import SCORE_VARIANCE
from verify.report.explorer import measured_panels

if TYPE_CHECKING:
    from verify.evidence import RunRecord


def test_a_run_without_these_claims_has_no_panels() -> None:
    """Then the page draws without marks."""
    assert measured_panels(record(PAIRWISE)) == ()


def test_points_are_the_checks_of_the_record(quick: RunRecord) -> None:
    """Each measured variance gives its root, with the roots of its interval; weights stand as they are."""
    panels = {panel.name: panel for panel in measured_panels(quick)}
    assert list(panels) == ["deviation", "largest"]
    sides = {side.name: side.points for side in panels["deviation"].sides}
    checks = [one for one in quick.claim("score-variance").checks if one.id.startswith("variance-d")]
    points = [tuple(map(float, point.split(":"))) for point in sides["unscaled"].split()]
    assert [point[0] for point in points] == [one.cell["d_k"] for one in checks]
    for (_, value, low, high), check in zip(points, checks, strict=True):
        assert value == float(f"{math.sqrt(check.estimate):.4g}")
        assert low <= value <= high
    for panel in panels.values():
        assert [side.name for side in panel.sides] == ["unscaled", "scaled"]
        for side in panel.sides:
            shown = [float(point.split(":")[1]) for point in side.points.split()]
            # The axes do not change, so they have to hold everything.
            assert all(float(panel.low) <= value <= float(panel.high) for value in shown)


def test_a_claim_without_measurements_gives_no_panel() -> None:
    """Even if it is one of those that are looked at."""
    claim = SCORE_VARIANCE.model_copy(update={"checks": ()})
    assert measured_panels(record(claim)) == ()
