"""Keys and values: each finding has some, texts and figures agree, and unknown keys are reported."""

from __future__ import annotations

from decimal import Decimal
from typing import TYPE_CHECKING

import pytest

from tests.report.records import record
from verify.citing.agreement import agrees, fixed
from verify.citing.figures import numbers_in
from verify.citing.lookup import chosen, lookup, lookup_in
from verify.citing.values import values_of as values
from verify.errors import CitationError
from verify.evidence import Verdict

if TYPE_CHECKING:
    from verify.evidence import RunRecord


@pytest.fixture(scope="module")
def run() -> RunRecord:
    """Return a run with a claim of every outcome."""
    return record()


def test_keys_are_unique_and_looked_up(quick: RunRecord) -> None:
    """Every key of the whole catalogue stands for one value, and is found."""
    listed = list(values(quick))
    keys = [value.key for value in listed]
    assert len(set(keys)) == len(keys)
    for value in listed[::97]:
        assert lookup(quick, value.key) == value


def test_every_finding_can_be_quoted(quick: RunRecord) -> None:
    """Claims, checks, controls, facts and the sources' statements all have keys."""
    keys = {value.key for value in values(quick)}
    for claim in quick.claims:
        assert f"{claim.id}:verdict" in keys
        names = [one.id for group in (claim.checks, claim.controls, claim.facts) for one in group]
        assert {f"{claim.id}.{name}" for name in names} <= keys
    assert {f"source.{statement.id}:outcome" for statement in quick.statements} <= keys


def test_a_text_agrees_with_its_own_value(quick: RunRecord) -> None:
    """What is listed is right when quoted as it is, down to every figure, and fixing leaves it alone."""
    for value in values(quick):
        if value.figures:
            assert len(numbers_in(value.text)) == len(value.figures), value.key
        assert agrees(value.text, value), value.key
        assert fixed(value.text, value) == value.text, value.key


def test_parts_of_a_check(run: RunRecord) -> None:
    """The bare key gives estimate and interval; its parts are the same figures alone."""
    check = next(one for one in run.claims[0].checks if one.blocks)
    key = f"{run.claims[0].id}.{check.id}"
    whole = lookup(run, key)
    assert whole.text == f"{lookup(run, f'{key}:estimate').text} {lookup(run, f'{key}:interval').text}"
    assert float(whole.figures[0].exact) == check.estimate
    assert [figure.rounding for figure in whole.figures] == ["nearest", "down", "up"]
    assert lookup(run, f"{key}:verdict").text == check.verdict
    assert whole.anchor == key


def test_values_of_the_run(run: RunRecord) -> None:
    """Counts come from the record."""
    assert lookup(run, "run:claims").text == str(len(run.claims))
    assert lookup(run, "run:seed").text == str(run.run.settings.seed)
    assert lookup(run, "run:date").text == run.run.created[:10]


@pytest.mark.parametrize(
    ("key", "near"),
    [
        ("score-varience.slope", "score-variance"),
        ("score-variance:digset", "score-variance:digest"),
        ("run:clams", "run:claims"),
    ],
)
def test_an_unknown_key_is_reported_with_the_nearest(run: RunRecord, key: str, near: str) -> None:
    """A typing mistake is fixed in one step."""
    with pytest.raises(CitationError, match=f"no value '{key}' in these results; did you mean '{near}"):
        lookup(run, key)


def test_a_key_like_no_other(run: RunRecord) -> None:
    """Where nothing is near, the list is named."""
    with pytest.raises(CitationError, match="`sdpa-verify values` lists them all"):
        lookup(run, "@@@@")


def test_only_what_is_confirmed_holds(run: RunRecord) -> None:
    """A figure of a claim that is not confirmed must not be quoted as if it were; its verdict may."""
    for claim in run.claims:
        for check in claim.checks:
            first = lookup(run, f"{claim.id}.{check.id}")
            assert bool(first.doubt) is (claim.verdict is not Verdict.CONFIRMED)
        assert not lookup(run, f"{claim.id}:verdict").doubt
    assert not lookup(run, "run:claims").doubt


def test_how_close_a_bound_is_and_the_kinds_of_checks_have_keys(run: RunRecord) -> None:
    """The estimate over a derived bound may be quoted, and how many checks are measured and exact."""
    bound = next(check for claim in run.claims for check in claim.checks if check.relation == "≤")
    claim = next(claim for claim in run.claims if bound in claim.checks)
    found = lookup(run, f"{claim.id}.{bound.id}:tightness")
    assert found.figures[0].exact == Decimal(repr(bound.tightness))
    assert abs(float(found.text) - bound.estimate / bound.prediction) < 1e-4
    total = int(lookup(run, "run:checks").text)
    kinds = [int(lookup(run, f"run:{kind}-checks").text) for kind in ("measured", "exact")]
    assert total == sum(kinds) == sum(len(claim.checks) for claim in run.claims)


def test_values_are_chosen_by_claim_or_by_key(run: RunRecord) -> None:
    """A claim stands for all of its values, a key for its own and those of its parts; none comes twice."""

    def keys(*names: str) -> list[str]:
        return [value.key for value in chosen(run, names)]

    slope = keys("score-variance.slope")
    assert slope[0] == "score-variance.slope"
    assert "score-variance.slope:interval" in slope
    assert all(key.startswith("score-variance.slope:") for key in slope[1:])
    assert keys("run:seed") == ["run:seed"]
    assert keys("score-variance:verdict") == ["score-variance:verdict"]
    statement = f"source.{run.statements[0].id}"
    assert keys(statement)[:2] == [statement, f"{statement}:outcome"]
    others = [key for key in keys("score-variance") if key not in slope]
    assert keys("score-variance.slope", "score-variance") == slope + others
    assert keys() == [value.key for value in values(run)]


def test_what_stands_for_nothing_is_refused(run: RunRecord) -> None:
    """Also where there are no statements to choose."""
    with pytest.raises(CitationError, match=r"did you mean 'score-variance\.slope"):
        chosen(run, ["run", "score-variance.slop"])
    with pytest.raises(CitationError, match="no value 'source'"):
        chosen(run.model_copy(update={"statements": ()}), ["source"])


def test_a_statement_s_id_alone_is_taken_for_its_key() -> None:
    """What lacks nothing but its head is suggested."""
    known = {"source.a5": lookup(record(), "run:claims"), "score-variance.slope": lookup(record(), "run")}
    with pytest.raises(CitationError, match=r"did you mean 'source\.a5'\?"):
        lookup_in(known, "a5")
