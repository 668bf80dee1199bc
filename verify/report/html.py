"""A report as one HTML file that needs nothing else."""

from __future__ import annotations

from typing import TYPE_CHECKING

from markupsafe import Markup

from verify.evidence.provenance import names
from verify.files import shipped
from verify.files.names import AUDIT, RUN
from verify.report.compact import compact
from verify.report.fonts import rules_for_screen
from verify.report.inpage import InPage
from verify.report.linked import linked_data
from verify.report.parts import Parts
from verify.report.typeset import render
from verify.report.views import ReportView

if TYPE_CHECKING:
    from verify.evidence import RunRecord
    from verify.evidence.audits import AuditRecord


_STYLES = {RUN: ("common.css", "page.css", "rows.css"), AUDIT: ("common.css", "page.css")}
_SCRIPTS = {
    RUN: ("page.js", "formulas.js", "claims.js", "figures.js", "row.js", "explorer.js"),
    AUDIT: ("page.js", "formulas.js"),
}


def render_html(record: RunRecord | AuditRecord, parts: Parts | None = None) -> str:
    """Return the report of a run or of an audit as a self-contained HTML page.

    ``parts`` are the record's drawn figures and formulas, made here if not given.

    Raises:
        RenderError: a formula or figure of the record cannot be drawn.
    """
    parts = parts or Parts.of(record)
    called = names(record)
    medium = InPage(parts.figures, parts.formulas.mathml)
    body = render(
        f"{called.page}.j2",
        parts.view,
        parts.formulas,
        medium,
        evidence=called.evidence,
        linked=Markup(linked_data(parts.view)) if isinstance(parts.view, ReportView) else "",  # noqa: S704
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


def _joined(*files: str) -> str:
    folder = shipped.folder("templates")
    return "".join((folder / name).read_text(encoding="utf-8") for name in files)
