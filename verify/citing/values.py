"""What a document may quote: each value of a run or an audit, with its permanent key, text and figures."""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Literal

from verify.errors import CitationError
from verify.evidence import (
    Check,
    ClaimRecord,
    ControlRecord,
    Fact,
    Outcome,
    Proof,
    RunRecord,
    Statement,
    Verdict,
)
from verify.evidence.audits import AuditRecord, Finding, Judgement, LayerRecord
from verify.evidence.load import creation, digest
from verify.evidence.words import figures, interval95, most_serious
from verify.text import numbers
from verify.text.escapes import LOWERED, RAISED
from verify.text.latex import plain

AUDIT, RUN, SOURCE = "audit", "run", "source"
"""The keys of an audit and of a run as a whole, and what those of statements start with."""

Evidence = RunRecord | AuditRecord
Subject = ClaimRecord | LayerRecord | AuditRecord | RunRecord | Statement
Part = Check | ControlRecord | Fact | Finding
Unit = Literal["", "%", "count", "digest"]
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


def record_digest(record: Evidence) -> str:
    """Return the digest of a run or an audit as a whole."""
    return digest(record) if isinstance(record, RunRecord) else record.seal


@dataclass(frozen=True, slots=True)
class ExactNumber:
    """A number of a value: its ``exact`` size, how it is rounded, and as which number it is ``printed``."""

    exact: Decimal
    rounding: Rounding = "nearest"
    printed: Decimal = Decimal(0)


@dataclass(frozen=True, slots=True)
class Value:
    """What a key stands for: as text what the report prints, as a number what was measured.

    Of one figure it is that; of two, an interval; of three, an estimate and its interval. ``subject`` and
    ``part`` are what a citation of it cites, the whole where ``part`` is None. ``anchor`` is the place in the
    report. ``unit`` is that of the figures, or says what a word is. ``doubt`` says why what rests on it
    has to be written again, and is empty where it may be quoted.
    """

    key: str
    text: str
    figures: tuple[ExactNumber, ...] = field(repr=False)
    anchor: str = field(repr=False)
    subject: Subject | None = field(default=None, repr=False)  # None for what is computed from values
    part: Part | None = field(default=None, repr=False)
    unit: Unit = field(default="", repr=False)
    doubt: str = ""

    @property
    def numbers(self) -> tuple[float, ...]:
        """The figures, with all their digits."""
        return tuple(float(figure.exact) for figure in self.figures)

    def __str__(self) -> str:
        """Return the text, which inline code of a notebook or of Quarto prints."""
        return self.text

    def __format__(self, specification: str) -> str:
        """Return the number as Python formats it, or the text where nothing is asked for."""
        return format(float(self) if specification[-1:] in set("fegFEG%") else self.text, specification)

    def __float__(self) -> float:
        """Return the number, with all its digits.

        Raises:
            CitationError: the value is a word, or an interval of several numbers.
        """
        if len(self.figures) != 1:
            what = f"{self.key} is {self.text!r}, not one number; ask for a part, such as :estimate"
            raise CitationError(what)
        return self.numbers[0]


Text = tuple[str, str, tuple[ExactNumber, ...], Unit]
"""What a key ends with, the text there, the figures in that, and their unit."""


def values_of(record: Evidence, head: str | None = None) -> Iterator[Value]:
    """Yield a record's values, or only those of the claim, the layer or the whole that ``head`` names."""
    groups: list[tuple[str, Iterator[Value]]]
    if isinstance(record, RunRecord):
        groups = [(RUN, _run_values(record)), *((claim.id, _claim_values(claim)) for claim in record.claims)]
        groups += [(SOURCE, _statement_values(statement)) for statement in record.statements]
    else:
        layers = ((layer.id, _layer_values(layer)) for layer in record.layers)
        groups = [(AUDIT, _audit_values(record)), *layers]
    for name, values in groups:
        if head in {None, name}:
            yield from values


def _counts(**numbers_of: int) -> Iterator[Text]:
    for name, number in numbers_of.items():
        exact = Decimal(number)
        text = numbers.count(number)
        yield f":{name.replace('_', '-')}", text, (ExactNumber(exact, printed=exact),), "count"


def _figure(number: float, text: str, rounding: Rounding = "nearest") -> ExactNumber:
    return ExactNumber(numbers.as_decimal(number), rounding, reading(text) or Decimal(0))


def level_text(level: float) -> Text:
    """Return a confidence level, of which one near 1 is printed as 1 less something and in no other way."""
    shown = numbers.level(level)
    exact, printed = numbers.as_decimal(level), reading(shown)
    if printed is None or level == 1:
        return ":level", shown, (ExactNumber(exact, "fixed", exact),), ""
    return ":level", shown, (ExactNumber(100 * exact, printed=printed),), "%"


def _run_values(record: RunRecord) -> Iterator[Value]:
    outcomes = Counter(statement.outcome for statement in record.statements)
    controls = [control for claim in record.claims for control in claim.controls]
    confirmed = sum(claim.verdict is Verdict.CONFIRMED for claim in record.claims)
    counts = {
        "claims": len(record.claims),
        "confirmed": confirmed,
        "proved": sum(claim.derivation.status is Proof.PROVED for claim in record.claims),
        "checks": record.measured_checks + record.exact_checks,
        "measured-checks": record.measured_checks,
        "exact-checks": record.exact_checks,
        "controls": len(controls),
        "controls-refuted": sum(control.verdict is Verdict.REFUTED for control in controls),
        "statements": len(record.statements),
        **{outcome.value: outcomes[outcome] for outcome in Outcome},
    }
    chosen = record.run.settings
    seed = Decimal(chosen.seed)
    # The run as a whole has no text of its own: what it stands for is how it ended.
    ended = f"{numbers.count(confirmed)} of {numbers.count(len(record.claims))} claims confirmed"
    texts: list[Text] = [
        ("", ended, (), ""),
        *_counts(**counts),
        (":seed", str(chosen.seed), (ExactNumber(seed, "fixed", seed),), ""),
        (":profile", chosen.profile, (), ""),
        *_origin(record),
    ]
    for part, text, shown, unit in texts:
        yield Value(f"{RUN}{part}", text, shown, "summary", record, unit=unit)


def _origin(record: Evidence) -> Iterator[Text]:
    """Yield what a record was made with and when, and its digest."""
    yield ":version", record.tool.version, (), ""
    yield ":date", f"{creation(record):%Y-%m-%d}", (), ""
    yield ":digest", record_digest(record), (), "digest"


def _claim_values(claim: ClaimRecord) -> Iterator[Value]:
    """Yield a claim's values; unless it is confirmed, only verdicts may be quoted without doubt."""
    is_good = claim.verdict is Verdict.CONFIRMED
    doubt = "" if is_good else f"its claim is no longer confirmed but {claim.verdict}"
    texts: list[Text] = [
        ("", claim.verdict.value, (), ""),
        (":verdict", claim.verdict.value, (), ""),
        (":title", plain(claim.title), (), ""),
        (":result", claim.derivation.result, (), ""),
        (":proof", claim.derivation.status.value.replace("-", " "), (), ""),
        (":digest", claim.digest, (), "digest"),
        *_counts(checks=len(claim.checks), controls=len(claim.controls)),
    ]
    parts: list[tuple[Part | None, Iterable[Text]]] = [
        (None, [text for text in texts if text[1]]),
        *((check, check_texts(check)) for check in claim.checks),
        *((control, _control_texts(control)) for control in claim.controls),
        *((fact, _fact_texts(fact)) for fact in claim.facts),
    ]
    for part, texts_of_part in parts:
        key = f"{claim.id}.{part.id}" if part else claim.id
        for name, text, shown, unit in texts_of_part:
            reason = "" if name == ":verdict" else doubt
            yield Value(f"{key}{name}", text, shown, key, claim, part, unit, reason)


def _fact_texts(fact: Fact) -> Iterator[Text]:
    text = numbers.exact(fact.value)
    for part in ("", ":value"):
        yield part, text, (_figure(fact.value, text),), ""


def check_texts(check: Check) -> Iterator[Text]:
    """Yield the values of a check: estimate, intervals, error, level, sample size."""
    error = check.standard_error
    yield from _estimate_texts(check, error)
    if check.tightness is not None:
        spread = error / abs(check.prediction)
        shown = numbers.estimate(check.tightness, spread, (check.tightness, check.tightness))
        text = shown.value + shown.times
        yield ":tightness", text, (_figure(check.tightness, text),), ""
    if check.blocks and error and not check.basis:
        ends = interval95(check)
        shown = numbers.estimate(check.estimate, error, ends)
        low, high = (end + shown.times for end in (shown.low, shown.high))
        yield ":interval95", shown.interval, (_figure(ends[0], low, "down"), _figure(ends[1], high, "up")), ""
    if check.blocks:
        if check.estimate:
            relative = abs(error / check.estimate)
            text = numbers.small(relative)
            yield ":relative-error", text, (_figure(relative, text),), ""
        text = numbers.small(error)
        yield ":error", text, (_figure(error, text),), ""
        yield level_text(check.level)
        yield from _counts(blocks=check.blocks, draws=check.draws)


def _control_texts(control: ControlRecord) -> Iterator[Text]:
    # A control has no standard error of its own; its interval says how far digits mean anything.
    yield from _estimate_texts(control, (control.interval[1] - control.interval[0]) / 10)
    if control.blocks:
        # Printed as ">" beyond 0.9999: never rounded up to certainty.
        text = numbers.power(control.power)
        exact, printed = numbers.as_decimal(control.power), reading(text)
        yield ":power", text, (ExactNumber(exact, "down" if printed else "fixed", printed or exact),), ""


def _estimate_texts(finding: Check | ControlRecord, error: float) -> Iterator[Text]:
    """Yield an estimate with its interval, their parts, and how far the ends are away at most."""
    shown = numbers.estimate(finding.estimate, error, finding.interval)
    estimate, low, high = (text + shown.times for text in (shown.value, shown.low, shown.high))
    centre = _figure(finding.estimate, estimate)
    if finding.blocks:
        ends = (_figure(finding.interval[0], low, "down"), _figure(finding.interval[1], high, "up"))
        yield from _interval_texts(estimate, centre, shown.interval, [low, high], ends)
        half = max(ends[1].exact - centre.exact, centre.exact - ends[0].exact)
        printed = numbers.estimate(float(half), error, (float(half), float(half)))
        text = printed.high + printed.times
        yield ":halfwidth", text, (ExactNumber(half, "up", reading(text) or Decimal(0)),), ""
    else:
        yield "", estimate, (centre,), ""
    predicted = numbers.beside(finding.prediction, error)
    yield ":estimate", estimate, (centre,), ""
    yield ":prediction", predicted, (_figure(finding.prediction, predicted),), ""
    yield ":verdict", finding.verdict.value, (), ""


def _interval_texts(
    estimate: str, centre: ExactNumber, interval: str, texts: Sequence[str], ends: tuple[ExactNumber, ...]
) -> Iterator[Text]:
    """Yield an estimate with its interval, that alone, and its ends."""
    yield "", f"{estimate} {interval}", (centre, *ends), ""
    yield ":interval", interval, ends, ""
    for part, text, end in zip((":low", ":high"), texts, ends, strict=True):
        yield part, text, (end,), ""


def _statement_values(statement: Statement) -> Iterator[Value]:
    outcome = statement.outcome.value.replace("-", " ")
    texts = {"": outcome, ":outcome": outcome, ":printed": statement.printed, ":computed": statement.computed}
    for part, text in texts.items():
        if text:
            key = f"{SOURCE}.{statement.id}{part}"
            yield Value(key, plain(text), (), f"statement-{statement.id}", statement)


def _audit_values(record: AuditRecord) -> Iterator[Value]:
    judged = Counter(finding.judgement for finding in record.findings)
    worst = most_serious(record.findings).value
    counts = {
        "layers": len(record.layers),
        "heads": sum(layer.heads for layer in record.layers),
        "findings": judged.total(),
        "deciding": sum(finding.decides for finding in record.findings),
        **{kind.value: judged[kind] for kind in Judgement},
    }
    texts: list[Text] = [("", worst, (), ""), (":judgement", worst, (), ""), *_counts(**counts)]
    texts += [(":source", record.source, (), ""), *_origin(record)]
    for part, text, shown, unit in texts:
        if text:
            yield Value(f"{AUDIT}{part}", text, shown, "summary", record, unit=unit)


def _layer_values(layer: LayerRecord) -> Iterator[Value]:
    worst = most_serious(layer.findings).value
    scale = numbers.exact(layer.intention.value)
    texts: list[Text] = [
        ("", worst, (), ""),
        (":judgement", worst, (), ""),
        (":name", layer.name, (), ""),
        (":intended", layer.intention.expression, (), ""),
        (":scale", scale, (_figure(layer.intention.value, scale),), ""),
        *_counts(heads=layer.heads, key_heads=layer.key_heads, d_k=layer.d_k, sequences=layer.sequences),
    ]
    for part, text, shown, unit in texts:
        yield Value(f"{layer.id}{part}", text, shown, layer.id, layer, unit=unit)
    for finding in layer.findings:
        is_open = finding.judgement in {Judgement.REFUTED, Judgement.UNDECIDED}
        doubt = f"its finding is {finding.judgement}" if is_open else ""
        for part, text, shown, unit in _finding_texts(finding):
            # What says that something is wrong may be quoted of a refuted finding.
            says_so = part in {":judgement", ":cause", ":fix"} or (not part and not shown)
            key, reason = f"{layer.id}.{finding.id}{part}", "" if says_so else doubt
            if text:
                yield Value(key, text, shown, layer.id, layer, finding, unit, reason)


def _finding_texts(finding: Finding) -> Iterator[Text]:
    if finding.estimate is None:
        yield "", finding.judgement.value, (), ""
    else:
        estimate, error, low, high = figures(finding)
        centre = _figure(finding.estimate, estimate)
        first, last = finding.interval
        ends = [] if first is None else [_figure(first, low, "down")]
        ends += [] if last is None else [_figure(last, high, "up")]
        if len(ends) == 2:
            interval = f"[{low},{numbers.NO_BREAK}{high}]"
            yield from _interval_texts(estimate, centre, interval, [low, high], (ends[0], ends[1]))
        else:
            yield "", estimate, (centre,), ""
            for end in ends:
                yield (":low", low, (end,), "") if last is None else (":high", high, (end,), "")
        yield ":estimate", estimate, (centre,), ""
        if finding.standard_error:
            yield ":error", error, (_figure(finding.standard_error, error),), ""
        if ends:
            yield level_text(finding.level)
    yield from _counts(sequences=finding.sequences)
    yield ":cause", plain(finding.cause), (), ""
    yield ":fix", plain(finding.fix), (), ""
    yield ":judgement", finding.judgement.value, (), ""
