"""The values of a run: its counts and settings, its claims with all they found, the documents' statements."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from decimal import Decimal
from typing import TYPE_CHECKING

from verify.citing.value import DATE, DIGEST, VERSION, Figure, Value, counted, decimal, level_text, one_of
from verify.evidence import PROFILES, Check, ClaimRecord, Control, Outcome, Proof, Verdict
from verify.evidence.provenance import creation, digest
from verify.report.citation import RUN, SOURCE
from verify.text import numbers
from verify.text.latex import plain

if TYPE_CHECKING:
    from collections.abc import Iterator

    from verify.citing.value import Text
    from verify.evidence import RunRecord, Statement

_TOTALS = {
    "confirmed": "claims",
    "measured-checks": "checks",
    "exact-checks": "checks",
    "controls-refuted": "controls",
    **{kind.value: "statements" for kind in Outcome},
}
"""What each of the counts is a part of."""

_VERDICTS, _OUTCOMES, _PROOFS = (one_of(kind) for kind in (Verdict, Outcome, Proof))


def run_values(record: RunRecord, head: str | None) -> Iterator[Value]:
    """Yield a run's values, or only those of the claim, the run or the statements that ``head`` names."""
    if head in {None, RUN}:
        yield from _whole_values(record)
    for claim in record.claims:
        if head in {None, claim.id}:
            yield from _with_doubt(claim)
    if head in {None, SOURCE}:
        for statement in record.statements:
            yield from _statement_values(statement)


def _with_doubt(claim: ClaimRecord) -> Iterator[Value]:
    """Yield a claim's values; unless it is confirmed, only verdicts may be quoted without doubt."""
    doubt = (
        "" if claim.verdict is Verdict.CONFIRMED else f"its claim is no longer confirmed but {claim.verdict}"
    )
    for value in _claim_values(claim):
        yield value if value.key.endswith(":verdict") else replace(value, doubt=doubt)


def _whole_values(record: RunRecord) -> Iterator[Value]:
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
        text, figures = numbers.exact(fact.value), (Figure(decimal(fact.value)),)
        yield Value(key, text, figures, key, claim, fact)
        yield Value(f"{key}:value", text, figures, key, claim, fact)


def _finding_values(claim: ClaimRecord, finding: Check | Control, error: float) -> Iterator[Value]:
    key = f"{claim.id}.{finding.id}"
    found = numbers.estimate(finding.estimate, error, finding.interval)
    centre = Figure(decimal(finding.estimate))
    low, high = Figure(decimal(finding.interval[0]), "down"), Figure(decimal(finding.interval[1]), "up")
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
    parts.append((":prediction", predicted, (Figure(decimal(finding.prediction)),)))
    parts += list(_check_texts(finding) if isinstance(finding, Check) else _control_texts(finding))
    parts += list(_spread_texts(finding, error)) if finding.blocks else []
    for part, text, figures in parts:
        yield Value(f"{key}{part}", text, figures, key, claim, finding)
    yield Value(f"{key}:verdict", finding.verdict.value, (), key, claim, finding, _VERDICTS)


def _spread_texts(finding: Check | Control, error: float) -> Iterator[Text]:
    """Yield how far the ends are from the estimate at most, and the standard error relative to it."""
    low, high = (decimal(end) for end in finding.interval)
    centre = decimal(finding.estimate)
    half = max(high - centre, centre - low)
    printed = numbers.estimate(float(half), error, (float(half), float(half)))
    yield ":halfwidth", printed.high + printed.times, (Figure(half, "up"),)
    if isinstance(finding, Check) and finding.estimate:
        relative = abs(finding.standard_error / finding.estimate)
        yield ":relative-error", numbers.small(relative), (Figure(decimal(relative)),)


def _check_texts(check: Check) -> Iterator[Text]:
    if check.tightness is not None:
        error = check.standard_error / abs(check.prediction)
        found = numbers.estimate(check.tightness, error, (check.tightness, check.tightness))
        yield ":tightness", found.value + found.times, (Figure(decimal(check.tightness)),)
    if not check.blocks:
        return
    yield ":error", numbers.small(check.standard_error), (Figure(decimal(check.standard_error)),)
    yield ":level", *level_text(check.level)
    yield ":blocks", *counted(check.blocks)
    yield ":draws", *counted(check.draws)


def _control_texts(control: Control) -> Iterator[Text]:
    if control.blocks:
        # Printed as ">" beyond 0.9999: never rounded up to certainty.
        power = min(control.power, 0.9999)
        yield ":power", numbers.power(control.power), (Figure(decimal(power), "under"),)


def _statement_values(statement: Statement) -> Iterator[Value]:
    key = f"{SOURCE}.{statement.id}"
    anchor = f"statement-{statement.id}"
    outcome = statement.outcome.value.replace("-", " ")
    for part in ("", ":outcome"):
        yield Value(f"{key}{part}", outcome, (), anchor, statement, kind=_OUTCOMES)
    for part, text in (("printed", statement.printed), ("computed", statement.computed)):
        if text:
            yield Value(f"{key}:{part}", plain(text), (), anchor, statement)
