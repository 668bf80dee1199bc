"""What the page prints of an audit: the verdict with its causes, what was intended, and a row for layers."""

from collections.abc import Hashable, Iterator, Sequence
from decimal import ROUND_HALF_UP
from typing import Any

from verify.evidence.audits import AuditRecord, Judgement, LayerRecord, measured, shared, together, where
from verify.evidence.words import badge, capitalised, closed, most_serious, shape_of
from verify.text import numbers
from verify.text.latex import Prose

_LINES = 24  # lines of a judgement at most
_KINDS = ("scale", "formula", "mask", "overflow", "rows-without-keys")
_OUTCOMES = {
    "refuted": "Refuted: this attention is not what it was meant to be.",
    "undecided": "Undecided: nothing is refuted, but not everything could be decided.",
    "confirmed": "Confirmed: this attention is what it was meant to be.",
    "confirmed in part": "Confirmed, as far as it was seen: this attention is what it was meant to be.",
}


def audit_report(record: AuditRecord) -> dict[str, Any]:
    """Return what the page prints about an audit, by the names that its template has for it."""
    kinds = [kind for kind in _KINDS if any(finding.kind == kind for finding in record.findings)]
    scores = next(([summary.name for summary in layer.scores] for layer in record.layers if layer.scores), [])
    # Layers of one shape that are judged alike share a row.
    alike: dict[Hashable, list[LayerRecord]] = {}
    for layer in record.layers:
        judged = tuple((finding.kind, finding.judgement) for finding in layer.findings)
        alike.setdefault((shape_of(layer), judged), []).append(layer)
    names = [layer.name for layer in record.layers]
    tone = "fair" if record.verdict == "confirmed in part" else badge(most_serious(record.findings)).tone
    notes = dict.fromkeys(note for layer in record.layers for note in layer.notes)
    return {
        "record": record,
        "outcome": (_OUTCOMES.get(record.verdict, "Nothing could be judged."), tone),
        "lines": list(_lines(record)),
        "left_out": [*map(_sentence, record.left_out)],
        "intended": [*map(_sentence, record.intended)],
        "columns": [kind.replace("-", " ") for kind in kinds],
        "scores": scores,
        "layers": [
            {
                "ids": [layer.id for layer in layers],
                "names": together([layer.name for layer in layers], names),
                "shape": Prose(shape_of(layers[0])),
                "cells": [_worst(layers, kind) for kind in kinds],
                "scores": [_medians(layers, name) for name in scores],
            }
            for layers in alike.values()
        ],
        "notes": [*map(_sentence, notes)],
    }


def _lines(record: AuditRecord) -> Iterator[dict[str, Any]]:
    """Yield what is wrong, undecided or near a limit, in a line for all layers and heads that share it."""
    for judgement in (Judgement.REFUTED, Judgement.UNDECIDED, Judgement.WARNED):
        for group in shared(record.layers, judgement)[:_LINES]:
            _, worst = max(group, key=lambda pair: pair[1].estimate or 0.0)
            texts = "; ".join(part for part in (worst.reason, measured(worst)) if part)
            yield {
                "badge": badge(judgement),
                "where": where(group, record.layers) if len(record.layers) > 1 or worst.heads else "",
                "link": group[0][0].id,
                "cause": _sentence(worst.cause or worst.reason or texts),
                "fix": _sentence(worst.fix),
                "what": _sentence(texts if worst.cause else measured(worst)),
            }


def _sentence(text: str) -> Prose:
    """Return a sentence, in which d_k is set as a formula."""
    return Prose(capitalised(closed(text)).replace("d_k", "$d_k$") if text else "")


def _worst(layers: Sequence[LayerRecord], kind: str) -> tuple[Any, str] | None:
    """Return the most serious badge of a kind of finding, with the number that is farthest off."""
    findings = [finding for layer in layers for finding in layer.findings if finding.kind == kind]
    values = [finding.estimate for finding in findings if finding.estimate is not None]
    mark = badge(most_serious(findings))
    if not values:
        return (mark, mark.word) if findings else None
    worst = max(values, key=lambda value: abs(value - (kind == "scale")))
    return mark, "< 0.001" if 0 < worst < 1e-3 else numbers.exact(worst, 3, ROUND_HALF_UP)


def _medians(layers: Sequence[LayerRecord], name: str) -> str:
    """Return the range of the layers' medians of what describes scores."""
    medians = sorted(x.median for layer in layers for x in layer.scores if x.name == name)
    ends = dict.fromkeys(numbers.exact(end, 3) for end in (*medians[:1], *medians[-1:]))
    return " to ".join(ends) or "–"
