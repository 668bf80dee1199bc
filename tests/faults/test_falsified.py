"""The catalogue's theorems are those of which it is stored how they fared at points, and fare so again."""

from __future__ import annotations

import json
import random
from collections import ChainMap
from itertools import chain
from pathlib import Path
from typing import Any

import pytest
from sympy import Dummy, Symbol

from tests.catalogue import CATALOGUE, EACH_QUICKLY_MADE, derivation
from tests.faults.falsified import SECONDS, SEED, digest, is_stopped, main, summary, theorems, trial
from tests.symbolic.test_falsifier import Candidate
from verify.evidence import Falsified
from verify.evidence.load import stored_table
from verify.files.names import shipped_folder

STORED: dict[str, Any] = json.loads((shipped_folder("data") / "falsified.json").read_text(encoding="utf-8"))
A, B = Symbol("a", positive=True), Symbol("b", positive=True)


@EACH_QUICKLY_MADE
def test_each_theorem_is_stored(name: str) -> None:
    """And nothing else is: what has changed is to be tried again."""
    now = {title: set(found) for title, found in theorems(derivation(name)).items()}
    assert now == {title: set(found) for title, found in STORED["claims"][name].items()}


def test_none_is_refuted_and_all_are_counted() -> None:
    """The printed sum is that of the counts, and all of these are of the catalogue."""
    assert set(STORED["claims"]) == set(CATALOGUE)
    named = (found for chains in STORED["claims"].values() for found in chains.values())
    assert set(STORED["statements"]) == set(chain.from_iterable(named))
    stored = stored_table(Falsified)
    assert stored == summary(STORED["statements"].values()).model_copy(update={"version": stored.version})
    assert stored_table(Falsified).refuted == 0


@pytest.mark.slow
def test_some_fare_as_they_did() -> None:
    """Of those that time did not stop, a few, the same each time."""
    told = sorted(name for name, one in STORED["statements"].items() if not is_stopped(one))
    chosen = set(random.Random(SEED).sample(told, 12))  # noqa: S311  # a sample, and no secret
    for claim, chains in STORED["claims"].items():
        if chosen & set(chain.from_iterable(chains.values())):
            every = ChainMap(*theorems(derivation(claim)).values())
            for name in sorted(chosen & set(every)):
                assert trial(every[name], 6 * SECONDS) == STORED["statements"][name], claim
            chosen -= set(every)
    assert not chosen


def test_a_digest_is_of_the_statement_alone() -> None:
    """Not of the number of a dummy or of the order of assumptions; each side, relation and domain counts."""
    one, same = (Candidate(Dummy("u", positive=True) + A, "≤", B) for _ in range(2))
    assert digest(one) == digest(same)
    again = Candidate(A + Symbol("b", real=True, positive=True), "≤", A * B)
    others = [again, Candidate(A + B, "<", A * B), Candidate(A * B, "≤", A + B), Candidate(A + B, "≤", A * A)]
    assert digest(again) == digest(Candidate(B + A, "≤", B * A))
    assert len({*map(digest, others), digest(Candidate(A + Symbol("b", real=True), "≤", A * B))}) == 5


def test_what_is_false_is_stored_as_such(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The point is printed, and the program says that it failed."""
    found = {"a chain": {"0" * 16: Candidate(A + 1, "≤", A), "1" * 16: Candidate(A, "≤", A + 1)}}
    monkeypatch.setattr("tests.faults.falsified.catalogue", lambda: {"self-score": CATALOGUE["self-score"]})
    monkeypatch.setattr("tests.faults.falsified.theorems", lambda _: found)
    path = tmp_path / "falsified.json"
    assert main(["--write", str(path)]) == 1
    assert "FALSE self-score: a + 1 ≤ a is false at a = " in capsys.readouterr().out
    stored = json.loads(path.read_text(encoding="utf-8"))
    assert [one["refuted"] for one in stored["statements"].values()] == [1, 0]
    assert stored["summary"]["refuted"] == 1
