"""The Markdown summary: what did not hold comes first, and every claim has its row."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.report.records import CLAIMS, record
from verify.citing.summaries import to_markdown

if TYPE_CHECKING:
    from verify.evidence import RunRecord


def test_every_claim_has_a_row_and_failures_a_sentence() -> None:
    """Bad news is not hidden in the table."""
    text = to_markdown(record()).decode()
    head, table = text.split("| claim |")
    exact = sum(check.blocks == 0 for claim in CLAIMS for check in claim.checks)
    measured = sum(len(claim.checks) for claim in CLAIMS) - exact
    assert f"{measured} measured and {exact} exact checks; 4 of 5 wrong versions refuted." in head
    for claim in CLAIMS:
        assert f"| `{claim.id}` | {claim.derivation.status.replace('-', ' ')} |" in table
        assert f" {claim.verdict} | {claim.measured_checks} | {claim.exact_checks} |" in table
        bad = claim.verdict in {"refuted", "undecided"} or claim.derivation.status == "failed"
        assert (f"- **`{claim.id}`: {claim.verdict}.**" in head) is bad
    assert {line.count("|") for line in table.splitlines()[1:] if line.startswith("|")} == {8}


def test_a_good_run_is_short(quick: RunRecord) -> None:
    """No sentence but the heading and the counts; the statements' outcomes close it."""
    text = to_markdown(quick).decode()
    assert f"\n{quick.measured_checks} measured and {quick.exact_checks} exact checks; " in text
    assert text.startswith(f"## sdpa-verify: {len(quick.claims)} of {len(quick.claims)} claims hold\n")
    assert "\n- **" not in text
    assert "27 hold, 8 hold with conditions, 2 misprinted." in text.splitlines()[-1]


def test_one_statement_holds_and_several_hold() -> None:
    """A number of one has its own word."""
    run = record()
    statement = next(one for one in run.statements if one.outcome == "holds")
    one = run.model_copy(update={"statements": (statement,)})
    assert to_markdown(one).decode().endswith("Statements of the sources: 1 holds.\n")
