"""What a document may quote: each value of a run or an audit, with its permanent key, text and figures."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import TYPE_CHECKING

from verify.citing.figures import DATES
from verify.evidence import (
    PROFILES,
    Check,
    ClaimRecord,
    Control,
    Fact,
    Outcome,
    Proof,
    RunRecord,
    Statement,
    Verdict,
)
from verify.evidence.audits import AuditRecord, Finding, Judgement, LayerRecord
from verify.evidence.provenance import creation, digest
from verify.evidence.words import figures, most_serious
from verify.text import numbers
from verify.text.latex import plain

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from verify.citing.figures import Rounding

AUDIT, RUN, SOURCE = "audit", "run", "source"
"""The keys of an audit and of a run as a whole, and what those of statements start with."""

Evidence = RunRecord | AuditRecord
Subject = ClaimRecord | LayerRecord | AuditRecord | RunRecord | Statement
Part = Check | Control | Fact | Finding

DIGEST, DATE, VERSION = "[0-9a-f]{12,64}", "|".join(DATES), r"\d+(?:\.\w+)+"
"""Patterns of what may stand in place of a digest, of which twelve signs will do, a date and a version."""


@dataclass(frozen=True, slots=True)
class Figure:
    """A number in a value's text: what it was rounded from, and which way."""

    exact: Decimal
    rounding: Rounding = "nearest"


@dataclass(frozen=True, slots=True)
class Value:
    """What a key stands for: its text as printed, the figures in it in order, and where it comes from.

    ``subject`` and ``part`` are what a citation of it cites, None for values of a whole run and of the
    sources' statements. ``anchor`` is the place in the report. ``kind`` is a pattern of all words that may
    stand in this value's place, such as the verdicts; nothing for figures and free text. ``doubt`` says why
    what rests on the value has to be written again, and is empty where it may be quoted. ``total`` is what a
    count is a part of. ``is_formatted`` says that its document asked for this form of the text, ``is_free``
    that a text of the document's own stands in its place, whose figures alone are held against it.
    """

    key: str
    text: str
    figures: tuple[Figure, ...]
    anchor: str
    subject: Subject | None = None
    part: Part | None = None
    kind: str = ""
    doubt: str = ""
    total: Figure | None = None
    is_formatted: bool = False
    is_free: bool = False


Text = tuple[str, str, tuple[Figure, ...]]
"""What a key ends with, the text there, and the figures in that."""


def one_of(words: Iterable[str]) -> str:
    """Return a pattern of these words, the longest first, with hyphens or spaces."""
    longest_first = sorted(words, key=len, reverse=True)
    return "|".join(re.escape(word).replace(r"\-", "[- ]") for word in longest_first)


def counted(number: int) -> tuple[str, tuple[Figure, ...]]:
    """Return the text and the figure of a count."""
    return numbers.count(number), (Figure(Decimal(number)),)


def _figure(number: float, rounding: Rounding = "nearest") -> Figure:
    return Figure(numbers.as_decimal(number), rounding)


def level_text(level: float) -> tuple[str, tuple[Figure, ...]]:
    """Return the text of a confidence level and its figures, of which one near 1 has two."""
    shown = numbers.level(level)
    if shown.startswith(f"1{numbers.NO_BREAK}"):
        return shown, (Figure(Decimal(1)), _figure(1 - level))
    return shown, (_figure(100 * level if level < 1 else 1),)


def values_of(record: Evidence, head: str | None = None) -> Iterator[Value]:
    """Yield a record's values, or only those of the claim, the layer or the whole that ``head`` names."""
    for name, values in _by_head(record):
        if head in {None, name}:
            yield from values


def _by_head(record: Evidence) -> Iterator[tuple[str, Iterator[Value]]]:
    if isinstance(record, RunRecord):
        yield RUN, _run_values(record)
        yield from ((claim.id, _with_doubt(claim)) for claim in record.claims)
        yield from ((SOURCE, _statement_values(statement)) for statement in record.statements)
    else:
        yield AUDIT, _audit_values(record)
        yield from ((layer.id, _layer_values(layer)) for layer in record.layers)


_TOTALS = {
    "confirmed": "claims",
    "measured-checks": "checks",
    "exact-checks": "checks",
    "controls-refuted": "controls",
    **{kind.value: "statements" for kind in Outcome},
}
"""What each of the counts is a part of."""

_VERDICTS, _OUTCOMES, _PROOFS = (one_of(kind) for kind in (Verdict, Outcome, Proof))


def _with_doubt(claim: ClaimRecord) -> Iterator[Value]:
    """Yield a claim's values; unless it is confirmed, only verdicts may be quoted without doubt."""
    doubt = (
        "" if claim.verdict is Verdict.CONFIRMED else f"its claim is no longer confirmed but {claim.verdict}"
    )
    for value in _claim_values(claim):
        yield value if value.key.endswith(":verdict") else replace(value, doubt=doubt)


def _run_values(record: RunRecord) -> Iterator[Value]:
    outcomes = Counter(statement.outcome for statement in record.statements)
    controls = [control for claim in record.claims for control in claim.controls]
    counts = {
        "claims": len(record.claims),
        "confirmed": sum(claim.verdict is Verdict.CONFIRMED for claim in record.claims),
        "checks": record.measured_checks + record.exact_checks,
        "measured-checks": record.measured_checks,
        "exact-checks": record.exact_checks,
        "controls": len(controls),
        "controls-refuted": sum(control.verdict is Verdict.REFUTED for control in controls),
        "statements": len(record.statements),
        "holds": outcomes[Outcome.HOLDS],
        "holds-with-conditions": outcomes[Outcome.WITH_CONDITIONS],
        "misprinted": outcomes[Outcome.MISPRINTED],
        "wrong": outcomes[Outcome.WRONG],
    }
    # The run as a whole has no text of its own: what it stands for is how it ended.
    good, whole = counts["confirmed"], counts["claims"]
    text = f"{numbers.count(good)} of {numbers.count(whole)} claims confirmed"
    figures = (Figure(Decimal(good)), Figure(Decimal(whole)))
    yield Value(RUN, text, figures, "summary", record)
    for name, count in counts.items():
        total = Figure(Decimal(counts[_TOTALS.get(name, name)]))
        yield Value(f"{RUN}:{name}", *counted(count), "summary", total=total)
    chosen = record.run.settings
    yield Value(f"{RUN}:seed", str(chosen.seed), (Figure(Decimal(chosen.seed), "exact"),), "summary")
    words = {
        "profile": (chosen.profile, one_of(PROFILES)),
        "version": (record.tool.version, VERSION),
        "date": (f"{creation(record):%Y-%m-%d}", DATE),
        "digest": (digest(record), DIGEST),
    }
    for name, (text, kind) in words.items():
        yield Value(f"{RUN}:{name}", text, (), "summary", kind=kind)


def _claim_values(claim: ClaimRecord) -> Iterator[Value]:
    words = {
        "": (claim.verdict.value, _VERDICTS),
        ":verdict": (claim.verdict.value, _VERDICTS),
        ":title": (plain(claim.title), ""),
        ":result": (claim.derivation.result, ""),
        ":proof": (claim.derivation.status.value.replace("-", " "), _PROOFS),
        ":digest": (claim.digest, DIGEST),
    }
    for part, (text, kind) in words.items():
        if text:
            yield Value(f"{claim.id}{part}", text, (), claim.id, claim, kind=kind)
    for part, count in (("checks", len(claim.checks)), ("controls", len(claim.controls))):
        yield Value(f"{claim.id}:{part}", *counted(count), claim.id, claim, total=Figure(Decimal(count)))
    for check in claim.checks:
        yield from _finding_values(claim, check, check.standard_error)
    for control in claim.controls:
        # A control has no standard error of its own; its interval says how far digits mean anything.
        yield from _finding_values(claim, control, (control.interval[1] - control.interval[0]) / 10)
    for fact in claim.facts:
        key = f"{claim.id}.{fact.id}"
        text, figures = numbers.exact(fact.value), (_figure(fact.value),)
        yield Value(key, text, figures, key, claim, fact)
        yield Value(f"{key}:value", text, figures, key, claim, fact)


def _finding_values(claim: ClaimRecord, finding: Check | Control, error: float) -> Iterator[Value]:
    key = f"{claim.id}.{finding.id}"
    found = numbers.estimate(finding.estimate, error, finding.interval)
    centre = _figure(finding.estimate)
    low, high = _figure(finding.interval[0], "down"), _figure(finding.interval[1], "up")
    estimate = found.value + found.times
    parts: list[Text] = []
    if finding.blocks:
        both = f"{estimate} {found.interval}"
        parts += [("", both, (centre, low, high)), (":interval", found.interval, (low, high))]
        parts += [(":low", found.low + found.times, (low,)), (":high", found.high + found.times, (high,))]
    else:
        parts.append(("", estimate, (centre,)))
    predicted = numbers.beside(finding.prediction, error)
    parts.append((":estimate", estimate, (centre,)))
    parts.append((":prediction", predicted, (_figure(finding.prediction),)))
    parts += list(_check_texts(finding) if isinstance(finding, Check) else _control_texts(finding))
    parts += list(_spread_texts(finding, error)) if finding.blocks else []
    for part, text, shown in parts:
        yield Value(f"{key}{part}", text, shown, key, claim, finding)
    yield Value(f"{key}:verdict", finding.verdict.value, (), key, claim, finding, _VERDICTS)


def _spread_texts(finding: Check | Control, error: float) -> Iterator[Text]:
    """Yield how far the ends are from the estimate at most, and the standard error relative to it."""
    low, high = (numbers.as_decimal(end) for end in finding.interval)
    centre = numbers.as_decimal(finding.estimate)
    half = max(high - centre, centre - low)
    printed = numbers.estimate(float(half), error, (float(half), float(half)))
    yield ":halfwidth", printed.high + printed.times, (Figure(half, "up"),)
    if isinstance(finding, Check) and finding.estimate:
        relative = abs(finding.standard_error / finding.estimate)
        yield ":relative-error", numbers.small(relative), (_figure(relative),)


def _check_texts(check: Check) -> Iterator[Text]:
    if check.tightness is not None:
        error = check.standard_error / abs(check.prediction)
        found = numbers.estimate(check.tightness, error, (check.tightness, check.tightness))
        yield ":tightness", found.value + found.times, (_figure(check.tightness),)
    if not check.blocks:
        return
    yield ":error", numbers.small(check.standard_error), (_figure(check.standard_error),)
    yield ":level", *level_text(check.level)
    yield ":blocks", *counted(check.blocks)
    yield ":draws", *counted(check.draws)


def _control_texts(control: Control) -> Iterator[Text]:
    if control.blocks:
        # Printed as ">" beyond 0.9999: never rounded up to certainty.
        power = min(control.power, 0.9999)
        yield ":power", numbers.power(control.power), (_figure(power, "under"),)


def _statement_values(statement: Statement) -> Iterator[Value]:
    key = f"{SOURCE}.{statement.id}"
    anchor = f"statement-{statement.id}"
    outcome = statement.outcome.value.replace("-", " ")
    for part in ("", ":outcome"):
        yield Value(f"{key}{part}", outcome, (), anchor, statement, kind=_OUTCOMES)
    for part, text in (("printed", statement.printed), ("computed", statement.computed)):
        if text:
            yield Value(f"{key}:{part}", plain(text), (), anchor, statement)


_JUDGEMENTS = one_of(Judgement)
_ANYHOW = frozenset([":judgement", ":cause", ":fix", ":needed"])
"""Parts that say what is wrong, and so may be quoted of a refuted finding."""


def _audit_values(record: AuditRecord) -> Iterator[Value]:
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
    yield Value(f"{AUDIT}:false-alarm", numbers.percent(rate), (_figure(100 * rate),), "summary", record)
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
    yield Value(f"{layer.id}:scale", scale, (_figure(meant.value),), layer.id, layer)
    counts = {
        "heads": layer.heads,
        "key-heads": layer.key_heads,
        "d-k": layer.d_k,
        "sequences": layer.sequences,
    }
    for name, count in counts.items():
        yield Value(f"{layer.id}:{name}", *counted(count), layer.id, layer)
    for finding in layer.findings:
        yield from _audit_finding_values(layer, finding)


def _audit_finding_values(layer: LayerRecord, finding: Finding) -> Iterator[Value]:
    key, anchor = f"{layer.id}.{finding.id}", f"{layer.id}.{finding.name}"
    is_open = finding.judgement in {Judgement.REFUTED, Judgement.UNDECIDED}
    doubt = f"its finding is {finding.judgement}" if is_open else ""
    for part, text, shown in _audit_finding_texts(finding):
        if text:
            allowed = "" if part in _ANYHOW else doubt
            yield Value(f"{key}{part}", text, shown, anchor, layer, finding, doubt=allowed)
    words = [":judgement"] if finding.estimate is not None else ["", ":judgement"]
    for part in words:
        yield Value(f"{key}{part}", finding.judgement.value, (), anchor, layer, finding, kind=_JUDGEMENTS)


def _audit_finding_texts(finding: Finding) -> Iterator[Text]:
    if finding.estimate is not None:
        yield from _estimate_texts(finding, finding.estimate)
    if finding.reference is not None:
        value = finding.reference.value
        yield ":reference", numbers.exact(value), (_figure(value),)
    yield ":sequences", *counted(finding.sequences)
    if finding.sequences_needed is not None:
        yield ":needed", *counted(finding.sequences_needed)
    yield ":cause", plain(finding.cause), ()
    yield ":fix", plain(finding.fix), ()


def _estimate_texts(finding: Finding, value: float) -> Iterator[Text]:
    estimate, error, low, high = figures(finding)
    centre = _figure(value)
    ends: list[tuple[str, str, Figure]] = []
    first, last = finding.interval
    if first is not None:
        ends.append((":low", low, _figure(first, "down")))
    if last is not None:
        ends.append((":high", high, _figure(last, "up")))
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
        yield ":error", error, (_figure(finding.standard_error),)
    if ends:
        yield ":level", *level_text(finding.level)
