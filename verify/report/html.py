"""The report as one HTML file that needs nothing else, and how the page takes pictures in."""

from __future__ import annotations

import base64
import gzip
import itertools
import json
import math
import re
from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import quote

from markupsafe import Markup, escape

from verify.citing.citations import AUTHORS
from verify.evidence.provenance import names
from verify.files import shipped
from verify.files.names import AUDIT, RUN
from verify.report.fonts import rules_for_screen
from verify.report.mathfont import FAMILY, in_face
from verify.report.parts import Parts
from verify.report.run import Report
from verify.report.typeset import mark_drawings, render, standalone, trusted
from verify.text.latex import spoken

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from verify.evidence import RunRecord
    from verify.evidence.audits import AuditRecord
    from verify.evidence.words import Badge
    from verify.report.formulas import Formula

_TITLE = "Scaled dot-product attention: what is true, and how we know"
_STYLES = {RUN: ("common.css", "page.css", "rows.css"), AUDIT: ("common.css", "page.css")}
_SCRIPTS = {
    RUN: ("page.js", "formulas.js", "claims.js", "figures.js", "row.js", "explorer.js"),
    AUDIT: ("page.js", "formulas.js"),
}
_SAFE = " /:=.,-()"
"""What need not be escaped in a data address between single quotes."""

_ABOVE, _BELOW = 8, 3
"""Tenths of an em that every formula has room for above and below its line."""

_WIDE = 10.0
"""Em from which on a formula may have to be smaller on a narrow screen."""
_FORMULA = re.compile(r'<i data-f="(\d+)"><b>(.*?)</b>')
_TAG = re.compile(r"<[a-z][^<>]*>")
_QUOTED = re.compile(r"""="([^\s"'=<>`]*[^\s"'=<>`/])"(?=[ >]|(/>))""")
_IMPLIED = re.compile(
    r"</(?:td|th|tr|li|dt|dd)>\s*(?=<(?:td|th|tr|li|dt|dd)\b|</(?:table|thead|tbody|tr|ul|ol|dl)>)"
)
_KEPT = re.compile(r"(<pre\b.*?</pre>|<script\b.*?</script>)", re.DOTALL)


def render_html(record: RunRecord | AuditRecord, parts: Parts | None = None) -> str:
    """Return the report of a run or of an audit as a self-contained HTML page.

    ``parts`` are the record's drawn figures and formulas, made here if not given.

    Raises:
        RenderError: a formula or figure of the record cannot be drawn.
    """
    parts = parts or Parts.of(record)
    called = names(record)
    medium = HtmlMedium(parts.figures, parts.formulas.mathml)
    body = render(
        f"{called.page}.j2",
        parts.report,
        parts.formulas,
        medium,
        evidence=called.evidence,
        linked=trusted(linked_data(parts.report)) if isinstance(parts.report, Report) else "",
    )
    # The faces carry just the characters of this page; those of its markup are among them, at no cost.
    style = rules_for_screen("".join(sorted(set(body))))
    drawn = medium.draw(body)
    body = compact(drawn.page)
    style += drawn.rules
    style += _joined(*_STYLES[called]) + medium.mark_rules()
    body = body.replace("/* drawn */", medium.figure_rules(), 1)
    # A record's own text may hold the place holder too; the real one comes last.
    before, _, after = body.replace("/* style */", style, 1).rpartition("/* script */")
    before, _, between = before.rpartition("/* mathml */")
    return before + drawn.mathml + between + _joined(*_SCRIPTS[called]) + after


class Made(NamedTuple):
    """A page made of a template, and the style rules of its formulas, marks and figures."""

    page: str
    rules: str


def make_page(template: str, parts: Parts, **more: object) -> Made:
    """Return a page made of a template and a report's parts, with what else the template is given.

    Raises:
        RenderError: a formula of the report cannot be typeset.
    """
    medium = HtmlMedium(parts.figures, parts.formulas.mathml)
    drawn = medium.draw(render(template, parts.report, parts.formulas, medium, **more))
    return Made(drawn.page, drawn.rules + medium.mark_rules() + medium.figure_rules())


def faces_of(pages: Iterable[str]) -> str:
    """Return the style rules that carry the faces, cut down to the characters of some pages."""
    return rules_for_screen("".join(sorted(set().union(*pages))))


def _joined(*files: str) -> str:
    folder = shipped.folder("templates")
    return "".join((folder / name).read_text(encoding="utf-8") for name in files)


class Drawn(NamedTuple):
    """A page whose formulas are drawn, the style rules for them, and the MathML of all, packed.

    That has a line for each formula, in the order in which they first stand in the page.
    """

    page: str
    rules: str
    mathml: str


class HtmlMedium:
    """Pictures in the text's own colour; what they have in common is defined once for the page.

    ``mathml`` gives the MathML of a formula's LaTeX.
    """

    folds = True

    def __init__(self, figures: Mapping[str, str], mathml: Callable[[str], str]) -> None:
        self._figures = figures
        self._mathml = mathml
        self._formulas: list[Formula] = []
        self._numbers: dict[tuple[str, str], int] = {}
        self._texts: dict[str, Markup] = {}
        self._latex: dict[tuple[int, str], str] = {}
        self._heights: set[str] = set()
        self._marks: set[tuple[str, str]] = set()
        self._styles: dict[str, str] = {}
        self._places = itertools.count(1)

    def formula(self, formula: Formula, style: str, latex: str) -> Markup:  # noqa: ARG002
        """Return an element that holds the formula as plain text, until ``draw`` has all of them drawn."""
        number = self._numbers.setdefault((formula.body, formula.view_box), len(self._formulas))
        if number == len(self._formulas):
            self._formulas.append(formula)
        if latex not in self._texts:
            self._texts[latex] = escape(spoken(latex))
        text = self._texts[latex]
        self._latex.setdefault((number, str(text)), latex)
        return Markup('<i data-f="{}"><b>{}</b></i>').format(number, text)

    def draw(self, page: str) -> Drawn:
        """Return a page made with this medium, with its formulas drawn, and what they need beside it."""
        used = sorted({int(found[1]) for found in _FORMULA.finditer(page)})
        texts, face = in_face([self._formulas[number] for number in used])
        strings = {number: str(escape(text)) for number, text in zip(used, texts, strict=True)}
        spelled: dict[tuple[str, str], str] = {}

        def drawn(found: re.Match[str]) -> str:
            number, text = int(found[1]), found[2]
            string, formula = strings[number], self._formulas[number]
            spelled.setdefault((string, text), self._latex[number, text])
            outlines = "" if string else self._outlines(formula)
            return f'<i data-f="{string}"{self._room(formula)}><b>{text}</b>{outlines}'

        page = _FORMULA.sub(drawn, page)
        lines = "\n".join(self._mathml(latex) for latex in spelled.values())
        packed = gzip.compress(lines.encode(), 9, mtime=0)
        return Drawn(page, self._formula_rules(face), base64.b64encode(packed).decode())

    def _room(self, formula: Formula) -> str:
        """Return attributes of a formula that is higher or wider than most."""
        sides = (
            ("a", math.ceil(10 * (formula.height - formula.depth)), _ABOVE),
            ("b", math.ceil(10 * formula.depth), _BELOW),
        )
        names = [f"{side}{tenths}" for side, tenths, usual in sides if tenths > usual]
        self._heights.update(names)
        room = f' class="{" ".join(names)}"' if names else ""
        return room + (f' style="--w:{formula.width:.1f}"' if formula.width > _WIDE else "")

    def _outlines(self, formula: Formula) -> str:
        """Return the SVG of a formula that no face can have."""
        svg = re.sub(r'( id="|href="#)', rf"\g<1>D{next(self._places)}-", standalone(formula))
        return svg.replace("<svg ", '<svg aria-hidden="true" ', 1)

    def _formula_rules(self, face: str) -> str:
        """Return the style rules of drawn formulas, with their face."""
        sides = {"a": "top", "b": "bottom"}
        rules = (
            f"i.{name}{{padding-{sides[name[0]]}:{int(name[1:]) / 10:g}em}}" for name in sorted(self._heights)
        )
        return (
            f"@font-face{{font-family:{FAMILY};src:url('data:font/woff2;base64,{face}') format('woff2');"
            f"font-display:block}}\n"
            f"i[data-f]{{font:1.1em/0 {FAMILY};padding:{_ABOVE / 10}em 0 {_BELOW / 10}em}}\n"
            + "\n".join(rules)
            + "\n"
        )

    def mark(self, badge: Badge) -> Markup:
        """Return an element that the style rules cut out of its colour: its word stands beside it."""
        self._marks.add((badge.tone, badge.mark))
        return Markup('<i class="{}-{}"></i>').format(badge.tone, badge.mark)

    def figure(self, key: str, words: str) -> Markup:
        """Return the figure's own SVG with its words; its styles are the page's."""
        svg = self._figures[key].replace("xlink:href", "href")
        # A figure may stand twice in a page; its ids must not.
        place = next(self._places)
        ids = {name: f"D{place}-{at}" for at, name in enumerate(re.findall(r' id="([^"]+)"', svg))}
        svg = re.sub(r'( id="|url\(#|href="#)([^")]+)', lambda found: found[1] + ids[found[2]], svg)
        svg = re.sub(r' style="([^"]*)"', self._class, svg)
        svg = re.sub(r' xmlns(?::xlink)?="[^"]*"', "", svg)
        opening, rest = svg.split(">", 1)
        return Markup('{} role="img" aria-label="{}">{}').format(trusted(opening), words, trusted(rest))

    def _class(self, style: re.Match[str]) -> str:
        return f' class="{self._styles.setdefault(style[1], f"C{len(self._styles)}")}"'

    def mark_rules(self) -> str:
        """Return the style rules that give the marks so far their shapes and colours."""
        shapes = {name: quote(shape, safe=_SAFE) for name, shape in mark_drawings().items()}
        return "\n".join(
            f".{tone}-{mark}{{color:var(--{tone});mask-image:url('data:image/svg+xml,{shapes[mark]}')}}"
            for tone, mark in sorted(self._marks)
        )

    def figure_rules(self) -> str:
        """Return the style rules of the figures so far."""
        return "\n".join(f".{called}{{{style}}}" for style, called in self._styles.items())


def compact(page: str) -> str:
    """Return a page without the quotes and end tags that its parser does without.

    Every ``<`` and ``>`` in its text and attributes has to be escaped. What stands in ``pre`` and ``script``
    elements stays as it is.
    """
    parts = _KEPT.split(page)
    parts[::2] = [_IMPLIED.sub("", _TAG.sub(_unquoted, part)) for part in parts[::2]]
    return "".join(parts)


def _unquoted(tag: re.Match[str]) -> str:
    return _QUOTED.sub(lambda found: f"={found[1]}{' ' if found[2] else ''}", tag[0])


def linked_data(report: Report) -> str:
    """Return what the report says about itself to search engines, as JSON-LD in the words of schema.org.

    It is the article with its software and its data set, safe to stand inside a ``script`` element.
    """
    record, created = report.record, f"{report.created:%Y-%m-%dT%H:%M:%SZ}"
    settings = record.run.settings
    authors = {"@type": "Organization", "name": AUTHORS}
    software = {
        "@type": "SoftwareApplication",
        "@id": "#software",
        "name": "sdpa-verify",
        "softwareVersion": record.tool.version,
        "applicationCategory": "Scientific software",
        "author": authors,
    }
    dataset = {
        "@type": "Dataset",
        "@id": "#dataset",
        "name": f"Evidence of the run with seed {settings.seed}, {settings.profile} profile",
        "description": f"{len(record.claims)} claims, {report.checks}: estimates, intervals and derivations.",
        "creator": authors,
        "dateCreated": created,
        "identifier": f"sha256:{report.digest}",
        "distribution": {
            "@type": "DataDownload",
            "contentUrl": RUN.evidence,
            "encodingFormat": "application/json",
        },
    }
    article = {
        "@type": "ScholarlyArticle",
        "@id": "#article",
        "headline": _TITLE,
        "abstract": f"{len(record.claims)} claims about attention scores, derived, measured and judged.",
        "author": authors,
        "datePublished": created,
        "inLanguage": "en",
        "identifier": f"sha256:{report.digest}",
        "isBasedOn": [{"@id": "#dataset"}, {"@id": "#software"}],
        "encoding": {"@type": "MediaObject", "contentUrl": RUN.sheet, "encodingFormat": "application/pdf"},
    }
    graph = {"@context": "https://schema.org", "@graph": [article, software, dataset]}
    # No tag can begin in it: a record's own text may say anything.
    return json.dumps(graph, ensure_ascii=False, separators=(",", ":")).replace("<", "\\u003c")
