"""The PDF is tagged and archival, carries its evidence, and is the same bytes every time."""

import logging
import re
import sys
from io import BytesIO

import pikepdf
import pytest

from tests.report.records import PAIRWISE, record
from verify.errors import RenderError
from verify.evidence import RunRecord
from verify.executors.workers import Task, Workers
from verify.report.math import _mathjax
from verify.report.pdf import get_ready, render_pdf


@pytest.fixture(scope="module")
def opened(pdf: bytes) -> pikepdf.Pdf:
    """Return the PDF, opened."""
    return pikepdf.open(BytesIO(pdf))


def test_is_tagged_and_says_what_it_is(opened: pikepdf.Pdf) -> None:
    """It has a structure tree, a language, a title that viewers show, and says it is PDF/A-3a."""
    root = opened.Root
    assert root.MarkInfo.Marked
    assert len(root.StructTreeRoot.K) > 0
    assert str(root.Lang) == "en"
    assert "Scaled dot-product attention" in str(opened.docinfo["/Title"])
    with opened.open_metadata() as metadata:
        assert metadata["pdfaid:part"] == "3"
        assert metadata["pdfaid:conformance"].upper() == "A"


def test_qpdf_finds_no_fault(opened: pikepdf.Pdf) -> None:
    """The library of qpdf reads every object and stream without a complaint."""
    assert opened.check_pdf_syntax() == []


def test_pages_and_bookmarks(opened: pikepdf.Pdf) -> None:
    """It has the pages one expects, and bookmarks for chapters and claims."""
    assert 7 <= len(opened.pages) <= 12
    with opened.open_outline() as outline:
        titles = [item.title for item in outline.root]
        below = [child.title for item in outline.root for child in item.children]
    assert any("Raw scores" in title for title in titles + below)


def test_claims_and_checks_are_named_destinations(opened: pikepdf.Pdf) -> None:
    """Every claim and check can be linked to by its id."""
    names = pikepdf.NameTree(opened.Root.Names.Dests)
    assert {"score-variance", "score-variance.slope", "pairwise-estimator"} <= set(names)


def test_evidence_is_attached(opened: pikepdf.Pdf, run: RunRecord) -> None:
    """results.json lies inside, related to the document as its source."""
    attached = opened.attachments["results.json"]
    assert attached.get_file().read_bytes().decode() == run.to_json()
    assert opened.Root.AF[0].AFRelationship == pikepdf.Name.Source


def test_fonts_are_embedded_and_ours(opened: pikepdf.Pdf) -> None:
    """Every font is embedded, and none came from the system in place of ours."""
    fonts = [
        item for item in opened.objects
        if isinstance(item, pikepdf.Dictionary) and item.get("/Type") == pikepdf.Name.FontDescriptor
    ]  # fmt: skip
    assert len(fonts) >= 4
    for font in fonts:
        assert any(key in font for key in ("/FontFile", "/FontFile2", "/FontFile3"))
        assert re.search("Source|DejaVu|Unseen", str(font.FontName))


def test_pictures_have_words(opened: pikepdf.Pdf) -> None:
    """Formulas and figures carry the text that stands in for them."""
    words = {
        str(item["/Alt"])
        for item in opened.objects
        if isinstance(item, pikepdf.Dictionary) and "/Alt" in item
    }  # fmt: skip
    assert "d sub k" in words
    assert any(text.startswith("Variance of a score against its dimension") for text in words)


def test_copied_formulas_are_text(opened: pikepdf.Pdf) -> None:
    """Under every formula lies its text, unseen, in a face that every page knows."""
    texts: list[str] = []
    for page in opened.pages:
        unseen = False
        for instruction in pikepdf.parse_content_stream(page):
            operands, operator = instruction.operands, instruction.operator
            if str(operator) == "BDC" and "/ActualText" in operands[1]:
                texts.append(str(operands[1].ActualText))
            if str(operator) == "Tf":
                unseen = operands[0] == "/Unseen"
                assert operands[0] in page.Resources.Font
            if str(operator) == "Tj" and unseen:
                assert bytes(operands[0]).decode("utf-16-be") == texts[-1]
    assert len(texts) > 50
    assert {"d_k", "Var(q·k) = d_k"} <= set(texts)


def test_same_record_same_bytes(caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]) -> None:
    """The same record gives the same bytes, in a process that got ready first as well; nothing is printed."""
    made = record(PAIRWISE)
    with caplog.at_level(logging.WARNING):
        first = render_pdf(made)
        get_ready()
    assert [entry.getMessage() for entry in caplog.records] == []
    assert capfd.readouterr() == ("", "")
    assert render_pdf(made) == first


def test_getting_ready_leaves_the_first_document_less_to_do() -> None:
    """MathJax is started and WeasyPrint has declared to C what a page of text needs."""
    with Workers(2) as workers:
        workers.prepare("pdf", "verify.report.pdf:get_ready")
        assert workers.call(Task(_is_ready, isolate="pdf"))
        assert not workers.call(Task(_is_ready, isolate="other"))


def _is_ready() -> bool:
    return "weasyprint.pdf.tags" in sys.modules and _mathjax.cache_info().currsize == 1


def test_missing_pango_is_reported_in_one_line(monkeypatch: pytest.MonkeyPatch, run: RunRecord) -> None:
    """Without the system libraries the error names the packages to install."""

    class NoPango:
        def find_spec(self, name: str, *_: object) -> None:
            if name.startswith("weasyprint"):
                raise OSError("cannot load library 'libpango-1.0-0'")

    for name in [name for name in sys.modules if name.startswith("weasyprint")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setattr(sys, "meta_path", [NoPango(), *sys.meta_path])
    with pytest.raises(
        RenderError, match=r"apt-get install libpango-1\.0-0 libpangoft2-1\.0-0 libharfbuzz-subset0"
    ):
        render_pdf(run)


def test_what_does_not_fit_on_a_page_is_reported(monkeypatch: pytest.MonkeyPatch, run: RunRecord) -> None:
    """Where WeasyPrint gives up on the layout, there is one line and no traceback."""
    weasyprint = pytest.importorskip("weasyprint")

    def give_up(*_: object, **__: object) -> bytes:
        raise AssertionError

    monkeypatch.setattr(weasyprint.HTML, "render", give_up)
    with pytest.raises(RenderError, match=r"cannot lay out the pages.*report\.html is complete"):
        render_pdf(run)
