"""What the page prints of an audit: its lines, and a row for layers that are alike."""

from collections.abc import Hashable
from decimal import ROUND_HALF_UP
from typing import Any, NamedTuple

from verify.evidence.audits import AuditRecord, LayerRecord, summary_lines, together
from verify.evidence.words import badge, most_serious, shape_of
from verify.text import numbers
from verify.text.latex import Prose

_KINDS = ("scale", "formula", "mask", "overflow", "rows-without-keys")


class Audit(NamedTuple):
    """An audit as its page prints it: its lines but the last, which is the verdict, and the layers.

    ``columns`` are kinds of findings, then what describes scores; a row has names, shape and cells for both.
    """

    record: AuditRecord
    lines: tuple[str, ...]
    verdict: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, Prose, tuple[Any, ...], tuple[str, ...]], ...]
    notes: tuple[str, ...]


def audit_report(record: AuditRecord) -> Audit:
    """Return what the page prints about an audit."""
    *lines, verdict = summary_lines(record)
    kinds = [kind for kind in _KINDS if any(finding.kind == kind for finding in record.findings)]
    scores = list(dict.fromkeys(summary.name for layer in record.layers for summary in layer.scores))
    # Layers of one shape that are judged alike share a row.
    alike: dict[Hashable, list[LayerRecord]] = {}
    for layer in record.layers:
        judged = tuple((finding.kind, finding.judgement) for finding in layer.findings)
        alike.setdefault((shape_of(layer), judged), []).append(layer)
    every, rows = [layer.name for layer in record.layers], []
    for layers in alike.values():
        cells: list[tuple[Any, str] | None] = []
        for kind in kinds:
            # The most serious badge, with the number that is farthest off.
            findings = [finding for layer in layers for finding in layer.findings if finding.kind == kind]
            values = [finding.estimate for finding in findings if finding.estimate is not None]
            mark = badge(most_serious(findings))
            worst = max(values, key=lambda value: abs(value - (kind == "scale")), default=None)
            text = mark.word if worst is None else numbers.exact(worst, 3, ROUND_HALF_UP)
            text = "< 0.001" if worst is not None and 0 < worst < 1e-3 else text
            cells.append((mark, text) if findings else None)
        medians = []
        for name in scores:
            of_layers = sorted(x.median for layer in layers for x in layer.scores if x.name == name)
            ends = dict.fromkeys(numbers.exact(end, 3) for end in (*of_layers[:1], *of_layers[-1:]))
            medians.append(" to ".join(ends) or "–")
        names = together([layer.name for layer in layers], every)
        rows.append((names, Prose(shape_of(layers[0])), tuple(cells), tuple(medians)))
    columns = tuple(kind.replace("-", " ") for kind in (*kinds, *scores))
    notes = dict.fromkeys(note for layer in record.layers for note in layer.notes)
    return Audit(record, tuple(lines), verdict, columns, tuple(rows), tuple(notes))
