"""What a document may quote: each value of a run or an audit, with its permanent key, text and figures."""

import re
from collections import Counter
from collections.abc import Iterator
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
    report. ``doubt`` says why what rests on it has to be written again, and is empty where it may be quoted.
    """

    key: str
    text: str
    figures: tuple[ExactNumber, ...] = field(repr=False)
    anchor: str = field(repr=False)
    subject: Subject | None = field(default=None, repr=False)  # None for what is computed from values
    part: Part | None = field(default=None, repr=False)
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

    @property
    def is_digest(self) -> bool:
        """Whether it is one, which may be cut."""
        return self.key.endswith(":digest")


Text = tuple[str, str, tuple[ExactNumber, ...]]
"""What a key ends with, the text there, and the figures in that."""


_Group = tuple[str, str, Subject, Iterator[Text], Part | None, str]
"""What keys begin with, the anchor, what is cited, the values' texts, the part cited, and a doubt."""


def values_of(record: Evidence, head: str | None = None) -> Iterator[Value]:
    """Yield a record's values, or only those of the claim, the layer or the whole that ``head`` names."""
    for key, anchor, subject, texts, part, doubt in _groups(record):
        if head in {None, key.partition(".")[0]}:
            for name, text, shown in texts:
                # What says that something is wrong may be quoted of what is.
                says_so = name in {":verdict", ":judgement", ":cause", ":fix"}
                says_so |= isinstance(part, Finding) and not name and not shown
                if text:
                    yield Value(f"{key}{name}", text, shown, anchor, subject, part, "" if says_so else doubt)


def _groups(record: Evidence) -> Iterator[_Group]:
    if isinstance(record, AuditRecord):
        yield AUDIT, "summary", record, _audit_texts(record), None, ""
        for layer in record.layers:
            yield layer.id, layer.id, layer, _layer_texts(layer), None, ""
            for finding in layer.findings:
                is_open = finding.judgement in {Judgement.REFUTED, Judgement.UNDECIDED}
                doubt = f"its finding is {finding.judgement}" if is_open else ""
                key, texts = f"{layer.id}.{finding.id}", _finding_texts(finding)
                yield key, layer.id, layer, texts, finding, doubt
        return
    yield RUN, "summary", record, _run_texts(record), None, ""
    for claim in record.claims:
        is_good = claim.verdict is Verdict.CONFIRMED
        doubt = "" if is_good else f"its claim is no longer confirmed but {claim.verdict}"
        yield claim.id, claim.id, claim, _claim_texts(claim), None, doubt
        parts: list[Check | ControlRecord | Fact] = [*claim.checks, *claim.controls, *claim.facts]
        for part in parts:
            key = f"{claim.id}.{part.id}"
            yield key, key, claim, _part_texts(part), part, doubt
    for statement in record.statements:
        outcome = statement.outcome.value.replace("-", " ")
        printed, computed = plain(statement.printed or ""), plain(statement.computed or "")
        texts = _words({"": outcome, ":outcome": outcome, ":printed": printed, ":computed": computed})
        yield f"{SOURCE}.{statement.id}", f"statement-{statement.id}", statement, texts, None, ""


def _number(part: str, number: float, text: str, rounding: Rounding = "nearest") -> Text:
    return part, text, (ExactNumber(numbers.as_decimal(number), rounding, reading(text) or Decimal(0)),)


def _words(texts: dict[str, str]) -> Iterator[Text]:
    for part, text in texts.items():
        yield part, text, ()


def _counts(counts: dict[str, int]) -> Iterator[Text]:
    for name, number in counts.items():
        yield f":{name}", numbers.count(number), (ExactNumber(Decimal(number), printed=Decimal(number)),)


def level_text(level: float) -> Text:
    """Return a confidence level, of which one near 1 is printed as 1 less something and in no other way."""
    shown = numbers.level(level)
    exact, printed = numbers.as_decimal(level), reading(shown)
    if printed is None or level == 1:
        return ":level", shown, (ExactNumber(exact, "fixed", exact),)
    return ":level", shown, (ExactNumber(100 * exact, printed=printed),)


def _origin(record: Evidence) -> dict[str, str]:
    """Return what a record was made with and when, and its digest."""
    made = f"{creation(record):%Y-%m-%d}"
    return {":version": record.tool.version, ":date": made, ":digest": record_digest(record)}


def _run_texts(record: RunRecord) -> Iterator[Text]:
    outcomes = Counter(statement.outcome for statement in record.statements)
    controls = [control for claim in record.claims for control in claim.controls]
    counts = {
        "claims": len(record.claims),
        "confirmed": sum(claim.verdict is Verdict.CONFIRMED for claim in record.claims),
        "proved": sum(claim.derivation.status is Proof.PROVED for claim in record.claims),
        "checks": record.measured_checks + record.exact_checks,
        "measured-checks": record.measured_checks,
        "exact-checks": record.exact_checks,
        "controls": len(controls),
        "controls-refuted": sum(control.verdict is Verdict.REFUTED for control in controls),
        "statements": len(record.statements),
        **{outcome.value: outcomes[outcome] for outcome in Outcome},
    }
    # The run as a whole has no text of its own: what it stands for is how it ended.
    confirmed, claims = (numbers.count(counts[name]) for name in ("confirmed", "claims"))
    yield "", f"{confirmed} of {claims} claims confirmed", ()
    yield from _counts(counts)
    seed = Decimal(record.run.settings.seed)
    yield ":seed", str(seed), (ExactNumber(seed, "fixed", seed),)
    yield from _words({":profile": record.run.settings.profile, **_origin(record)})


def _claim_texts(claim: ClaimRecord) -> Iterator[Text]:
    texts = {
        "": claim.verdict.value,
        ":verdict": claim.verdict.value,
        ":title": plain(claim.title),
        ":result": claim.derivation.result,
        ":proof": claim.derivation.status.value.replace("-", " "),
        ":digest": claim.digest,
    }
    yield from _words(texts)
    yield from _counts({"checks": len(claim.checks), "controls": len(claim.controls)})


def _part_texts(part: Check | ControlRecord | Fact) -> Iterator[Text]:
    if isinstance(part, Check):
        return check_texts(part)
    if isinstance(part, ControlRecord):
        return _control_texts(part)
    return (_number(name, part.value, numbers.exact(part.value)) for name in ("", ":value"))


def check_texts(check: Check) -> Iterator[Text]:
    """Yield the values of a check: estimate, intervals, error, level, sample size."""
    error = check.standard_error
    yield from _estimate_texts(check, error)
    if check.tightness is not None:
        spread = error / abs(check.prediction)
        shown = numbers.estimate(check.tightness, spread, (check.tightness, check.tightness))
        yield _number(":tightness", check.tightness, shown.value + shown.times)
    if check.blocks and error and not check.basis:
        low, high = interval95(check)
        shown = numbers.estimate(check.estimate, error, (low, high))
        _, _, first = _number("", low, shown.low + shown.times, "down")
        _, _, last = _number("", high, shown.high + shown.times, "up")
        yield ":interval95", shown.interval, first + last
    if check.blocks:
        if check.estimate:
            relative = abs(error / check.estimate)
            yield _number(":relative-error", relative, numbers.small(relative))
        yield _number(":error", error, numbers.small(error))
        yield level_text(check.level)
        yield from _counts({"blocks": check.blocks, "draws": check.draws})


def _control_texts(control: ControlRecord) -> Iterator[Text]:
    # A control has no standard error of its own; its interval says how far digits mean anything.
    yield from _estimate_texts(control, (control.interval[1] - control.interval[0]) / 10)
    if control.blocks:
        # Printed as ">" beyond 0.9999: never rounded up to certainty.
        text = numbers.power(control.power)
        exact, printed = numbers.as_decimal(control.power), reading(text)
        yield ":power", text, (ExactNumber(exact, "down" if printed else "fixed", printed or exact),)


def _estimate_texts(finding: Check | ControlRecord, error: float) -> Iterator[Text]:
    """Yield an estimate with its interval, their parts, and how far the ends are away at most."""
    shown = numbers.estimate(finding.estimate, error, finding.interval)
    estimate = _number(":estimate", finding.estimate, shown.value + shown.times)
    if finding.blocks:
        low = _number(":low", finding.interval[0], shown.low + shown.times, "down")
        high = _number(":high", finding.interval[1], shown.high + shown.times, "up")
        yield from _interval_texts(estimate, shown.interval, low, high)
        centre, first, last = (text[2][0].exact for text in (estimate, low, high))
        half = max(last - centre, centre - first)
        printed = numbers.estimate(float(half), error, (float(half), float(half)))
        text = printed.high + printed.times
        yield ":halfwidth", text, (ExactNumber(half, "up", reading(text) or Decimal(0)),)
    else:
        yield "", *estimate[1:]
    yield estimate
    yield _number(":prediction", finding.prediction, numbers.beside(finding.prediction, error))
    yield ":verdict", finding.verdict.value, ()


def _interval_texts(estimate: Text, interval: str, low: Text, high: Text) -> Iterator[Text]:
    """Yield an estimate with its interval, that alone, and its ends."""
    yield "", f"{estimate[1]} {interval}", estimate[2] + low[2] + high[2]
    yield ":interval", interval, low[2] + high[2]
    yield low
    yield high


def _audit_texts(record: AuditRecord) -> Iterator[Text]:
    judged = Counter(finding.judgement for finding in record.findings)
    worst = most_serious(record.findings).value
    counts = {
        "layers": len(record.layers),
        "heads": sum(layer.heads for layer in record.layers),
        "findings": judged.total(),
        "deciding": sum(finding.decides for finding in record.findings),
        **{kind.value: judged[kind] for kind in Judgement},
    }
    yield from _words({"": worst, ":judgement": worst, ":source": record.source, **_origin(record)})
    yield from _counts(counts)


def _layer_texts(layer: LayerRecord) -> Iterator[Text]:
    worst, intended = most_serious(layer.findings).value, layer.intention
    yield from _words({"": worst, ":judgement": worst, ":name": layer.name, ":intended": intended.expression})
    yield _number(":scale", intended.value, numbers.exact(intended.value))
    counts = {"heads": layer.heads, "key-heads": layer.key_heads, "d-k": layer.d_k}
    yield from _counts({**counts, "sequences": layer.sequences})


def _finding_texts(finding: Finding) -> Iterator[Text]:
    if finding.estimate is None:
        yield "", finding.judgement.value, ()
    else:
        centre, error, low, high = figures(finding)
        estimate, (first, last) = _number(":estimate", finding.estimate, centre), finding.interval
        ends = [] if first is None else [_number(":low", first, low, "down")]
        ends += [] if last is None else [_number(":high", last, high, "up")]
        if len(ends) == 2:
            yield from _interval_texts(estimate, f"[{low},{numbers.NO_BREAK}{high}]", *ends)
        else:
            yield "", *estimate[1:]
            yield from ends
        yield estimate
        if finding.standard_error:
            yield _number(":error", finding.standard_error, error)
        if ends:
            yield level_text(finding.level)
    yield from _counts({"sequences": finding.sequences})
    cause, fix = plain(finding.cause), plain(finding.fix)
    yield from _words({":cause": cause, ":fix": fix, ":judgement": finding.judgement.value})
