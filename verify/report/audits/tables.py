"""The findings of an audit layer by layer: a row each, or in a large audit a row for heads judged alike."""

from __future__ import annotations

from typing import TYPE_CHECKING

from verify.escapes import as_prose
from verify.evidence import numbers
from verify.evidence.audits import Judgement
from verify.evidence.places import runs
from verify.report.audits.maps import SERIOUS, spread
from verify.report.audits.views import FoundGroup, FoundRow, LayerView
from verify.report.columns import aligned, found_widths
from verify.report.latex import Prose
from verify.report.words import badge, capitalised, closed, tallies

if TYPE_CHECKING:
    from collections import Counter
    from collections.abc import Callable, Iterable, Sequence

    from verify.evidence.audits import Finding, LayerRecord
    from verify.report.views import Cell

_ROWS = 600
"""So many findings at most have a row each: beyond them the pages would be a heap of numbers."""
_INFINITE = "∞"

Texts = tuple[str, str, str, str]
"""Estimate, standard error, and the interval's ends."""


def most_serious(findings: Iterable[Finding]) -> Judgement:
    """Return the most serious judgement of those that decide; if none does, they are only reported."""
    return min(
        (one.judgement for one in findings if one.decides), key=SERIOUS.index, default=Judgement.REPORTED
    )


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


def summary(layer: LayerRecord) -> str:
    """Return a layer's shape, what was seen of it, and the scale that was intended, as prose."""
    intention = layer.intention
    computed = ", ".join(filter(None, [layer.dtype, layer.backend]))
    return (
        f"{shape_of(layer)}; {numbers.count(layer.sequences)} sequences of {tokens_of(layer)} tokens; "
        f"{as_prose(computed)}; intended scale "
        f"${intention.latex}$ = {numbers.exact(intention.value, 6)}."
    )


def shape_of(layer: LayerRecord) -> str:
    """Return heads and widths, such as ``12 heads (keys 4), d_k 64``."""
    keys = f" ({numbers.count(layer.key_heads)} for keys)" if layer.key_heads != layer.heads else ""
    values = f", $d_v$ = {numbers.count(layer.d_v)}" if layer.d_v not in {None, layer.d_k} else ""
    heads = "head" if layer.heads == 1 else "heads"
    return f"{numbers.count(layer.heads)} {heads}{keys}, $d_k$ = {numbers.count(layer.d_k)}{values}"


def tokens_of(layer: LayerRecord) -> str:
    """Return how many tokens a sequence has."""
    low, high = layer.tokens
    return numbers.count(low) if low == high else f"{numbers.count(low)} to {numbers.count(high)}"


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


def figures(one: Finding) -> Texts:
    """Return the numbers of one finding, all to the digit that its error allows; an open end is infinite."""
    if one.estimate is None:
        return "", "", "", ""
    low, high = one.interval
    if low is None and high is None:
        return numbers.exact(one.estimate), "", "", ""
    ends = (one.estimate if low is None else low, one.estimate if high is None else high)
    # Without a standard error, the interval says which digits are significant.
    error = one.standard_error or ends[1] / 10 - ends[0] / 10
    shown = numbers.estimate(one.estimate, error, ends)
    return (
        shown.value + shown.times,
        shown.error + shown.times if one.standard_error else "",
        f"{numbers.MINUS}{_INFINITE}" if low is None else shown.low + shown.times,
        _INFINITE if high is None else shown.high + shown.times,
    )


def held_against(one: Finding) -> str:
    """Return the band that a finding is held against."""
    low, high = one.band or (None, None)
    if low is None and high is None:
        return ""
    if low is None or high is None:
        sign, end = ("≤", high) if low is None else ("≥", low)
        return f"{sign}{numbers.GAP}{numbers.exact(end or 0.0, 4)}"
    half = high / 2 - low / 2
    if half < 1e-3 * abs(high):
        return f"{numbers.exact(low + half)} ± {numbers.small(half)}"
    return f"{numbers.exact(low, 4)} to {numbers.exact(high, 4)}"
