"""Run records as a verification would write them, made up: one claim for every way it can end.

``python -m tests.report.records`` writes them again, where fields of records are changed on purpose.
"""

from pathlib import Path

from verify.evidence import ClaimRecord, RunRecord, Statement

FILE = Path(__file__).with_name("made_up.json")
_MADE = RunRecord.model_validate_json(FILE.read_bytes())
CLAIMS, STATEMENTS = _MADE.claims, _MADE.statements
SCORE_VARIANCE, PAIRWISE, *_ = CLAIMS


def record(*claims: ClaimRecord, statements: tuple[Statement, ...] = STATEMENTS) -> RunRecord:
    """Return a run of these claims, of all the made-up claims if none is given.

    A run that lacks a claim leaves open what is said of it.
    """
    chosen = claims or CLAIMS
    present = {claim.id for claim in chosen}
    decided = []
    for statement in statements:
        parts = [
            part.model_copy(update={"holds": part.holds if part.claim in present else None})
            for part in statement.parts
        ]
        decided.append(statement.model_copy(update={"parts": tuple(parts)}))
    return _MADE.model_copy(update={"claims": chosen, "statements": tuple(decided)}).sealed()


if __name__ == "__main__":
    claims = tuple(claim.sealed() for claim in CLAIMS)
    FILE.write_text(_MADE.model_copy(update={"claims": claims}).sealed().to_json(), encoding="utf-8")
