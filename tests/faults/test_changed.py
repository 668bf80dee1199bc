"""Every field on file or row of a store changed and sealed again: it is refused, or no verdict changes."""

import json
import re
import warnings
from collections import Counter
from itertools import islice
from pathlib import Path
from typing import Any

import pytest

from tests.faults import mistakes
from tests.faults.changed_rows import Kept, Outcome, campaign, changes, table
from tests.faults.changes import others, places
from tests.faults.poison import audit_sample, sample
from verify.engine.store import fault_of
from verify.errors import ResultsError
from verify.evidence import RunRecord
from verify.evidence.audits import AuditRecord
from verify.evidence.load import load_either

SAMPLES: dict[str, RunRecord | AuditRecord] = {"run": sample(), "audit": audit_sample()}
NOT_TOLD = re.compile(r"statements(\.#\.id)?|run\.own_sources|layers(\.#\.(id|name|findings(\.#\.id)?))?")
"""What a record cannot tell: which statements its sources had and whose they are, what a program's layers are
called, and which of them, or of their findings, are left out."""


def judged(record: RunRecord | AuditRecord) -> object:
    """Return all that a record is taken to say: its exit statuses, and every verdict by its id."""
    if isinstance(record, AuditRecord):
        layers = {
            one.id: {each.id: (each.judgement, each.decides) for each in one.findings}
            for one in record.layers
        }
        return record.exit_status, set(record.unseen), layers
    claims = {
        one.id: (
            one.verdict,
            one.derivation.status,
            {**{c.id: c.verdict for c in one.checks}, **{c.id: c.verdict for c in one.controls}},
        )
        for one in record.claims
    }
    outcomes = {one.id: (one.outcome, record.fails(one)) for one in record.statements}
    return record.exit_status, record.lenient_exit_status, claims, outcomes


def first_of_each_field(content: Any) -> dict[str, tuple[tuple[str | int, ...], Any]]:
    """Return one place for each field, by its path without the numbers."""
    found: dict[str, tuple[tuple[str | int, ...], Any]] = {}
    for path, value in places(content):
        name = ".".join("#" if isinstance(step, int) else step for step in path)
        if name != "seal":
            found.setdefault(name, (path, value))
    return found


def changed(content: Any, path: tuple[str | int, ...], value: Any) -> bytes:
    """Return the file with one value replaced, its digests and its seal made to fit if it can be read."""
    copy = json.loads(json.dumps(content))
    inside = copy
    for step in path[:-1]:
        inside = inside[step]
    inside[path[-1]] = value
    return mistakes.sealed(copy)


@pytest.mark.parametrize(
    "step", [pytest.param(3, marks=pytest.mark.slow), pytest.param(1, marks=pytest.mark.by_hand)]
)
@pytest.mark.parametrize("kind", SAMPLES)
def test_a_field_changed_and_sealed_again_changes_no_verdict(tmp_path: Path, kind: str, step: int) -> None:
    """Of all fields, with words, numbers and parts that a forger would choose, every ``step``-th of them."""
    sample = SAMPLES[kind]
    content, honest, counts = json.loads(sample.to_json()), judged(sample), Counter[str]()
    path = tmp_path / "record.json"
    for number, (name, (place, value)) in enumerate(first_of_each_field(content).items()):
        for other in islice(others(value), number % step, None, step):
            path.write_bytes(changed(content, place, other))
            record, said = read(path)
            counts["refused" if record is None else "without effect"] += 1
            assert len(said.splitlines()) == (record is None)
            if record is not None and not NOT_TOLD.fullmatch(name):
                assert judged(record) == honest, (name, other)
    print(kind, dict(counts))
    assert counts["refused"] > counts["without effect"] / 2


def read(path: Path) -> tuple[RunRecord | AuditRecord | None, str]:
    """Return what is read of a file, or why it is not."""
    try:
        return load_either(path), ""
    except ResultsError as refusal:
        return None, str(refusal)


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> Kept:
    """Return a store that a run has filled."""
    return Kept(tmp_path_factory.mktemp("kept"), own=False)


@pytest.mark.slow
def test_a_changed_row_of_a_claim_file_is_refused_or_decides_nothing(tmp_path: Path) -> None:
    """As of a claim that comes with the tool."""
    check_campaign(Kept(tmp_path), 150)


def test_a_changed_row_is_refused_or_decides_nothing(kept: Kept) -> None:
    """Of each leaf as many changes; what is refused is said in one line and computed again."""
    check_campaign(kept, 16)


def check_campaign(kept: Kept, number: int) -> None:
    """Try this number of changes."""
    wrong: list[Outcome] = []
    outcomes = campaign(kept, number, 33, wrong.append)
    print(table(outcomes))
    assert not wrong, [(one.change[:4], one.problems) for one in wrong]
    assert sum(one.what.startswith("refused") for one in outcomes) > number / 4


def test_a_fact_has_the_value_of_its_formula(kept: Kept) -> None:
    """It decides what sources print: another value is refused."""
    some = [one for one in changes(kept) if (one.kind, one.leaf) == ("claim", "facts.#.value")]
    assert len(some) > 20
    for one in some:
        assert fault_of(one.row._replace(content=one.content())), one[:4]


def test_a_record_without_what_statements_rest_on_is_computed_again(kept: Kept) -> None:
    """Else that run, and every later one, would end for lack of it."""
    names = ("worked-dot-products", "claim", "facts", "[]")
    (change,) = (one for one in changes(kept) if one[:4] == names)
    outcome = kept.tried(change)
    assert outcome.what == "refused by the run alone"
    assert not outcome.problems


def test_sums_too_large_for_an_estimate_are_refused_without_a_warning_of_numpys(kept: Kept) -> None:
    """They are finite, and those of some blocks; what would be estimated from them is not."""
    change = next(one for one in changes(kept) if (one.leaf, one.to) == ("shift", "1e+308"))
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        outcome = kept.tried(change)
    assert outcome.what == "refused by the run alone"
    assert not outcome.problems
    assert not warned
