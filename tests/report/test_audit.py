"""What the page says of an audit: the verdict with its causes, then a row for all layers alike."""

import pytest

from tests.auditing.records import bad, good
from verify.report.audit import audit_report
from verify.report.html import render_html


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
