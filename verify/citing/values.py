"""What a document may quote: each value of a run or an audit, with its permanent key, text and figures."""

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import Literal

from verify.evidence import Check, ClaimRecord, ControlRecord, Fact, Outcome, RunRecord, Statement, Verdict
from verify.evidence.audits import AuditRecord, Finding, Judgement, LayerRecord
from verify.evidence.load import creation, digest
from verify.evidence.words import figures, most_serious
from verify.text import numbers
from verify.text.escapes import LOWERED, RAISED
from verify.text.latex import plain

AUDIT, RUN, SOURCE = "audit", "run", "source"
"""The keys of an audit and of a run as a whole, and what those of statements start with."""

Evidence = RunRecord | AuditRecord
Subject = ClaimRecord | LayerRecord | AuditRecord | RunRecord | Statement
Part = Check | ControlRecord | Fact | Finding
Unit = Literal["", "%", "nats", "count", "digest"]
Rounding = Literal["nearest", "down", "up", "fixed"]
"""How a number is rounded: an interval's ends outwards; a fixed one has no other digits than its own."""

_OWN = re.compile(rf"({numbers.MINUS}?)(\d[\d{numbers.GAP}]*(?:\.\d+)?)(?:×10([{RAISED}]+))?%?", re.ASCII)


def reading(text: str) -> Decimal | None:
    """Return the number that a text of `verify.text.numbers` is, with its last digit; None if it is none."""
    match = _OWN.fullmatch(text)
    if match is None:
        return None
    sign, digits, raised = match.groups(default="")
    power = raised.translate(LOWERED) or "0"
    return Decimal(f"{sign and '-'}{digits.replace(numbers.GAP, '')}E{power}")


@dataclass(frozen=True, slots=True)
class ExactNumber:
    """A number of a value: its ``exact`` size, how it is rounded, and as which number it is ``printed``."""

    exact: Decimal
    rounding: Rounding = "nearest"
    printed: Decimal = Decimal(0)


@dataclass(frozen=True, slots=True)
class Value:
    """What a key stands for: its text as printed, the figures in it in order, and where it comes from.

    Of one figure it is that; of two, an interval; of three, an estimate and its interval. ``subject`` and
    ``part`` are what a citation of it cites, the whole where ``part`` is None. ``anchor`` is the place in the
    report. ``unit`` is that of the figures, or says what a word is. ``doubt`` says why what rests on it
    has to be written again, and is empty where it may be quoted.
    """

    key: str
    text: str
    figures: tuple[ExactNumber, ...]
    anchor: str
    subject: Subject | None = None  # None for what is computed from values
    part: Part | None = None
    unit: Unit = ""
    doubt: str = ""


Text = tuple[str, str, tuple[ExactNumber, ...], Unit]
"""What a key ends with, the text there, the figures in that, and their unit."""


def counted(part: str, number: int) -> Text:
    """Return the text and the figure of a count."""
    return part, numbers.count(number), (ExactNumber(Decimal(number), printed=Decimal(number)),), "count"


def _figure(number: float, text: str, rounding: Rounding = "nearest") -> ExactNumber:
    return ExactNumber(numbers.as_decimal(number), rounding, reading(text) or Decimal(0))


def level_text(level: float) -> Text:
    """Return a confidence level, of which one near 1 is printed as 1 less something and in no other way."""
    shown = numbers.level(level)
    exact, printed = numbers.as_decimal(level), reading(shown)
    if printed is None or level == 1:
        return ":level", shown, (ExactNumber(exact, "fixed", exact),), ""
    return ":level", shown, (ExactNumber(100 * exact, printed=printed),), "%"


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
        **{outcome.value: outcomes[outcome] for outcome in Outcome},
    }
    # The run as a whole has no text of its own: what it stands for is how it ended.
    good, whole = numbers.count(counts["confirmed"]), numbers.count(counts["claims"])
    yield Value(RUN, f"{good} of {whole} claims confirmed", (), "summary", record)
    for name, count in counts.items():
        part, text, shown, unit = counted(f":{name}", count)
        yield Value(f"{RUN}{part}", text, shown, "summary", record, unit=unit)
    chosen = record.run.settings
    seed = Decimal(chosen.seed)
    yield Value(f"{RUN}:seed", str(chosen.seed), (ExactNumber(seed, "fixed", seed),), "summary", record)
    yield Value(f"{RUN}:profile", chosen.profile, (), "summary", record)
    yield from _values_of_origin(RUN, record, digest(record))


def _values_of_origin(key: str, record: Evidence, seal: str) -> Iterator[Value]:
    """Yield what a record was made with and when, and its digest."""
    yield Value(f"{key}:version", record.tool.version, (), "summary", record)
    yield Value(f"{key}:date", f"{creation(record):%Y-%m-%d}", (), "summary", record)
    yield Value(f"{key}:digest", seal, (), "summary", record, unit="digest")


def _claim_values(claim: ClaimRecord) -> Iterator[Value]:
    words = {
        "": claim.verdict.value,
        ":verdict": claim.verdict.value,
        ":title": plain(claim.title),
        ":result": claim.derivation.result,
        ":proof": claim.derivation.status.value.replace("-", " "),
        ":digest": claim.digest,
    }
    texts: list[Text] = [
        (part, text, (), "digest" if part == ":digest" else "") for part, text in words.items() if text
    ]
    texts += [counted(":checks", len(claim.checks)), counted(":controls", len(claim.controls))]
    for part, text, shown, unit in texts:
        yield Value(f"{claim.id}{part}", text, shown, claim.id, claim, unit=unit)
    for check in claim.checks:
        yield from _finding_values(claim, check, check.standard_error)
    for control in claim.controls:
        # A control has no standard error of its own; its interval says how far digits mean anything.
        yield from _finding_values(claim, control, (control.interval[1] - control.interval[0]) / 10)
    for fact in claim.facts:
        key, text = f"{claim.id}.{fact.id}", numbers.exact(fact.value)
        for part in ("", ":value"):
            figure = _figure(fact.value, text)
            yield Value(f"{key}{part}", text, (figure,), key, claim, fact, _unit(fact.what))


def _unit(quantity: str) -> Unit:
    """Return nats where a quantity's description ends with them, or where it is ln n less something."""
    return "nats" if re.search(r"in nats$|^\$\\ln (?:n|\d+) - ", quantity) else ""


def _finding_values(claim: ClaimRecord, finding: Check | ControlRecord, error: float) -> Iterator[Value]:
    key = f"{claim.id}.{finding.id}"
    # A control has no quantity of its own.
    unit = _unit(finding.quantity) if isinstance(finding, Check) else ""
    found = numbers.estimate(finding.estimate, error, finding.interval)
    estimate, low, high = (one + found.times for one in (found.value, found.low, found.high))
    centre = _figure(finding.estimate, estimate)
    ends = (_figure(finding.interval[0], low, "down"), _figure(finding.interval[1], high, "up"))
    parts: list[Text] = []
    if finding.blocks:
        parts.append(("", f"{estimate} {found.interval}", (centre, *ends), unit))
        parts.append((":interval", found.interval, ends, unit))
        parts += [(":low", low, ends[:1], unit), (":high", high, ends[1:], unit)]
    else:
        parts.append(("", estimate, (centre,), unit))
    predicted = numbers.beside(finding.prediction, error)
    parts.append((":estimate", estimate, (centre,), unit))
    parts.append((":prediction", predicted, (_figure(finding.prediction, predicted),), unit))
    parts += list(_check_texts(finding) if isinstance(finding, Check) else _control_texts(finding))
    parts += list(_spread_texts(finding, error, unit)) if finding.blocks else []
    for part, text, shown, of in parts:
        yield Value(f"{key}{part}", text, shown, key, claim, finding, of)
    yield Value(f"{key}:verdict", finding.verdict.value, (), key, claim, finding)


def _spread_texts(finding: Check | ControlRecord, error: float, unit: Unit) -> Iterator[Text]:
    """Yield how far the ends are from the estimate at most, and the standard error relative to it."""
    low, high = (numbers.as_decimal(end) for end in finding.interval)
    centre = numbers.as_decimal(finding.estimate)
    half = max(high - centre, centre - low)
    printed = numbers.estimate(float(half), error, (float(half), float(half)))
    text = printed.high + printed.times
    yield ":halfwidth", text, (ExactNumber(half, "up", reading(text) or Decimal(0)),), unit
    if isinstance(finding, Check) and finding.estimate:
        relative = abs(finding.standard_error / finding.estimate)
        text = numbers.small(relative)
        yield ":relative-error", text, (_figure(relative, text),), ""
    if isinstance(finding, Check):
        text = numbers.small(finding.standard_error)
        yield ":error", text, (_figure(finding.standard_error, text),), unit
        yield level_text(finding.level)
        yield counted(":blocks", finding.blocks)
        yield counted(":draws", finding.draws)


def _check_texts(check: Check) -> Iterator[Text]:
    if check.tightness is not None:
        error = check.standard_error / abs(check.prediction)
        found = numbers.estimate(check.tightness, error, (check.tightness, check.tightness))
        text = found.value + found.times
        yield ":tightness", text, (_figure(check.tightness, text),), ""


def _control_texts(control: ControlRecord) -> Iterator[Text]:
    if control.blocks:
        # Printed as ">" beyond 0.9999: never rounded up to certainty.
        text = numbers.power(control.power)
        exact = numbers.as_decimal(control.power)
        printed = reading(text)
        yield ":power", text, (ExactNumber(exact, "down" if printed else "fixed", printed or exact),), ""


def _statement_values(statement: Statement) -> Iterator[Value]:
    key = f"{SOURCE}.{statement.id}"
    anchor = f"statement-{statement.id}"
    outcome = statement.outcome.value.replace("-", " ")
    for part in ("", ":outcome"):
        yield Value(f"{key}{part}", outcome, (), anchor, statement)
    for part, text in (("printed", statement.printed), ("computed", statement.computed)):
        if text:
            yield Value(f"{key}:{part}", plain(text), (), anchor, statement)


_ANYHOW = frozenset([":judgement", ":cause", ":fix"])
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
    texts: list[Text] = [("", worst, (), ""), (":judgement", worst, (), "")]
    texts += [counted(f":{name}", count) for name, count in counts.items()]
    texts.append((":source", record.source, (), ""))
    for part, text, shown, unit in texts:
        if text:
            yield Value(f"{AUDIT}{part}", text, shown, "summary", record, unit=unit)
    yield from _values_of_origin(AUDIT, record, record.seal)


def _layer_values(layer: LayerRecord) -> Iterator[Value]:
    worst = most_serious(layer.findings).value
    meant = layer.intention
    scale = numbers.exact(meant.value)
    texts: list[Text] = [
        *((part, worst, (), "") for part in ("", ":judgement")),
        (":name", layer.name, (), ""),
        (":intended", meant.expression, (), ""),
        (":scale", scale, (_figure(meant.value, scale),), ""),
        counted(":heads", layer.heads),
        counted(":key-heads", layer.key_heads),
        counted(":d-k", layer.d_k),
        counted(":sequences", layer.sequences),
    ]
    for part, text, shown, unit in texts:
        yield Value(f"{layer.id}{part}", text, shown, layer.id, layer, unit=unit)
    for finding in layer.findings:
        yield from _audit_finding_values(layer, finding)


def _audit_finding_values(layer: LayerRecord, finding: Finding) -> Iterator[Value]:
    key, anchor = f"{layer.id}.{finding.id}", f"{layer.id}.{finding.name}"
    is_open = finding.judgement in {Judgement.REFUTED, Judgement.UNDECIDED}
    doubt = f"its finding is {finding.judgement}" if is_open else ""
    for part, text, shown, unit in _audit_finding_texts(finding):
        if text:
            allowed = "" if part in _ANYHOW else doubt
            yield Value(f"{key}{part}", text, shown, anchor, layer, finding, unit, allowed)
    words = [":judgement"] if finding.estimate is not None else ["", ":judgement"]
    for part in words:
        yield Value(f"{key}{part}", finding.judgement.value, (), anchor, layer, finding)


def _audit_finding_texts(finding: Finding) -> Iterator[Text]:
    if finding.estimate is not None:
        yield from _estimate_texts(finding, finding.estimate)
    yield counted(":sequences", finding.sequences)
    yield ":cause", plain(finding.cause), (), ""
    yield ":fix", plain(finding.fix), (), ""


def _estimate_texts(finding: Finding, value: float) -> Iterator[Text]:
    estimate, error, low, high = figures(finding)
    centre = _figure(value, estimate)
    first, last = finding.interval
    ends: list[Text] = []
    if first is not None:
        ends.append((":low", low, (_figure(first, low, "down"),), ""))
    if last is not None:
        ends.append((":high", high, (_figure(last, high, "up"),), ""))
    if len(ends) == 2:
        both = (ends[0][2][0], ends[1][2][0])
        interval = f"[{low},{numbers.NO_BREAK}{high}]"
        yield "", f"{estimate} {interval}", (centre, *both), ""
        yield ":interval", interval, both, ""
    else:
        yield "", estimate, (centre,), ""
    yield ":estimate", estimate, (centre,), ""
    yield from ends
    if finding.standard_error:
        yield ":error", error, (_figure(finding.standard_error, error),), ""
    if ends:
        yield level_text(finding.level)
