"""What is on record of an audit: layers with their findings, and its summary in lines by cause."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Annotated, ClassVar, Literal

from pydantic import Field

from verify.evidence.claims import Band
from verify.evidence.records import Record, Sealed, by_id
from verify.evidence.runs import Tool
from verify.evidence.texts import (
    Code,
    Count,
    Digest,
    Line,
    Many,
    Moment,
    Named,
    Positive,
    Share,
    Slug,
    Text,
)
from verify.text.escapes import as_prose

Origin = Literal["given", "recorded", "configuration", "default", "unknown"]
"""Where the intended scale comes from: the user, the recording, the model's configuration, or 1/√d_k."""

ORIGINS = {
    "given": "given by the user",
    "recorded": "from the recording",
    "configuration": "read from the model’s configuration",
    "default": "assumed, as none was given",
    "unknown": "not known, as queries or keys may have been scaled before the call",
}

Heads = Annotated[int, Field(ge=0, le=10_000)]
"""A number of heads; maps have a cell for each, so there is an end to them."""

RESERVED = frozenset(["audit"])
"""What keys of citations start with that are no layer's."""


class Judgement(StrEnum):
    """What an audit says of a finding.

    Reported: there was nothing to judge it by. Warned: near a limit, which does not fail the audit.
    """

    CONFIRMED = "confirmed"
    REFUTED = "refuted"
    UNDECIDED = "undecided"
    WARNED = "warned"
    REPORTED = "reported"


class Finding(Record):
    """What is found of some heads of a layer, all of them where ``heads`` is empty.

    ``kind`` is formula, scale, mask, overflow or rows-without-keys. ``estimate`` is that of the worst head,
    None where there is nothing to estimate, and then so are error and interval, at ``level``; an open end is
    None. ``band`` is what the finding is compared with, None where nothing could be. ``cause`` names what
    would explain a refuted finding and ``fix`` what to change, both empty where nothing is known.
    ``sequences`` counts those that it is of.
    """

    id: Slug
    kind: Slug
    heads: Many[Count] = ()
    quantity: Text
    estimate: float | None = None
    standard_error: Positive | None = None
    interval: Annotated[tuple[float | None, float | None], Field()] = (None, None)
    level: Share = 1.0
    band: Band | None = None
    judgement: Judgement
    reason: Text = ""
    cause: Text = ""
    fix: Text = ""
    sequences: Count

    @property
    def decides(self) -> bool:
        """Whether it counts for the exit status."""
        return self.judgement is not Judgement.REPORTED

    @property
    def of_heads(self) -> str:
        """The heads in words, such as "heads 0–2", empty for all."""
        return f"{'head' if len(self.heads) == 1 else 'heads'} {runs(self.heads)}" if self.heads else ""


class ScoreSummary(Record):
    """A number that describes scores: its median over the sequences of a layer, reported and never judged.

    The interval is between order statistics, at 95% or more, and None for fewer than six sequences.
    """

    name: Line
    median: float
    low: float | None = None
    high: float | None = None


class Intention(Record):
    """The scale that was intended: the expression in d, h, D and n, its value, and who said so."""

    expression: Code
    value: float
    origin: Origin
    where: Text = ""


class LayerRecord(Record):
    """One layer of the recording: what was seen of it, what was intended, and what was found.

    ``tokens`` are the fewest and most that a sequence has; ``key_heads`` differs from ``heads`` where queries
    share keys. Of all ``rows``, of every head and sequence, ``rows_compared`` were compared with the formula,
    and ``rows_without_key`` see none, so that there is nothing to hold them against. ``declared`` has in
    words what calls declare as "mask", and what was meant as "intended mask".
    """

    id: Slug
    name: Line
    heads: Heads
    key_heads: Heads
    d_k: Count
    d_v: Count | None
    calls: Count = 0
    sequences: Count
    tokens: tuple[Count, Count]
    rows: Count = 0
    rows_compared: Count = 0
    rows_without_key: Count = 0
    dtype: Line
    backend: Line = ""
    declared: Named[Line] = Field(default_factory=dict)
    intention: Intention
    findings: Many[Finding]
    scores: Many[ScoreSummary] = ()
    notes: Many[Text] = ()

    def finding(self, name: str) -> Finding:
        """Return the finding of this id.

        Raises:
            ClaimError: the layer has no such finding; the nearest one is suggested.
        """
        return by_id(self.findings, name, f"layer {self.id}: ", "finding")


UNSEEN = ("calls", "output", "precision", "unrecorded")
"""What an audit may not have seen: calls left out, values or outputs, what is below the precision that
outputs have, what could not be recorded."""


class AuditSettings(Record):
    """What was asked of the audit: the options that results depend on.

    ``mask`` is the one that was intended, and ``allow_unseen`` are reasons of `UNSEEN` that are accepted.
    """

    intended: Code | None = None
    mask: Line = ""
    allow_unseen: Many[Slug] = ()


class AuditRecord(Sealed):
    """Everything that an audit found; what ``audit.json`` holds.

    ``left_out`` says what of the program was not seen, and why; ``unseen`` are the reasons of `UNSEEN` among
    them that could hide a fault and were not allowed. ``seal`` is a digest of all the rest.
    """

    in_short: ClassVar[tuple[str, ...]] = ("source", "verdict")

    schema_version: Literal[3] = Field(default=3, alias="audit_schema")
    tool: Tool
    settings: AuditSettings
    source: Line
    layers: Many[LayerRecord]
    left_out: Many[Text] = ()
    unseen: Many[Slug] = ()
    environment: Named[Line]
    created: Moment
    elapsed_s: Positive
    seal: Digest = ""

    def layer(self, name: str) -> LayerRecord:
        """Return the record of the layer of this id.

        Raises:
            ClaimError: the audit has no such layer; the nearest one is suggested.
        """
        return by_id(self.layers, name, "this audit: ", "layer")

    @property
    def findings(self) -> tuple[Finding, ...]:
        """All findings, layer by layer."""
        return tuple(one for layer in self.layers for one in layer.findings)

    @property
    def _deciding(self) -> set[Judgement]:
        return {finding.judgement for finding in self.findings if finding.decides}

    @property
    def exit_status(self) -> int:
        """1 if a finding that decides is refuted, else 3 if one is undecided or unseen, else 0."""
        if Judgement.REFUTED in self._deciding:
            return 1
        return 3 if Judgement.UNDECIDED in self._deciding or self.unseen else 0

    @property
    def verdict(self) -> str:
        """The outcome in a word or two; in part where something was not seen that could differ."""
        for judgement in (Judgement.REFUTED, Judgement.UNDECIDED):
            if judgement in self._deciding:
                return str(judgement)
        return f"confirmed{' in part' if self.unseen else ''}" if self._deciding else "nothing decides"

    @property
    def looked_at(self) -> str:
        """What was compared, in words: calls, sequences, rows, and what was not seen."""
        calls, sequences, rows, compared, blind = (
            sum(getattr(layer, name) for layer in self.layers)
            for name in ("calls", "sequences", "rows", "rows_compared", "rows_without_key")
        )
        whole = compared and compared == rows
        parts = [counted(calls, "call"), counted(sequences, "sequence")]
        parts.append(f"all {rows:,} rows compared" if whole else f"{compared:,} of {rows:,} rows compared")
        parts += [f"{counted(blind, 'row')} without a key"] if blind else []
        return ", ".join(parts) + (f"; not seen: {', '.join(self.unseen)}" if self.unseen else "")

    @property
    def intended(self) -> tuple[str, ...]:
        """The scales and masks that were intended, each with who said so, and for which layers."""
        alike: dict[str, list[str]] = {}
        for layer in self.layers:
            meant, mask = layer.intention, layer.declared.get("intended mask", "")
            said = f"scale {meant.expression} = {meant.value:.6g}, {ORIGINS[meant.origin]}"
            said += f" ({meant.where})" if meant.where else ""
            said += f"; mask {mask}" if mask else f"; mask as declared ({layer.declared.get('mask', 'none')})"
            alike.setdefault(said, []).append(layer.name)
        if len(alike) == 1:
            return tuple(alike)
        return tuple(f"{as_prose(together(names))}: {said}" for said, names in alike.items())

    def __str__(self) -> str:
        """Return one line a cause of what is wrong, undecided or near a limit, and at last the counts."""
        return "\n".join(summary_lines(self))


_NAMED = 3  # layers or runs of numbers that are listed before the rest are counted
_RUNS = 5
_NUMBER = re.compile(r"(\d+)")


def where(heads: Mapping[str, frozenset[int]], layers: Sequence[LayerRecord]) -> str:
    """Return in words the ``heads`` of an audit's ``layers``: ``decoder.layers.0–11.self_attn, all 8 heads``.

    ``heads`` are numbers by the id of their layer; an empty set stands for the layer as a whole.
    """
    alike: dict[str, list[str]] = {}
    for layer in layers:
        if layer.id in heads:
            alike.setdefault(_heads(heads[layer.id], layer.heads), []).append(layer.name)
    names = [layer.name for layer in layers]
    parts = [", ".join(filter(None, [_layers(some, names), which])) for which, some in alike.items()]
    return _listed(parts, "more groups of heads", "; ")


def together(names: Sequence[str]) -> str:
    """Return names that differ in one number as one name with a range, others as a list cut short."""
    pattern = common(names)
    if pattern is None:
        return _listed(list(names), "more layers", ", ")
    before, after = pattern
    found = (int(name[len(before) : len(name) - len(after)]) for name in names)
    return f"{before}{runs(found)}{after}"


def common(names: Sequence[str]) -> tuple[str, str] | None:
    """Return what names have before and after the one number in which they differ, None if they do not."""
    split = [_NUMBER.split(name) for name in dict.fromkeys(names)]
    if len(split) < 2 or len({len(one) for one in split}) > 1:
        return None
    differing = [place for place, parts in enumerate(zip(*split, strict=True)) if len(set(parts)) > 1]
    if len(differing) != 1 or differing[0] % 2 == 0:
        return None
    (place,) = differing
    return "".join(split[0][:place]), "".join(split[0][place + 1 :])


def runs(found: Iterable[int]) -> str:
    """Return whole numbers in order as runs, such as ``0–2, 5``, of which the first few are listed."""
    parts: list[list[int]] = []
    for one in sorted(set(found)):
        if parts and one == parts[-1][-1] + 1:
            parts[-1].append(one)
        else:
            parts.append([one])
    texts = [str(run[0]) if len(run) == 1 else f"{run[0]}–{run[-1]}" for run in parts[:_RUNS]]
    left = sum(map(len, parts[_RUNS:]))
    return ", ".join(texts) + (f" and {left} more" if left else "")


def _heads(some: frozenset[int], count: int) -> str:
    if not some:
        return ""
    if len(some) == count:
        return "" if count == 1 else "both heads" if count == 2 else f"all {count} heads"
    return f"{'head' if len(some) == 1 else 'heads'} {runs(some)}"


def _layers(some: Sequence[str], of: Sequence[str]) -> str:
    if len(some) == len(of) > 1:
        return f"all {len(of)} layers"
    return together(some)


def _listed(parts: list[str], rest: str, between: str) -> str:
    left = len(parts) - _NAMED
    if left < 2:
        return between.join(parts)
    return f"{between.join(parts[:_NAMED])} and {left} {rest}"


_MARKS = {"refuted": "✗", "undecided": "?", "warned": "!"}


@dataclass(slots=True)
class Shared:
    """Findings with one judgement and one cause, or where none is known of one kind."""

    findings: list[tuple[str, Finding]] = field(default_factory=list)

    @property
    def link(self) -> str:
        """The id of the first layer."""
        return self.findings[0][0]

    def heads(self) -> dict[str, frozenset[int]]:
        """Return the heads by layer; none stand for all."""
        by_layer: dict[str, frozenset[int]] = {}
        for layer, finding in self.findings:
            by_layer[layer] = by_layer.get(layer, frozenset()) | frozenset(finding.heads)
        return by_layer


def shared(layers: Sequence[LayerRecord], judgement: str) -> tuple[Shared, ...]:
    """Return the findings of one judgement on layers, those with the same cause and fix together.

    Those on most layers come first.
    """
    alike: dict[tuple[str, ...], Shared] = {}
    for layer in layers:
        for finding in layer.findings:
            if finding.judgement == judgement:
                key = (finding.cause, finding.fix) if finding.cause else (finding.kind, finding.reason)
                alike.setdefault(key, Shared()).findings.append((layer.id, finding))
    return tuple(sorted(alike.values(), key=lambda some: -len(some.findings)))


def summary_lines(record: AuditRecord) -> Iterator[str]:
    """Yield what an audit found, a line for each cause: what is wrong first, at last the verdict."""
    layers = record.layers
    for judgement, mark in _MARKS.items():
        for some in shared(layers, judgement):
            names = ", ".join(dict.fromkeys(finding.kind for _, finding in some.findings))
            _, worst = max(some.findings, key=lambda pair: pair[1].estimate or 0.0)
            parts = [worst.cause or measured(worst), "" if worst.cause else worst.reason, worst.fix]
            said = "; ".join(part for part in parts if part)
            yield f"{mark} {where(some.heads(), layers)}: {names} {judgement}: {said}"
    yield from (f"- not seen: {text}" for text in record.left_out)
    yield from (f"- intended: {text}" for text in record.intended)
    heads = sum(layer.heads for layer in layers)
    yield f"{record.verdict}: {counted(len(layers), 'layer')}, {counted(heads, 'head')}; {record.looked_at}"


def measured(finding: Finding) -> str:
    """Return what was found in numbers: the estimate, its interval, and what it is compared with."""
    if finding.estimate is None:
        return ""
    low, high = finding.interval
    text = f"{finding.quantity} is {finding.estimate:.4g}"
    text += f", interval {_range(low, high)}" if (low, high) != (None, None) else ""
    return text + (f", asked for {_range(*finding.band)}" if finding.band else "")


def _range(low: float | None, high: float | None) -> str:
    """Return a range in words where one end is open, and as one number where both ends print alike."""
    if low is None or high is None:
        end, word = (high, "at most") if low is None else (low, "at least")
        return "anything" if end is None else f"{word} {end:.4g}"
    return "..".join(dict.fromkeys(f"{end:.4g}" for end in (low, high)))


def counted(number: int, what: str) -> str:
    """Return a count of things, such as "76,800 rows"."""
    return f"{number:,} {what}{'' if number == 1 else 's'}"
