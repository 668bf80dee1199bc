"""What differs between two records: each kind of change is seen, and what chance draws again is none."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.report.builders import exact_check, turned
from tests.report.records import CLAIMS, PAIRWISE, record
from tests.tool import Ended
from verify.citing.compare import FORMS, Changes, compare
from verify.cli.citing import compare as command
from verify.evidence import ClaimRecord, Fact, Proof, RunRecord, Verdict

FIRST = PAIRWISE.checks[0]
KEY = f"{PAIRWISE.id}.{FIRST.id}"


def altered(claim: ClaimRecord = PAIRWISE, **more: Any) -> ClaimRecord:
    """Return a claim whose first check is otherwise."""
    first, *others = claim.checks
    return claim.model_copy(update={"checks": (first.model_copy(update=more), *others)}).sealed()


def seeded(run: RunRecord, seed: int = 2) -> RunRecord:
    """Return a run as if it were of another seed."""
    settings = run.run.settings.model_copy(update={"seed": seed})
    return run.model_copy(update={"run": run.run.model_copy(update={"settings": settings})})


def shifted(by: float) -> dict[str, Any]:
    """Return the first check's numbers moved by this many widths of its interval."""
    low, high = FIRST.interval
    shift = by * (high - low)
    return {"estimate": FIRST.estimate + shift, "interval": (low + shift, high + shift)}


def refuted(claim: ClaimRecord = PAIRWISE) -> ClaimRecord:
    """Return a claim whose first check is refuted."""
    first, *others = claim.checks
    return claim.model_copy(update={"checks": (turned(first, Verdict.REFUTED), *others)}).sealed()


def listed(found: Changes) -> list[tuple[str, ...]]:
    """Return what is listed at all, by its kind."""
    groups = (found.verdicts, found.statements, found.moved, found.settings)
    return [*(tuple(one.key for one in group) for group in groups), found.come, found.gone]


def test_nothing_has_changed_against_itself() -> None:
    """Nothing is listed, and all evidence is the same; both are named."""
    found = compare(record(), record())
    assert listed(found) == [()] * 6
    assert (found.same, found.exit_status, found.judged) == (found.whole, 0, 0)
    assert found.earlier == found.later
    assert "digest" in found.earlier
    assert "No verdict and no outcome changed." in FORMS["text"](found)


@pytest.mark.parametrize(("by", "moves"), [(0.3, False), (0.99, False), (1.01, True), (5.0, True)])
def test_values_drawn_otherwise_move_where_their_intervals_are_apart(by: float, moves: bool) -> None:
    """Touching ones may hold the same truth."""
    found = compare(record(PAIRWISE), seeded(record(altered(**shifted(by)))))
    assert [(change.key, change.why) for change in found.moved] == [(KEY, "intervals apart")] * moves
    assert all(change.before != change.after for change in found.moved)
    assert found.judged == sum(check.method != "exact" for check in PAIRWISE.checks)
    assert (found.same, found.exit_status) == (0, 0)


def test_the_same_draws_have_to_give_the_same_numbers() -> None:
    """A difference within the interval is one of the program; one of last digits is none."""
    moved = compare(record(PAIRWISE), record(altered(**shifted(0.01)))).moved
    assert [(one.key, one.why) for one in moved] == [(KEY, "otherwise of the same draws")]
    near = compare(record(PAIRWISE), record(altered(estimate=FIRST.estimate * (1 + 1e-14))))
    assert near.moved == ()


@pytest.mark.parametrize(
    ("more", "why"),
    [
        ({"prediction": FIRST.prediction * 1.0001}, "another prediction"),
        ({"quantity": "another"}, "of another quantity or other settings"),
        ({"cell": {"d_k": 7}}, "of another quantity or other settings"),
        ({"cell": {**FIRST.cell, "block": "9×9"}}, ""),
    ],
)
def test_a_value_of_something_else_has_moved(more: dict[str, Any], why: str) -> None:
    """Even where the estimate is the same; how blocks are cut is not what they are of."""
    moved = compare(record(PAIRWISE), seeded(record(altered(**more)))).moved
    assert [one.why for one in moved] == ([why] if why else [])


def test_computed_values_are_compared_to_ten_digits() -> None:
    """Checks and facts; where a check allows for rounding in place of 0, that is no value."""

    def run(value: float, error: float) -> RunRecord:
        zero = exact_check("zero", 0.0, "", "an error")
        found = {"estimate": error, "interval": (error, error), "tolerance": 1e-12}
        fact = Fact(id="fact", what="a fact", latex="", value=value)
        checks = (exact_check("one", value, "", "one"), zero.model_copy(update=found))
        return record(PAIRWISE.model_copy(update={"checks": checks, "facts": (fact,)}).sealed())

    assert compare(run(1.0, 1e-16), run(1 + 1e-13, 3e-15)).moved == ()
    moved = compare(run(1.0, 1e-16), run(1 + 1e-8, 1e-16)).moved
    assert [(one.key, one.why) for one in moved] == [
        (f"{PAIRWISE.id}.one", "computed otherwise"),
        (f"{PAIRWISE.id}.fact", "computed otherwise"),
    ]


@pytest.mark.parametrize(
    "changed",
    [
        refuted(),
        altered(doubt="it is too skewed"),
        PAIRWISE.model_copy(
            update={"derivation": PAIRWISE.derivation.model_copy(update={"status": Proof.DERIVED})}
        ),
        PAIRWISE.model_copy(update={"controls": (turned(PAIRWISE.controls[0], Verdict.CONFIRMED),)}),
    ],
)
def test_verdicts_of_all_kinds_end_with_1(changed: ClaimRecord) -> None:
    """Of a claim, of its proof, of a check, of a control; each once, with both words."""
    found = compare(record(PAIRWISE), record(changed.sealed()))
    keys = [change.key for change in found.verdicts]
    assert keys
    assert len(set(keys)) == len(keys)
    assert all(change.before != change.after for change in found.verdicts)
    assert found.exit_status == 1


def test_statements_are_compared_by_their_outcome() -> None:
    """A statement that is decided otherwise is listed with both outcomes."""
    run = record()
    first, *others = run.statements
    parts = tuple(part.model_copy(update={"holds": False, "kind": "says"}) for part in first.parts)
    wrong = first.model_copy(update={"parts": parts})
    found = compare(run, run.model_copy(update={"statements": (wrong, *others)}))
    (one,) = found.statements
    assert (one.key, one.before, one.after) == (f"source.{first.id}", "holds", "wrong")
    assert found.exit_status == 1


def test_keys_that_came_and_went() -> None:
    """Of a claim that only one run has, its own; else those of checks. No verdict changed by that."""
    fewer = record(PAIRWISE.model_copy(update={"checks": PAIRWISE.checks[1:]}).sealed(), statements=())
    found = compare(record(statements=()), fewer)
    others = [claim.id for claim in CLAIMS if claim is not PAIRWISE]
    assert sorted(found.gone) == sorted([*others, KEY])
    assert (found.come, found.exit_status) == ((), 0)
    assert compare(fewer, record(statements=())).come == found.gone


def test_settings_and_versions_are_listed() -> None:
    """With both values; the number of workers changes nothing and is none."""
    run = record()
    environment = {**run.run.environment, "numpy": "9.9", "workers": "77"}
    other = run.model_copy(update={"run": run.run.model_copy(update={"environment": environment})})
    found = compare(run, seeded(other))
    assert {one.key: one.after for one in found.settings} == {"seed": "2", "numpy": "9.9"}


def test_two_runs_of_one_truth_seldom_disagree() -> None:
    """Of 100 pairs of simulated runs with intervals that hold together at 0.9, at most one in five disagrees.

    By the union bound over both runs; those of another truth are seen to disagree.
    """
    rng = np.random.default_rng(1)
    half = 2.12  # of three normal estimates, each missed with probability 0.1/3

    def run(seed: int, truth: float) -> RunRecord:
        checks = (
            FIRST.model_copy(
                update={
                    "id": f"c{place}",
                    "estimate": at,
                    "interval": (at - half, at + half),
                    "prediction": 0.0,
                }
            )
            for place, at in enumerate(truth + rng.standard_normal(3))
        )
        return seeded(record(PAIRWISE.model_copy(update={"checks": tuple(checks)})), seed)

    pairs = [compare(run(1, 0), run(2, 0)) for _ in range(100)]
    assert {found.judged for found in pairs} == {3}
    assert sum(bool(found.moved) for found in pairs) <= 0.2 * len(pairs)
    assert all(compare(run(1, 0), run(2, 12)).moved for _ in range(20))


def test_every_form_says_all_of_it() -> None:
    """Text with headings, JSON with each change and the exit status."""
    old = record()
    claims = tuple(refuted(claim) if claim is PAIRWISE else claim for claim in CLAIMS)
    found = compare(old, seeded(old.model_copy(update={"claims": claims})))
    assert all(word in FORMS["text"](found) for word in (KEY, "refuted", "20170612", "seed"))
    content = json.loads(FORMS["json"](found))
    before = found.verdicts[1].before
    assert content["verdicts"][1:] == [
        {"key": KEY, "what": FIRST.quantity, "before": before, "after": "refuted", "why": ""}
    ]
    assert content["verdicts"][0]["key"] == PAIRWISE.id
    assert content["exit_status"] == 1
    (option,) = (one for one in command.params if one.name == "form")
    assert sorted(option.type.choices) == sorted(FORMS)  # type: ignore[attr-defined]


def test_the_command_ends_with_the_status(tool: Callable[..., Ended], tmp_path: Path) -> None:
    """0 where all is the same, 1 where a verdict is not, 2 where a file is none."""
    old, new = tmp_path / "old.json", tmp_path / "new.json"
    old.write_text(record(PAIRWISE).to_json(), encoding="utf-8")
    moved = altered(estimate=1.5, interval=(1.49, 1.51))
    new.write_text(record(moved).to_json(), encoding="utf-8")
    assert tool("compare", old, old).status == 0
    ended = tool("compare", old, new, "--format", "text")
    assert (ended.status, f"{KEY}: approximate → refuted;" in ended.out) == (1, True)
    assert tool("compare", old, tmp_path).status == 2
