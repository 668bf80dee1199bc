"""The values of a run: what each key's text and figures come from in the record."""

from __future__ import annotations

from decimal import Decimal

import pytest

from tests.report.records import record
from verify.citing.values import run_values
from verify.evidence import Outcome, Verdict

RUN = record()
VALUES = {value.key: value for value in run_values(RUN, None)}


def test_every_key_is_there_once_and_by_what_it_begins_with() -> None:
    """Of the run, of one claim, of the statements; nothing belongs to two of them."""
    heads = ("run", "source", *(claim.id for claim in RUN.claims))
    found = [value.key for head in heads for value in run_values(RUN, head)]
    assert len(found) == len(set(found))
    assert set(found) == set(VALUES)
    assert list(run_values(RUN, "nothing")) == []


def test_counts_are_those_of_the_record() -> None:
    """Each with what it is a part of."""
    checks = [check for claim in RUN.claims for check in claim.checks]
    wanted = {
        "claims": len(RUN.claims),
        "confirmed": sum(claim.verdict is Verdict.CONFIRMED for claim in RUN.claims),
        "checks": len(checks),
        "exact-checks": sum(check.method == "exact" for check in checks),
        "controls-refuted": sum(
            one.verdict is Verdict.REFUTED for claim in RUN.claims for one in claim.controls
        ),
        "wrong": sum(one.outcome is Outcome.WRONG for one in RUN.statements),
    }
    for name, count in wanted.items():
        (figure,) = VALUES[f"run:{name}"].figures
        assert figure.exact == count
    total = VALUES["run:confirmed"].total
    assert total is not None
    assert total.exact == len(RUN.claims)
    assert VALUES["run"].text == f"{wanted['confirmed']} of {wanted['claims']} claims confirmed"


@pytest.mark.parametrize("part", ["estimate", "low", "high", "prediction", "error"])
def test_figures_of_a_check_are_exact(part: str) -> None:
    """All digits of the record; ends are rounded outwards where digits are left out."""
    claim = RUN.claim("score-variance")
    check = next(one for one in claim.checks if one.blocks)
    wanted = {
        "estimate": check.estimate,
        "low": check.interval[0],
        "high": check.interval[1],
        "prediction": check.prediction,
        "error": check.standard_error,
    }
    (figure,) = VALUES[f"{claim.id}.{check.id}:{part}"].figures
    assert float(figure.exact) == wanted[part]
    assert figure.rounding == {"low": "down", "high": "up"}.get(part, "nearest")


def test_half_the_width_reaches_the_farther_end() -> None:
    """And is rounded up."""
    claim = RUN.claim("score-variance")
    for check in claim.checks:
        if check.blocks:
            (figure,) = VALUES[f"{claim.id}.{check.id}:halfwidth"].figures
            low, high = (Decimal(repr(end)) for end in check.interval)
            centre = Decimal(repr(check.estimate))
            assert (figure.exact, figure.rounding) == (max(high - centre, centre - low), "up")


def test_what_is_not_confirmed_may_be_quoted_in_doubt_alone() -> None:
    """Its verdicts may always be."""
    for claim in RUN.claims:
        for value in run_values(RUN, claim.id):
            doubtful = claim.verdict is not Verdict.CONFIRMED and not value.key.endswith(":verdict")
            assert bool(value.doubt) is doubtful


def test_a_power_is_never_rounded_to_certainty() -> None:
    """Printed as more than 0.9999, and held against that."""
    claim = RUN.claim("score-variance")
    (figure,) = VALUES[f"{claim.id}.{claim.controls[0].id}:power"].figures
    assert figure.exact == Decimal("0.9999")
    assert figure.rounding == "under"


def test_statements_have_outcomes_and_what_they_print() -> None:
    """Keys without a text are not there."""
    for statement in RUN.statements:
        key = f"source.{statement.id}"
        assert VALUES[f"{key}:outcome"].text == str(statement.outcome).replace("-", " ")
        assert (f"{key}:printed" in VALUES) == bool(statement.printed)
