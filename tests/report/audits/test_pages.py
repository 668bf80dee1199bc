"""The pages of an audit: complete in themselves, and of a bounded size."""

from __future__ import annotations

import re
from io import BytesIO
from typing import TYPE_CHECKING

import pikepdf
import pytest

from tests.auditing.records import bad, good
from verify.report.html import render_html
from verify.report.parts import Parts
from verify.report.pdf import render_pdf
from verify.report.write import write_report

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from verify.evidence.audits import AuditRecord

BAD = bad(3, 3)


@pytest.fixture(scope="module")
def parts() -> Parts:
    """Return the bad audit's view and drawings."""
    return Parts.of(BAD)


@pytest.fixture(scope="module")
def opened(parts: Parts) -> pikepdf.Pdf:
    """Return the bad audit's PDF, opened."""
    return pikepdf.open(BytesIO(render_pdf(BAD, parts)))


def test_the_page_is_complete(parts: Parts) -> None:
    """Every link leads to an element of the page, no id comes twice, and nothing is fetched."""
    page = render_html(BAD, parts)
    ids = re.findall(r'\bid="?([^\s">]+)', page)
    assert len(ids) == len(set(ids))
    links = set(re.findall(r'href="?([^\s">]+)', page))
    assert {link for link in links if not link.startswith("#")} == {"data:,"}
    assert {link[1:] for link in links if link.startswith("#")} <= set(ids)
    assert not re.findall(r'src="(?!data:)', page)


def test_every_figure_is_described(parts: Parts) -> None:
    """A drawing has words, and a table of its values beside it."""
    page = render_html(BAD, parts)
    drawn = re.findall(r'<svg [^>]*class="?map\b[^>]*>', page)
    assert len(drawn) == len(parts.figures)
    assert all(re.search(r'role="?img"? aria-label="Map of [^"]+"', tag) for tag in drawn)
    assert len(re.findall(r'<table class="?matrix\b', page)) == len(parts.view.maps)  # type: ignore[union-attr]


def test_the_document_has_its_evidence_and_destinations(opened: pikepdf.Pdf) -> None:
    """audit.json lies inside; layers and findings by kind can be linked to; bookmarks name the chapters."""
    attached = opened.attachments["audit.json"]
    assert attached.get_file().read_bytes().decode() == BAD.to_json()
    names = set(pikepdf.NameTree(opened.Root.Names.Dests))
    layer = BAD.layers[0].id
    assert {layer, f"{layer}.scale-implied", f"{layer}.row-variance"} <= names
    with opened.open_outline() as outline:
        titles = [item.title for item in outline.root]
    assert "Attention audit of rec/" in str(opened.docinfo["/Title"])
    assert opened.check_pdf_syntax() == []
    assert len(opened.pages) <= 9
    assert titles


@pytest.mark.parametrize(
    ("make", "layers", "heads", "pages"),
    [(good, 1, 1, 4), pytest.param(bad, 48, 64, 45, marks=pytest.mark.slow)],
)
def test_pages_stay_few(make: Callable[[int, int], AuditRecord], layers: int, heads: int, pages: int) -> None:
    """For one head, and for a model of 48 layers with 64 heads each."""
    opened = pikepdf.open(BytesIO(render_pdf(make(layers, heads))))
    assert len(opened.pages) <= pages


def test_an_audit_is_written_whole(tmp_path: Path) -> None:
    """Evidence, page and document, by their names, and the same bytes when they are made again."""
    audit = good(1, 2)
    written = write_report(audit, tmp_path / "one", lambda _phase: None)
    assert written.problem is None
    assert [path.name for path in written.paths] == ["audit.json", "audit.html", "audit.pdf"]
    write_report(audit, tmp_path / "two", lambda _phase: None)
    for path in written.paths:
        assert path.read_bytes() == (tmp_path / "two" / path.name).read_bytes()
