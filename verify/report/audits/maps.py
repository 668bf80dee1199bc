"""Maps of layers × heads: which values a finding has where, what they look like, and the same as a table."""

from __future__ import annotations

import statistics
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

from verify.evidence.audits import Judgement, common
from verify.evidence.words import SERIOUS, badge
from verify.report.audits.views import MapView, MatrixView
from verify.report.views import FigureView
from verify.text import numbers
from verify.text.latex import Prose
from verify.text.speech import prose_in_words

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from verify.evidence.audits import AuditRecord, Finding

_MARKED = (Judgement.UNDECIDED, Judgement.REFUTED, Judgement.WARNED)


@dataclass(frozen=True)
class Grid:
    """The findings of one name, by layer and head; layers by their place in the audit."""

    key: str
    name: str
    quantity: str
    layers: tuple[str, ...]
    heads: int
    cells: Mapping[tuple[int, int], Finding]

    @property
    def estimates(self) -> dict[tuple[int, int], float]:
        """The estimates, where there are any."""
        return {place: one.estimate for place, one in sorted(self.cells.items()) if one.estimate is not None}


def grids(record: AuditRecord) -> tuple[Grid, ...]:
    """Return a grid for each statistical finding whose values differ from head to head."""
    found: dict[str, dict[tuple[int, int], Finding]] = {}
    for number, layer in enumerate(record.layers):
        for one in layer.findings:
            if not one.exact and one.head is not None and one.estimate is not None:
                found.setdefault(one.name, {})[number, one.head] = one
    names = tuple(layer.name for layer in record.layers)
    heads = max((layer.heads for layer in record.layers), default=0)
    return tuple(
        Grid(f"map-{place}", name, next(iter(cells.values())).quantity, names, heads, cells)
        for place, (name, cells) in enumerate(found.items(), 1)
        if len({one.estimate for one in cells.values()}) > 1
    )


def overview(record: AuditRecord) -> Grid | None:
    """Return the most serious finding that decides of each head, None where there is only one head."""
    worst: dict[tuple[int, int], Finding] = {}
    for number, layer in enumerate(record.layers):
        for one in layer.findings:
            for head in range(layer.heads) if one.head is None else (one.head,):
                before = worst.get((number, head))
                if one.decides and (before is None or _rank(one) < _rank(before)):
                    worst[number, head] = one
    if len(worst) < 2:
        return None
    names = tuple(layer.name for layer in record.layers)
    return Grid("overview", "", "", names, max(layer.heads for layer in record.layers), worst)


def overview_figure(grid: Grid) -> FigureView:
    """Return the overview as it is printed, its drawing aside."""
    counts = Counter(one.judgement for one in grid.cells.values())
    counted = ", ".join(f"{counts[one]} {badge(one).word}" for one in SERIOUS if counts[one])
    return FigureView(
        grid.key,
        Prose("The most serious judgement of each head, among the findings that decide."),
        f"Map of {len(grid.layers)} layers by {grid.heads} heads by their most serious judgement: {counted}.",
    )


def _rank(one: Finding) -> int:
    return SERIOUS.index(one.judgement)


def map_view(grid: Grid, *, narrow: bool) -> MapView:
    """Return a grid's map as it is printed, its drawing aside."""
    claims = dict.fromkeys(one.claim for one in grid.cells.values() if one.claim)
    return MapView(
        name=grid.name,
        figure=FigureView(grid.key, Prose(_title(grid)), _alt(grid)),
        narrow=narrow,
        note=Prose(_note(grid)),
        matrix=_matrix(grid),
        claims=tuple(claims),
    )


def row_names(layers: Sequence[str]) -> tuple[str, ...]:
    """Return a short name for each layer: its number, where that is all that differs."""
    pattern = common(layers)
    if pattern is None:
        return tuple(layers)
    before, after = pattern
    return tuple(name[len(before) : len(name) - len(after)] for name in layers)


def _title(grid: Grid) -> str:
    marks = _marks(grid)
    cells = f" Cells are {' and '.join(marks)}." if marks else ""
    return f"{grid.quantity}, by layer and head.{cells}"


def _marks(grid: Grid) -> list[str]:
    seen = {one.judgement for one in grid.cells.values()}
    words = {
        Judgement.UNDECIDED: "hatched where undecided",
        Judgement.REFUTED: "crossed where refuted",
        Judgement.WARNED: "ringed where warned of",
    }
    return [words[one] for one in _MARKED if one in seen]


def _note(grid: Grid) -> str:
    """Return what the catalogue says of the same quantity at unit variance."""
    values = sorted({one.reference.value for one in grid.cells.values() if one.reference})
    if not values:
        return ""
    return f"At unit variance the catalogue derives {spread(values)}."


def spread(values: Sequence[float], digits: int = 4) -> str:
    """Return values in order as one number, or from the smallest to the largest."""
    ends = [numbers.exact(one, digits) for one in (values[0], values[-1])]
    return ends[0] if ends[0] == ends[1] else f"{ends[0]} to {ends[1]}"


def _alt(grid: Grid) -> str:
    """Return what the map shows in words: its extremes, where they lie, and what is marked."""
    estimates = grid.estimates
    low, high = min(estimates, key=estimates.__getitem__), max(estimates, key=estimates.__getitem__)
    middle = statistics.median_low(estimates.values())
    counts = [
        f"{count} {badge(one).word}"
        for one in _MARKED
        if (count := sum(found.judgement is one for found in grid.cells.values()))
    ]
    counted = (
        f"Map of {prose_in_words(grid.quantity)}, {len(grid.layers)} layers by {grid.heads} heads: "
        f"smallest {numbers.exact(estimates[low], 4)} in {_place(grid, low)}, "
        f"median {numbers.exact(middle, 4)}, "
        f"largest {numbers.exact(estimates[high], 4)} in {_place(grid, high)}"
    )
    return "; ".join([counted, *counts]) + "."


def _place(grid: Grid, place: tuple[int, int]) -> str:
    return f"{grid.layers[place[0]]} head {place[1]}"


def _matrix(grid: Grid) -> MatrixView:
    return MatrixView(
        label=f"Values: {prose_in_words(grid.quantity)}",
        heads=tuple(map(str, range(grid.heads))),
        rows=tuple(
            (name, tuple(_entry(grid.cells.get((number, head))) for head in range(grid.heads)))
            for number, name in enumerate(grid.layers)
        ),
    )


def _entry(one: Finding | None) -> str:
    if one is None or one.estimate is None:
        return "–"
    value = numbers.exact(one.estimate, 4)
    return f"{value}{numbers.NO_BREAK}{badge(one.judgement).word}" if one.judgement in _MARKED else value
