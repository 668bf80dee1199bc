"""Every value that a document may quote: its permanent key, its text, and the figures in it."""

from __future__ import annotations

import difflib
import math
import re
from collections import Counter
from dataclasses import dataclass
from decimal import Decimal
from typing import TYPE_CHECKING, Literal

from verify.errors import CitationError
from verify.evidence import PROFILES, Check, ClaimRecord, Control, Outcome, Proof, Verdict
from verify.report import numbers
from verify.report.imprint import creation, digest
from verify.report.latex import plain

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from verify.evidence import Fact, RunRecord, Statement

RUN, SOURCE = "run", "source"
"""What keys of the whole run and of the documents' statements start with, in the place of a claim's id."""

Rounding = Literal["nearest", "down", "up", "under", "exact"]
"""Which way digits are left out, an interval's ends outwards; under: down, but never to 0, for it is no end;
exact: none may be, and no other notation, for it is a name."""


def _one_of(words: Iterable[str]) -> str:
    longest_first = sorted(words, key=len, reverse=True)
    return "|".join(re.escape(word).replace(r"\-", "[- ]") for word in longest_first)


_VERDICTS, _OUTCOMES, _PROOFS = (_one_of(kind) for kind in (Verdict, Outcome, Proof))
_DIGEST = "[0-9a-f]{64}"


@dataclass(frozen=True, slots=True)
class Figure:
    """A number in a value's text: what it was rounded from, and which way."""

    exact: Decimal
    rounding: Rounding = "nearest"


@dataclass(frozen=True, slots=True)
class Value:
    """What a key stands for: its text as printed, the figures in it in order, and where it comes from.

    ``claim`` is None for values of the whole run and of the sources' statements; ``anchor`` is the place
    in the report. ``kind`` is a pattern of all words that may stand in this value's place, such as the
    verdicts; nothing for figures and free text.
    """

    key: str
    text: str
    figures: tuple[Figure, ...]
    anchor: str
    claim: ClaimRecord | None = None
    finding: Check | Control | Fact | None = None
    kind: str = ""

    @property
    def holds(self) -> bool:
        """Whether the claim is confirmed; a verdict, and what belongs to no claim, may be quoted anyway."""
        is_verdict = self.key.endswith(":verdict")
        return self.claim is None or is_verdict or self.claim.verdict is Verdict.CONFIRMED


def lookup(record: RunRecord, key: str) -> Value:
    """Return what ``key`` stands for in a run.

    Raises:
        CitationError: there is no such key; the nearest one is suggested.
    """
    return lookup_in(by_key(record, _head(key)) or by_key(record), key)


def lookup_in(known: Mapping[str, Value], key: str, *, suggest: bool = True) -> Value:
    """Return what ``key`` stands for among the values known; see `by_key`.

    Raises:
        CitationError: there is no such key; the nearest one is suggested, unless ``suggest`` is False.
    """
    if key in known:
        return known[key]
    near = _nearest(key, known) if suggest else ""
    hint = f"did you mean {near!r}?" if near else "`sdpa-verify values` lists them all"
    raise CitationError(f"no value {shortened(key)!r} in these results; {hint}")


def _nearest(key: str, known: Iterable[str]) -> str:
    """Return the key that may have been meant, of the head that may have been, or nothing."""
    by_head: dict[str, list[str]] = {}
    for one in known:
        by_head.setdefault(_head(one), []).append(one)
    heads = difflib.get_close_matches(_head(key), by_head, n=1, cutoff=0.5)
    near = difflib.get_close_matches(key, by_head[heads[0]], n=1, cutoff=0.5) if heads else []
    return near[0] if near else ""


def shortened(text: str) -> str:
    """Return a text in one line of at most 60 characters."""
    shown = " ".join(text[:1000].split())
    return shown if len(shown) <= 60 else shown[:59] + "…"


def by_key(record: RunRecord, head: str | None = None) -> dict[str, Value]:
    """Return a run's values by their keys, or those of ``head`` alone."""
    return {value.key: value for value in values(record, head)}


def chosen(record: RunRecord, names: Sequence[str]) -> list[Value]:
    """Return the values that claims or keys name: all of a claim, or a key's own and those of its parts.

    No names stand for all values; none comes twice.

    Raises:
        CitationError: a name stands for nothing.
    """
    found = {} if names else by_key(record)
    for name in names:
        known = by_key(record, _head(name))
        whole = name == _head(name)
        matching = {
            key: value for key, value in known.items() if whole or key == name or key.startswith(f"{name}:")
        }
        found |= matching or {name: lookup(record, name)}
    return list(found.values())


def _head(key: str) -> str:
    return key.partition(":")[0].partition(".")[0]


def values(record: RunRecord, head: str | None = None) -> Iterator[Value]:
    """Yield a run's values, or only those of the claim, the run or the statements that ``head`` names."""
    if head in {None, RUN}:
        yield from _run_values(record)
    for claim in record.claims:
        if head in {None, claim.id}:
            yield from _claim_values(claim)
    if head in {None, SOURCE}:
        for statement in record.statements:
            yield from _statement_values(statement)


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
    for name, count in counts.items():
        yield Value(f"{RUN}:{name}", numbers.count(count), (Figure(Decimal(count)),), "summary")
    chosen = record.run.settings
    yield Value(f"{RUN}:seed", str(chosen.seed), (Figure(Decimal(chosen.seed), "exact"),), "summary")
    words = {
        "profile": (chosen.profile, _one_of(PROFILES)),
        "version": (record.tool.version, r"\d+(?:\.\w+)+"),
        "date": (f"{creation(record):%Y-%m-%d}", r"\d{4}-\d\d-\d\d"),
        "digest": (digest(record), _DIGEST),
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
        ":digest": (claim.digest, _DIGEST),
    }
    for part, (text, kind) in words.items():
        if text:
            yield Value(f"{claim.id}{part}", text, (), claim.id, claim, kind=kind)
    for part, count in (("checks", len(claim.checks)), ("controls", len(claim.controls))):
        figure = Figure(Decimal(count))
        yield Value(f"{claim.id}:{part}", numbers.count(count), (figure,), claim.id, claim)
    for check in claim.checks:
        yield from _finding_values(claim, check, check.standard_error)
    for control in claim.controls:
        # A control has no standard error of its own; its interval says how far digits mean anything.
        yield from _finding_values(claim, control, (control.interval[1] - control.interval[0]) / 10)
    for fact in claim.facts:
        key = f"{claim.id}.{fact.id}"
        text, figures = numbers.exact(fact.value), (Figure(_decimal(fact.value)),)
        yield Value(key, text, figures, key, claim, fact)
        yield Value(f"{key}:value", text, figures, key, claim, fact)


def _finding_values(claim: ClaimRecord, finding: Check | Control, error: float) -> Iterator[Value]:
    key = f"{claim.id}.{finding.id}"
    found = numbers.estimate(finding.estimate, error, finding.interval)
    centre = Figure(_decimal(finding.estimate))
    low, high = Figure(_decimal(finding.interval[0]), "down"), Figure(_decimal(finding.interval[1]), "up")
    estimate = found.value + found.times
    parts: list[tuple[str, str, tuple[Figure, ...]]] = []
    if finding.blocks:
        both = f"{estimate} {found.interval}"
        parts += [("", both, (centre, low, high)), (":interval", found.interval, (low, high))]
        parts += [(":low", found.low + found.times, (low,)), (":high", found.high + found.times, (high,))]
    else:
        parts.append(("", estimate, (centre,)))
    predicted = numbers.beside(finding.prediction, error)
    parts.append((":estimate", estimate, (centre,)))
    parts.append((":prediction", predicted, (Figure(_decimal(finding.prediction)),)))
    parts += list(_check_texts(finding) if isinstance(finding, Check) else _control_texts(finding))
    for part, text, figures in parts:
        yield Value(f"{key}{part}", text, figures, key, claim, finding)
    yield Value(f"{key}:verdict", finding.verdict.value, (), key, claim, finding, _VERDICTS)


def _check_texts(check: Check) -> Iterator[tuple[str, str, tuple[Figure, ...]]]:
    if check.tightness is not None:
        error = check.standard_error / abs(check.prediction)
        found = numbers.estimate(check.tightness, error, (check.tightness, check.tightness))
        yield ":tightness", found.value + found.times, (Figure(_decimal(check.tightness)),)
    if not check.blocks:
        return
    yield ":error", numbers.small(check.standard_error), (Figure(_decimal(check.standard_error)),)
    miss = Figure(_decimal(1 - check.level))
    shown = numbers.level(check.level)
    near_one = shown.startswith(f"1{numbers.NO_BREAK}")
    level = (Figure(Decimal(1)), miss) if near_one else (Figure(_decimal(100 * check.level)),)
    yield ":level", shown, level
    yield ":blocks", numbers.count(check.blocks), (Figure(Decimal(check.blocks)),)
    yield ":draws", numbers.count(check.draws), (Figure(Decimal(check.draws)),)


def _control_texts(control: Control) -> Iterator[tuple[str, str, tuple[Figure, ...]]]:
    if control.blocks:
        # Printed as ">" beyond 0.9999: never rounded up to certainty.
        power = min(control.power, 0.9999)
        yield ":power", numbers.power(control.power), (Figure(_decimal(power), "under"),)


def _statement_values(statement: Statement) -> Iterator[Value]:
    key = f"{SOURCE}.{statement.id}"
    anchor = f"statement-{statement.id}"
    outcome = statement.outcome.value.replace("-", " ")
    for part in ("", ":outcome"):
        yield Value(f"{key}{part}", outcome, (), anchor, kind=_OUTCOMES)
    for part, text in (("printed", statement.printed), ("computed", statement.computed)):
        if text:
            yield Value(f"{key}:{part}", plain(text), (), anchor)


def _decimal(value: float) -> Decimal:
    if not math.isfinite(value):
        raise ValueError(f"a record holds only finite numbers, not {value}")
    return Decimal(repr(float(value)))
