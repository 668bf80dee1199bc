"""Every text of a file of results may be anybody's: it is refused on loading, or harmless in every output."""

import csv
import io
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple
from xml.etree import ElementTree as ET

import pytest

from tests.faults import mistakes
from tests.faults.poison import (
    ADDRESS, POISONS, Page, audit_sample, check_citation, check_macros, check_markdown, places, poisoned,
    sample, text_fields,
)  # fmt: skip
from verify.citing import citations
from verify.citing.citations import cite
from verify.citing.exports import FORMATS, to_latex
from verify.citing.summaries import as_endpoint, as_svg, badge_of, to_junit, to_markdown
from verify.citing.values import values_of as values
from verify.cli.progress import verdict_line
from verify.errors import ResultsError
from verify.evidence import RunRecord
from verify.evidence.audits import AuditRecord
from verify.evidence.load import load_either
from verify.report import html
from verify.report.html import render_html
from verify.text.escapes import CONTROLS, for_terminal


def read(path: Path, content: dict[str, Any]) -> RunRecord | AuditRecord | None:
    """Return a file as it is read after it was sealed again, None where it is refused in one line."""
    path.write_bytes(mistakes.sealed(content))
    try:
        return load_either(path)
    except ResultsError as refusal:
        message = str(refusal)
    assert len(message.splitlines()) == 1
    assert not CONTROLS.search(message)
    return None


def check_run(run: RunRecord) -> None:
    """Read every output of a run but the page as the program would that it is for."""
    check_macros(to_latex(run, values(run)))
    rows = list(csv.reader(io.StringIO(FORMATS["csv"].write(run, values(run)))))
    assert rows[1:] == [[value.key, value.text] for value in values(run)]
    check_markdown(to_markdown(run).decode(), set())
    junit = ET.fromstring(to_junit(run))  # noqa: S314 - our own
    assert {node.tag for node in junit.iter()} <= {
        "testsuites",
        "properties",
        "property", "testsuite", "testcase", "failure", "error", "skipped",
    }  # fmt: skip
    claim = run.claims[0]
    svg = ET.fromstring(as_svg(badge_of(run, claim)))  # noqa: S314 - our own
    assert {node.tag.rpartition("}")[2] for node in svg.iter()} == {
        "svg",
        "title",
        "rect",
        "path",
        "g",
        "text",
    }
    assert json.loads(as_endpoint(badge_of(run, claim)))["label"] == claim.id
    lines = [verdict_line(claim), *(f"{value.key} {value.text}" for value in values(run))]
    assert not any(CONTROLS.search(for_terminal(line).replace("\n", "")) for line in lines)
    for finding in (None, *claim.checks[:1], *claim.controls[:1], *claim.facts[:1]):
        cited = cite(run, claim, finding, ADDRESS)
        texts = {name: citations.FORMS[name](cited) for name in citations.FORMS}
        assert not any(CONTROLS.search(text.replace("\n", "")) for text in texts.values())
        links = set(cited.links)
        check_citation(texts, links)


def check_audit(audit: AuditRecord) -> None:
    """Read every output of an audit but the page as the program would that it is for."""
    check_macros(to_latex(audit, values(audit)))
    junit = ET.fromstring(to_junit(audit))  # noqa: S314 - our own
    assert {node.tag for node in junit.iter()} <= {"testsuites", "testsuite", "testcase", "failure", "error"}
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


class Kind(NamedTuple):
    """A kind of record: a good one, how its outputs are read, and what its page has besides its own links."""

    sample: RunRecord | AuditRecord
    check_outputs: Callable[[Any], None]
    scripts: int
    links: frozenset[str]

    @property
    def content(self) -> dict[str, Any]:
        """The good record as its file has it."""
        content: dict[str, Any] = json.loads(self.sample.to_json())
        return content

    @property
    def places(self) -> dict[tuple[str, str], Any]:
        """One place of each text field: the first in the record."""
        return dict(reversed(list(places(self.sample))))


KINDS = {
    # The page's own script, and what it says for search engines; no icon, and what is beside it.
    "run": Kind(sample(), check_run, 2, frozenset({"data:,", "results.json"})),
    "audit": Kind(audit_sample(), check_audit, 1, frozenset({"data:,"})),
}
LONGER = ("tex in a new line", "markdown", "half a character", "formula that links", "formula in verbatim")
"""Poisons of the longer studies: one for each kind of place that texts are written to."""
BY_HAND = pytest.mark.by_hand
EACH_KIND = pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS)


def _when(kind: str, poison: str) -> tuple[pytest.MarkDecorator, ...]:
    """Return the marks of a kind of record with a poison, of which an audit's with markup has none."""
    if poison == "html":
        return () if kind == "audit" else (pytest.mark.slow,)
    return (pytest.mark.slow,) if poison in LONGER else (BY_HAND,)


@EACH_KIND
def test_the_sample_has_every_text_field(kind: Kind) -> None:
    """A field that is added to the record is poisoned as well, or this fails."""
    assert text_fields(type(kind.sample)) <= set(kind.places)


@EACH_KIND
def test_the_sample_is_harmless(kind: Kind, tmp_path: Path) -> None:
    """What is asserted of poisoned records holds of a good one, so it can hold."""
    assert read(tmp_path / "good.json", kind.content) == kind.sample
    kind.check_outputs(kind.sample)


@EACH_KIND
@pytest.mark.parametrize(
    "first", [pytest.param(0, marks=pytest.mark.slow), *(pytest.param(n, marks=BY_HAND) for n in (4, 8, 12))]
)
def test_one_poisoned_text_is_refused_or_harmless(kind: Kind, first: int, tmp_path: Path) -> None:
    """Each text field alone with some of the poisons, by turns, sealed again; the next test has all."""
    content, poisons = kind.content, [*POISONS.values()]
    for number, (_, place) in enumerate(sorted(kind.places.items()), first):
        poison = poisons[number % len(poisons)]
        record = read(tmp_path / "poisoned.json", poisoned(content, place, poison))
        if record is not None:
            kind.check_outputs(record)


@pytest.mark.parametrize(
    ("kind", "poison"),
    [
        pytest.param(kind, poison, id=f"{poison}-{name}", marks=_when(name, poison))
        for name, kind in KINDS.items()
        for poison in POISONS
    ],
)
def test_all_texts_that_take_a_poison_hold_it_harmlessly(
    kind: Kind, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, poison: str
) -> None:
    """The fields that are not refused, all at once, in every output; the page, too."""
    content, taken = kind.content, 0
    for _, place in sorted(kind.places.items()):
        changed = poisoned(content, place, POISONS[poison])
        if read(tmp_path / "poisoned.json", changed) is not None:
            content, taken = changed, taken + 1
    record = read(tmp_path / "poisoned.json", content)
    assert record is not None
    kind.check_outputs(record)
    if taken:
        monkeypatch.setattr(html, "rules_for_screen", lambda *_characters: "")
        page = Page(render_html(record))
        assert page.tags.count("script") == kind.scripts
        assert page.handlers == []
        safe = ("https://", "#") if isinstance(record, RunRecord) else "#"
        assert {link for link in page.links if "evil" in link or not link.startswith(safe)} <= kind.links
