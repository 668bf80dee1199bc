"""A run as a page of Markdown, for the page of a CI job."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from verify.evidence import ClaimRecord, Outcome, Proof, RunRecord, Verdict
from verify.text.escapes import for_markdown, prose_for_markdown

if TYPE_CHECKING:
    from collections.abc import Iterator

_MARKS = {Verdict.CONFIRMED: "✅", Verdict.APPROXIMATE: "🟡", Verdict.REFUTED: "❌", Verdict.UNDECIDED: "⚪"}


def to_markdown(record: RunRecord) -> bytes:
    """Return the page: what did not hold first, then a row for each claim, then the statements' outcomes."""
    return "\n".join(_lines(record)).encode() + b"\n"


def _lines(record: RunRecord) -> Iterator[str]:
    chosen = record.run.settings
    good = sum(map(_in_order, record.claims))
    yield f"## sdpa-verify: {good} of {len(record.claims)} claims hold"
    yield ""
    yield (
        f"Version {for_markdown(record.tool.version)}, seed {chosen.seed}, {chosen.profile} profile "
        f"(tolerance ±{chosen.tolerance:.3g}), false-alarm rate of the run {chosen.false_alarm:g}, "
        f"{record.run.elapsed_s:.0f} s."
    )
    yield ""
    controls = [control for claim in record.claims for control in claim.controls]
    refuted = sum(control.verdict is Verdict.REFUTED for control in controls)
    yield (
        f"{record.measured_checks} measured and {record.exact_checks} exact checks; "
        f"{refuted} of {len(controls)} wrong versions refuted."
    )
    yield ""
    for claim in record.claims:
        if not _in_order(claim):
            yield f"- **`{claim.id}`: {claim.verdict}.** {prose_for_markdown(claim.reason)}"
            yield ""
    yield "| claim | derivation | measurement | measured checks | exact checks | controls refuted | digest |"
    yield "|---|---|---|--:|--:|--:|---|"
    yield from map(_row, record.claims)
    yield ""
    from verify.evidence.words import tallies  # noqa: PLC0415 - a run without a summary needs none

    counts = tallies(Counter(statement.outcome for statement in record.statements), Outcome)
    yield f"Statements of the sources: {', '.join(f'{one.count} {one.word}' for one in counts)}."


def _row(claim: ClaimRecord) -> str:
    refuted = sum(control.verdict is Verdict.REFUTED for control in claim.controls)
    cells = (
        f"`{claim.id}`",
        claim.derivation.status.replace("-", " "),
        f"{_MARKS[claim.verdict]} {claim.verdict}",
        str(claim.measured_checks),
        str(claim.exact_checks),
        f"{refuted} of {len(claim.controls)}",
        f"`{claim.digest[:12]}`",
    )
    return f"| {' | '.join(cells)} |"


def _in_order(claim: ClaimRecord) -> bool:
    holds = claim.verdict in {Verdict.CONFIRMED, Verdict.APPROXIMATE}
    return holds and claim.derivation.status is not Proof.FAILED
