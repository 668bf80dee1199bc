"""From an audit's record to what the templates print."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from verify.evidence import in_utc
from verify.evidence.audits import Judgement, where
from verify.evidence.words import badge, capitalised, closed, shape_of, tallies, tokens_of
from verify.report.audits.drawing import is_narrow
from verify.report.audits.lines import lines
from verify.report.audits.maps import grids, map_view, overview, overview_figure
from verify.report.audits.tables import layer_view, merged
from verify.report.audits.views import AuditView, ClaimView, IntentionView, ShapeView
from verify.text import numbers
from verify.text.latex import Prose

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Mapping, Sequence

    from verify.evidence import ClaimRecord
    from verify.evidence.audits import AuditRecord, Intention, LayerRecord
    from verify.evidence.claims import Band

_ORIGINS = {
    "given": "as the user said",
    "recorded": "as the recording says",
    "configuration": "read from the model’s configuration",
    "default": "assumed, as nobody said otherwise",
}


def audit_view(record: AuditRecord, catalogue: Mapping[str, ClaimRecord]) -> AuditView:
    """Return what the report prints about an audit; ``catalogue`` are the claims known by their ids."""
    judged = Counter(one.judgement for one in record.findings if one.decides)
    counts = {layer.id: Counter(one.judgement for one in layer.findings) for layer in record.layers}
    total = sum(counts.values(), Counter[Judgement]())
    created = in_utc(record.created)
    merge = merged(record.layers)
    outcome, tone = _outcome(judged)
    whole = overview(record)
    return AuditView(
        source=record.source,
        outcome=outcome,
        tone=tone,
        seen=_seen(record),
        decided=numbers.count(judged.total()),
        judged=tallies(judged, Judgement),
        reported=numbers.count(total[Judgement.REPORTED]),
        intentions=_intentions(record.layers),
        wrong=lines(record, Judgement.REFUTED),
        undecided=lines(record, Judgement.UNDECIDED),
        warned=lines(record, Judgement.WARNED),
        left_out=tuple(Prose(closed(text)) for text in record.left_out),
        overview=overview_figure(whole) if whole else None,
        overview_narrow=whole is not None and is_narrow(whole),
        maps=tuple(map_view(grid, narrow=is_narrow(grid)) for grid in grids(record)),
        shapes=_shapes(record.layers),
        layers=tuple(layer_view(layer, counts[layer.id], merge=merge) for layer in record.layers),
        merged=merge,
        claims=tuple(_claim(name, catalogue.get(name)) for name in _claim_ids(record)),
        budget=_budget(record),
        gates=tuple((name, _band(band)) for name, band in sorted(record.settings.gates.items())),
        false_alarm=numbers.percent(record.budget.false_alarm),
        environment=tuple(sorted(record.environment.items())),
        version=record.tool.version,
        date=f"{created.day} {created:%B %Y}",
        created=created.strftime("%Y-%m-%dT%H:%M:%SZ"),
        year=str(created.year),
        seal=record.seal,
    )


def _outcome(judged: Counter[Judgement]) -> tuple[str, str]:
    """Return in a sentence how the audit ends, and the tone of its judgement."""
    total = judged.total()
    wrong, undecided = judged[Judgement.REFUTED], judged[Judgement.UNDECIDED]
    deciding = f"the {_counted(total, 'finding')} that {'decides' if total == 1 else 'decide'}"
    if wrong:
        return f"{numbers.count(wrong)} of {deciding} {_is(wrong)} refuted.", badge(Judgement.REFUTED).tone
    if undecided:
        return (
            f"Nothing is refuted, but {numbers.count(undecided)} of {deciding} {_is(undecided)} undecided.",
            badge(Judgement.UNDECIDED).tone,
        )
    if not total:
        return "No finding was asked to decide; all are reported.", badge(Judgement.REPORTED).tone
    if judged[Judgement.CONFIRMED] == total:
        return f"{capitalised(deciding)} {_is(total)} confirmed.", badge(Judgement.CONFIRMED).tone
    return f"None of {deciding} is refuted or undecided.", badge(Judgement.WARNED).tone


def _is(count: int) -> str:
    return "is" if count == 1 else "are"


def _seen(record: AuditRecord) -> str:
    layers = len(record.layers)
    heads = sum(layer.heads for layer in record.layers)
    if not layers:
        return "No attention layer was seen."
    sequences = sorted({layer.sequences for layer in record.layers})
    tokens = (
        min(layer.tokens[0] for layer in record.layers),
        max(layer.tokens[1] for layer in record.layers),
    )
    return (
        f"{_counted(layers, 'layer')} with {_counted(heads, 'head')} in all; {_range(sequences)} "
        f"{'sequence' if sequences == [1] else 'sequences'} of {_range(tokens)} tokens."
    )


def _counted(number: int, what: str) -> str:
    return f"{numbers.count(number)} {what}{'' if number == 1 else 's'}"


def _range(ends: Sequence[int]) -> str:
    low, high = ends[0], ends[-1]
    return numbers.count(low) if low == high else f"{numbers.count(low)} to {numbers.count(high)}"


def _alike(
    layers: Sequence[LayerRecord], by: Callable[[LayerRecord], Hashable]
) -> list[tuple[LayerRecord, str]]:
    """Return a layer of each sort, with the names of all of that sort."""
    found: dict[Hashable, list[LayerRecord]] = {}
    for layer in layers:
        found.setdefault(by(layer), []).append(layer)
    return [(some[0], where({one.id: frozenset() for one in some}, layers)) for some in found.values()]


def _intentions(layers: Sequence[LayerRecord]) -> tuple[IntentionView, ...]:
    def said(layer: LayerRecord) -> tuple[object, ...]:
        meant = layer.intention
        return meant.latex, meant.expression, meant.value, meant.origin, meant.where

    sorts = _alike(layers, said)
    return tuple(_intention(layer.intention, names if len(sorts) > 1 else "") for layer, names in sorts)


def _intention(meant: Intention, names: str) -> IntentionView:
    place = f": {meant.where}" if meant.where else ""
    return IntentionView(
        formula=Prose(f"${meant.latex}$"),
        value=numbers.exact(meant.value, 6),
        origin=Prose(f"{_ORIGINS[meant.origin]}{place}"),
        where=names,
    )


def _shapes(layers: Sequence[LayerRecord]) -> tuple[ShapeView, ...]:
    def shape(layer: LayerRecord) -> tuple[object, ...]:
        return shape_of(layer), layer.sequences, layer.tokens, layer.dtype, layer.backend

    return tuple(
        ShapeView(
            where=names,
            heads=numbers.count(layer.heads)
            + (f" ({numbers.count(layer.key_heads)})" if layer.key_heads != layer.heads else ""),
            widths=numbers.count(layer.d_k)
            + (f" ({numbers.count(layer.d_v)})" if layer.d_v not in {None, layer.d_k} else ""),
            sequences=numbers.count(layer.sequences),
            tokens=tokens_of(layer),
            dtype=layer.dtype,
            backend=layer.backend or "–",
        )
        for layer, names in _alike(layers, shape)
    )


def _claim_ids(record: AuditRecord) -> tuple[str, ...]:
    found: dict[str, None] = {}
    for one in record.findings:
        found |= dict.fromkeys(filter(None, (one.claim, one.reference.claim if one.reference else None)))
    return tuple(sorted(found))


def _claim(name: str, known: ClaimRecord | None) -> ClaimView:
    if known is None:
        return ClaimView(name, Prose(), Prose(), "")
    return ClaimView(
        id=name,
        title=Prose(known.title),
        statement=Prose(known.statement),
        standing=f"derivation {badge(known.derivation.status).word}, measurement {badge(known.verdict).word}",
    )


def _budget(record: AuditRecord) -> tuple[tuple[str, str], ...]:
    shared = record.budget
    share = numbers.small(shared.false_alarm / shared.places) if shared.places else "none"
    return (
        ("false-alarm rate of the audit, at most", numbers.small(shared.false_alarm)),
        ("intervals that share it", numbers.count(shared.places)),
        ("share of one interval", share),
        ("rule", shared.rule),
    )


def _band(band: Band) -> str:
    low, high = (None if end is None else numbers.exact(end, 6) for end in band)
    if low is None or high is None:
        return f"at least {low}" if low else f"at most {high}" if high else "no bounds"
    return f"{low} to {high}"
