"""The report as a tagged, archival PDF with the evidence attached."""

from __future__ import annotations

import contextlib
import hashlib
import logging
import re
import warnings
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

import pydyf
from markupsafe import Markup

from verify.errors import RenderError
from verify.evidence.load import creation, names
from verify.executors.machine import no_garbage_collection
from verify.files.names import EDITIONS, shipped_folder
from verify.files.writing import environment, temporary_folder
from verify.report.fonts import rules_for_print
from verify.report.outlines import FormulaFonts, referenced, stroked
from verify.report.parts import Parts
from verify.report.run import Report
from verify.report.typeset import MARKS, render, standalone
from verify.text.latex import spoken

if TYPE_CHECKING:
    from verify.evidence import RunRecord
    from verify.evidence.words import Badge
    from verify.report.formulas import Formula

_VARIANT = "pdf/a-3a"

_MISSING = (
    "the PDF needs Pango's system libraries, which are missing; HTML and JSON are written; "
    "for the PDF, apt-get install libpango-1.0-0 libpangoft2-1.0-0 libharfbuzz-subset0"
)

_NO_LAYOUT = (
    "{sheet}: WeasyPrint cannot lay out the pages, something is higher than one; {page} is complete; "
    "shorten the longest texts of your own, or report it"
)


def render_pdf(record: RunRecord, parts: Parts | None = None, edition: str = EDITIONS[0]) -> bytes:
    """Return a report as a PDF/A-3a with the evidence attached; the same record gives the same bytes.

    ``parts`` are the record's drawn figures and formulas, made here if not given; ``edition`` is one of
    `EDITIONS`.

    Raises:
        RenderError: Pango is missing, a formula or figure of the record cannot be drawn, or something in it
            does not fit on a page.
    """
    weasyprint = _weasyprint()
    parts = parts or Parts.of(record, edition)
    called = names(record)
    medium = PdfMedium(parts.figures)
    sheet = called.sheet_of(edition)
    page = render(f"{sheet}.j2", parts.report, parts.formulas, medium, edition=edition)
    evidence = record.to_json()
    created = creation(record)
    attachment = weasyprint.Attachment(
        string=evidence,
        name=called.evidence,
        description="The evidence that this report prints",
        relationship="Source",
        created=created,
        modified=created,
    )
    options = {
        "pdf_variant": _VARIANT,
        "pdf_tags": True,
        "attachments": [attachment],
        "pdf_identifier": hashlib.sha256(evidence.encode()).digest()[:16],
    }
    places = _findings(parts) if edition == EDITIONS[0] else {}
    document = weasyprint.HTML(string=page, base_url="report:", url_fetcher=_fetcher(medium.images))
    # Without HarfBuzz's library for that, fontTools cuts faces down; it dates them by this, or by the clock.
    dated = environment(SOURCE_DATE_EPOCH=str(int(created.timestamp())))
    # WeasyPrint's many small objects live until the end; looking for garbage among them takes a fifth longer.
    with dated, no_garbage_collection(), _quietly(), _fonts(weasyprint) as fonts:
        sheets = [weasyprint.CSS(string=css, font_config=fonts) for css in _sheets()]
        glyphs = FormulaFonts()
        try:
            written: bytes = document.write_pdf(
                stylesheets=sheets,
                font_config=fonts,
                cache=_images(medium, glyphs),
                finisher=lambda _document, pdf: _finish(pdf, medium, glyphs, places),
                **options,
            )
        except AssertionError as error:
            # WeasyPrint gives up so where something higher than a page must not be broken.
            raise RenderError(_NO_LAYOUT.format(sheet=sheet, page=called.page)) from error
    return written


class PdfMedium:
    """Pictures as images; ``images``, ``formulas`` and ``marks`` hold those used, by their addresses.

    ``described`` are the words that stand in for figures.
    """

    folds = False

    def __init__(self, figures: Mapping[str, str]) -> None:
        self._figures = figures
        self._names: dict[str, str] = {}
        self.images: dict[str, str] = {}
        self.formulas: dict[str, Formula] = {}
        self.marks: dict[str, str] = {}
        self.described: set[str] = set()

    def formula(self, formula: Formula, style: str, latex: str) -> Markup:
        """Return an image tag; the same formula is the same image."""
        key = formula.view_box + formula.body
        name = self._names.setdefault(key, f"svg:formula-{len(self._names)}")
        self.formulas.setdefault(name, formula)
        return Markup('<img class="f" src="{}" alt="{}" style="{}">').format(name, spoken(latex), style)

    def mark(self, badge: Badge) -> Markup:
        """Return a background: decoration to a screen reader, as the word stands beside it."""
        name = f"svg:mark-{badge.mark}"
        self.marks[name] = badge.mark
        return Markup('<span class="mark tone-{}" style="background-image:url({})"></span>').format(
            badge.tone, name
        )

    def figure(self, key: str, words: str) -> Markup:
        """Return an image tag with its words."""
        name = f"svg:figure-{key}"
        self.images[name] = self._figures[key]
        self.described.add(words)
        return Markup('<img class="drawing" src="{}" alt="{}">').format(name, words)


def get_ready() -> None:
    """Do once, before there is anything to print, what the first document would wait for.

    Libraries are loaded, C types declared, faces and style sheets read.

    Raises:
        RenderError: Pango is missing.
    """
    weasyprint = _weasyprint()
    with _quietly(), _fonts(weasyprint) as fonts:
        sheets = [weasyprint.CSS(string=css, font_config=fonts) for css in _sheets()]
        page = weasyprint.HTML(string='<html lang="en"><p>Some <b>text</b>')
        page.write_pdf(stylesheets=sheets, font_config=fonts, pdf_variant=_VARIANT, pdf_tags=True)


def _findings(parts: Parts) -> dict[str, str]:
    """Return where links to single findings lead that only have their claim's row: to that."""
    if not isinstance(parts.report, Report):
        return {}
    found: dict[str, str] = {}
    for claim in parts.report.record.claims:
        for group in (claim.checks, claim.controls, claim.facts):
            found |= {f"{claim.id}.{one.id}": claim.id for one in group}
    return found


@contextlib.contextmanager
def _fonts(weasyprint: Any) -> Iterator[Any]:
    """Yield WeasyPrint's fonts, kept in a folder that does not stay behind."""
    fonts = weasyprint.text.fonts.FontConfiguration()
    with temporary_folder() as fonts._folder:
        yield fonts


@contextlib.contextmanager
def _quietly() -> Iterator[None]:
    """Leave out what Python says of WeasyPrint's profile of colours: its file is left to the collector."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "unclosed file .*sRGB", ResourceWarning)
        yield


def _weasyprint() -> Any:
    # Their remarks are for developers; warnings of WeasyPrint still reach listeners of its logger.
    logging.getLogger("fontTools").setLevel(logging.ERROR)
    logger = logging.getLogger("weasyprint")
    try:
        import weasyprint  # noqa: PLC0415 - it raises here, at import, where Pango is missing
        import weasyprint.text.fonts  # noqa: PLC0415
    except OSError as error:
        raise RenderError(_MISSING) from error
    # WeasyPrint gives its logger a handler that writes to stderr.
    logger.handlers[:] = [logging.NullHandler()]
    return weasyprint


def _images(medium: PdfMedium, glyphs: FormulaFonts) -> dict[str, Any]:
    """Return WeasyPrint's cache of images with what it need not draw: marks, nearly all formulas."""
    drawn: dict[str, Any] = {name: stroked(MARKS[mark]) for name, mark in medium.marks.items()}
    for name, formula in medium.formulas.items():
        if ready := glyphs.drawn(formula):
            drawn[name] = ready
        else:
            medium.images[name] = standalone(formula)
    return drawn


def _finish(pdf: Any, medium: PdfMedium, glyphs: FormulaFonts, places: Mapping[str, str]) -> None:
    """Add what WeasyPrint does not know of: formulas, what headers head, names of places."""
    glyphs.add_to(pdf)
    for element in pdf.objects:
        role = element.get("S") if isinstance(element, dict) else None
        if role == "/Figure" and element["Alt"].string not in medium.described:
            element["S"] = "/Formula"
        elif role == "/TH":
            row = referenced(pdf, element["P"])
            # What spans columns of a table's body heads the rows below it.
            is_column = referenced(pdf, row["P"])["S"] == "/THead" or "ColSpan" in element["A"]
            element["A"]["Scope"] = "/Column" if is_column else "/Row"
    if places:
        # An element for every name would do as well, but each takes its share of the time of a layout.
        names = pdf.catalog["Names"]["Dests"]["Names"]
        known = {name.string: place for name, place in zip(names[::2], names[1::2], strict=True)}
        known |= {name: known[place] for name, place in places.items()}
        names[:] = [part for name in sorted(known) for part in (pydyf.String(name), known[name])]


def _fetcher(images: Mapping[str, str]) -> Any:
    """Return a fetcher that knows this report's images and font files, and nothing of the network."""
    from weasyprint.urls import URLFetcher, URLFetcherResponse  # noqa: PLC0415

    class Fetcher(URLFetcher):  # type: ignore[misc]
        def fetch(self, url: str, headers: dict[str, str] | None = None) -> Any:
            if url in images:
                return URLFetcherResponse(url, images[url].encode(), {"Content-Type": "image/svg+xml"})
            return super().fetch(url, headers)

    return Fetcher(allowed_protocols=["file", "data"])


def _sheets() -> tuple[str, str]:
    """Return the sheets for print; custom properties are put in, which WeasyPrint would do per element."""
    folder = shipped_folder("templates")
    css = "".join(
        (folder / name).read_text(encoding="utf-8") for name in ("common.css", "print.css", "full.css")
    )
    values = dict(re.findall(r"--(\w+): ([^;]+);", css))
    return rules_for_print(), re.sub(r"var\(--(\w+)\)", lambda name: values[name[1]], css)
