"""What is wrong in an audit, one line for each cause: layers and heads that share it are named together."""

from __future__ import annotations

from typing import TYPE_CHECKING

from verify.evidence.audits import shared, where
from verify.evidence.words import badge, capitalised, closed, held_against
from verify.report.audits.maps import spread
from verify.report.audits.views import LinesView, LineView
from verify.text import numbers
from verify.text.latex import Prose

if TYPE_CHECKING:
    from verify.evidence.audits import AuditRecord, Judgement, LayerRecord, Shared

_LINES = 24
"""So many lines at most; what shares neither cause nor kind beyond them is counted."""


def lines(record: AuditRecord, judgement: Judgement) -> LinesView:
    """Return what the first page says of the findings of one judgement."""
    found = shared(record.layers, judgement)
    return LinesView(
        lines=tuple(_line(some, record.layers) for some in found[:_LINES]), more=max(len(found) - _LINES, 0)
    )


def _line(some: Shared, layers: tuple[LayerRecord, ...]) -> LineView:
    first = some.findings[0][1]
    return LineView(
        badge=badge(first.judgement),
        where=where(some.heads(), layers),
        what=Prose(capitalised(closed(_what(some)))),
        cause=Prose(closed(first.cause)),
        fix=Prose(closed(first.fix)),
        needed=_needed(some),
        link=some.link,
    )


def _what(some: Shared) -> str:
    """Return what was found: each quantity with its values, and the reason if all give the same."""
    values: dict[str, list[float]] = {}
    for _, one in some.findings:
        values.setdefault(one.quantity, []).extend([] if one.estimate is None else [one.estimate])
    parts = [
        f"{quantity}{numbers.NO_BREAK}{spread(sorted(found))}" if found else quantity
        for quantity, found in values.items()
    ]
    bands = {held_against(one) for _, one in some.findings if not one.exact}
    if len(bands) == 1 and (band := bands.pop()):
        parts[-1] += f", held against {band}"
    reasons = {one.reason for _, one in some.findings if one.reason}
    reason = reasons.pop() if len(reasons) == 1 else ""
    return f"{reason} ({'; '.join(parts)})" if reason else "; ".join(parts)


def _needed(some: Shared) -> str:
    worst = max((one for _, one in some.findings), key=lambda one: one.sequences_needed or 0)
    if worst.sequences_needed is None:
        return ""
    needed, has = numbers.count(worst.sequences_needed), max(one.sequences for _, one in some.findings)
    return f"It would take {worst.needed_bound} {needed} sequences; there are {numbers.count(has)}."
