"""What page and print share: the view, each formula drawn once, each figure drawn once."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from verify.report.latex import Tex, pieces
from verify.report.math import Formulas
from verify.report.typeset import step_formula
from verify.report.view import ReportView, formulas, view

if TYPE_CHECKING:
    from collections.abc import Mapping

    from verify.evidence import RunRecord


@dataclass(frozen=True, slots=True)
class Parts:
    """A record's view with its drawings; figures by ``claim.figure`` id, as SVG."""

    view: ReportView
    formulas: Formulas
    figures: Mapping[str, str]

    @classmethod
    def of(cls, record: RunRecord) -> Parts:
        """Return the parts of a record's report.

        Raises:
            RenderError: a formula or figure cannot be drawn.
        """
        figures = draw_figures(record)
        seen = view(record)
        return cls(seen, draw_formulas(seen), figures)


def draw_figures(record: RunRecord) -> dict[str, str]:
    """Return every figure of a record as SVG, by ``claim.figure`` id.

    Raises:
        RenderError: a figure cannot be drawn.
    """
    from verify.report.figures import draw  # noqa: PLC0415 - matplotlib takes half a second to import

    return {
        f"{claim.id}.{figure.id}": draw(figure, f"{claim.id}.{figure.id}.")
        for claim in record.claims
        for figure in claim.series
    }


def draw_formulas(seen: ReportView) -> Formulas:
    """Return a drawer that has drawn every formula of a view already.

    Raises:
        RenderError: some LaTeX cannot be typeset.
    """
    drawer = Formulas()
    for text in formulas(seen):
        if isinstance(text, Tex):
            step_formula(drawer, text)
        else:
            for piece in pieces(text):
                if piece.is_formula:
                    drawer.inline(piece.text)
    return drawer
