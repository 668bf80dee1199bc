"""Claims on record: checks, controls and figures agree with themselves."""

from collections.abc import Iterator
from html.parser import HTMLParser
from typing import Any

import numpy as np
import pytest
from matplotlib import pyplot as plt
from matplotlib.axes import Axes
from pydantic import ValidationError

from tests.report.builders import check, control, exact_check
from tests.report.records import SCORE_VARIANCE
from verify.errors import ClaimError, SettingsError
from verify.evidence import Check, ClaimRecord
from verify.evidence.plots import PlotLayer


def test_checks_and_controls_are_had_by_id() -> None:
    """Each among its own kind; the message names claim and nearest id in one line."""
    claim = SCORE_VARIANCE
    check, control = claim.checks[0], claim.controls[0]
    assert (claim.check(check.id), claim.control(control.id)) == (check, control)
    for read, name, kind in ((claim.check, control.id, "check"), (claim.control, check.id, "control")):
        with pytest.raises(ClaimError) as caught:
            read(name)
        assert str(caught.value).startswith(f"claim {claim.id}: no {kind} {name!r}")
        assert "\n" not in str(caught.value)


def test_a_claim_is_counted_and_shown_in_a_line() -> None:
    """Checks of computed values apart from those that rest on draws."""
    exact = exact_check("e", 0.5, "1/2", "p")
    claim = SCORE_VARIANCE.model_copy(update={"checks": (check("a", 1, 1), exact, check("b", 1, 1))})
    assert (claim.measured_checks, claim.exact_checks) == (2, 1)
    assert repr(claim) == (
        "ClaimRecord(id='score-variance', verdict='confirmed', derivation='derived', checks=3, "
        f"controls={len(claim.controls)})"
    )


class Cells(HTMLParser):
    """Collects the texts of a table's cells."""

    def __init__(self) -> None:
        super().__init__()
        self.texts: list[str] = []

    def handle_data(self, data: str) -> None:
        """Keep a text."""
        self.texts.append(data)


def test_what_is_computed_cannot_be_given() -> None:
    """A verdict, a reason and a tightness of a file are not taken; they are worked out."""
    bound = check("a", 1.5, 2.0, relation="≤")
    written = bound.model_dump()
    assert (bound.tightness, bound.verdict, bound.reason) == (0.75, "confirmed", "")
    assert {name: written[name] for name in ("tightness", "verdict", "reason")} == {
        "tightness": 0.75,
        "verdict": "confirmed",
        "reason": "",
    }
    assert Check.model_validate(written | {"verdict": "refuted", "tightness": 0.1, "reason": "why"}) == bound
    claim = ClaimRecord.model_validate(SCORE_VARIANCE.model_dump() | {"verdict": "refuted"})
    assert claim.verdict == "confirmed"


@pytest.mark.parametrize(
    ("estimate", "reason"),
    [
        (63.4, "the interval reaches over the edge of the band; about 9,961 blocks would decide"),
        (63.36, "the estimate lies on the edge of the band, where no number of blocks would decide"),
    ],
)
def test_an_open_check_says_what_would_decide_it(estimate: float, reason: str) -> None:
    """An interval over the edge needs more blocks; one that cannot be relied on says why itself."""
    made = check("a", estimate, 64.0, error=0.0125)
    assert made.verdict == "undecided"
    assert made.reason.startswith(reason)
    doubtful = check("a", 64, 64, doubt="it is too skewed")
    assert (doubtful.verdict, doubtful.reason) == ("undecided", "it is too skewed")


def test_a_table_has_a_row_a_check_with_its_texts_escaped() -> None:
    """Head first; a bound has its sign before the number."""
    bound = check("b", 1.5, 2.0, relation="≤", quantity="a < b & <script>", error=0.0)
    cells = Cells()
    cells.feed(bound._repr_html_())
    assert cells.texts == [
        *("check", "quantity", "predicted", "estimate", "interval", "verdict"),
        *("b", "a < b & <script>", "≤2", "1.5", "1.5 to 1.5", "confirmed"),
    ]


@pytest.mark.parametrize(
    ("name", "near"),
    [
        ("biased-prediction", True),
        ("bent-lack-of-fit", True),
        ("bound-c8-sharper", True),
        ("unbiased", False),
        ("unscaled", False),
    ],
)
def test_a_control_that_only_moves_a_number_is_known_by_its_id(name: str, *, near: bool) -> None:
    """A wrong version that could be stated is none of these."""
    assert control(name, "it is larger", 70, 64).is_near_miss is near


def layer(kind: str, **more: Any) -> PlotLayer:
    """Return a layer of two points."""
    return PlotLayer.model_validate(
        {"kind": kind, "role": "measured", "label": "", "x": (1, 2), "y": (3, 4)} | more
    )


@pytest.mark.parametrize(
    ("kind", "changes", "what"),
    [
        ("points", {"x": (1, 2, 3)}, "its points differ in number"),
        ("line", {"y": ()}, "its points differ in number"),
        ("points", {"lo": (0,), "hi": (5, 6)}, "its points differ in number"),
        ("points", {"lo": (0, 1), "hi": (5, 6, 7)}, "its points differ in number"),
        ("points", {"lo": (0, 1)}, "ends of its intervals are missing"),
        ("points", {"hi": (5, 6)}, "ends of its intervals are missing"),
        ("band", {}, "ends of its intervals are missing"),
    ],
)
def test_what_cannot_be_drawn_is_refused(kind: str, changes: dict[str, Any], what: str) -> None:
    """Places, values and both ends of intervals are as many; a band is nothing without them."""
    with pytest.raises(ValidationError, match=what):
        layer(kind, **changes)


def test_checks_are_columns_for_frames() -> None:
    """One row a check, one column a field; settings that some checks lack are missing there."""
    one = check("a", 1, 2, cell={"d_k": 8, "T": 1, "law": 2})
    other = check("b", 1, 2, cell={"d_k": 64, "T": 0.5, "law": "normal"})
    last = exact_check("c", 0.5, "1/2", "p")
    claim = SCORE_VARIANCE.model_copy(update={"checks": (one, other, last)})
    frame = claim.to_frame()
    assert {len(column) for column in frame.values()} == {3}
    assert frame["claim"] == ["score-variance"] * 3
    assert frame["id"] == ["a", "b", "c"]
    assert (frame["cell_d_k"], frame["cell_T"]) == ([8, 64, None], [1.0, 0.5, None])
    assert frame["cell_law"] == ["2", "normal", None]
    assert next(zip(frame["interval_low"], frame["interval_high"], strict=True)) == one.interval
    assert [type(one) for one in frame["verdict"]] == [str] * 3
    assert all(len({type(one) for one in column} - {type(None)}) <= 1 for column in frame.values())
    assert claim.to_frame("controls")["power"] == [one.power for one in claim.controls]
    with pytest.raises(SettingsError, match=r"no frame of 'control'; did you mean 'controls'\?"):
        claim.to_frame("control")


def test_records_are_hashable() -> None:
    """Equal ones alike, mappings and numbers of another type in them or not."""
    one = check("a", 1, 2, cell={"d_k": 8, "n": 2})
    same = check("a", 1, 2, cell={"n": 2.0, "d_k": 8})
    assert one == same
    assert hash(one) == hash(same)
    assert len({one, same, check("b", 1, 2), SCORE_VARIANCE, SCORE_VARIANCE.model_copy()}) == 3


@pytest.fixture
def axes() -> Iterator[Axes]:
    """Yield new axes, and close their figure."""
    figure, made = plt.subplots()
    yield made
    plt.close(figure)


def test_a_check_is_plotted(axes: Axes) -> None:
    """Interval, estimate, prediction and band stand where they are; a bound's band is open on one side."""
    one = check("a", 1.01, 1.0)
    assert one.plot(ax=axes) is axes
    lines = {str(line.get_label()): line for line in axes.get_lines()}
    assert np.array_equal(lines["interval"].get_xdata(), one.interval)
    assert np.array_equal(lines["estimate"].get_xdata(), [one.estimate])
    assert np.array_equal(lines["prediction"].get_xdata(), [one.prediction] * 2)
    (band,) = axes.patches
    ends = band.get_extents().transformed(axes.transData.inverted())
    assert (ends.x0, ends.x1) == pytest.approx(one.band)
    bound = one.model_copy(update={"relation": "≤", "band": (None, 1.02)})
    edge = bound.plot().get_xlim()[0]
    (band,) = plt.gca().patches
    assert band.get_extents().transformed(plt.gca().transData.inverted()).x0 == pytest.approx(edge)
    plt.close()


def test_a_claim_is_plotted(axes: Axes) -> None:
    """Its first figure, or the one that is named, with all its points."""
    claim = SCORE_VARIANCE
    figure = claim.series[0]
    assert claim.plot(figure.id, ax=axes) is axes
    points = next(one for one in figure.layers if one.kind == "points")
    assert any(np.array_equal(line.get_xdata(), points.x) for line in axes.get_lines())
    assert axes.get_xscale() == figure.x.scale
    assert claim.plot().get_title() == axes.get_title() != ""
    plt.close()
    axes.figure.canvas.draw()
    with pytest.raises(ClaimError, match="claim score-variance: no figure 'none'"):
        claim.plot("none")
    with pytest.raises(ClaimError, match="claim score-variance: has no figures; plot one of its checks"):
        claim.model_copy(update={"series": ()}).plot()
