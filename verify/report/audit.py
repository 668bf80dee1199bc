"""What the page prints of an audit: the verdict with its causes, what was intended, and a row for layers."""

from collections.abc import Hashable, Sequence
from decimal import ROUND_HALF_UP
from typing import NamedTuple

from verify.evidence.audits import (
    AuditRecord,
    Finding,
    Judgement,
    LayerRecord,
    counted,
    measured,
    shared,
    where,
)
from verify.evidence.words import Badge, badge, capitalised, closed, most_serious, shape_of
from verify.text import numbers
from verify.text.latex import Prose

_LINES = 24  # lines of a judgement at most
_KINDS = ("scale", "formula", "mask", "overflow", "rows-without-keys")


class FindingLine(NamedTuple):
    """What is wrong, near a limit or undecided, in one line for all layers and heads that share it."""

    badge: Badge
    where: str
    link: str
    cause: Prose
    fix: Prose
    what: Prose


class FoundCell(NamedTuple):
    """What was found of one kind in some layers: the worst number with its badge."""

    badge: Badge
    text: Prose


class LayerRow(NamedTuple):
    """Layers of one shape that are judged alike; ``ids`` are theirs, and ``scores`` the medians' ranges."""

    ids: tuple[str, ...]
    names: str
    shape: Prose
    cells: tuple[FoundCell | None, ...]
    scores: tuple[str, ...]


class Audit(NamedTuple):
    """An audit as its page prints it."""

    record: AuditRecord
    lines: tuple[FindingLine, ...]
    left_out: tuple[Prose, ...]
    intended: tuple[Prose, ...]
    columns: tuple[str, ...]
    scores: tuple[str, ...]
    layers: tuple[LayerRow, ...]
    notes: tuple[Prose, ...]

    @property
    def outcome(self) -> tuple[str, str]:
        """The verdict in a sentence, and its tone."""
        record = self.record
        tone = badge(most_serious(record.findings)).tone
        if record.verdict.startswith("confirmed"):
            partly = ", as far as it was seen" if record.unseen else ""
            return (
                f"Confirmed{partly}: this attention is what it was meant to be.",
                "fair" if partly else tone,
            )
        sentences = {
            "refuted": "Refuted: this attention is not what it was meant to be.",
            "undecided": "Undecided: nothing is refuted, and not everything could be told.",
        }
        return sentences.get(record.verdict, "Nothing could be judged."), tone

    @property
    def seen(self) -> str:
        """What was seen of the program, in a sentence."""
        layers = self.record.layers
        heads = sum(layer.heads for layer in layers)
        return f"{counted(len(layers), 'layer')}, {counted(heads, 'head')}; {self.record.looked_at}."


def audit_report(record: AuditRecord) -> Audit:
    """Return what the page prints about an audit."""
    lines = [
        _line(record, some.findings, some.link, where(some.heads(), record.layers))
        for judgement in (Judgement.REFUTED, Judgement.UNDECIDED, Judgement.WARNED)
        for some in shared(record.layers, judgement)[:_LINES]
    ]
    kinds = [kind for kind in _KINDS if any(finding.kind == kind for finding in record.findings)]
    alike: dict[Hashable, list[LayerRecord]] = {}
    for layer in record.layers:
        judged = tuple((finding.kind, finding.judgement) for finding in layer.findings)
        alike.setdefault((shape_of(layer), judged), []).append(layer)
    scores = tuple(summary.name for summary in next((x.scores for x in record.layers if x.scores), ()))
    return Audit(
        record=record,
        lines=tuple(lines),
        left_out=tuple(Prose(capitalised(closed(text))) for text in record.left_out),
        intended=tuple(Prose(capitalised(closed(text))) for text in record.intended),
        columns=tuple(kind.replace("-", " ") for kind in kinds),
        scores=scores,
        layers=tuple(_row(some, kinds, scores, record.layers) for some in alike.values()),
        notes=tuple(Prose(closed(text)) for text in dict.fromkeys(n for x in record.layers for n in x.notes)),
    )


def _line(record: AuditRecord, findings: Sequence[tuple[str, Finding]], link: str, place: str) -> FindingLine:
    _, worst = max(findings, key=lambda pair: pair[1].estimate or 0.0)
    said = "; ".join(part for part in (worst.reason, measured(worst)) if part)
    return FindingLine(
        badge=badge(worst.judgement),
        where=place if len(record.layers) > 1 or worst.heads else "",
        link=link,
        cause=_prose(worst.cause or worst.reason or said),
        fix=_prose(worst.fix),
        what=_prose(said if worst.cause else measured(worst)),
    )


def _prose(text: str) -> Prose:
    """Return a sentence, in which d_k is set as a formula."""
    return Prose(capitalised(closed(text)).replace("d_k", "$d_k$") if text else "")


def _row(
    layers: Sequence[LayerRecord], kinds: Sequence[str], scores: Sequence[str], all_: Sequence[LayerRecord]
) -> LayerRow:
    cells: list[FoundCell | None] = []
    for kind in kinds:
        found = [finding for layer in layers for finding in layer.findings if finding.kind == kind]
        values = [finding.estimate for finding in found if finding.estimate is not None]
        worst = max(values, key=lambda value: abs(value - (kind == "scale")), default=None)
        text = (
            "" if worst is None else "< 0.001" if 0 < worst < 1e-3 else numbers.exact(worst, 3, ROUND_HALF_UP)
        )
        cells.append(FoundCell(badge(most_serious(found)), Prose(text)) if found else None)
    medians = [
        sorted(summary.median for layer in layers for summary in layer.scores if summary.name == name)
        for name in scores
    ]
    return LayerRow(
        ids=tuple(layer.id for layer in layers),
        names=where({layer.id: frozenset() for layer in layers}, all_),
        shape=Prose(shape_of(layers[0])),
        cells=tuple(cells),
        scores=tuple(
            " to ".join(dict.fromkeys(numbers.exact(end, 3) for end in (ends[0], ends[-1]))) if ends else "–"
            for ends in medians
        ),
    )
