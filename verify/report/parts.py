"""What page and print share: what is printed, each formula drawn once, each figure drawn once."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from importlib.metadata import version
from typing import TYPE_CHECKING, get_args

from verify.evidence import (
    Check,
    ControlRecord,
    DerivationRecord,
    Fact,
    Figure,
    LineRecord,
    Record,
    RunRecord,
)
from verify.evidence.audits import AuditRecord
from verify.evidence.comparisons import ComparisonRecord
from verify.evidence.texts import Code, Line
from verify.executors.workers import Workers, using
from verify.files.names import EDITIONS, shipped_folder
from verify.report.audit import Audit, audit_report
from verify.report.cache import DrawingCache
from verify.report.cards import Card
from verify.report.comparison import Comparison, comparison_report
from verify.report.formulas import MATHJAX, Formulas, typeset
from verify.report.run import FRONT, HALF, Report, drawn_small, report_of
from verify.report.typeset import NUMBERED_WIDTH, RELATIONS
from verify.text.escapes import pieces
from verify.text.latex import Prose, Tex, in_pieces, low

if TYPE_CHECKING:
    from verify.evidence.load import Reported

_SET_AS_PROSE = re.compile(r"'([^']*)'\|prose")
_WORTH_A_PROCESS = 10  # this many drawings take longer than to start a process for them
_LONG = 60  # letters of LaTeX that may have to be broken
_PLAIN = get_args(Code)[1:] + get_args(Line)[1:]
"""What validates texts in which a dollar sign is a dollar sign."""
_IN_OTHER_PARTS = (RunRecord, AuditRecord, ComparisonRecord, Check, ControlRecord, Figure)
"""Records of which the report prints its own parts, such as tables and captions."""


@dataclass(frozen=True, slots=True)
class Parts:
    """What is printed of a record, with its drawings; figures by their keys, as SVG."""

    report: Report | Audit | Comparison
    formulas: Formulas
    figures: Mapping[str, str]

    @classmethod
    def of(cls, record: Reported, edition: str = EDITIONS[0]) -> Parts:
        """Return the parts of a record's report, with the figures of an edition of its document for print.

        Raises:
            RenderError: a formula or figure cannot be drawn.
        """
        figures = draw_figures(record, edition=edition)
        report = report_on(record)
        return cls(report, draw_formulas(report), figures)


def report_on(record: Reported) -> Report | Audit | Comparison:
    """Return what the report prints about a record."""
    if isinstance(record, RunRecord):
        return report_of(record)
    if isinstance(record, ComparisonRecord):
        return comparison_report(record)
    return audit_report(record)


def draw_figures(
    record: Reported, workers: Workers | int | None = None, edition: str = EDITIONS[0]
) -> dict[str, str]:
    """Return every figure of a run as SVG, by ``claim.figure`` id; other records have none.

    Some are drawn at half the width of the text as well; which, depends on the ``edition`` for print.

    Raises:
        RenderError: a figure cannot be drawn.
    """
    if not isinstance(record, RunRecord):
        return {}
    known = {f"{claim.id}.{figure.id}": figure for claim in record.claims for figure in claim.series}
    drawings = known | drawn_small(record, edition)
    wanted = {key: f"{key}.\n{figure.model_dump_json()}" for key, figure in drawings.items()}
    drawn = _drawn(_figures, list(wanted.values()), ("matplotlib", "font-source-sans-pro"), workers)
    return {key: drawn[request] for key, request in wanted.items()}


def draw_formulas(report: Report | Audit | Comparison, workers: Workers | int | None = None) -> Formulas:
    """Return a drawer that has drawn every formula of a report already.

    Raises:
        RenderError: some LaTeX cannot be typeset.
    """
    requests = []
    for text in (*_formulas_of(report), *_in_templates()):
        if isinstance(text, Tex):
            requests.append(f"display\n{text}")
        else:
            for latex in (piece.text for piece in pieces(text) if piece.is_formula):
                parts = in_pieces(latex) if len(latex) > _LONG else []
                requests += [f"inline\n{part}" for part in (latex, *parts)]
    drawer = Formulas()
    for drawings in _drawn(_formulas, requests, ("mini-racer", MATHJAX), workers).values():
        drawer.load(drawings)
    return drawer


def _formulas_of(part: object) -> Iterator[Prose | Tex]:
    """Yield every text of a part of a report that may hold LaTeX."""
    if isinstance(part, Prose | Tex):
        yield part
    elif isinstance(part, tuple):
        for one in (*part, part.short) if isinstance(part, Card) else part:
            yield from _formulas_of(one)
    elif isinstance(part, Fact):
        yield from (Prose(part.what), Prose(f"${part.latex}$"))
    elif isinstance(part, Record) and not isinstance(part, _IN_OTHER_PARTS):
        yield from _formulas_of(
            tuple(_as_set(name, value) for name, value in part if name in _set_with_formulas(type(part)))
        )
        if isinstance(part, LineRecord):
            yield Prose(RELATIONS[part.relation])
        if isinstance(part, DerivationRecord):
            yield from (Tex(part.latex), Prose(f"${low(part.latex)}$"))


def _in_templates() -> Iterator[Prose]:
    """Yield the texts of the templates themselves that may hold LaTeX."""
    for path in sorted(shipped_folder("templates").glob("*.j2")):
        for text in _SET_AS_PROSE.findall(path.read_text(encoding="utf-8")):
            yield Prose(text.replace(r"\\", "\\"))


@lru_cache
def _set_with_formulas(model: type[Record]) -> frozenset[str]:
    """Return the names of a record's fields whose formulas are set; code and keys are printed as they are."""
    fields = model.model_fields.items()
    return frozenset(name for name, field in fields if not any(one in _PLAIN for one in field.metadata))


def _as_set(field: str, value: object) -> object:
    """Return a record's field as the templates set it: its texts as prose, its formulas displayed."""
    if isinstance(value, tuple):
        return tuple(_as_set(field, one) for one in value)
    if isinstance(value, str):
        return Tex(value) if field in {"latex", "start"} else Prose(value)
    return value


def _drawn(
    draw: Callable[[Sequence[str]], list[str]],
    requests: Sequence[str],
    libraries: Sequence[str],
    workers: Workers | int | None,
) -> dict[str, str]:
    """Return what ``draw`` makes of each request, unless it is kept from an earlier time."""
    cache = DrawingCache(draw.__name__, *(f"{name} {version(name)}" for name in libraries))
    found = {request: cache.get(request) for request in dict.fromkeys(requests)}
    missing = [request for request, drawing in found.items() if drawing is None]
    with using(workers if len(missing) >= 2 * _WORTH_A_PROCESS else 1) as some:
        count = 4 * some.count
        batches = [batch for start in range(count) if (batch := missing[start::count])]
        for batch, drawings in zip(batches, some.map(draw, batches), strict=True):
            for request, drawing in zip(batch, drawings, strict=True):
                found[request] = drawing
                cache.put(request, drawing)
    if missing:
        cache.tidy()
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
    wanted = [(latex, kind == "display") for kind, latex in (request.split("\n", 1) for request in requests)]
    made = typeset(wanted)
    drawings = []
    for latex, is_displayed in wanted:
        drawer = Formulas(made)
        if is_displayed:
            drawer.display(latex, NUMBERED_WIDTH)
        else:
            drawer.inline(latex)
        drawings.append(drawer.dump())
    return drawings
