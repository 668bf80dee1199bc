"""Every field of a results file changed and sealed again: it is refused, or no verdict changes with it."""

from __future__ import annotations

import json
from collections import Counter
from typing import TYPE_CHECKING, Any

import pytest

from tests.faults import mistakes
from tests.faults.poison import sample
from verify.errors import ResultsError
from verify.evidence import Outcome, Proof, Verdict
from verify.evidence.load import load

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from verify.evidence import RunRecord

SAMPLE = sample()
CONTENT = json.loads(SAMPLE.to_json())
WORDS = (
    *(*Verdict, *Outcome, *Proof),
    *("=", "≤", "≥", "<", "~", "→", "derived", "computed", "set", "monte-carlo", "fit", "exact"),
    *(
        "all-values",
        "these-values",
        "numerically",
        "says",
        "prints",
        "quick",
        "standard",
        "deep",
        "",
        "other",
    ),
)
NOT_TOLD = {"statements", "statements.#.id", "run.own_sources"}
"""What a record cannot tell: which statements its sources had, how they are called, and whose they are."""


def places(value: Any, here: tuple[str | int, ...] = ()) -> Iterator[tuple[tuple[str | int, ...], Any]]:
    """Yield everything within a JSON value with its path."""
    if here:
        yield here, value
    if isinstance(value, dict | list):
        for step, inner in value.items() if isinstance(value, dict) else enumerate(value):
            yield from places(inner, (*here, step))


def others(value: Any) -> Iterator[Any]:
    """Yield what a forger may put in the place of a value."""
    yield None
    if isinstance(value, bool):
        yield not value
    elif value is None:
        yield from (True, False, 1, "other", "confirmed")
    elif isinstance(value, int | float):
        yield from (
            0,
            1,
            -1,
            -value,
            2 * value,
            value + 1,
            value * 1.001,
            value * 0.999,
            1e308,
            -1e308,
            1e-300,
        )
    elif isinstance(value, str):
        yield from map(str, WORDS if value in WORDS else ("", "other"))
    elif isinstance(value, list):
        yield from ([], value[1:], value[:-1], [*value, *value[:1]])
    else:
        yield {}
        yield from ({name: one for name, one in value.items() if name != gone} for gone in value)


def judged(run: RunRecord) -> object:
    """Return all that a run is taken to say: its exit statuses, and every verdict by its id."""
    claims = {
        one.id: (one.verdict, one.derivation.status, {c.id: c.verdict for c in (*one.checks, *one.controls)})
        for one in run.claims
    }
    outcomes = {one.id: (one.outcome, run.fails(one)) for one in run.statements}
    return run.exit_status, run.lenient_exit_status, claims, outcomes


def first_of_each_field() -> dict[str, tuple[tuple[str | int, ...], Any]]:
    """Return one place for each field, by its path without the numbers."""
    found: dict[str, tuple[tuple[str | int, ...], Any]] = {}
    for path, value in places(CONTENT):
        name = ".".join("#" if isinstance(step, int) else step for step in path)
        if name != "seal":
            found.setdefault(name, (path, value))
    return found


def changed(path: tuple[str | int, ...], value: Any) -> bytes:
    """Return the file with one value replaced, its digests and its seal made to fit if it can be read."""
    content = json.loads(json.dumps(CONTENT))
    inside = content
    for step in path[:-1]:
        inside = inside[step]
    inside[path[-1]] = value
    return mistakes.sealed(content)


@pytest.mark.slow
def test_a_field_changed_and_sealed_again_changes_no_verdict(tmp_path: Path) -> None:
    """Of all fields, with words, numbers and parts that a forger would choose; a table is printed."""
    honest, counts = judged(SAMPLE), Counter[str]()
    path = tmp_path / "results.json"
    for name, (place, value) in first_of_each_field().items():
        for other in others(value):
            path.write_bytes(changed(place, other))
            run, said = read(path)
            counts["refused" if run is None else "without effect"] += 1
            assert len(said.splitlines()) == (run is None)
            if run is not None and name not in NOT_TOLD:
                assert judged(run) == honest, (name, other)
    print(dict(counts))
    assert counts["refused"] > counts["without effect"] / 2


def read(path: Path) -> tuple[RunRecord | None, str]:
    """Return what is read of a file, or why it is not."""
    try:
        return load(path), ""
    except ResultsError as refusal:
        return None, str(refusal)
