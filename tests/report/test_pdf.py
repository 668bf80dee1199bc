"""The PDF is tagged and archival, carries its evidence, keeps to its pages, and is the same each time."""

import base64
import logging
import os
import re
import time
from collections.abc import Iterator
from io import BytesIO

import pikepdf
import pytest
from fontTools.ttLib import TTFont

from verify.errors import RenderError, SettingsError
from verify.evidence import RunRecord
from verify.evidence.load import shipped
from verify.report.fonts import FACES, MONO, SERIF, rules_for_screen
from verify.report.drawings import draw_figures
from verify.report.pdf import render_pdf
from verify.report.write import render


@pytest.fixture(scope="module")
def opened(pdf: bytes) -> pikepdf.Pdf:
    """Return the PDF, opened."""
    return pikepdf.open(BytesIO(pdf))


def test_is_tagged_and_says_what_it_is(opened: pikepdf.Pdf) -> None:
    """Sound by qpdf, with language and title, PDF/A-3a; links are tabbed in reading order."""
    root = opened.Root
    assert opened.check_pdf_syntax() == []
    assert root.MarkInfo.Marked
    assert root.ViewerPreferences.DisplayDocTitle
    assert str(root.Lang) == "en"
    assert "Scaled dot-product attention" in str(opened.docinfo["/Title"])
    with opened.open_metadata() as metadata:
        assert metadata["pdfaid:part"] == "3"
        assert metadata["pdfaid:conformance"].upper() == "A"
    assert {str(page.get("/Tabs")) for page in opened.pages} == {"/S"}
    links = [link for page in opened.pages for link in page.get("/Annots", [])]
    assert len(links) > 20
    assert all(str(link.Contents) and "/StructParent" in link for link in links)


def test_pages_bookmarks_and_destinations(opened: pikepdf.Pdf) -> None:
    """As many pages as one expects; chapters can be gone to, and every claim and check by its id."""
    assert 5 <= len(opened.pages) <= 9
    with opened.open_outline() as outline:
        titles = [item.title for item in outline.root]
        below = [child.title for item in outline.root for child in item.children]
    assert any("Raw scores" in title for title in titles + below)
    names = pikepdf.NameTree(opened.Root.Names.Dests)
    assert {"score-variance", "score-variance.slope", "pairwise-estimator"} <= set(names)


def test_fonts_are_embedded_and_ours(opened: pikepdf.Pdf) -> None:
    """Every font is embedded, and none came from the system in place of ours."""
    fonts = [
        item
        for item in opened.objects
        if isinstance(item, pikepdf.Dictionary) and item.get("/Type") == pikepdf.Name.FontDescriptor
    ]
    assert len(fonts) >= 4
    for font in fonts:
        assert any(key in font for key in ("/FontFile", "/FontFile2", "/FontFile3"))
        assert re.search("Source|DejaVu", str(font.FontName))


def test_formulas_are_text(opened: pikepdf.Pdf) -> None:
    """Every letter of the formulas' fonts is drawn, has a width, and says which character it is."""
    fonts = [font for page in opened.pages for font in page.Resources.Font.values()]
    (font,) = {font.objgen: font for font in fonts if font.Subtype == "/Type3"}.values()
    assert len(font.CharProcs) == len(font.Widths) == int(font.LastChar) + 1 > 50
    characters = re.findall(rb"<(..)> <(\w{4,})>", font.ToUnicode.read_bytes())
    letters = [bytes.fromhex(text.decode()).decode("utf-16-be") for _, text in characters]
    assert {"d", "q", "σ", "√", "=", "∑"} <= set(letters)
    written = {
        bytes(instruction.operands[0])[0]
        for page in opened.pages
        for instruction in pikepdf.parse_content_stream(page)
        if str(instruction.operator) == "Tj" and len(bytes(instruction.operands[0])) == 1
    }
    assert {int(code, 16) for code, _ in characters} == written


@pytest.mark.parametrize("subsetter", ["HarfBuzz", pytest.param("fontTools", marks=pytest.mark.slow)])
def test_same_record_same_bytes(
    subsetter: str,
    run: RunRecord,
    figures: dict[str, str],
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    capfd: pytest.CaptureFixture[str],
) -> None:
    """A record gives the same bytes a day later, by whichever library cuts faces down; nothing is printed."""
    if subsetter == "fontTools":
        monkeypatch.setattr("weasyprint.pdf.fonts.harfbuzz_subset", None)
    monkeypatch.delenv("SOURCE_DATE_EPOCH", raising=False)
    with caplog.at_level(logging.WARNING):
        first = render_pdf(run, figures, "brief")
    warned = [entry.getMessage() for entry in caplog.records]
    assert all("Using fontTools instead of HarfBuzz-Subset" in line for line in warned)
    assert bool(warned) == (subsetter == "fontTools")
    assert capfd.readouterr() == ("", "")
    later = time.time() + 86_400
    monkeypatch.setattr(time, "time", lambda: later)
    assert render_pdf(run, figures, "brief") == first
    assert "SOURCE_DATE_EPOCH" not in os.environ


def test_what_does_not_fit_on_a_page_is_reported(monkeypatch: pytest.MonkeyPatch, run: RunRecord) -> None:
    """Where WeasyPrint gives up on the layout, there is one line and no traceback."""
    weasyprint = pytest.importorskip("weasyprint")

    def give_up(*_: object, **__: object) -> bytes:
        raise AssertionError

    monkeypatch.setattr(weasyprint.HTML, "render", give_up)
    with pytest.raises(RenderError, match=r"cannot lay out the pages.*report\.html is complete"):
        render_pdf(run)


def test_formulas_figures_and_headers_are_told_apart(opened: pikepdf.Pdf) -> None:
    """Formulas and drawings have words; a header has a scope, and one that a cell names is there."""

    def elements(element: pikepdf.Object) -> Iterator[pikepdf.Object]:
        for child in element.get("/K", []):
            if isinstance(child, pikepdf.Dictionary) and "/S" in child:
                yield child
                yield from elements(child)

    by_role: dict[str, list[pikepdf.Object]] = {}
    for element in elements(opened.Root.StructTreeRoot):
        by_role.setdefault(str(element.S)[1:], []).append(element)
    words = {role: {str(element.Alt) for element in by_role[role]} for role in ("Figure", "Formula")}
    assert all(text.strip() for texts in words.values() for text in texts)
    assert all(text.startswith(("Variance of a score", "Measured over")) for text in words["Figure"])
    assert len(words["Formula"]) > 20
    assert {str(header.A.Scope) for header in by_role["TH"]} == {"/Row", "/Column"}
    named = {str(name) for cell in by_role["TD"] for name in cell.A.Headers}
    assert named
    assert named <= {str(header.ID) for header in by_role["TH"]}


@pytest.mark.parametrize("edition", ["brief", pytest.param("report", marks=pytest.mark.slow)])
def test_a_short_edition_holds_every_claim(edition: str, run: RunRecord, figures: dict[str, str]) -> None:
    """It is as short as promised, carries the evidence, and links to single findings lead somewhere."""
    made = render_pdf(run, figures, edition)
    opened = pikepdf.open(BytesIO(made))
    assert opened.attachments["results.json"].get_file().read_bytes().decode() == run.to_json()
    assert len(opened.pages) <= {"brief": 3, "report": 12}[edition]
    if edition == "report":
        names = set(pikepdf.NameTree(opened.Root.Names.Dests))
        for claim in run.claims:
            groups = (claim.checks, claim.controls, claim.facts)
            assert {claim.id, *(f"{claim.id}.{finding.id}" for group in groups for finding in group)} <= names


@pytest.mark.slow
def test_the_whole_catalogue_keeps_to_its_pages(caplog: pytest.LogCaptureFixture) -> None:
    """The brief edition of the reference run is three pages, the report at most fourteen, all evidence 125.

    Every link in them leads somewhere, or WeasyPrint would say so.
    """
    run = shipped()
    figures = draw_figures(run)
    with caplog.at_level(logging.WARNING):
        made = [BytesIO(render_pdf(run, figures, edition)) for edition in ("brief", "report", "full")]
    brief, report, full = (len(pikepdf.open(pdf).pages) for pdf in made)
    assert brief == 3
    assert 10 <= report <= 14
    assert 60 <= full <= 125
    assert [entry.getMessage() for entry in caplog.records] == []


def test_an_edition_that_there_is_not(run: RunRecord, tmp_path: object) -> None:
    """One line, before anything is written."""
    with pytest.raises(SettingsError, match="edition 'long': give one of report, brief, full"):
        render(run, tmp_path, edition="long")  # type: ignore[arg-type]


RULE = re.compile(
    r"@font-face\{font-family:'([^']+)';font-weight:(\d+);font-style:(\w+);"
    r"src:url\('data:font/woff2;base64,([^']+)'\) format\('woff2'\);font-display:block\}\n"
)


def test_the_screen_carries_what_it_shows() -> None:
    """A face has a glyph for each character of the page, as wide as in the whole face, and for no other."""
    characters = "Var q·k = 64 ± 0.1"
    rules = rules_for_screen(characters, "√d")
    assert RULE.sub("", rules) == ""
    carried = [(*named, base64.b64decode(address, validate=True)) for *named, address in RULE.findall(rules)]
    # The faces of formulas come after the others; that of low roots has no higher ones.
    fonts = {family: TTFont(BytesIO(content)) for family, *_, content in carried[len(FACES) :]}
    assert all(ord("√") in font.getBestCmap() for font in fonts.values())
    grown = {family: font["MATH"].table.MathVariants is not None for family, font in fonts.items()}
    assert grown == {"STIX Two Math": True, "Low Root": False}
    for face, (family, weight, style, content) in zip(FACES, carried, strict=False):
        assert (family, int(weight), style) == face[:3]
        assert len(content) < 20_000
        with TTFont(BytesIO(content)) as font, TTFont(face.for_screen, lazy=True) as whole:
            glyphs = font.getBestCmap()
            assert set(map(chr, glyphs)) == set(characters)
            for code, name in glyphs.items():
                assert font["hmtx"][name][0] == whole["hmtx"][whole.getBestCmap()[code]][0]
            kerned = style == "normal" and (family, int(weight)) != (SERIF, 600)
            assert ("GPOS" in font) == (kerned and family != MONO)
