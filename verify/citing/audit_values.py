"""The values of an audit: its counts, its layers with the scale intended, and every finding."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from verify.citing.value import DATE, DIGEST, VERSION, Figure, Value, counted, decimal, level_text, one_of
from verify.evidence.audits import Judgement
from verify.evidence.provenance import creation
from verify.evidence.words import figures, most_serious
from verify.report.citation import AUDIT
from verify.text import numbers
from verify.text.latex import plain

if TYPE_CHECKING:
    from collections.abc import Iterator

    from verify.citing.value import Text
    from verify.evidence.audits import AuditRecord, Finding, LayerRecord

_JUDGEMENTS = one_of(Judgement)
_ANYHOW = frozenset([":judgement", ":cause", ":fix", ":needed"])
"""Parts that say what is wrong, and so may be quoted of a refuted finding."""


def audit_values(record: AuditRecord, head: str | None) -> Iterator[Value]:
    """Yield an audit's values, or only those of the layer, or of the audit itself, that ``head`` names."""
    if head in {None, AUDIT}:
        yield from _whole_values(record)
    for layer in record.layers:
        if head in {None, layer.id}:
            yield from _layer_values(layer)
            for finding in layer.findings:
                yield from _finding_values(layer, finding)


def _whole_values(record: AuditRecord) -> Iterator[Value]:
    judged = Counter(one.judgement for one in record.findings)
    worst = most_serious(record.findings).value
    counts = {
        "layers": len(record.layers),
        "heads": sum(layer.heads for layer in record.layers),
        "findings": judged.total(),
        "deciding": sum(one.decides for one in record.findings),
        **{kind.value: judged[kind] for kind in Judgement},
    }
    for part in ("", ":judgement"):
        yield Value(f"{AUDIT}{part}", worst, (), "summary", record, kind=_JUDGEMENTS)
    for name, count in counts.items():
        yield Value(f"{AUDIT}:{name}", *counted(count), "summary", record)
    rate = record.settings.false_alarm
    yield Value(
        f"{AUDIT}:false-alarm", numbers.percent(rate), (Figure(decimal(100 * rate)),), "summary", record
    )
    words = {
        "source": (record.source, ""),
        "version": (record.tool.version, VERSION),
        "date": (f"{creation(record):%Y-%m-%d}", DATE),
        "digest": (record.seal, DIGEST),
    }
    for name, (text, kind) in words.items():
        if text:
            yield Value(f"{AUDIT}:{name}", text, (), "summary", record, kind=kind)


def _layer_values(layer: LayerRecord) -> Iterator[Value]:
    worst = most_serious(layer.findings).value
    for part in ("", ":judgement"):
        yield Value(f"{layer.id}{part}", worst, (), layer.id, layer, kind=_JUDGEMENTS)
    meant = layer.intention
    yield Value(f"{layer.id}:name", layer.name, (), layer.id, layer)
    yield Value(f"{layer.id}:intended", meant.expression, (), layer.id, layer)
    scale = numbers.exact(meant.value)
    yield Value(f"{layer.id}:scale", scale, (Figure(decimal(meant.value)),), layer.id, layer)
    counts = {
        "heads": layer.heads,
        "key-heads": layer.key_heads,
        "d-k": layer.d_k,
        "sequences": layer.sequences,
    }
    for name, count in counts.items():
        yield Value(f"{layer.id}:{name}", *counted(count), layer.id, layer)


def _finding_values(layer: LayerRecord, finding: Finding) -> Iterator[Value]:
    key, anchor = f"{layer.id}.{finding.id}", f"{layer.id}.{finding.name}"
    is_open = finding.judgement in {Judgement.REFUTED, Judgement.UNDECIDED}
    doubt = f"its finding is {finding.judgement}" if is_open else ""
    for part, text, shown in _texts(finding):
        if text:
            allowed = "" if part in _ANYHOW else doubt
            yield Value(f"{key}{part}", text, shown, anchor, layer, finding, doubt=allowed)
    words = [":judgement"] if finding.estimate is not None else ["", ":judgement"]
    for part in words:
        yield Value(f"{key}{part}", finding.judgement.value, (), anchor, layer, finding, kind=_JUDGEMENTS)


def _texts(finding: Finding) -> Iterator[Text]:
    if finding.estimate is not None:
        yield from _estimate_texts(finding, finding.estimate)
    if finding.reference is not None:
        value = finding.reference.value
        yield ":reference", numbers.exact(value), (Figure(decimal(value)),)
    yield ":sequences", *counted(finding.sequences)
    if finding.sequences_needed is not None:
        yield ":needed", *counted(finding.sequences_needed)
    yield ":cause", plain(finding.cause), ()
    yield ":fix", plain(finding.fix), ()


def _estimate_texts(finding: Finding, value: float) -> Iterator[Text]:
    estimate, error, low, high = figures(finding)
    centre = Figure(decimal(value))
    ends: list[tuple[str, str, Figure]] = []
    for part, text, end, way in (
        (":low", low, finding.interval[0], "down"),
        (":high", high, finding.interval[1], "up"),
    ):
        if end is not None:
            ends.append((part, text, Figure(decimal(end), "down" if way == "down" else "up")))
    if len(ends) == 2:
        both = tuple(figure for _, _, figure in ends)
        interval = f"[{low},{numbers.NO_BREAK}{high}]"
        yield "", f"{estimate} {interval}", (centre, *both)
        yield ":interval", interval, both
    else:
        yield "", estimate, (centre,)
    yield ":estimate", estimate, (centre,)
    for part, text, figure in ends:
        yield part, text, (figure,)
    if finding.standard_error:
        yield ":error", error, (Figure(decimal(finding.standard_error)),)
    if ends:
        yield ":level", *level_text(finding.level)
