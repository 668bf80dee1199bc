"""What is on record of an audit: layers with their findings, and its summary in lines by cause."""

import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from enum import StrEnum
from itertools import groupby, zip_longest
from typing import Annotated, ClassVar, Literal

from pydantic import Field

from verify.evidence.claims import Band
from verify.evidence.records import Record, Sealed
from verify.evidence.runs import Tool
from verify.evidence.texts import Code, Count, Digest, Line, Many, Moment, Named, Positive, Share, Slug, Text
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
    """What an audit says of heads of a layer, of all of them where ``heads`` is empty.

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
        return heads_in_words(self.heads)


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
    """One layer of the recording: what was seen of it, what was intended, and the findings.

    ``tokens`` are the fewest and most that a sequence has; ``key_heads`` differs from ``heads`` where queries
    share keys. Of all ``rows``, of every head and sequence, ``rows_compared`` were compared with the formula,
    and ``rows_without_key`` see none, so that there is nothing to compare them with. ``declared`` has in
    words what calls declare as "mask", and what was meant as "intended mask".
    """

    id: Slug
    name: Line
    heads: Count
    key_heads: Count
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


class AuditRecord(Sealed):
    """The whole result of an audit, as ``audit.json`` holds it.

    ``left_out`` says what of the program was not seen, and why; ``unseen`` are the reasons in a word: values
    or ``output`` that were not given, ``precision`` that outputs lack, what is ``unrecorded``. ``seal`` is a
    digest of all the rest.
    """

    in_short: ClassVar[tuple[str, ...]] = ("source", "verdict")

    schema_version: Literal[3] = Field(default=3, alias="audit_schema")
    tool: Tool
    source: Line
    layers: Many[LayerRecord]
    left_out: Many[Text] = ()
    unseen: Many[Slug] = ()
    environment: Named[Line]
    created: Moment
    elapsed_s: Positive
    seal: Digest = ""

    @property
    def findings(self) -> tuple[Finding, ...]:
        """All findings, layer by layer."""
        return tuple(finding for layer in self.layers for finding in layer.findings)

    @property
    def exit_status(self) -> int:
        """1 if a finding that decides is refuted, else 3 if any is undecided or something unseen, else 0."""
        if self.verdict == Judgement.REFUTED:
            return 1
        return 3 if self.verdict == Judgement.UNDECIDED or self.unseen else 0

    @property
    def verdict(self) -> str:
        """The outcome in a word or two; in part where something was not seen that could differ."""
        deciding = {finding.judgement for finding in self.findings if finding.decides}
        for judgement in (Judgement.REFUTED, Judgement.UNDECIDED):
            if judgement in deciding:
                return str(judgement)
        return f"confirmed{' in part' if self.unseen else ''}" if deciding else "nothing decides"

    @property
    def seen(self) -> str:
        """What was compared, in words: layers, heads, calls, sequences, rows, and what was not seen."""
        names = ("heads", "calls", "sequences", "rows", "rows_compared", "rows_without_key")
        totals = [sum(getattr(layer, name) for layer in self.layers) for name in names]
        heads, calls, sequences, rows, compared, blind = totals
        of_rows = f"all {rows:,}" if compared and compared == rows else f"{compared:,} of {rows:,}"
        parts = [counted(calls, "call"), counted(sequences, "sequence"), f"{of_rows} rows compared"]
        parts += [f"{counted(blind, 'row')} without a key"] if blind else []
        unseen = f"; not seen: {', '.join(self.unseen)}" if self.unseen else ""
        return f"{counted(len(self.layers), 'layer')}, {counted(heads, 'head')}; {', '.join(parts)}{unseen}"

    @property
    def intended(self) -> tuple[str, ...]:
        """The scales and masks that were intended, each with who said so, and for which layers."""
        alike: dict[str, list[str]] = {}
        for layer in self.layers:
            meant, mask = layer.intention, layer.declared.get("intended mask", "")
            text = f"scale {meant.expression} = {meant.value:.6g}, {ORIGINS[meant.origin]}"
            text += f" ({meant.where})" if meant.where else ""
            declared = f"as declared ({layer.declared.get('mask', 'none')}), not judged without --mask"
            text += f"; mask {mask or declared}"
            alike.setdefault(text, []).append(layer.name)
        if len(alike) == 1:
            return tuple(alike)
        return tuple(f"{as_prose(together(names))}: {text}" for text, names in alike.items())

    def __str__(self) -> str:
        """Return a line for each cause of what is wrong, undecided or near a limit, then the counts."""
        return "\n".join(summary_lines(self))


_NAMED, _RUNS = 3, 5  # names, and runs of numbers, that are listed before the rest are counted


def summary_lines(record: AuditRecord) -> Iterator[str]:
    """Yield the results of an audit, a line for each cause: what is wrong first, at last the verdict."""
    every = [layer.name for layer in record.layers]
    for judgement, mark in {"refuted": "✗", "undecided": "?", "warned": "!"}.items():
        # Findings with one cause and fix are one line, else those of one kind and reason; the most go first.
        alike: dict[tuple[str, str], list[tuple[LayerRecord, Finding]]] = {}
        for layer in record.layers:
            for finding in layer.findings:
                if finding.judgement == judgement:
                    key = (finding.cause, finding.fix) if finding.cause else (finding.kind, finding.reason)
                    alike.setdefault(key, []).append((layer, finding))
        for group in sorted(alike.values(), key=lambda group: -len(group)):
            kinds = ", ".join(dict.fromkeys(finding.kind for _, finding in group))
            # Layers in which the same heads are meant stand together.
            by_heads: dict[str, dict[str, None]] = {}
            for layer, finding in group:
                by_heads.setdefault(finding.of_heads, {})[layer.name] = None
            places = [", ".join(filter(None, [together([*n], every), h])) for h, n in by_heads.items()]
            _, worst = max(group, key=lambda pair: pair[1].estimate or 0.0)
            number = "" if worst.estimate is None else f"{worst.quantity} is {worst.estimate:.4g}"
            parts = [worst.cause or number, "" if worst.cause else worst.reason, worst.fix]
            where = _listed(places, "more groups of heads", "; ")
            yield f"{mark} {where}: {kinds} {judgement}: {'; '.join(filter(None, parts))}"
    yield from (f"- not seen: {text}" for text in record.left_out)
    yield from (f"- intended: {text}" for text in record.intended)
    yield f"{record.verdict}: {record.seen}"


def together(names: Sequence[str], of: Sequence[str] = ()) -> str:
    """Return names that differ in one number as one name with a range, others as a list cut short.

    All the names ``of`` a model's layers are "all 12 layers".
    """
    if len(names) == len(of) > 1:
        return f"all {len(of)} layers"
    # Split at numbers, which are every second part.
    split = [re.split(r"(\d+)", name) for name in dict.fromkeys(names)]
    columns = list(zip_longest(*split))
    differing = [place for place, parts in enumerate(columns) if len(set(parts)) > 1]
    if len(differing) == 1 and (place := differing[0]) % 2:
        split[0][place] = _runs(map(int, columns[place]))
        return "".join(split[0])
    return _listed(list(names), "more layers", ", ")


def heads_in_words(heads: Collection[int]) -> str:
    """Return heads in words, such as "heads 0–2", nothing for none."""
    return f"{'head' if len(heads) == 1 else 'heads'} {_runs(heads)}" if heads else ""


def _runs(numbers: Iterable[int]) -> str:
    """Return whole numbers in order as runs, such as ``0–2, 5``, of which the first few are listed."""
    # Numbers of a run are as far from their places in order as each other.
    places = groupby(enumerate(sorted(set(numbers))), key=lambda pair: pair[1] - pair[0])
    parts = [[number for _, number in run] for _, run in places]
    texts = [str(run[0]) if len(run) == 1 else f"{run[0]}–{run[-1]}" for run in parts[:_RUNS]]
    left = sum(map(len, parts[_RUNS:]))
    return ", ".join(texts) + (f" and {left} more" if left else "")


def _listed(parts: list[str], rest: str, between: str) -> str:
    left = len(parts) - _NAMED
    return between.join(parts if left < 2 else parts[:_NAMED]) + (f" and {left} {rest}" if left > 1 else "")


def counted(number: int, what: str) -> str:
    """Return a count of things, such as "76,800 rows"."""
    return f"{number:,} {what}{'' if number == 1 else 's'}"
