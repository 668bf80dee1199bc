"""Claims on record: checks, controls and figures agree with themselves."""

from collections.abc import Iterator

import numpy as np
import pytest
from matplotlib import pyplot as plt
from matplotlib.axes import Axes

from tests.report.builders import check, exact_check
from tests.report.records import SCORE_VARIANCE
from verify.errors import ClaimError
from verify.evidence import Check, ClaimRecord


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


def test_a_claim_is_counted_and_shown() -> None:
    """Checks of computed values apart from those that rest on draws; in a line, and as a table."""
    exact = exact_check("e", 0.5, "1/2", "p")
    bound = check("b", 1.5, 2.0, relation="≤", quantity="a < b & <script>", error=0.0)
    claim = SCORE_VARIANCE.model_copy(update={"checks": (check("a", 1, 1), exact, bound)})
    assert (claim.measured_checks, claim.exact_checks) == (2, 1)
    assert repr(claim) == f"ClaimRecord(id='score-variance', verdict='confirmed', reason={claim.reason!r})"
    row = "</td><td>".join(("b", "a &lt; b &amp; &lt;script&gt;", "≤2", "1.5", "1.5 to 1.5", "confirmed"))
    assert row in claim._repr_html_()


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


@pytest.fixture
def axes() -> Iterator[Axes]:
    """Yield new axes, and close their figure."""
    figure, made = plt.subplots()
    yield made
    plt.close(figure)


def test_a_claim_is_plotted(axes: Axes) -> None:
    """Its first figure, or the one that is named, with all its points."""
    claim = SCORE_VARIANCE
    figure = claim.series[0]
    assert claim.plot(figure.id, ax=axes) is axes
    points = next(layer for layer in figure.layers if layer.kind == "points")
    assert any(np.array_equal(line.get_xdata(), points.x) for line in axes.get_lines())
    assert axes.get_xscale() == figure.x.scale
    assert claim.plot().get_title() == axes.get_title() != ""
    plt.close()
    axes.figure.canvas.draw()
    with pytest.raises(ClaimError, match="claim score-variance: no figure 'none'"):
        claim.plot("none")
    with pytest.raises(ClaimError, match="claim score-variance: has no figures"):
        claim.model_copy(update={"series": ()}).plot()
