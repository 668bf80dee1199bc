"""The oracle: the reference agrees with it, and each kind of departure is seen."""

import pytest

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


@pytest.mark.parametrize("field", ["prediction", "relation", "tolerance", "estimate"])
def test_changed_check_is_seen(reference: RunRecord, field: str) -> None:
    """A prediction that moves by a billionth counts, an estimate only beyond six standard errors."""
    check, *others = reference.claims[0].checks
    values = {
        "prediction": check.prediction + 1e-9,
        "relation": "≤",
        "tolerance": check.tolerance * 2,
        "estimate": check.estimate + 9 * check.standard_error,
    }
    changed = check.model_copy(update={field: values[field]})
    (line,) = departures(_with_first(reference, checks=(changed, *others)))
    assert line.startswith(f"{reference.claims[0].id}.{check.id}: {field}")


def test_noise_is_no_departure(reference: RunRecord) -> None:
    """Another seed's estimate, two standard errors off, agrees."""
    check, *others = reference.claims[0].checks
    moved = check.model_copy(update={"estimate": check.estimate + 2 * check.standard_error})
    assert departures(_with_first(reference, checks=(moved, *others))) == []


def test_missing_parts_are_seen(reference: RunRecord) -> None:
    """A claim, a check, a control or a statement that is gone is named."""
    first = reference.claims[0]
    assert departures(_with_first(reference, checks=first.checks[1:])) == [
        f"{first.id}.{first.checks[0].id}: missing"
    ]
    assert departures(_with_first(reference, controls=first.controls[1:])) == [
        f"{first.id}.{first.controls[0].id}: missing"
    ]
    fewer = reference.model_copy(
        update={"claims": reference.claims[1:], "statements": reference.statements[1:]}
    )
    claim, statement = departures(fewer)
    assert claim == f"claim {first.id}: missing"
    assert statement.startswith(f"statement {reference.statements[0].id}: None, was")
