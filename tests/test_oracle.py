"""The oracle: the reference agrees with it, and each kind of departure is seen."""

from tests.oracle import departures
from verify.evidence import ClaimRecord, RunRecord


def _with_first(record: RunRecord, **changed: object) -> RunRecord:
    """Return a run whose first claim has other parts."""
    first, *others = record.claims
    claim = ClaimRecord.model_construct(**{**dict(first), **changed})
    return record.model_copy(update={"claims": (claim, *others)})


def test_reference_agrees(reference: RunRecord) -> None:
    """What ships has the predictions, controls, facts and outcomes of the oracle."""
    assert departures(reference) == []


def test_each_change_of_a_check_is_seen(reference: RunRecord) -> None:
    """A prediction that moves by a billionth counts, an estimate only beyond six standard errors."""
    check, *others = reference.claims[0].checks
    for field, value in (
        ("prediction", check.prediction + 1e-9),
        ("relation", "≤"),
        ("tolerance", check.tolerance * 2),
        ("estimate", check.estimate + 9 * check.standard_error),
    ):
        changed = check.model_copy(update={field: value})
        (line,) = departures(_with_first(reference, checks=(changed, *others)))
        assert line.startswith(f"{reference.claims[0].id}.{check.id}: {field}")
    moved = check.model_copy(update={"estimate": check.estimate + 2 * check.standard_error})
    assert departures(_with_first(reference, checks=(moved, *others))) == []


def test_missing_parts_are_seen(reference: RunRecord) -> None:
    """A claim, a check, a control or a statement that is gone is named."""
    first = reference.claims[0]
    for kind, parts in (("checks", first.checks), ("controls", first.controls)):
        lines = departures(_with_first(reference, **{kind: parts[1:]}))
        assert lines == [f"{first.id}.{parts[0].id}: missing"]
    claims, (lost, *statements) = reference.claims[1:], reference.statements
    fewer = reference.model_copy(update={"claims": claims, "statements": tuple(statements)})
    claim, statement = departures(fewer)
    assert claim == f"claim {first.id}: missing"
    assert statement.startswith(f"statement {lost.id}: None, was")
