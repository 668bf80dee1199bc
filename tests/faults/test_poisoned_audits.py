"""Every text of an audit's file may be anybody's: it is refused on loading, or harmless in every output."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any
from xml.etree import ElementTree as ET

import pytest

from tests.faults import mistakes
from tests.faults.harmless import ADDRESS, Page, check_citation, check_macros
from tests.faults.poison import POISONS, audit_sample, places, poisoned, text_fields
from verify.citing import citations
from verify.citing.citations import cite
from verify.citing.exports import to_latex
from verify.citing.summaries import as_endpoint, as_svg, badge_of, to_junit
from verify.citing.values import values_of as values
from verify.errors import ResultsError
from verify.evidence.audits import AuditRecord
from verify.evidence.load import load_audit
from verify.report import html
from verify.report.heatmaps import draw_map, grids
from verify.report.html import render_html
from verify.text.escapes import CONTROLS, for_terminal

if TYPE_CHECKING:
    from pathlib import Path

SAMPLE = audit_sample()
CONTENT = json.loads(SAMPLE.to_json())
PLACES = dict(reversed(list(places(SAMPLE))))
"""One place of each text field: the first in the record."""


def read(path: Path, content: dict[str, Any]) -> AuditRecord | None:
    """Return an audit as it is read after it was sealed again, None where it is refused in one line."""
    path.write_bytes(mistakes.sealed(content))
    try:
        return load_audit(path)
    except ResultsError as refusal:
        message = str(refusal)
    assert len(message.splitlines()) == 1
    assert not CONTROLS.search(message)
    return None


def check_outputs(audit: AuditRecord) -> None:
    """Read every output but the page as the program would that it is for."""
    check_macros(to_latex(audit, values(audit)))
    junit = ET.fromstring(to_junit(audit))  # noqa: S314 - our own
    assert {node.tag for node in junit.iter()} <= {"testsuites", "testsuite", "testcase", "failure", "error"}
    for grid in grids(audit)[:1]:
        drawn = ET.fromstring(draw_map(grid))  # noqa: S314 - our own
        assert {node.tag.rpartition("}")[2] for node in drawn.iter()} == {"svg", "path", "text"}
    shown = [*str(audit).splitlines(), *(f"{value.key} {value.text}" for value in values(audit))]
    assert not any(CONTROLS.search(for_terminal(line).replace("\n", "")) for line in shown)
    layer = audit.layers[0]
    for subject in (audit, layer):
        ET.fromstring(as_svg(badge_of(audit, subject)))  # noqa: S314 - our own
        json.loads(as_endpoint(badge_of(audit, subject)))
    for cited in (
        cite(audit, audit, None, ADDRESS),
        cite(audit, layer, None, ADDRESS),
        cite(audit, layer, layer.findings[0], ADDRESS),
    ):
        texts = {name: citations.FORMS[name](cited) for name in citations.FORMS}
        assert not any(CONTROLS.search(text.replace("\n", "")) for text in texts.values())
        check_citation(texts, set(cited.links))


def test_the_sample_has_every_text_field() -> None:
    """A field that is added to the record is poisoned as well, or this fails."""
    assert text_fields(AuditRecord) <= set(PLACES)


def test_the_sample_is_harmless(tmp_path: Path) -> None:
    """What is asserted of poisoned records holds of a good one, so it can hold."""
    assert read(tmp_path / "audit.json", CONTENT) == SAMPLE
    check_outputs(SAMPLE)


@pytest.mark.slow
@pytest.mark.parametrize("field", sorted(PLACES), ids=".".join)
def test_one_poisoned_text_is_refused_or_harmless(tmp_path: Path, field: tuple[str, str]) -> None:
    """Each text field with each poison, sealed again."""
    for poison in POISONS.values():
        audit = read(tmp_path / "audit.json", poisoned(CONTENT, PLACES[field], poison))
        if audit is not None:
            check_outputs(audit)


@pytest.mark.parametrize(
    "poison",
    [name if name in {"html", "tex"} else pytest.param(name, marks=pytest.mark.slow) for name in POISONS],
)
def test_all_texts_that_take_a_poison_hold_it_harmlessly(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, poison: str
) -> None:
    """The fields that are not refused, all at once, in every output; the page, too."""
    content, taken = CONTENT, 0
    for field in sorted(PLACES):
        changed = poisoned(content, PLACES[field], POISONS[poison])
        if read(tmp_path / "audit.json", changed) is not None:
            content, taken = changed, taken + 1
    audit = read(tmp_path / "audit.json", content)
    assert audit is not None
    check_outputs(audit)
    if taken:
        monkeypatch.setattr(html, "rules_for_screen", lambda *_characters: "")
        page = Page(render_html(audit))
        assert page.tags.count("script") == 1  # the page's own
        assert page.handlers == []
        assert {link for link in page.links if "evil" in link or not link.startswith("#")} == {"data:,"}
