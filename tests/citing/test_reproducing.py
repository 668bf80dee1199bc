"""A run is made again: identical, or each value that differs, or what is missing here."""

from collections.abc import Callable
from pathlib import Path

import pytest

import verify
from tests.tool import Ended
from verify.citing.reproducing import Reproduction
from verify.evidence import ClaimRecord, RunRecord
from verify.evidence.load import digest

NAMES = ["sqrt-scaling-unique", "over-scaling"]


@pytest.fixture(scope="module")
def made() -> RunRecord:
    """Return a coarse run of two claims."""
    return verify.run(NAMES, profile="quick", workers=1, store=False)


def changed(record: RunRecord, claim: ClaimRecord, **run: object) -> RunRecord:
    """Return the run with another record of a claim, and other facts about the run, sealed again."""
    claims = tuple(claim if claim.id == other.id else other for other in record.claims)
    return record.model_copy(update={"claims": claims, "run": record.run.model_copy(update=run)}).sealed()


def with_estimate(claim: ClaimRecord, factor: float) -> ClaimRecord:
    """Return a claim whose first check has another estimate, and interval, sealed again."""
    first, *others = claim.checks
    numbers: dict[str, object] = {"estimate": factor * first.estimate}
    if factor > 1.1:
        low, high = first.interval
        numbers["interval"] = (factor * low, factor * high)
    return claim.model_copy(update={"checks": (first.model_copy(update=numbers), *others)}).sealed()


def again(record: RunRecord) -> Reproduction:
    """Return what becomes of the first claim of a run."""
    return verify.reproduce(record, [record.claims[0].id], workers=1)


def test_the_same_run_is_identical(made: RunRecord) -> None:
    """All of it, with the digest of the whole."""
    outcome = verify.reproduce(made, workers=1)
    assert (outcome.exit_status, outcome.identical, outcome.differences, outcome.missing) == (0, 2, (), ())
    assert outcome.digest == digest(made)
    assert str(outcome) == f"identical: 2 claims, digest {outcome.digest[:16]}"


@pytest.mark.parametrize(("factor", "apart"), [(1 + 1e-6, False), (1.5, True)])
def test_one_changed_estimate_is_found(made: RunRecord, factor: float, apart: bool) -> None:
    """By a part in a million, and beyond both intervals; also where the claim's own digest was left."""
    claim = made.claims[0]
    edited = with_estimate(claim, factor)
    for tampered in (edited, edited.model_copy(update={"digest": claim.digest})):
        outcome = again(changed(made, tampered))
        assert (outcome.exit_status, outcome.identical) == (1, 0)
        key = f"{claim.id}.{claim.checks[0].id}"
        (difference,) = [each for each in outcome.differences if each.key == key and each.why]
        assert difference.why == ("intervals apart" if apart else "otherwise of the same draws")
        assert difference.before != difference.after
        assert "0 of 1 claim identical" in str(outcome)


def test_other_versions_are_said(made: RunRecord) -> None:
    """They explain other digits, and not another verdict; where all is identical they do not matter."""
    older = {**made.run.environment, "numpy": "1.0"}
    outcome = again(changed(made, made.claims[0], environment=older))
    assert (outcome.exit_status, len(outcome.missing)) == (0, 1)
    assert outcome.missing[0].startswith("numpy 1.0; here it is ")
    slightly, far = (with_estimate(made.claims[0], factor) for factor in (1 + 1e-6, 1.5))
    assert again(changed(made, slightly, environment=older)).exit_status == 3
    assert again(changed(made, far, environment=older)).exit_status == 1


def test_a_claim_of_ones_own_needs_its_file(
    tool: Callable[..., Ended], claim_file: Callable[..., Path], tmp_path: Path
) -> None:
    """Without it nothing can be run again; with it, all; changed, it is told."""
    path = claim_file()
    assert tool("run", "--claims", path, "doubled-keys", "--profile", "quick", "--out", tmp_path).status == 0
    results = tmp_path / "results.json"
    ended = tool("reproduce", results)
    assert ended.status == 3
    assert "missing here: the file of claim doubled-keys; give it with --claims FILE" in ended.out
    assert "nothing could be run again" in ended.out
    assert "identical: 1 claim" in tool("reproduce", results, "--claims", path).out
    other = claim_file(("DIMENSIONS = (1, 8, 64)", "DIMENSIONS = (1, 8, 32)"))
    ended = tool("reproduce", results, "--claims", other)
    assert ended.status == 1
    assert "doubled-keys.variance-d64: there → gone" in ended.out


def test_a_claim_that_the_results_lack(made: RunRecord) -> None:
    """One line says which they have."""
    with pytest.raises(verify.VerifyError, match=r"the results have no claim 'score-mean'; they have sqrt-"):
        verify.reproduce(made, ["score-mean"])
