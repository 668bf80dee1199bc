"""Reading results.json and audit.json: what was written comes back, each damage is reported in one line."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jsonschema  # type: ignore[import-untyped]  # no stubs among the tools
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.auditing.records import bad, good
from tests.report.records import PAIRWISE, record
from tests.strategies import examples
from verify.errors import VerifyError
from verify.evidence import RunRecord
from verify.evidence.audits import AuditRecord
from verify.evidence.load import json_schema, load, load_audit, load_either

SMALL, AUDIT = record(PAIRWISE, statements=()), bad(2, 2)


@pytest.mark.parametrize("made", [record(), SMALL, good(), bad(), good(1, 1)])
def test_what_was_written_comes_back(tmp_path: Path, made: RunRecord | AuditRecord) -> None:
    """By the loader for its kind, and by the one that looks what a file is.

    It is valid under the published JSON Schema, by an independent validator.
    """
    path = tmp_path / "written.json"
    path.write_text(made.to_json(), encoding="utf-8")
    read = load if isinstance(made, RunRecord) else load_audit
    assert read(path) == made == load_either(path)
    schema = json_schema(type(made))
    jsonschema.Draft202012Validator.check_schema(schema)
    jsonschema.Draft202012Validator(schema).validate(json.loads(made.to_json()))


def edited(edit: Callable[[dict[str, Any]], object], made: RunRecord | AuditRecord = SMALL) -> str:
    """Return the JSON text of a record after an edit."""
    content = json.loads(made.to_json())
    edit(content)
    return json.dumps(content)


DAMAGES: dict[str, tuple[Callable[[Path], object], str, str]] = {
    "empty": (load, "", r"line 1: not complete JSON .*; run `sdpa-verify run`"),
    "a-list": (load, "[1, 2]", r'has no "schema"; give the results.json'),
    "older-schema": (load, '{"schema": 5}', r"schema 5, this version reads schema 6; install"),
    "nested-too-deep": (load, "[" * 100_000, r'has no "schema"; give the results.json'),
    "number-too-long": (load, '{"schema": ' + "9" * 5000 + "}", r'has no "schema"; give'),
    "missing": (
        load,
        edited(lambda c: c["claims"][0].pop("title")),
        r"\.title: Field required; run",
    ),
    "unknown": (load, edited(lambda c: c["run"].update(more=1)), r"run\.more: Extra inputs"),
    "nan": (load, edited(lambda c: c["run"].update(elapsed_s=float("nan"))), r"finite number"),
    "no-slug": (load, edited(lambda c: c["claims"][0].update(id="A b")), r"claims\.0\.id: String"),
    "no-time": (load, edited(lambda c: c["run"].update(created="yesterday")), r"run\.created: .*isoformat"),
    "no-date": (
        load,
        edited(lambda c: c["run"].update(created="0001-01-01T00:00:00+14:00")),
        r"run\.created: is beyond the calendar; run",
    ),
    "half-computed": (
        load,
        edited(lambda c: c["claims"][0].update(reason="\ud800")),
        r"changed since it was written; run",
    ),
    "half": (
        load,
        edited(lambda c: c["claims"][0].update(title="\ud800")),
        r"holds the control character .ud800; remove it; run",
    ),
    "seed": (
        load,
        edited(lambda c: c["run"]["settings"].update(seed=7)),
        r"changed since it was written; run",
    ),
    "no-seal": (load, edited(lambda c: c.pop("seal")), r"changed since it was written; run"),
    "an-audit": (load, AUDIT.to_json(), r'has no "schema"; give the results.json'),
    "cut-audit": (
        load_audit,
        AUDIT.to_json()[:-200],
        r"line \d+: not complete JSON .*; run `sdpa-verify audit`",
    ),
    "results": (load_audit, SMALL.to_json(), r'has no "audit_schema"; give the audit.json'),
    "newer-audit": (load_audit, '{"audit_schema": 9}', r"9, this version reads audit_schema 3; inst"),
    "changed-audit": (
        load_audit,
        edited(lambda c: c["layers"][0]["findings"][0].update(sequences=1), AUDIT),
        r"changed since it was written",
    ),
}


@pytest.mark.parametrize("name", DAMAGES)
def test_damage_is_reported_in_one_line(tmp_path: Path, name: str) -> None:
    """Of every kind; it starts with the path, and names the place and the fix."""
    read, text, message = DAMAGES[name]
    path = tmp_path / "damaged.json"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(VerifyError, match=message) as caught:
        read(path)
    said = str(caught.value)
    assert said.startswith(f"{path}: ")
    assert "\n" not in said
    assert ";" in said


@examples(60)
@given(st.integers(1, len(SMALL.to_json().rstrip()) - 1))
def test_cut_anywhere(tmp_path_factory: pytest.TempPathFactory, length: int) -> None:
    """A file cut short at any character is refused."""
    path = tmp_path_factory.mktemp("cut") / "results.json"
    path.write_text(SMALL.to_json()[:length], encoding="utf-8")
    with pytest.raises(VerifyError, match="not complete JSON"):
        load(path)
