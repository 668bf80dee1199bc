"""What differs between two runs, or a run and itself made again: each change is seen, and no other."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import verify

from tests.report.builders import exact_check, turned
from tests.report.records import CLAIMS, PAIRWISE, record
from tests.tool import Tool
from verify.citing.compare import Reproduction, compare, to_text
from verify.evidence import ClaimRecord, Fact, Proof, RunRecord, Verdict
from verify.evidence.load import digest

FIRST = PAIRWISE.checks[0]
KEY = f"{PAIRWISE.id}.{FIRST.id}"


def altered(claim: ClaimRecord = PAIRWISE, **more: Any) -> ClaimRecord:
    """Return a claim whose first check is otherwise."""
    first = claim.checks[0].model_copy(update=more)
    return claim.model_copy(update={"checks": (first, *claim.checks[1:])}).sealed()


def shifted(by: float) -> dict[str, Any]:
    """Return the first check's numbers moved by this many widths of its interval."""
    low, high = FIRST.interval
    shift = by * (high - low)
    return {"estimate": FIRST.estimate + shift, "interval": (low + shift, high + shift)}


def made_by(run: RunRecord, **facts: Any) -> RunRecord:
    """Return a run with other facts about how it was made, sealed again."""
    return run.model_copy(update={"run": run.run.model_copy(update=facts)}).sealed()


def seeded(run: RunRecord, seed: int = 2) -> RunRecord:
    """Return a run as if it were of another seed."""
    return made_by(run, settings=run.run.settings.model_copy(update={"seed": seed}))


REFUTED = altered(**dict(turned(FIRST, Verdict.REFUTED)))


def test_nothing_has_changed_against_itself() -> None:
    """Nothing is listed, and all evidence is the same; both are named."""
    changes = compare(record(), record())
    lists = ("verdicts", "statements", "moved", "settings", "come", "gone")
    assert all(getattr(changes, name) == () for name in lists)
    assert (changes.same, changes.exit_status, changes.judged) == (changes.whole, 0, 0)
    assert changes.earlier == changes.later
    assert "digest" in changes.earlier
    assert "No verdict and no outcome changed." in to_text(changes)


@pytest.mark.parametrize(("by", "moves"), [(0.3, False), (0.99, False), (1.01, True), (5.0, True)])
def test_values_drawn_otherwise_move_where_their_intervals_are_apart(by: float, moves: bool) -> None:
    """Touching ones may hold the same truth."""
    changes = compare(record(PAIRWISE), seeded(record(altered(**shifted(by)))))
    assert [(change.key, change.why) for change in changes.moved] == [(KEY, "intervals apart")] * moves
    assert all(change.before != change.after for change in changes.moved)
    assert changes.judged == sum(check.method != "exact" for check in PAIRWISE.checks)
    assert (changes.same, changes.exit_status) == (0, 0)


@pytest.mark.parametrize(
    ("more", "seed", "why"),
    [
        (shifted(0.01), 1, "otherwise of the same draws"),
        ({"estimate": FIRST.estimate * (1 + 1e-14)}, 1, ""),
        ({"prediction": FIRST.prediction * 1.0001}, 2, "another prediction"),
        ({"quantity": "another"}, 2, "of another quantity or other settings"),
        ({"cell": {"d_k": 7}}, 2, "of another quantity or other settings"),
        # How blocks are cut is not what they are of.
        ({"cell": {**FIRST.cell, "block": "9×9"}}, 2, ""),
    ],
)
def test_the_same_draws_and_quantities_have_to_give_the_same(more: Any, seed: int, why: str) -> None:
    """A difference within the interval is one of the program; one of last digits is none."""
    new = record(altered(**more))
    changes = compare(record(PAIRWISE), new if seed == 1 else seeded(new, seed))
    assert [change.why for change in changes.moved] == [why] * bool(why)


def test_computed_values_are_compared_to_ten_digits() -> None:
    """Checks and facts; where a check allows for rounding in place of 0, that is no value."""

    def run(value: float, error: float) -> RunRecord:
        update = {"estimate": error, "interval": (error, error), "tolerance": 1e-12}
        zero = exact_check("zero", 0.0, "", "an error").model_copy(update=update)
        fact = Fact(id="fact", what="a fact", latex="", value=value)
        checks = (exact_check("one", value, "", "one"), zero)
        return record(PAIRWISE.model_copy(update={"checks": checks, "facts": (fact,)}).sealed())

    assert compare(run(1.0, 1e-16), run(1 + 1e-13, 3e-15)).moved == ()
    moved = compare(run(1.0, 1e-16), run(1 + 1e-8, 1e-16)).moved
    assert [change.key for change in moved] == [f"{PAIRWISE.id}.one", f"{PAIRWISE.id}.fact"]
    assert {change.why for change in moved} == {"computed otherwise"}


def test_verdicts_of_all_kinds_end_with_1() -> None:
    """Of a claim, of its proof, of a check, of a control; each once, with both words."""
    derived = PAIRWISE.derivation.model_copy(update={"status": Proof.DERIVED})
    for changed in (
        REFUTED,
        altered(doubt="it is too skewed"),
        PAIRWISE.model_copy(update={"derivation": derived}),
        PAIRWISE.model_copy(update={"controls": (turned(PAIRWISE.controls[0], Verdict.CONFIRMED),)}),
    ):
        changes = compare(record(PAIRWISE), record(changed.sealed()))
        keys = [change.key for change in changes.verdicts]
        assert keys
        assert len(set(keys)) == len(keys)
        assert all(change.before != change.after for change in changes.verdicts)
        assert changes.exit_status == 1


def test_statements_are_compared_by_their_outcome() -> None:
    """A statement that is decided otherwise is listed with both outcomes."""
    run = record()
    first, *others = run.statements
    parts = tuple(part.model_copy(update={"holds": False, "kind": "says"}) for part in first.parts)
    wrong = first.model_copy(update={"parts": parts})
    changes = compare(run, run.model_copy(update={"statements": (wrong, *others)}))
    (change,) = changes.statements
    assert (change.key, change.before, change.after) == (f"source.{first.id}", "holds", "wrong")
    assert changes.exit_status == 1


def test_keys_that_came_and_went() -> None:
    """Of a claim that only one run has, its own; else those of checks. No verdict changed by that."""
    fewer = record(PAIRWISE.model_copy(update={"checks": PAIRWISE.checks[1:]}).sealed(), statements=())
    changes = compare(record(statements=()), fewer)
    others = [claim.id for claim in CLAIMS if claim is not PAIRWISE]
    assert sorted(changes.gone) == sorted([*others, KEY])
    assert (changes.come, changes.exit_status) == ((), 0)
    assert compare(fewer, record(statements=())).come == changes.gone


def test_the_command_says_all_of_it(tool: Tool, tmp_path: Path) -> None:
    """0 where all is the same, 1 where a verdict is not, 2 where a file is none."""
    old, new = tmp_path / "old.json", tmp_path / "new.json"
    old.write_text(record().to_json(), encoding="utf-8")
    claims = tuple(REFUTED if claim is PAIRWISE else claim for claim in CLAIMS)
    changed = seeded(record().model_copy(update={"claims": claims})).sealed()
    new.write_text(changed.to_json(), encoding="utf-8")
    assert tool("compare", old, old).status == 0
    ended = tool("compare", old, new)
    assert ended.status == 1
    words = (f"{PAIRWISE.id}: ", f"{KEY}: approximate → refuted", "seed: 20170612 → 2")
    assert all(f"\n  {word}" in ended.out for word in words)
    assert tool("compare", old, tmp_path).status == 2


@pytest.fixture(scope="module")
def made() -> RunRecord:
    """Return a coarse run of two claims."""
    return verify.run(["sqrt-scaling-unique", "over-scaling"], profile="quick", workers=1, store=False)


def edited(run: RunRecord, factor: float) -> RunRecord:
    """Return a run whose first estimate is multiplied, with its interval where that is far, sealed again."""
    claim = run.claims[0]
    numbers: dict[str, Any] = {"estimate": factor * claim.checks[0].estimate}
    if factor > 1.1:
        numbers["interval"] = tuple(factor * end for end in claim.checks[0].interval)
    return run.model_copy(update={"claims": (altered(claim, **numbers), *run.claims[1:])}).sealed()


def again(run: RunRecord) -> Reproduction:
    """Return what becomes of the first claim of a run."""
    return verify.reproduce(run, [run.claims[0].id], workers=1)


def test_the_same_run_is_identical(made: RunRecord) -> None:
    """All of it, with the digest of the whole."""
    outcome = verify.reproduce(made, workers=1)
    assert (outcome.exit_status, outcome.identical, outcome.differences, outcome.missing) == (0, 2, (), ())
    assert outcome.digest == digest(made)
    assert str(outcome) == f"identical: 2 claims, digest {outcome.digest[:16]}"
    with pytest.raises(verify.VerifyError, match=r"the results have no claim 'score-mean'; they have sqrt-"):
        verify.reproduce(made, ["score-mean"])


@pytest.mark.parametrize(("factor", "apart"), [(1 + 1e-6, False), (1.5, True)])
def test_a_changed_estimate_is_seen(made: RunRecord, factor: float, apart: bool) -> None:
    """By a part in a million, and beyond both intervals; also where the claim's own digest was left."""
    claim, run = made.claims[0], edited(made, factor)
    left = run.claims[0].model_copy(update={"digest": claim.digest})
    for tampered in (run, run.model_copy(update={"claims": (left, *run.claims[1:])}).sealed()):
        outcome = again(tampered)
        assert (outcome.exit_status, outcome.identical) == (1, 0)
        key = f"{claim.id}.{claim.checks[0].id}"
        (difference,) = [each for each in outcome.differences if each.key == key and each.why]
        assert difference.why == ("intervals apart" if apart else "otherwise of the same draws")
        assert difference.before != difference.after
        assert "0 of 1 claim identical" in str(outcome)


def test_other_versions_are_said(made: RunRecord) -> None:
    """They explain other digits, and not another verdict; where all is identical they do not matter."""
    older = {**made.run.environment, "numpy": "1.0"}
    outcome = again(made_by(made, environment=older))
    assert (outcome.exit_status, len(outcome.missing)) == (0, 1)
    assert outcome.missing[0].startswith("numpy 1.0; here it is ")
    slightly, far = (again(made_by(edited(made, factor), environment=older)) for factor in (1 + 1e-6, 1.5))
    assert (slightly.exit_status, far.exit_status) == (3, 1)


def test_a_claim_of_ones_own_needs_its_file(
    tool: Tool, claim_file: Callable[..., Path], tmp_path: Path
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
