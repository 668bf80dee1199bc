"""A run's report as a tagged, archival PDF with the evidence attached."""

import contextlib
import hashlib
import logging
import re
import tempfile
import unicodedata
import warnings
from base64 import b64encode
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple
from xml.etree import ElementTree as ET

import pydyf
from fontTools.pens.boundsPen import ControlBoundsPen
from fontTools.pens.cairoPen import CairoPen
from fontTools.svgLib.path import parse_path
from markupsafe import Markup

from verify.errors import RenderError
from verify.evidence import RunRecord
from verify.evidence.load import creation
from verify.evidence.words import Badge
from verify.executors.workers import no_garbage_collection
from verify.files import EDITIONS, RUN, environment, shipped_folder
from verify.report.cards import keys_of
from verify.report.drawings import draw_figures
from verify.report.fonts import rules_for_print
from verify.report.formulas import Formula, Formulas
from verify.report.run import Report
from verify.report.typeset import MARKS, SCALE, STROKE_WIDTH, Medium
from verify.text.latex import spoken

_VARIANT = "pdf/a-3a"
_DEEPEST = 400  # hundredths of an em that a formula in text reaches below its line, at most
_VOID = "br|col|img|meta|wbr"
_NOT_XML = "[\0-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]"
_MISSING = (
    "the PDF needs Pango's system libraries, which are missing; HTML and JSON are written; "
    "for the PDF, apt-get install libpango-1.0-0 libpangoft2-1.0-0 libharfbuzz-subset0"
)
_NO_LAYOUT = (
    "{sheet}: WeasyPrint cannot lay out the pages, something is taller than a page; report.html is complete; "
    "shorten the longest texts of your own, or report it"
)
_GLYPHS = 256  # of a font
_TO_UNICODE = """\
/CIDInit /ProcSet findresource begin 12 dict begin begincmap
/CMapName /Formulas def /CMapType 2 def
1 begincodespacerange <00> <FF> endcodespacerange
{lists}endcmap CMapName currentdict /CMap defineresource pop end end"""


def render_pdf(
    record: RunRecord, figures: Mapping[str, str] | None = None, edition: str = EDITIONS[0]
) -> bytes:
    """Return a report as a PDF/A-3a with the evidence attached; the same record gives the same bytes.

    ``figures`` are the record's drawings, made here if not given; ``edition`` is one of `EDITIONS`.

    Raises:
        RenderError: Pango is missing, a formula or figure of the record cannot be drawn, or something in it
            does not fit on a page.
    """
    # Their remarks are for developers; warnings of WeasyPrint still reach listeners of its logger, which it
    # gives a handler that writes to stderr.
    logging.getLogger("fontTools").setLevel(logging.ERROR)
    try:
        import weasyprint  # noqa: PLC0415 - it raises here, at import, where Pango is missing
        import weasyprint.text.fonts  # noqa: PLC0415
    except OSError as error:
        raise RenderError(_MISSING) from error
    logging.getLogger("weasyprint").handlers[:] = [logging.NullHandler()]
    medium = PdfMedium(Formulas(), draw_figures(record) if figures is None else figures)
    sheet = RUN.sheet(edition)
    page = medium.render(f"{sheet}.j2", Report(record), edition=edition)
    medium.formulas.cache.save()
    evidence, created = record.to_json(), creation(record)
    attachment = weasyprint.Attachment(
        string=evidence,
        name=RUN.evidence,
        description="The evidence that this report prints",
        relationship="Source",
        created=created,
        modified=created,
    )
    # Links to single findings lead to their claim's row, where the edition has no more of it.
    is_short = edition == EDITIONS[0]
    places = {key: claim.id for claim in record.claims for key in keys_of(claim) if is_short}
    document = _document(weasyprint, page)
    # Without HarfBuzz's library for that, fontTools cuts faces down; it dates them by this, or by the clock.
    dated = environment(SOURCE_DATE_EPOCH=str(int(created.timestamp())))
    # WeasyPrint's many small objects live until the end; looking for garbage among them takes a fifth longer.
    with dated, no_garbage_collection(), _sheets(weasyprint) as sheets:
        try:
            written: bytes = document.write_pdf(
                **sheets,
                cache=medium.drawn,
                finisher=lambda _document, pdf: _finish(pdf, medium, places),
                attachments=[attachment],
                pdf_identifier=hashlib.sha256(evidence.encode()).digest()[:16],
            )
        except AssertionError as error:
            # WeasyPrint gives up so where something higher than a page must not be broken.
            raise RenderError(_NO_LAYOUT.format(sheet=sheet)) from error
    return written


def _document(weasyprint: Any, page: str) -> Any:
    """Return a page, XML but for elements that need not end, as a document of WeasyPrint's."""
    # Nothing of the network is fetched: figures are data, and the faces are files.
    document = weasyprint.HTML(
        string="", url_fetcher=weasyprint.urls.URLFetcher(allowed_protocols=["file", "data"])
    )
    # Its own parser of HTML, in Python, takes ten times as long as that of XML. There all elements end, and
    # there is no place for some of what a record's own text may hold.
    closed = re.sub(rf"<((?:{_VOID})\b[^>]*)>", r"<\1/>", page)
    tree = ET.fromstring(re.sub(_NOT_XML, "\N{REPLACEMENT CHARACTER}", closed))  # noqa: S314 - our own page
    document.wrapper_element = weasyprint.cssselect2.ElementWrapper.from_html_root(tree)
    document.etree_element = tree
    # Its own sheet gives every element markers and calls of notes, of which each has a style of its own.
    usual = weasyprint.CSS(string=re.sub("(?m)^::.*", "", weasyprint.html.UA))
    document._ua_stylesheets = lambda _forms: [usual]
    return document


class PdfMedium(Medium):
    """Pictures as images; ``drawn`` are formulas and marks by their addresses, for WeasyPrint's cache.

    ``described`` are the words that stand in for figures. The ``glyphs`` of formulas are in Type 3 fonts, so
    that formulas can be searched and copied: each has the number of its font and its code there.
    """

    folds = False

    def __init__(self, formulas: Formulas, figures: Mapping[str, str]) -> None:
        super().__init__(formulas, figures)
        self._names: dict[tuple[object, ...], str] = {}
        self.drawn: dict[str, PdfDrawing] = {}
        self.described: set[str] = set()
        self.glyphs: dict[str, tuple[int, int]] = {}

    def formula(self, formula: Formula, latex: str) -> Markup:
        """Return an image tag; the same formula is the same image, and a class says how deep it reaches."""

        def coded(glyph: re.Match[str]) -> str:
            font, code = self.glyphs.setdefault(glyph[1], divmod(len(self.glyphs), _GLYPHS))
            return f"/Formulas{font} 1000 Tf <{code:02X}>"

        name = self._names.setdefault(formula[1:], f"svg:formula-{len(self._names)}")
        if name not in self.drawn:
            operators = re.sub("<([^>]*)>", coded, formula.operators)
            left, width, height, depth = (1000 * length for length in formula[2:])
            self.drawn[name] = PdfDrawing(operators, (left, depth - height), width, height, SCALE / 1000)
        depth = round(100 * SCALE * formula.depth)
        return Markup('<img class="f d{}" src="{}" alt="{}">').format(depth, name, spoken(latex))

    def mark(self, badge: Badge) -> Markup:
        """Return a background: decoration to a screen reader, as the word stands beside it."""
        name = f"svg:mark-{badge.mark}"
        if name not in self.drawn:
            operators = [f"{STROKE_WIDTH} w 1 J 1 j"]
            for path in ET.fromstring(f"<g>{MARKS[badge.mark]}</g>"):  # noqa: S314 - our own
                paint = "B" if "fill" in path.attrib else "S"
                operators.append(
                    f"[{path.get('stroke-dasharray', '')}] 0 d {_path(path.attrib['d'])} {paint}"
                )
            self.drawn[name] = PdfDrawing("\n".join(operators), (0, 0), 16, 16, 1 / 16)
        return Markup('<span class="mark tone-{}" style="background-image:url({})"></span>').format(
            badge.tone, name
        )

    def figure(self, key: str, words: str) -> Markup:
        """Return an image tag with its words."""
        self.described.add(words)
        address = f"data:image/svg+xml;base64,{b64encode(self.figures[key].encode()).decode()}"
        return Markup('<img class="drawing" src="{}" alt="{}">').format(address, words)


@contextlib.contextmanager
def _sheets(weasyprint: Any) -> Iterator[dict[str, Any]]:
    """Yield the options of all documents: the sheets for print, and fonts in a folder that does not stay.

    Custom properties are put in, which WeasyPrint would do for each element.
    """
    folder, fonts = shipped_folder("templates"), weasyprint.text.fonts.FontConfiguration()
    names = ("common.css", "print.css", "full.css")
    css = "".join((folder / name).read_text(encoding="utf-8") for name in names)
    values = dict(re.findall(r"--(\w+): ([^;]+);", css))
    css = re.sub(r"var\(--(\w+)\)", lambda name: values[name[1]], css)
    css += "".join(f".d{depth} {{ vertical-align: {-depth / 100}em; }}" for depth in range(_DEEPEST))
    temporary = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)
    with temporary as fonts_folder, warnings.catch_warnings():
        fonts._folder = Path(fonts_folder)
        # It leaves the file of its profile of colours to the collector.
        warnings.filterwarnings("ignore", "unclosed file .*sRGB", ResourceWarning)
        sheets = [weasyprint.CSS(string=text, font_config=fonts) for text in (rules_for_print(), css)]
        yield {"stylesheets": sheets, "font_config": fonts, "pdf_variant": _VARIANT, "pdf_tags": True}


def _finish(pdf: Any, medium: PdfMedium, places: Mapping[str, str]) -> None:
    """Add what WeasyPrint does not know of: formulas, what headers head, names of places."""
    # All pages share their fonts.
    page = _referenced(pdf, pdf.page_references[0])
    fonts, glyphs = _referenced(pdf, _referenced(pdf, page["Resources"])["Font"]), [*medium.glyphs]
    for number, start in enumerate(range(0, len(glyphs), _GLYPHS)):
        outlines = {name: medium.formulas.outline(name) for name in glyphs[start : start + _GLYPHS]}
        fonts[f"Formulas{number}"] = _font(pdf, outlines)
    for element in pdf.objects:
        role = element.get("S") if isinstance(element, dict) else None
        # WeasyPrint tags every image as a figure; those without a figure's words are formulas.
        if role == "/Figure" and element["Alt"].string not in medium.described:
            element["S"] = "/Formula"
        elif role == "/TH":
            row = _referenced(pdf, element["P"])
            # What spans columns of a table's body heads the rows below it.
            is_column = _referenced(pdf, row["P"])["S"] == "/THead" or "ColSpan" in element["A"]
            element["A"]["Scope"] = "/Column" if is_column else "/Row"
    if places:
        # An element for every name would do as well, but each takes its share of the time of a layout.
        names = pdf.catalog["Names"]["Dests"]["Names"]
        known = {name.string: place for name, place in zip(names[::2], names[1::2], strict=True)}
        known |= {name: known[place] for name, place in places.items()}
        names[:] = [part for name in sorted(known) for part in (pydyf.String(name), known[name])]


def _referenced(pdf: Any, reference: bytes) -> Any:
    """Return the object of a document that a reference, such as ``b"7 0 R"``, leads to."""
    return pdf.objects[int(reference.split()[0])]


class PdfDrawing(NamedTuple):
    """What WeasyPrint takes from its cache as an image; it is drawn in the text's colour.

    It would draw SVG again wherever it stands, which takes a third of all its time. ``corner``, ``width`` and
    ``height`` are those of what ``operators`` draw, ``unit`` is theirs in em.
    """

    operators: str
    corner: tuple[float, float]
    width: float
    height: float
    unit: float

    def get_intrinsic_size(self, _resolution: float, font_size: float) -> tuple[float, float, float]:
        """Return width, height and their ratio in text of this size."""
        em = self.unit * font_size
        return self.width * em, self.height * em, self.width / self.height

    def draw(self, stream: Any, width: float, _height: float, style: Mapping[str, Any]) -> None:
        """Draw into a page's stream, ``width`` wide, its top left corner at the origin."""
        scale, (left, top) = width / self.width, self.corner
        stream.set_color(style["color"])
        stream.set_color(style["color"], stroke=True)
        stream.transform(a=scale, d=scale, e=-left * scale, f=-top * scale)
        stream.stream.append(self.operators)


def _font(pdf: Any, outlines: Mapping[str, str]) -> bytes:
    """Add a font of these outlines to a document and return its reference."""
    lowest, highest = [0.0, 0.0], [0.0, 0.0]
    procedures, widths, characters = {}, [], []
    for code, (name, outline) in enumerate(outlines.items()):
        pen = ControlBoundsPen(None)
        parse_path(outline, pen)
        box = pen.bounds or (0, 0, 0, 0)
        lowest, highest = [*map(min, lowest, box[:2])], [*map(max, highest, box[2:])]
        widths.append(round(box[2]))
        corners = " ".join(f"{corner:g}" for corner in box)
        glyph = pydyf.Stream([f"{widths[-1]} 0 {corners} d1 {_path(outline)} f"], compress=True)
        procedures[f"g{code}"] = _added(pdf, glyph)
        # "TEX-I-1D451" is an italic d, and is copied as a d.
        letter = unicodedata.normalize("NFKC", chr(int(name.rpartition("-")[2], 16)))
        characters.append(f"<{code:02X}> <{letter.encode('utf-16-be').hex().upper()}>\n")
    lists = ""
    for start in range(0, len(characters), 100):  # a list has at most 100
        part = characters[start : start + 100]
        lists += f"{len(part)} beginbfchar\n{''.join(part)}endbfchar\n"
    names = pydyf.Array([0, *(f"/{name}" for name in procedures)])
    font = pydyf.Dictionary(
        {
            "Type": "/Font",
            "Subtype": "/Type3",
            "FontBBox": pydyf.Array([*lowest, *highest]),
            "FontMatrix": pydyf.Array([0.001, 0, 0, 0.001, 0, 0]),
            "CharProcs": pydyf.Dictionary(procedures),
            "Encoding": pydyf.Dictionary({"Type": "/Encoding", "Differences": names}),
            "FirstChar": 0,
            "LastChar": len(outlines) - 1,
            "Widths": pydyf.Array(widths),
            "Resources": pydyf.Dictionary(),
            "ToUnicode": _added(pdf, pydyf.Stream([_TO_UNICODE.format(lists=lists)], compress=True)),
        }
    )
    return _added(pdf, font)


def _added(pdf: Any, made: Any) -> bytes:
    pdf.add_object(made)
    reference: bytes = made.reference
    return reference


@cache
def _path(path: str) -> str:
    """Return a path of SVG as operators of a PDF."""
    drawn = pydyf.Stream()
    drawn.close_path = drawn.close  # as Cairo calls it
    # The pen makes parabolas cubic curves, which are all that a PDF has.
    parse_path(path, CairoPen(None, drawn))
    return b" ".join(drawn.stream).decode()
