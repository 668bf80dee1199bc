"""Run records as a verification would write them, made up: one claim for every way it can end.

They are kept as they are written. Where rules of judging or fields of records are changed on purpose,
``python -m tests.report.records`` judges and writes them again; read the difference afterwards.
"""

from pathlib import Path

from tests.judged import decided_statement, judged
from verify.evidence import ClaimRecord, RunRecord, Settings, Statement
from verify.evidence.judging import ErrorBudget

FILE = Path(__file__).with_name("made_up.json")
_MADE = RunRecord.model_validate_json(FILE.read_bytes())
CLAIMS, STATEMENTS = _MADE.claims, _MADE.statements
SCORE_VARIANCE, PAIRWISE, *_ = CLAIMS


def record(*claims: ClaimRecord, statements: tuple[Statement, ...] = STATEMENTS) -> RunRecord:
    """Return a run of these claims, of all the made-up claims if none is given."""
    chosen = claims or CLAIMS
    by_id = {claim.id: claim for claim in chosen}
    budget = ErrorBudget(Settings().false_alarm).record(
        sum(one.measured_checks for one in chosen), sum(len(one.controls) for one in chosen)
    )
    # A run that lacks a claim leaves open what is said of it.
    decided = tuple(decided_statement(one, by_id) for one in statements) if claims else statements
    run = _MADE.run.model_copy(update={"budget": budget})
    return _MADE.model_copy(update={"run": run, "claims": chosen, "statements": decided}).sealed()


if __name__ == "__main__":
    FILE.write_text(judged(_MADE).to_json(), encoding="utf-8")
