"""The PDF is tagged and archival, carries its evidence, keeps to its pages, and is the same each time."""

import base64
import logging
import os
import re
import sys
import time
from collections.abc import Iterator
from io import BytesIO
from typing import NamedTuple

import pikepdf
import pytest
from fontTools.ttLib import TTFont

from verify import api
from verify.errors import RenderError, SettingsError
from verify.evidence import RunRecord
from verify.evidence.load import shipped
from verify.report.fonts import FACES, MONO, SERIF, Face, rules_for_screen
from verify.report.drawings import draw_figures
from verify.report.pdf import render_pdf


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
    assert 5 <= len(opened.pages) <= 9
    with opened.open_outline() as outline:
        titles = [item.title for item in outline.root]
        below = [child.title for item in outline.root for child in item.children]
    assert any("Raw scores" in title for title in titles + below)


def test_claims_and_checks_are_named_destinations(opened: pikepdf.Pdf) -> None:
    """Every claim and check can be linked to by its id."""
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
    (font,) = {one.objgen: one for one in fonts if one.Subtype == "/Type3"}.values()
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


class Tagged(NamedTuple):
    """An element of the structure with the role of the one around it."""

    role: str
    above: str
    element: pikepdf.Object


@pytest.fixture(scope="module")
def tagged(opened: pikepdf.Pdf) -> list[Tagged]:
    """Return all elements of the structure in reading order."""

    def below(element: pikepdf.Object, above: str) -> Iterator[Tagged]:
        for kid in element.get("/K", []):
            if isinstance(kid, pikepdf.Dictionary) and "/S" in kid:
                role = str(kid.S)[1:]
                yield Tagged(role, above, kid)
                yield from below(kid, role)

    return list(below(opened.Root.StructTreeRoot, ""))


def test_viewers_show_the_title_and_tab_through_links_in_order(opened: pikepdf.Pdf) -> None:
    """Pages with links are tabbed by structure, and every link says where it leads."""
    assert opened.Root.ViewerPreferences.DisplayDocTitle
    assert {str(page.get("/Tabs")) for page in opened.pages} == {"/S"}
    links = [link for page in opened.pages for link in page.get("/Annots", [])]
    assert len(links) > 20
    assert all(str(link.Contents) and "/StructParent" in link for link in links)


def test_formulas_and_figures_are_distinguished(tagged: list[Tagged]) -> None:
    """Both have words; only a drawing is a figure."""
    words = {
        role: {str(one.element.Alt) for one in tagged if one.role == role} for role in ("Figure", "Formula")
    }
    assert all(text.strip() for texts in words.values() for text in texts)
    assert all(text.startswith(("Variance of a score", "Measured over")) for text in words["Figure"])
    assert len(words["Formula"]) > 20


def test_headers_say_what_they_head(tagged: list[Tagged]) -> None:
    """Every header has a scope, and every header that a cell names is there."""
    headers = [one.element for one in tagged if one.role == "TH"]
    assert {str(header.A.Scope) for header in headers} == {"/Row", "/Column"}
    named = {str(name) for one in tagged if one.role == "TD" for name in one.element.A.Headers}
    assert named
    assert named <= {str(header.ID) for header in headers}


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
            assert {claim.id, *(f"{claim.id}.{one.id}" for group in groups for one in group)} <= names


@pytest.mark.slow
def test_the_whole_catalogue_keeps_to_its_pages(caplog: pytest.LogCaptureFixture) -> None:
    """The brief edition of the reference run is three pages, the report at most fourteen, all evidence 125.

    Every link in them leads somewhere, or WeasyPrint would say so.
    """
    run = shipped()
    figures = draw_figures(run)
    with caplog.at_level(logging.WARNING):
        brief, report, full = (
            len(pikepdf.open(BytesIO(render_pdf(run, figures, one))).pages)
            for one in ("brief", "report", "full")
        )
    assert brief == 3
    assert 10 <= report <= 14
    assert 60 <= full <= 125
    assert [entry.getMessage() for entry in caplog.records] == []


def test_an_edition_that_there_is_not(run: RunRecord, tmp_path: object) -> None:
    """One line, before anything is written."""
    with pytest.raises(SettingsError, match="edition 'long': give one of report, brief, full"):
        api.render(run, tmp_path, edition="long")  # type: ignore[arg-type]


CHARACTERS = "Var q·k = 64 ± 0.1"


RULE = re.compile(
    r"@font-face\{font-family:'([^']+)';font-weight:(\d+);font-style:(\w+);"
    r"src:url\('([^']+)'\) format\('(\w+)'\);font-display:block\}\n"
)


def rules(text: str) -> list[tuple[str, str, str, str, str]]:
    """Return family, weight, style, address and kind of each rule; there is nothing beside rules."""
    assert RULE.sub("", text) == ""
    return RULE.findall(text)


@pytest.fixture(scope="module")
def screen() -> list[tuple[str, str, str, str, str]]:
    """Return the rules for the screen with a few characters."""
    return rules(rules_for_screen(CHARACTERS, ""))


@pytest.mark.parametrize("place", range(len(FACES)))
def test_the_screen_carries_what_it_shows(screen: list[tuple[str, str, str, str, str]], place: int) -> None:
    """Each character of the page has a glyph as wide as in the whole face, and no other has one."""
    face: Face = FACES[place]
    family, weight, style, address, kind = screen[place]
    assert (family, int(weight), style, kind) == (*face[:3], "woff2")
    content = base64.b64decode(address.removeprefix("data:font/woff2;base64,"), validate=True)
    assert len(content) < 20_000
    with TTFont(BytesIO(content)) as font, TTFont(face.for_screen, lazy=True) as whole:
        glyphs = font.getBestCmap()
        assert set(map(chr, glyphs)) == set(CHARACTERS)
        for code, name in glyphs.items():
            assert font["hmtx"][name][0] == whole["hmtx"][whole.getBestCmap()[code]][0]
        kerned = style == "normal" and (family, int(weight)) != (SERIF, 600)
        assert ("GPOS" in font) == (kerned and family != MONO)
