"""What a document may quote: each value of a run or an audit, by its key, in the form asked for.

``KEY|form`` asks for one of these::

    .3f | .2e | .1% | .3g           as Python formats a number
    .12                             of a digest, its first digits
    pm                              an estimate with its standard error
    interval | interval95 | low …   the part of this name
    default                         the value's own text
    "{low:.1f} to {high:.1f}"       parts by their names, each with its own digits; {text} is the value
"""

import difflib
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from decimal import ROUND_CEILING, ROUND_FLOOR, ROUND_HALF_EVEN, Decimal
from pathlib import Path
from typing import Literal

from verify.errors import CitationError
from verify.evidence import Check, ClaimRecord, ControlRecord, Fact, RunRecord, Statement, words
from verify.evidence.audits import AuditRecord, Finding, Judgement, LayerRecord
from verify.evidence.judging import Outcome, Proof, Verdict
from verify.evidence.load import creation, digest, load_either, meant
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


Text = tuple[str, tuple[ExactNumber, ...]]
"""A text and the figures in it, of which a word has none."""

Texts = dict[str, Text | str | int]
"""What keys with one beginning stand for, by what these end with: a text with figures, words, or a count."""


def values_of(record: Evidence) -> Iterator[Value]:
    """Yield a record's values."""
    for key, anchor, subject, part, doubt in _keys(record):
        # A check's key is its estimate with the interval; behind a colon stand its parts.
        for name, (text, figures) in texts_of(part or subject).items():
            # What says that something is wrong may be quoted of what is.
            says_so = name in {":verdict", ":judgement", ":cause", ":fix"}
            says_so |= isinstance(part, Finding) and not name and not figures
            yield Value(f"{key}{name}", text, figures, anchor, subject, part, "" if says_so else doubt)


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


def texts_of(named: Subject | Part) -> dict[str, Text]:
    """Return the texts of what a key names, by what the keys of its parts end with."""
    given: Texts = {}
    match named:
        case RunRecord() | AuditRecord():
            given = _whole_texts(named)
        case Check() | ControlRecord():
            given = _check_texts(named)
        case Finding():
            given = _finding_texts(named)
        case Fact(value=value):
            given |= dict.fromkeys(("", ":value"), _number(value, numbers.exact(value)))
        case Statement():
            given |= dict.fromkeys(("", ":outcome"), named.outcome.value.replace("-", " "))
            given |= {":printed": plain(named.printed or ""), ":computed": plain(named.computed or "")}
        case ClaimRecord(derivation=derivation):
            given |= dict.fromkeys(("", ":verdict"), named.verdict.value)
            given |= {":title": plain(named.title), ":result": derivation.result}
            given |= {":proof": derivation.status.value.replace("-", " "), ":digest": named.digest}
            given |= {":checks": len(named.checks), ":controls": len(named.controls)}
        case LayerRecord(intention=intended):
            given |= dict.fromkeys(("", ":judgement"), words.most_serious(named.findings).value)
            given |= {":name": named.name, ":intended": intended.expression}
            given[":scale"] = _number(intended.value, numbers.exact(intended.value))
            given |= {":heads": named.heads, ":key-heads": named.key_heads, ":d-k": named.d_k}
            given[":sequences"] = named.sequences
    # A count is its own exact figure; a word has none, and what is empty has no key.
    texts: dict[str, Text] = {}
    for name, text in given.items():
        if isinstance(text, int):
            texts[name] = numbers.count(text), (ExactNumber(Decimal(text), printed=Decimal(text)),)
        elif text:
            texts[name] = (text, ()) if isinstance(text, str) else text
    return texts


def _number(number: float, text: str, rounding: Rounding = "nearest") -> Text:
    return text, (ExactNumber(numbers.as_decimal(number), rounding, reading(text) or Decimal(0)),)


def level_text(level: float) -> Text:
    """Return a confidence level, of which one near 1 is printed as 1 less something and in no other way."""
    shown = numbers.level(level)
    exact, printed = numbers.as_decimal(level), reading(shown)
    if printed is None or level == 1:
        return shown, (ExactNumber(exact, "fixed", exact),)
    return shown, (ExactNumber(100 * exact, printed=printed),)


def _whole_texts(record: Evidence) -> Texts:
    """Return the texts of a run or an audit as a whole: how it ended, what made it, and counts."""
    made, whole = f"{creation(record):%Y-%m-%d}", digest(record)
    origin = {":version": record.tool.version, ":date": made, ":digest": whole}
    if isinstance(record, AuditRecord):
        judged = Counter(finding.judgement for finding in record.findings)
        texts = dict.fromkeys(("", ":judgement"), words.most_serious(record.findings).value)
        return {
            **texts,
            ":source": record.source,
            **origin,
            ":layers": len(record.layers),
            ":heads": sum(layer.heads for layer in record.layers),
            ":findings": judged.total(),
            ":deciding": sum(finding.decides for finding in record.findings),
            **{f":{kind.value}": judged[kind] for kind in Judgement},
        }
    controls = [control for claim in record.claims for control in claim.controls]
    outcomes = Counter(statement.outcome for statement in record.statements)
    confirmed = sum(claim.verdict is Verdict.CONFIRMED for claim in record.claims)
    seed = Decimal(record.run.settings.seed)
    return {
        # The run as a whole has no text of its own: what it stands for is how it ended.
        "": f"{numbers.count(confirmed)} of {numbers.count(len(record.claims))} claims confirmed",
        ":claims": len(record.claims),
        ":confirmed": confirmed,
        ":proved": sum(claim.derivation.status is Proof.PROVED for claim in record.claims),
        ":checks": record.measured_checks + record.exact_checks,
        ":measured-checks": record.measured_checks,
        ":exact-checks": record.exact_checks,
        ":controls": len(controls),
        ":controls-refuted": sum(control.verdict is Verdict.REFUTED for control in controls),
        ":statements": len(record.statements),
        **{f":{outcome.value}": outcomes[outcome] for outcome in Outcome},
        ":seed": (str(seed), (ExactNumber(seed, "fixed", seed),)),
        ":profile": record.run.settings.profile,
        **origin,
    }


def _check_texts(check: Check | ControlRecord) -> Texts:
    """Return the texts of a check or a control: estimate, intervals, error, level, sample size."""
    # A control has no standard error of its own; its interval says how far digits mean anything.
    low, high = check.interval
    error = (high - low) / 10 if isinstance(check, ControlRecord) else check.standard_error
    shown = numbers.estimate(check.estimate, error, check.interval)
    estimate = _number(check.estimate, shown.value + shown.times)
    texts: Texts = _interval_texts(estimate, shown, check.interval) if check.blocks else {"": estimate}
    texts[":estimate"] = estimate
    texts[":prediction"] = _number(check.prediction, numbers.beside(check.prediction, error))
    texts[":verdict"] = check.verdict.value
    if not check.blocks:
        return texts
    if isinstance(check, ControlRecord):
        # Printed as ">" beyond 0.9999: never rounded up to certainty.
        text, exact = numbers.power(check.power), numbers.as_decimal(check.power)
        printed = reading(text)
        texts[":power"] = text, (ExactNumber(exact, "down" if printed else "fixed", printed or exact),)
        return texts
    if error and not check.basis:
        alone = words.interval95(check)
        shown = numbers.estimate(check.estimate, error, alone)
        texts[":interval95"] = _interval_texts(estimate, shown, alone)[":interval"]
    texts[":error"] = _number(error, numbers.small(error))
    return texts | {":level": level_text(check.level), ":blocks": check.blocks, ":draws": check.draws}


def _finding_texts(finding: Finding) -> Texts:
    texts: Texts = {"": finding.judgement.value}
    if finding.estimate is not None:
        shown = numbers.EstimateText(*words.figures(finding), power=0)
        estimate = _number(finding.estimate, shown.value)
        texts = _interval_texts(estimate, shown, finding.interval)
        texts[":estimate"] = estimate
        if finding.standard_error:
            texts[":error"] = _number(finding.standard_error, shown.error)
        if finding.interval != (None, None):
            texts[":level"] = level_text(finding.level)
    cause, fix = plain(finding.cause), plain(finding.fix)
    more = {":cause": cause, ":fix": fix, ":judgement": finding.judgement.value}
    return texts | {":sequences": finding.sequences} | more


def _interval_texts(
    estimate: Text, shown: numbers.EstimateText, interval: tuple[float | None, float | None]
) -> Texts:
    """Return the texts of an estimate and its interval, of which an end that is open has no number."""
    low, high = interval
    texts: dict[str, Text] = {}
    if low is not None:
        texts[":low"] = _number(low, shown.low + shown.times, "down")
    if high is not None:
        texts[":high"] = _number(high, shown.high + shown.times, "up")
    if len(texts) < 2:
        return {"": estimate, **texts}
    ends = texts[":low"][1] + texts[":high"][1]
    whole = f"{estimate[0]} {shown.interval}", estimate[1] + ends
    return {"": whole, ":interval": (shown.interval, ends), **texts}


# The forms that a key may ask for.
_SPEC = re.compile(r"(?!\.00?g)\.[0-9]{1,2}[fe%g]?")
_MODES = {"nearest": ROUND_HALF_EVEN, "down": ROUND_FLOOR, "up": ROUND_CEILING}
_ALIKE = 0.75  # how alike a mistyped key and the right one are at least, as difflib counts
_LEAST_DIGEST = 12
_ALL = 'default, .Nf, .Ne, .N%, .Ng, pm, a part such as interval, or "a sentence with {low:.Nf}"'


class Values(dict[str, Value]):
    """Values by their keys; a key may ask for a form, as in ``KEY|.3f``."""

    def __missing__(self, key: str) -> Value:
        """Return the value of a key with a form.

        Raises:
            CitationError: there is no such key, and the nearest one is suggested, or no such form.
        """
        whole, bar, form = (part.strip() for part in key.partition("|"))
        if whole in self and bar:
            return replace(self[whole], key=f"{whole}|{form}", text=written(self, whole, form))
        # Claims as people call them, a key that looks like it, or a key that ends so. Of thousands of keys,
        # only those of the nearest claim are compared.
        heads = {name: re.split("[.:]", name, maxsplit=1)[0] for name in [whole, *self]}
        head = heads.pop(whole)
        close = difflib.get_close_matches(head, dict.fromkeys(heads.values()), n=1, cutoff=_ALIKE)
        inside = [name for name, of in heads.items() if of in close]
        near = [*difflib.get_close_matches(whole, inside, n=1, cutoff=_ALIKE), *close][:1]
        near = near or [name for name in self if name.endswith(f".{whole}")]
        hint = f"did you mean {near[0]!r}?" if near else "`sdpa-verify values` lists them all"
        raise CitationError(f"no value {shortened(whole)!r} in these results; {meant(whole, self) or hint}")


def by_key(record: Evidence) -> Values:
    """Return the values of a run or an audit by their keys."""
    return Values((value.key, value) for value in values_of(record))


def values(record: Evidence | Path | str) -> Values:
    """Return the values of a run, of an audit, or of the file of one, by the keys that documents quote.

    ``values(record)["score-variance.slope:estimate"]`` prints as the report does, and is a number for
    ``float`` and in f-strings such as ``f"{slope:.3f}"``.

    Raises:
        VerifyError: the file cannot be read.
    """
    return by_key(load_either(Path(record)) if isinstance(record, str | Path) else record)


def shortened(text: str) -> str:
    """Return a text in one line of at most 60 characters, with ordinary spaces."""
    shown = " ".join(text[:1000].split())
    return shown if len(shown) <= 60 else shown[:59] + "…"


def chosen(record: Evidence, names: Sequence[str]) -> list[Value]:
    """Return the values that ids or keys name: all of a claim or a layer, or a key's own and its parts'.

    No names stand for all values; none comes twice.

    Raises:
        CitationError: a name stands for nothing.
    """
    known = by_key(record)
    values: dict[str, Value] = {} if names else known
    for key in names:
        starts = (f"{key}:", f"{key}.")
        inside = {name: value for name, value in known.items() if name == key or name.startswith(starts)}
        values |= inside or {key: known[key]}
    return list(values.values())


def written(
    known: Mapping[str, Value], key: str, form: str, marked: Callable[[str, bool], str] = lambda text, _: text
) -> str:
    """Return what a quotation of ``key`` in this form says.

    ``marked`` puts a value's text into a language's own markup, given whether the text is of numbers; the
    words of a sentence stay as they are.

    Raises:
        CitationError: there is no such form or part, or it does not suit the value.
    """
    if sentence := re.fullmatch(r'"([^"\n]+)"', form.strip()):
        parts = re.compile(r"\{(?P<name>[a-z][a-z0-9-]*)(?::(?P<spec>[^{}]*))?\}")
        return parts.sub(
            lambda part: _part(known, key, part["name"], part["spec"] or "", marked), sentence[1]
        )
    # Digits alone are of the value itself; anything else names a part.
    name, spec = ("text", form.strip()) if _SPEC.fullmatch(form.strip()) else (form.strip(), "")
    return _part(known, key, name, spec, marked)


def _part(
    known: Mapping[str, Value], key: str, name: str, spec: str, marked: Callable[[str, bool], str]
) -> str:
    """Return the text of a value, or of its part of this name, in these digits."""
    whole = key.partition(":")[0]
    value = known[key] if name in {"default", "text", "pm"} else known.get(f"{whole}:{name}")
    if value is None or (spec and not _SPEC.fullmatch(spec)):
        parts = sorted(other.removeprefix(f"{whole}:") for other in known if other.startswith(f"{whole}:"))
        choice = f"choose {_ALL}" + f"; its parts are {', '.join(parts)}" * bool(parts)
        raise CitationError(f"{key} has no form {(spec or name)[:60]!r}; {choice}")
    named, error = f"{value.key} is {' '.join(value.text.split())}", known.get(f"{whole}:error")
    is_digest = value.key.endswith(":digest")  # which may be cut
    suits = [".N"] if is_digest else []
    if value.figures and value.figures[0].rounding != "fixed":
        suits = [".Nf", ".Ng"] if value.text.endswith("%") else [".Nf", ".Ng", ".Ne", ".N%"]
        if error and value.key.removeprefix(whole) in {"", ":estimate"}:
            suits.append("pm")
    # Two things are asked for that may not suit: the standard error, and digits of a kind.
    for option in ("pm" if name == "pm" else "", spec and f".N{spec.lstrip('.0123456789')}"):
        if option and option not in suits:
            choice = ", ".join(("default", *suits, '"a sentence with {text}"'))
            raise CitationError(f"{named}, which {spec or name} does not suit; choose {choice}")
    if is_digest and spec:
        digits = int(spec.removeprefix("."))
        if not _LEAST_DIGEST <= digits <= len(value.text):
            raise CitationError(f"{value.key}: {digits} digits of a digest; give 12 to {len(value.text)}")
        return marked(value.text[:digits], False)
    if not spec and name != "pm":
        return marked(value.text, bool(value.figures))
    return marked(_numeric(value, error.figures if error and name == "pm" else (), spec, named), True)


def _numeric(value: Value, error: tuple[ExactNumber, ...], spec: str, named: str) -> str:
    """Return a value's figures, or the first with its standard error, in the digits asked for."""
    figures = (value.figures[0], *error) if error else value.figures
    digits, kind = int(spec.strip(".fe%g") or 0), spec[-1:] or "g"
    finest = min(int(figure.printed.as_tuple().exponent) for figure in (figures[:1] if error else figures))
    first, largest = figures[0].exact, max((figure.exact for figure in figures), key=abs)
    # What is left to a factor: a power of ten, or the sign of hundredths.
    factor = re.search(f"×10([{RAISED}]+)", value.text)
    power = int(factor[1].translate(LOWERED)) if factor else 0
    power = {"%": -2, "f": 0, "e": largest.adjusted() if largest else 0}.get(kind, power)
    if kind == "e" and largest:
        # 9.96 may round to 10.
        modes = [(figure.exact, _MODES[figure.rounding]) for figure in figures]
        rounded = [numbers.rounded(exact, power - digits, mode) for exact, mode in modes]
        power = max(power, max(rounded, key=abs).adjusted())
    # The place of the last digit: none is finer than what is printed, unless the number is exact.
    place = finest if not spec else first.adjusted() - digits + 1 if kind == "g" else power - digits
    if place < finest and any(figure.exact != figure.printed for figure in figures):
        raise CitationError(f"{named} and has no more digits that mean something; ask for fewer")
    for figure in figures if error else figures[:1]:
        is_lost = figure.exact and not numbers.rounded(figure.exact, place, _MODES[figure.rounding])
        if is_lost and figure.rounding != "down" and (figure.printed or place > finest):
            raise CitationError(f"{named}, of which this leaves 0; ask for more digits")
    # All figures have the same last place and leave out the same power, as the report prints them.
    texts = [
        numbers.at(figure.exact.scaleb(-power), place - power, _MODES[figure.rounding]) for figure in figures
    ]
    unit, gap = "%" if kind == "%" or value.text.endswith("%") else numbers.times(power), numbers.NO_BREAK
    if error:
        joined = f"{gap}±{gap}".join(texts)
        return f"({joined}){unit}" if unit else joined
    if len(texts) > 1:
        # The last two are the ends of an interval.
        texts = [*texts[:-2], f"[{texts[-2]},{gap}{texts[-1]}]"]
    return " ".join(f"{text}{unit}" for text in texts)
