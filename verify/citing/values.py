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
    words,
)
from verify.evidence.audits import AuditRecord, Finding, Judgement, LayerRecord
from verify.evidence.load import creation, digest
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
        return float(self.figures[0].exact)

    @property
    def is_digest(self) -> bool:
        """Whether it is one, which may be cut."""
        return self.key.endswith(":digest")


Text = tuple[str, tuple[ExactNumber, ...]]
"""A text and the figures in it, of which a word has none."""

Texts = dict[str, Text]
"""The texts that keys with one beginning stand for, by what these end with."""


def values_of(record: Evidence, head: str | None = None) -> Iterator[Value]:
    """Yield a record's values, or only those of the claim, the layer or the whole that ``head`` names."""
    for key, anchor, subject, part, doubt in _keys(record):
        if head not in {None, key.partition(".")[0]}:
            continue
        for name, (text, shown) in _texts(part or subject).items():
            # What says that something is wrong may be quoted of what is.
            says_so = name in {":verdict", ":judgement", ":cause", ":fix"}
            says_so |= isinstance(part, Finding) and not name and not shown
            if text:
                yield Value(f"{key}{name}", text, shown, anchor, subject, part, "" if says_so else doubt)


def _keys(record: Evidence) -> Iterator[tuple[str, str, Subject, Part | None, str]]:
    """Yield what keys begin with, each with its anchor, what is cited, the part of that, and a doubt."""
    if isinstance(record, AuditRecord):
        yield AUDIT, "summary", record, None, ""
        for layer in record.layers:
            yield layer.id, layer.id, layer, None, ""
            for finding in layer.findings:
                is_open = finding.judgement in {Judgement.REFUTED, Judgement.UNDECIDED}
                doubt = f"its finding is {finding.judgement}" if is_open else ""
                yield f"{layer.id}.{finding.id}", layer.id, layer, finding, doubt
        return
    yield RUN, "summary", record, None, ""
    for claim in record.claims:
        is_good = claim.verdict is Verdict.CONFIRMED
        doubt = "" if is_good else f"its claim is no longer confirmed but {claim.verdict}"
        yield claim.id, claim.id, claim, None, doubt
        parts: list[Check | ControlRecord | Fact] = [*claim.checks, *claim.controls, *claim.facts]
        for part in parts:
            yield f"{claim.id}.{part.id}", f"{claim.id}.{part.id}", claim, part, doubt
    for statement in record.statements:
        yield f"{SOURCE}.{statement.id}", f"statement-{statement.id}", statement, None, ""


def _texts(named: Subject | Part) -> Texts:
    """Return the texts of what a key names, by what the keys of its parts end with."""
    match named:
        case RunRecord():
            return _run_texts(named)
        case ClaimRecord(verdict=verdict, derivation=derivation):
            texts = {"": verdict.value, ":verdict": verdict.value, ":title": plain(named.title)}
            texts |= {":result": derivation.result, ":proof": derivation.status.value.replace("-", " ")}
            counts = {"checks": len(named.checks), "controls": len(named.controls)}
            return _words(texts | {":digest": named.digest}) | _counts(counts)
        case Check() | ControlRecord():
            return check_texts(named)
        case Fact(value=value):
            return dict.fromkeys(("", ":value"), _number(value, numbers.exact(value)))
        case Statement():
            outcome = named.outcome.value.replace("-", " ")
            printed_texts = {":printed": plain(named.printed or ""), ":computed": plain(named.computed or "")}
            return _words({"": outcome, ":outcome": outcome, **printed_texts})
        case AuditRecord() | LayerRecord() | Finding():
            return _audit_texts(named)


def _audit_texts(named: AuditRecord | LayerRecord | Finding) -> Texts:
    match named:
        case Finding():
            return _finding_texts(named)
        case LayerRecord(intention=intended):
            worst = words.most_serious(named.findings).value
            texts = {"": worst, ":judgement": worst, ":name": named.name, ":intended": intended.expression}
            scale = {":scale": _number(intended.value, numbers.exact(intended.value))}
            counts = {"heads": named.heads, "key-heads": named.key_heads, "d-k": named.d_k}
            return _words(texts) | scale | _counts({**counts, "sequences": named.sequences})
    judged = Counter(finding.judgement for finding in named.findings)
    worst = words.most_serious(named.findings).value
    counts = {
        "layers": len(named.layers),
        "heads": sum(layer.heads for layer in named.layers),
        "findings": judged.total(),
        "deciding": sum(finding.decides for finding in named.findings),
        **{kind.value: judged[kind] for kind in Judgement},
    }
    texts = {"": worst, ":judgement": worst, ":source": named.source, **_origin(named)}
    return _words(texts) | _counts(counts)


def _number(number: float, text: str, rounding: Rounding = "nearest") -> Text:
    return text, (ExactNumber(numbers.as_decimal(number), rounding, reading(text) or Decimal(0)),)


def _words(texts: dict[str, str]) -> Texts:
    return {name: (text, ()) for name, text in texts.items()}


def _counts(counts: dict[str, int]) -> Texts:
    return {
        f":{name}": (numbers.count(count), (ExactNumber(Decimal(count), printed=Decimal(count)),))
        for name, count in counts.items()
    }


def level_text(level: float) -> Text:
    """Return a confidence level, of which one near 1 is printed as 1 less something and in no other way."""
    shown = numbers.level(level)
    exact, printed = numbers.as_decimal(level), reading(shown)
    if printed is None or level == 1:
        return shown, (ExactNumber(exact, "fixed", exact),)
    return shown, (ExactNumber(100 * exact, printed=printed),)


def _origin(record: Evidence) -> dict[str, str]:
    made = f"{creation(record):%Y-%m-%d}"
    return {":version": record.tool.version, ":date": made, ":digest": record_digest(record)}


def _run_texts(record: RunRecord) -> Texts:
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
    seed = Decimal(record.run.settings.seed)
    return (
        _words({"": f"{confirmed} of {claims} claims confirmed"})
        | _counts(counts)
        | {":seed": (str(seed), (ExactNumber(seed, "fixed", seed),))}
        | _words({":profile": record.run.settings.profile, **_origin(record)})
    )


def check_texts(check: Check | ControlRecord) -> Texts:
    """Return the texts of a check or a control: estimate, intervals, error, level, sample size."""
    if isinstance(check, ControlRecord):
        # It has no standard error of its own; its interval says how far digits mean anything.
        texts = _estimate_texts(check, (check.interval[1] - check.interval[0]) / 10)
        if check.blocks:
            # Printed as ">" beyond 0.9999: never rounded up to certainty.
            text, exact = numbers.power(check.power), numbers.as_decimal(check.power)
            printed = reading(text)
            figure = ExactNumber(exact, "down" if printed else "fixed", printed or exact)
            texts[":power"] = text, (figure,)
        return texts
    error = check.standard_error
    texts = _estimate_texts(check, error)
    if check.blocks and error and not check.basis:
        shown = numbers.estimate(check.estimate, error, words.interval95(check))
        (_, low), (_, high) = _ends(shown, words.interval95(check))
        texts[":interval95"] = shown.interval, low + high
    if check.blocks:
        texts[":error"] = _number(error, numbers.small(error))
        texts[":level"] = level_text(check.level)
        texts |= _counts({"blocks": check.blocks, "draws": check.draws})
    return texts


def _ends(shown: numbers.EstimateText, interval: tuple[float, float]) -> tuple[Text, Text]:
    low, high = interval
    return _number(low, shown.low + shown.times, "down"), _number(high, shown.high + shown.times, "up")


def _estimate_texts(finding: Check | ControlRecord, error: float) -> Texts:
    """Return an estimate with its interval, and their parts."""
    shown = numbers.estimate(finding.estimate, error, finding.interval)
    estimate = _number(finding.estimate, shown.value + shown.times)
    texts = {"": estimate}
    if finding.blocks:
        low, high = _ends(shown, finding.interval)
        texts = _interval_texts(estimate, shown.interval, low, high)
    texts[":estimate"] = estimate
    texts[":prediction"] = _number(finding.prediction, numbers.beside(finding.prediction, error))
    return texts | _words({":verdict": finding.verdict.value})


def _interval_texts(estimate: Text, interval: str, low: Text, high: Text) -> Texts:
    ends = low[1] + high[1]
    whole = f"{estimate[0]} {interval}", estimate[1] + ends
    return {"": whole, ":interval": (interval, ends), ":low": low, ":high": high}


def _finding_texts(finding: Finding) -> Texts:
    texts: Texts = {"": (finding.judgement.value, ())}
    if finding.estimate is not None:
        centre, error, low, high = words.figures(finding)
        estimate, (first, last) = _number(finding.estimate, centre), finding.interval
        ends = {} if first is None else {":low": _number(first, low, "down")}
        ends |= {} if last is None else {":high": _number(last, high, "up")}
        texts = {"": estimate, **ends}
        if len(ends) == 2:
            texts = _interval_texts(estimate, f"[{low},{numbers.NO_BREAK}{high}]", *ends.values())
        texts[":estimate"] = estimate
        if finding.standard_error:
            texts[":error"] = _number(finding.standard_error, error)
        if ends:
            texts[":level"] = level_text(finding.level)
    words_of = {":cause": plain(finding.cause), ":fix": plain(finding.fix)}
    words_of[":judgement"] = finding.judgement.value
    return texts | _counts({"sequences": finding.sequences}) | _words(words_of)
