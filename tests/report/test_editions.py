"""Every edition is a document of its own: its template, its name, its length."""

from io import BytesIO

import pikepdf
import pytest

from verify import api
from verify.errors import SettingsError
from verify.evidence import RunRecord
from verify.evidence.load import shipped
from verify.files.names import AUDIT, EDITIONS, RUN
from verify.files.shipped import folder
from verify.report.parts import Parts
from verify.report.pdf import render_pdf


def test_every_edition_has_a_template_and_a_name() -> None:
    """The usual one is report.pdf, which citations refer to."""
    assert [RUN.sheet_of(one) for one in EDITIONS] == ["report.pdf", "report-brief.pdf", "report-full.pdf"]
    assert all((folder("templates") / f"{RUN.sheet_of(one)}.j2").is_file() for one in EDITIONS)
    assert AUDIT.sheet_of(EDITIONS[0]) == AUDIT.sheet


@pytest.mark.parametrize("edition", ["brief", "report"])
def test_a_short_edition_holds_every_claim(edition: str, run: RunRecord, parts: Parts) -> None:
    """It is as short as promised, carries the evidence, and links to single findings lead somewhere."""
    made = render_pdf(run, parts, edition)
    opened = pikepdf.open(BytesIO(made))
    assert opened.attachments["results.json"].get_file().read_bytes().decode() == run.to_json()
    assert len(opened.pages) <= {"brief": 1, "report": 12}[edition]
    if edition == "report":
        names = set(pikepdf.NameTree(opened.Root.Names.Dests))
        for claim in run.claims:
            groups = (claim.checks, claim.controls, claim.facts)
            assert {claim.id, *(f"{claim.id}.{one.id}" for group in groups for one in group)} <= names


@pytest.mark.slow
def test_the_whole_catalogue_keeps_to_its_pages() -> None:
    """The brief edition of the reference run is one page, the report at most twelve, all evidence ninety."""
    run = shipped()
    parts = Parts.of(run, "full")
    brief, report, full = (
        len(pikepdf.open(BytesIO(render_pdf(run, parts, one))).pages) for one in ("brief", "report", "full")
    )
    assert brief == 1
    assert 8 <= report <= 12
    assert 60 <= full <= 90


def test_an_edition_that_there_is_not(run: RunRecord, tmp_path: object) -> None:
    """One line, before anything is written."""
    with pytest.raises(SettingsError, match="edition 'long': give one of report, brief, full"):
        api.render(run, tmp_path, edition="long")  # type: ignore[arg-type]
