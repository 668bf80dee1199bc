"""What the files of a report are called."""

from __future__ import annotations

from tests.auditing.records import good
from tests.report.records import record
from verify.evidence.provenance import names
from verify.files.names import AUDIT, RUN, Names, shipped_folder


def test_files_are_called_after_what_is_in_them() -> None:
    """Three of a run and three of an audit, so that both fit in one folder."""
    assert _files(names(record())) == ("results.json", "report.html", "report.pdf")
    assert _files(names(good(1, 1))) == ("audit.json", "audit.html", "audit.pdf")
    assert not set(_files(RUN)) & set(_files(AUDIT))


def _files(called: Names) -> tuple[str, str, str]:
    return called.evidence, called.page, called.sheet


def test_templates_have_the_names_of_their_pages() -> None:
    """A page and a document of each stem are among the templates."""
    shipped = {path.name for path in shipped_folder("templates").iterdir()}
    for one in (RUN, AUDIT):
        assert {f"{name}.j2" for name in (one.page, one.sheet)} <= shipped
