"""Every text of a results file may be anybody's: it is refused on loading, or harmless in every output."""

from __future__ import annotations

import csv
import io
import json
from typing import TYPE_CHECKING, Any
from xml.etree import ElementTree as ET

import pytest

from tests.faults import mistakes
from tests.faults.harmless import ADDRESS, Page, check_citation, check_macros, check_markdown
from tests.faults.poison import POISONS, places, poisoned, sample, text_fields
from verify.citing import citations
from verify.citing.citations import cite
from verify.citing.exports import FORMATS, to_latex
from verify.citing.summaries import as_endpoint, as_svg, badge_of, to_junit, to_markdown
from verify.citing.values import values_of as values
from verify.cli.progress import verdict_line
from verify.errors import ResultsError
from verify.evidence.load import load
from verify.report import html
from verify.report.html import render_html
from verify.text.escapes import CONTROLS, for_terminal

if TYPE_CHECKING:
    from pathlib import Path

    from verify.evidence import RunRecord

SAMPLE = sample()
CONTENT = json.loads(SAMPLE.to_json())
PLACES = dict(reversed(list(places(SAMPLE))))
"""One place of each text field: the first in the record."""


def read(path: Path, content: dict[str, Any]) -> RunRecord | None:
    """Return a results file as it is read after it was sealed again, None where it is refused in one line."""
    path.write_bytes(mistakes.sealed(content))
    try:
        return load(path)
    except ResultsError as refusal:
        message = str(refusal)
    assert len(message.splitlines()) == 1
    assert not CONTROLS.search(message)
    return None


def check_outputs(run: RunRecord) -> None:
    """Read every output but the page as the program would that it is for."""
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


def test_the_sample_has_every_text_field() -> None:
    """A field that is added to the record is poisoned as well, or this fails."""
    assert text_fields() <= set(PLACES)


def test_the_sample_is_harmless(tmp_path: Path) -> None:
    """What is asserted of poisoned records holds of a good one, so it can hold."""
    run = read(tmp_path / "results.json", CONTENT)
    assert run == SAMPLE
    check_outputs(SAMPLE)


@pytest.mark.slow
@pytest.mark.parametrize("field", sorted(PLACES), ids=".".join)
def test_one_poisoned_text_is_refused_or_harmless(tmp_path: Path, field: tuple[str, str]) -> None:
    """Each text field with each poison, sealed again."""
    for poison in POISONS.values():
        run = read(tmp_path / "results.json", poisoned(CONTENT, PLACES[field], poison))
        if run is not None:
            check_outputs(run)


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
        if read(tmp_path / "results.json", changed) is not None:
            content, taken = changed, taken + 1
    run = read(tmp_path / "results.json", content)
    assert run is not None
    check_outputs(run)
    if taken:
        monkeypatch.setattr(html, "rules_for_screen", lambda *_characters: "")
        page = Page(render_html(run))
        # The page's own, and what it says for search engines.
        assert page.tags.count("script") == 2
        assert page.handlers == []
        assert not {
            link for link in page.links if "evil" in link or not link.startswith(("https://", "#"))
        } - {
            "data:,",  # our own: no icon
            "results.json",  # beside it
        }
