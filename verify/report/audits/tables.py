"""The findings of an audit layer by layer: a row each, or in a large audit a row for heads judged alike."""

from __future__ import annotations

from typing import TYPE_CHECKING

from verify.evidence.audits import Judgement, runs
from verify.evidence.words import badge, capitalised, closed, figures, held_against, summary, tallies
from verify.report.audits.maps import spread
from verify.report.audits.views import FoundGroup, FoundRow, LayerView
from verify.report.columns import aligned, found_widths
from verify.text import numbers
from verify.text.latex import Prose

if TYPE_CHECKING:
    from collections import Counter
    from collections.abc import Callable, Iterable, Sequence

    from verify.evidence.audits import Finding, LayerRecord
    from verify.evidence.words import Texts
    from verify.report.views import Cell

_ROWS = 600
"""So many findings at most have a row each: beyond them the pages would be a heap of numbers."""
_INFINITE = "∞"


def merged(layers: Sequence[LayerRecord]) -> bool:
    """Return whether heads that are judged alike share a row."""
    return sum(len(layer.findings) for layer in layers) > _ROWS


def layer_view(layer: LayerRecord, counts: Counter[Judgement], *, merge: bool) -> LayerView:
    """Return a layer with its findings, in their order; ``counts`` are those of its judgements."""
    by_name: dict[str, list[Finding]] = {}
    for one in layer.findings:
        by_name.setdefault(one.name, []).append(one)
    groups = [_group(layer, found, merge=merge) for found in by_name.values()]
    return LayerView(
        id=layer.id,
        name=layer.name,
        summary=Prose(summary(layer)),
        tallies=tallies(counts, Judgement),
        notes=tuple(Prose(closed(note)) for note in layer.notes),
        groups=tuple(groups),
        widths=found_widths([row for group in groups for row in group.rows]),
    )


def _group(layer: LayerRecord, found: Sequence[Finding], *, merge: bool) -> FoundGroup:
    rows = _alike(found) if merge else [[one] for one in found]
    texts = [_texts(row) for row in rows]
    remarks = [_remark(row) for row in rows]
    common = remarks[0] if len(set(remarks)) == 1 else ""
    columns = [aligned(column) for column in zip(*texts, strict=True)]
    cells = list(zip(*columns, strict=True))
    return FoundGroup(
        anchor=f"{layer.id}.{found[0].name}",
        name=found[0].name,
        quantity=Prose(capitalised(found[0].quantity)),
        note=Prose("; ".join(filter(None, [common, _reference(found)]))),
        claims=tuple(dict.fromkeys(_claims(found))),
        rows=tuple(
            _row(layer, row, cell, "" if common else remark)
            for row, cell, remark in zip(rows, cells, remarks, strict=True)
        ),
    )


def _alike(found: Sequence[Finding]) -> list[list[Finding]]:
    rows: dict[Judgement, list[Finding]] = {}
    for one in found:
        rows.setdefault(one.judgement, []).append(one)
    return [rows[judgement] for judgement in Judgement if judgement in rows]


def _claims(found: Sequence[Finding]) -> Iterable[str]:
    for one in found:
        if one.claim:
            yield one.claim
        if one.reference:
            yield one.reference.claim


def _reference(found: Sequence[Finding]) -> str:
    values = sorted({one.reference.value for one in found if one.reference})
    return f"at unit variance {spread(values)}" if values else ""


def _row(layer: LayerRecord, row: Sequence[Finding], cells: tuple[Cell, ...], remark: str) -> FoundRow:
    estimate, error, low, high = cells
    return FoundRow(
        heads=_heads(layer, row),
        remark=Prose(remark),
        estimate=estimate,
        error=error,
        low=low,
        high=high,
        against=held_against(row[0]),
        badge=badge(row[0].judgement),
    )


def _heads(layer: LayerRecord, row: Sequence[Finding]) -> str:
    found = [one.head for one in row if one.head is not None]
    if not found:
        return "layer"
    if len(found) == layer.heads > 1:
        return f"all {numbers.count(layer.heads)} heads"
    return f"{'head' if len(found) == 1 else 'heads'} {runs(found)}"


def _remark(row: Sequence[Finding]) -> str:
    """Return the reason if all give the same, and how many rows were not used."""
    reasons = {one.reason for one in row}
    left_out = sum(one.rows_left_out for one in row)
    parts = [reasons.pop() if len(reasons) == 1 else ""]
    if left_out:
        parts.append(f"{numbers.count(left_out)} rows left out")
    return "; ".join(filter(None, parts))


def _texts(row: Sequence[Finding]) -> Texts:
    """Return the numbers of a row; of several findings the estimates' range and their intervals' hull."""
    found = [one for one in row if one.estimate is not None]
    if len(found) == 1:
        return figures(found[0])
    if not found:
        return "", "", "", ""
    errors = [one.standard_error for one in found if one.standard_error is not None]
    estimates = sorted(one.estimate for one in found if one.estimate is not None)
    lows = [one.interval[0] for one in found if one.interval != (None, None)]
    highs = [one.interval[1] for one in found if one.interval != (None, None)]
    return (
        spread(estimates),
        f"≤{numbers.GAP}{numbers.small(max(errors))}" if errors else "",
        _outermost(lows, min, numbers.MINUS),
        _outermost(highs, max, ""),
    )


def _outermost(ends: Sequence[float | None], pick: Callable[[Sequence[float]], float], sign: str) -> str:
    if not ends:
        return ""
    known = [end for end in ends if end is not None]
    return numbers.exact(pick(known), 4) if len(known) == len(ends) else f"{sign}{_INFINITE}"
