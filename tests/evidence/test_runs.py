"""What is on record of a run: it comes back from its text, and its worst claim gives the exit status."""

from __future__ import annotations

import json
from html import escape

from hypothesis import given

from tests.strategies import RUN_RECORDS, examples
from verify.evidence import (
    Proof,
    RunRecord,
    Verdict,
)


@examples(30)
@given(RUN_RECORDS)
def test_json_keeps_everything(record: RunRecord) -> None:
    """A record comes back from its JSON text as it was, integers and floats kept apart."""
    text = record.to_json()
    assert text.endswith("}\n")
    again = RunRecord.model_validate_json(text)
    assert again == record
    assert again.to_json() == text
    assert json.loads(text)["schema"] == 2


class TestExitStatus:
    """What a run ends with."""

    @examples(60)
    @given(RUN_RECORDS)
    def test_the_worst_claim_decides(self, record: RunRecord) -> None:
        """1 for anything refuted or a failed proof, else 3 for anything undecided, else 0."""
        verdicts = {claim.verdict for claim in record.claims}
        proofs = {claim.derivation.status for claim in record.claims}
        status = record.exit_status()
        assert (status == 1) == (Verdict.REFUTED in verdicts or Proof.FAILED in proofs)
        if status != 1:
            assert status == (3 if Verdict.UNDECIDED in verdicts else 0)


@examples(20)
@given(RUN_RECORDS)
def test_a_run_shows_itself_as_text_and_in_notebooks(record: RunRecord) -> None:
    """Every claim has one line of text and one row of escaped HTML."""
    assert len(str(record).splitlines()) >= len(record.claims)
    for claim in record.claims:
        assert escape(claim.title) in claim._repr_html_()
        for check in claim.checks:
            assert check.id in check._repr_html_()
            assert check.id in claim._repr_html_()
    shown = record._repr_html_()
    assert shown.count("<tr>") == len(record.claims) + 1
    for claim in record.claims:
        assert f"<td>{claim.id}</td>" in shown
        assert claim.id in str(record)
