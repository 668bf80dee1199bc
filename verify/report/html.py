"""The report as one HTML file that needs nothing else, and how a page takes pictures in."""

import json
import re
from collections.abc import Mapping
from urllib.parse import quote

from markupsafe import Markup, escape

from verify.evidence import RunRecord
from verify.evidence.load import Reported, names
from verify.evidence.words import Badge
from verify.files import AUDIT, RUN, shipped_folder
from verify.report.audit import audit_report
from verify.report.drawings import draw_figures
from verify.report.fonts import rules_for_screen
from verify.report.formulas import Formula, Formulas, characters_in
from verify.report.run import Report
from verify.report.typeset import MARKS, STROKE_WIDTH, Medium, trusted
from verify.text.latex import spoken

_PLAIN_STYLES = ("common.css", "page.css")
_STYLES = {RUN: (*_PLAIN_STYLES, "rows.css"), AUDIT: _PLAIN_STYLES}
_SCRIPTS = {RUN: ("page.js", "claims.js", "figures.js", "draws.js", "lesson.js"), AUDIT: ("page.js",)}
_TEACHING = {"draws.js", "lesson.js"}
"""The scripts of the lesson, which a report about its claims alone does without."""
_SAFE = " /:=.,-()"  # what need not be escaped in a data address between single quotes
_WIDE = 10.0  # em from which on a formula may have to be smaller on a narrow screen
_BROADEST = 1.06
"""What an em of a formula as MathJax draws it is in MathML, at most (over the catalogue; usually 0.9)."""
_NAMED = re.compile(r"<(h[1-5]|a|button|caption|figcaption|label|summary|th)\b[^<>]*>.*?</\1>", re.DOTALL)
"""What has its name from what it contains; of MathML, browsers take only a label into a name."""
_LETTER = re.compile(r'<math alttext="([^"]+)"([^<>]*)>(<(m[ion])(?: [^<>]*)?>\1</\4></math>)')
"""A formula of a single token, which is its own text."""


def render_html(record: Reported, figures: Mapping[str, str] | None = None) -> str:
    """Return the report of a record as a self-contained HTML page.

    ``figures`` are the record's drawings, made here if not given.

    Raises:
        RenderError: a formula or figure of the record cannot be drawn.
    """
    called, measured = names(record), Markup()
    report: object
    if isinstance(record, RunRecord):
        figures = draw_figures(record) if figures is None else figures
        report = Report(record)
        measured = trusted(measured_points(report))
    else:
        report = audit_report(record)
    medium = HtmlMedium(Formulas(), figures or {})
    page = medium.render(
        f"{called.page}.j2", report, evidence=called.evidence, sheet=called.sheet(), measured=measured
    )
    medium.formulas.cache.save()
    style = faces_of(page) + joined(*_STYLES[called]) + medium.mark_rules()
    scripts = [name for name in _SCRIPTS[called] if name not in _TEACHING or 'id="lesson"' in page]
    body = page.replace("/* drawn */", medium.figure_rules(), 1)
    # A record's own text may hold the place holder too; the real place comes last.
    before, _, after = body.replace("/* style */", style, 1).rpartition("/* script */")
    return before + joined(*scripts) + after


def faces_of(page: str) -> str:
    """Return the style rules that carry the faces, cut down to the characters of a page."""
    # Characters of the markup are among them, at no cost.
    return rules_for_screen("".join(sorted(set(page))), characters_in(page))


def joined(*files: str) -> str:
    """Return the texts of style sheets or scripts, one after the other."""
    folder = shipped_folder("templates")
    return "".join((folder / name).read_text(encoding="utf-8") for name in files)


class HtmlMedium(Medium):
    """Formulas as MathML, figures and marks in the text's own colour."""

    folds = True

    def __init__(self, formulas: Formulas, figures: Mapping[str, str]) -> None:
        super().__init__(formulas, figures)
        self._marks: set[tuple[str, str]] = set()
        self._styles: dict[str, str] = {}
        self._drawn = 0

    def render(self, template: str, report: object, **more: object) -> str:
        """Return a page with names that browsers read whole."""
        page = super().render(template, report, **more)
        page = _NAMED.sub(lambda named: named[0].replace("<math alttext=", "<math aria-label="), page)
        return _LETTER.sub(r"<math\2>\3", page)

    def formula(self, formula: Formula, latex: str) -> Markup:
        """Return a formula as MathML."""
        width = formula.width * _BROADEST
        attributes = f' style="--w:{width:.1f}"' if width > _WIDE else ""
        opening = f'<math alttext="{escape(spoken(latex))}"{attributes}'
        return trusted(formula.mathml.replace("<math", opening, 1))

    def mark(self, badge: Badge) -> Markup:
        """Return an element that the style rules cut out of its colour: its word stands beside it."""
        self._marks.add((badge.tone, badge.mark))
        return Markup('<i class="{}-{}"></i>').format(badge.tone, badge.mark)

    def figure(self, key: str, words: str) -> Markup:
        """Return the figure's own SVG with its words; its styles are the page's."""
        svg, styles = self.figures[key].replace("xlink:href", "href"), self._styles
        # A figure may stand twice in a page; its ids must not.
        self._drawn += 1
        ids = {name: f"D{self._drawn}-{at}" for at, name in enumerate(re.findall(r' id="([^"]+)"', svg))}
        svg = re.sub(r'( id="|url\(#|href="#)([^")]+)', lambda link: link[1] + ids[link[2]], svg)
        # What figures have in common is said once, in the page's rules.
        for style in dict.fromkeys(re.findall(r' style="([^"]*)"', svg)):
            name = styles.setdefault(style, f"C{len(styles)}")
            svg = svg.replace(f' style="{style}"', f' class="{name}"')
        svg = re.sub(r' xmlns(?::xlink)?="[^"]*"', "", svg)
        opening, rest = svg.split(">", 1)
        return Markup('{} role="img" aria-label="{}">{}').format(trusted(opening), words, trusted(rest))

    def mark_rules(self) -> str:
        """Return the style rules that give the marks so far their shapes and colours."""
        opening = (
            "<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 16 16'><g fill='none' stroke='black' "
            f"stroke-width='{STROKE_WIDTH}' stroke-linecap='round' stroke-linejoin='round'>"
        )
        rules = ""
        for tone, mark in sorted(self._marks):
            drawing = MARKS[mark].replace('"', "'").replace("currentColor", "black")
            address = quote(f"{opening}{drawing}</g></svg>", safe=_SAFE)
            rules += f".{tone}-{mark}{{color:var(--{tone});mask-image:url('data:image/svg+xml,{address}')}}\n"
        return rules.rstrip("\n")

    def figure_rules(self) -> str:
        """Return the style rules of the figures so far."""
        rules = "\n".join(f".{called}{{{style}}}" for style, called in self._styles.items())
        # On a dark page the blue of what is measured could not be told from a band behind it.
        return rules.replace("#0072b2", "var(--measured, #0072b2)")


def measured_points(report: Report) -> str:
    """Return what the lesson's pictures show of the run, as JSON by series, safe inside a page."""
    points = {series: values for scene in report.lesson for series, values in scene.points.items()}
    # No tag can begin in it: a record's own text may say anything.
    return json.dumps(points, ensure_ascii=False, separators=(",", ":")).replace("<", "\\u003c")
