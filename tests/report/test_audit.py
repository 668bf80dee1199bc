"""What the page says of an audit: the verdict with its causes, then a row for all layers alike."""

from typing import Any

import pytest

from tests.auditing.records import bad, good
from verify.evidence.audits import AuditRecord, Judgement
from verify.report.audit import audit_report
from verify.report.html import render_html


def _with(**changes: Any) -> AuditRecord:
    """Return an audit of one layer of one finding, with these changes to it."""
    audit = good(1)
    (layer,) = audit.layers
    finding = layer.findings[0].model_copy(update=changes)
    return audit.model_copy(update={"layers": (layer.model_copy(update={"findings": (finding,)}),)})


@pytest.mark.parametrize(
    ("judgement", "verdict"),
    [
        (Judgement.CONFIRMED, "confirmed: "),
        (Judgement.WARNED, "confirmed: "),
        (Judgement.UNDECIDED, "undecided: "),
        (Judgement.REFUTED, "refuted: "),
        (Judgement.REPORTED, "nothing decides: "),
    ],
)
def test_the_verdict_says_no_more_than_was_found(judgement: Judgement, verdict: str) -> None:
    """In one line; what was not seen is said in it."""
    assert audit_report(_with(judgement=judgement)).verdict.startswith(verdict)
    partly = good().model_copy(update={"unseen": ("calls",)})
    assert audit_report(partly).verdict.startswith("confirmed in part: ")


def test_layers_that_are_alike_share_a_row() -> None:
    """A sound model of any depth has one, with the worst number of each kind."""
    ((names, _, cells, _),) = audit_report(good(48)).rows
    assert names == "all 48 layers"
    assert [text for _, text in filter(None, cells)] == ["1", "0.07", "0", "< 0.001"]
    assert len(audit_report(bad(4)).rows) == 3


@pytest.mark.usefixtures("no_faces")
def test_names_from_elsewhere_are_only_shown() -> None:
    """A layer's name is no markup and no formula, and an audit that saw nothing says so."""
    audit = good(1)
    layer = audit.layers[0].model_copy(update={"name": "<b>$x$</b>"})
    page = render_html(audit.model_copy(update={"layers": (layer,)}))
    assert "&lt;b&gt;$x$&lt;/b&gt;" in page
    assert "No attention layer was recorded" in render_html(audit.model_copy(update={"layers": ()}))
