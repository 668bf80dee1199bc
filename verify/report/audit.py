"""What the page prints of an audit: the verdict with its causes, what was intended, and a row for layers."""

from collections.abc import Hashable, Sequence
from decimal import ROUND_HALF_UP
from typing import NamedTuple

from verify.evidence.audits import AuditRecord, Judgement, LayerRecord, measured, shared, together, where
from verify.evidence.words import Badge, badge, capitalised, closed, most_serious, shape_of
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


class FindingLine(NamedTuple):
    """What is wrong, near a limit or undecided, in one line for all layers and heads that share it."""

    badge: Badge
    where: str
    link: str
    cause: Prose
    fix: Prose
    what: Prose


class LayerRow(NamedTuple):
    """Layers of one shape that are judged alike: the worst number of each kind, and ranges of the medians."""

    ids: tuple[str, ...]
    names: str
    shape: Prose
    cells: tuple[tuple[Badge, str] | None, ...]
    scores: tuple[str, ...]


class Audit(NamedTuple):
    """An audit as its page prints it; ``outcome`` is the verdict in a sentence, and its tone."""

    record: AuditRecord
    outcome: tuple[str, str]
    lines: tuple[FindingLine, ...]
    left_out: tuple[Prose, ...]
    intended: tuple[Prose, ...]
    columns: tuple[str, ...]
    scores: tuple[str, ...]
    layers: tuple[LayerRow, ...]
    notes: tuple[Prose, ...]


def audit_report(record: AuditRecord) -> Audit:
    """Return what the page prints about an audit."""
    lines = []
    for judgement in (Judgement.REFUTED, Judgement.UNDECIDED, Judgement.WARNED):
        for group in shared(record.layers, judgement)[:_LINES]:
            _, worst = max(group, key=lambda pair: pair[1].estimate or 0.0)
            texts = "; ".join(part for part in (worst.reason, measured(worst)) if part)
            lines.append(
                FindingLine(
                    badge=badge(judgement),
                    where=where(group, record.layers) if len(record.layers) > 1 or worst.heads else "",
                    link=group[0][0].id,
                    cause=_sentence(worst.cause or worst.reason or texts),
                    fix=_sentence(worst.fix),
                    what=_sentence(texts if worst.cause else measured(worst)),
                )
            )
    kinds = [kind for kind in _KINDS if any(finding.kind == kind for finding in record.findings)]
    scores = tuple(summary.name for summary in next((x.scores for x in record.layers if x.scores), ()))
    alike: dict[Hashable, list[LayerRecord]] = {}
    for layer in record.layers:
        judged = tuple((finding.kind, finding.judgement) for finding in layer.findings)
        alike.setdefault((shape_of(layer), judged), []).append(layer)
    notes = dict.fromkeys(note for layer in record.layers for note in layer.notes)
    tone = "fair" if record.verdict == "confirmed in part" else badge(most_serious(record.findings)).tone
    return Audit(
        record=record,
        outcome=(_OUTCOMES.get(record.verdict, "Nothing could be judged."), tone),
        lines=tuple(lines),
        left_out=tuple(map(_sentence, record.left_out)),
        intended=tuple(map(_sentence, record.intended)),
        columns=tuple(kind.replace("-", " ") for kind in kinds),
        scores=scores,
        layers=tuple(_row(layers, kinds, scores, record) for layers in alike.values()),
        notes=tuple(map(_sentence, notes)),
    )


def _sentence(text: str) -> Prose:
    """Return a sentence, in which d_k is set as a formula."""
    return Prose(capitalised(closed(text)).replace("d_k", "$d_k$") if text else "")


def _row(
    layers: Sequence[LayerRecord], kinds: Sequence[str], scores: Sequence[str], record: AuditRecord
) -> LayerRow:
    cells: list[tuple[Badge, str] | None] = []
    for kind in kinds:
        findings = [finding for layer in layers for finding in layer.findings if finding.kind == kind]
        values = [finding.estimate for finding in findings if finding.estimate is not None]
        worst = max(values, key=lambda value: abs(value - (kind == "scale")), default=None)
        text = ""
        if worst is not None:
            text = "< 0.001" if 0 < worst < 1e-3 else numbers.exact(worst, 3, ROUND_HALF_UP)
        mark = badge(most_serious(findings))
        cells.append((mark, text or mark.word) if findings else None)
    medians = [
        sorted(summary.median for layer in layers for summary in layer.scores if summary.name == name)
        for name in scores
    ]
    ranges = [dict.fromkeys(numbers.exact(end, 3) for end in (*ends[:1], *ends[-1:])) for ends in medians]
    return LayerRow(
        ids=tuple(layer.id for layer in layers),
        names=together([layer.name for layer in layers], [layer.name for layer in record.layers]),
        shape=Prose(shape_of(layers[0])),
        cells=tuple(cells),
        scores=tuple(" to ".join(ends) or "–" for ends in ranges),
    )
