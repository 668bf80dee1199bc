"""What is wrong in an audit, one line for each cause: layers and heads that share it are named together."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from verify.report import numbers
from verify.report.audits.maps import spread
from verify.report.audits.places import where
from verify.report.audits.views import LinesView, LineView
from verify.report.latex import Prose
from verify.report.words import badge, capitalised, closed

if TYPE_CHECKING:
    from verify.evidence.audits import AuditRecord, Finding, Judgement, LayerRecord

_LINES = 24
"""So many lines at most; what shares neither cause nor kind beyond them is counted."""


@dataclass(slots=True)
class Shared:
    """Findings with one judgement and one cause, or where none is known of one name."""

    link: str
    findings: list[tuple[str, Finding]] = field(default_factory=list)

    def heads(self) -> dict[str, frozenset[int]]:
        """Return the heads by layer; a finding on the layer as a whole counts as one on all its heads."""
        found: dict[str, set[int]] = {}
        for layer, one in self.findings:
            found.setdefault(layer, set()).update(() if one.head is None else (one.head,))
        return {layer: frozenset(heads) for layer, heads in found.items()}


def shared(record: AuditRecord, judgement: Judgement) -> tuple[Shared, ...]:
    """Return an audit's findings of one judgement, those with the same cause and fix together.

    Those that decide the exit status come first, then those on most layers and heads.
    """
    found: dict[tuple[str, ...], Shared] = {}
    for layer in record.layers:
        for one in layer.findings:
            if one.judgement is judgement:
                name = () if one.cause else (one.name,)
                key = (one.cause, one.fix, *name)
                link = f"{layer.id}.{one.name}"
                found.setdefault(key, Shared(link)).findings.append((layer.id, one))
    decisive = sorted(
        found.values(),
        key=lambda some: (not any(one.decides for _, one in some.findings), -len(some.findings)),
    )
    return tuple(decisive)


def lines(record: AuditRecord, judgement: Judgement) -> LinesView:
    """Return what the first page says of the findings of one judgement."""
    found = shared(record, judgement)
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
    reasons = {one.reason for _, one in some.findings if one.reason}
    reason = reasons.pop() if len(reasons) == 1 else ""
    return f"{reason} ({'; '.join(parts)})" if reason else "; ".join(parts)


def _needed(some: Shared) -> str:
    needed = max((one.sequences_needed or 0 for _, one in some.findings), default=0)
    if not needed:
        return ""
    has = max(one.sequences for _, one in some.findings)
    return f"It would take about {numbers.count(needed)} sequences; there are {numbers.count(has)}."
