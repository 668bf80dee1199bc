"""What page and print share: the view, each formula drawn once, each figure drawn once."""

from __future__ import annotations

from dataclasses import dataclass
from importlib.metadata import version
from typing import TYPE_CHECKING

from verify.evidence import Figure, RunRecord
from verify.evidence.load import shipped
from verify.executors.workers import Task, Workers, using
from verify.files.names import EDITIONS
from verify.report.audits.drawing import draw_map, draw_overview
from verify.report.audits.maps import grids, overview
from verify.report.audits.view import audit_view
from verify.report.math import MATHJAX, Formulas, typeset
from verify.report.store import Store
from verify.report.summary import FRONT, HALF, panels
from verify.report.typeset import step_formula
from verify.report.view import formulas, view
from verify.text.escapes import pieces
from verify.text.latex import Tex

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from verify.evidence.audits import AuditRecord
    from verify.report.audits.views import AuditView
    from verify.report.views import ReportView

_WORTH_A_PROCESS = 10
"""So many drawings take longer than to start a process for them."""


@dataclass(frozen=True, slots=True)
class Parts:
    """A record's view with its drawings; figures by their keys, as SVG."""

    view: ReportView | AuditView
    formulas: Formulas
    figures: Mapping[str, str]

    @classmethod
    def of(cls, record: RunRecord | AuditRecord, edition: str = EDITIONS[0]) -> Parts:
        """Return the parts of a record's report, with the figures of an edition of its document for print.

        Raises:
            RenderError: a formula or figure cannot be drawn.
        """
        figures = draw_figures(record, edition=edition)
        seen = view_of(record)
        return cls(seen, draw_formulas(seen), figures)


def view_of(record: RunRecord | AuditRecord, earlier: RunRecord | None = None) -> ReportView | AuditView:
    """Return what the report prints about a run, compared with an ``earlier`` one, or about an audit."""
    if isinstance(record, RunRecord):
        return view(record, earlier)
    return audit_view(record, {claim.id: claim for claim in shipped().claims})


def draw_figures(
    record: RunRecord | AuditRecord, workers: Workers | int | None = None, edition: str = EDITIONS[0]
) -> dict[str, str]:
    """Return every figure of a record as SVG, by ``claim.figure`` id, an audit's maps by theirs.

    Some are drawn at half the width of the text as well; which, depends on the ``edition`` for print.

    Raises:
        RenderError: a figure cannot be drawn.
    """
    if not isinstance(record, RunRecord):
        drawn = {grid.key: draw_map(grid) for grid in grids(record)}
        whole = overview(record)
        return drawn | ({whole.key: draw_overview(whole)} if whole else {})
    known = {f"{claim.id}.{figure.id}": figure for claim in record.claims for figure in claim.series}
    drawings = known | panels(record, edition)
    wanted = {key: f"{key}.\n{figure.model_dump_json()}" for key, figure in drawings.items()}
    drawn = _drawn(_figures, list(wanted.values()), ("matplotlib", "font-source-sans-pro"), workers)
    return {key: drawn[request] for key, request in wanted.items()}


def draw_formulas(seen: ReportView | AuditView, workers: Workers | int | None = None) -> Formulas:
    """Return a drawer that has drawn every formula of a view already.

    Raises:
        RenderError: some LaTeX cannot be typeset.
    """
    requests = []
    for text in formulas(seen):
        if isinstance(text, Tex):
            requests.append(f"step\n{text}")
        else:
            requests += [f"inline\n{piece.text}" for piece in pieces(text) if piece.is_formula]
    drawer = Formulas()
    for drawings in _drawn(_formulas, requests, ("mini-racer", MATHJAX), workers).values():
        drawer.load(drawings)
    return drawer


def _drawn(
    draw: Callable[[Sequence[str]], list[str]],
    requests: Sequence[str],
    libraries: Sequence[str],
    workers: Workers | int | None,
) -> dict[str, str]:
    """Return what ``draw`` makes of each request, unless it is kept from an earlier time."""
    store = Store(draw.__name__, *(f"{name} {version(name)}" for name in libraries))
    found = {request: store.get(request) for request in dict.fromkeys(requests)}
    missing = [request for request, drawing in found.items() if drawing is None]
    with using(workers if len(missing) >= 2 * _WORTH_A_PROCESS else 1) as some:
        count = 4 * some.count
        batches = [batch for start in range(count) if (batch := missing[start::count])]
        for place, drawings in some.run_tasks([Task(draw, (batch,)) for batch in batches]):
            for request, drawing in zip(batches[place], drawings, strict=True):
                found[request] = drawing
                store.put(request, drawing)
    if missing:
        store.tidy()
    return {request: drawing for request, drawing in found.items() if drawing is not None}


def _figures(requests: Sequence[str]) -> list[str]:
    from verify.report.figures import FRONT_SIZE, HALF_SIZE, WHOLE, draw  # noqa: PLC0415 - matplotlib takes half a second to import

    sizes = {HALF.rstrip("."): HALF_SIZE, FRONT.rstrip("."): FRONT_SIZE}
    parts = (request.split("\n", 1) for request in requests)
    return [
        draw(Figure.model_validate_json(figure), prefix, sizes.get(prefix.partition(".")[0], WHOLE))
        for prefix, figure in parts
    ]


def _formulas(requests: Sequence[str]) -> list[str]:
    wanted = [(latex, kind == "step") for kind, latex in (request.split("\n", 1) for request in requests)]
    made = typeset(wanted)
    drawings = []
    for latex, is_step in wanted:
        drawer = Formulas(made)
        if is_step:
            step_formula(drawer, Tex(latex))
        else:
            drawer.inline(latex)
        drawings.append(drawer.dump())
    return drawings
