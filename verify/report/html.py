"""The report as one HTML file that needs nothing else."""

from __future__ import annotations

from typing import TYPE_CHECKING

from verify.files import shipped
from verify.report.fonts import rules_for_screen
from verify.report.parts import Parts
from verify.report.typeset import InPage, render

if TYPE_CHECKING:
    from verify.evidence import RunRecord


def render_html(record: RunRecord, parts: Parts | None = None) -> str:
    """Return the report as a self-contained HTML page.

    ``parts`` are the record's drawn figures and formulas, made here if not given.

    Raises:
        RenderError: a formula or figure of the record cannot be drawn.
    """
    parts = parts or Parts.of(record)
    medium = InPage(parts.figures)
    body = render("report.html.j2", parts.view, parts.formulas, medium, definitions=medium.definitions)
    # The faces carry just the characters of this page; those of its markup are among them, at no cost.
    style = rules_for_screen("".join(sorted(set(body)))) + _joined("common.css", "page.css")
    # A claim's own text may hold the place holder too; the real one comes last.
    before, _, after = body.replace("/* style */", style, 1).rpartition("/* script */")
    return before + _joined("row.js", "page.js") + after


def _joined(*names: str) -> str:
    folder = shipped.folder("templates")
    return "".join((folder / name).read_text(encoding="utf-8") for name in names)
