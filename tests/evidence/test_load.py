"""Reading results.json: what a run wrote comes back, and every damage is reported in one line."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jsonschema  # type: ignore[import-untyped]  # no stubs among the tools
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.auditing.records import bad
from tests.report.records import PAIRWISE, record
from tests.strategies import examples
from verify.errors import VerifyError
from verify.evidence import RunRecord
from verify.evidence.load import json_schema, load

SMALL = record(PAIRWISE, statements=())


@pytest.mark.parametrize("made", [record(), SMALL])
def test_what_was_written_comes_back(tmp_path: Path, made: RunRecord) -> None:
    """And is valid under the published JSON Schema, by an independent validator."""
    path = tmp_path / "results.json"
    path.write_text(made.to_json(), encoding="utf-8")
    assert load(path) == made
    jsonschema.Draft202012Validator(json_schema()).validate(json.loads(made.to_json()))


@pytest.mark.parametrize(
    ("record", "key", "version"), [(SMALL, "claims", "schema"), (bad(2, 2), "layers", "audit_schema")]
)
def test_the_schema_is_a_schema_and_refuses_mistakes(record: Any, key: str, version: str) -> None:
    """It is valid itself, and finds a missing key, an unknown key, a wrong type and another version."""
    schema = json_schema(type(record))
    jsonschema.Draft202012Validator.check_schema(schema)
    validator = jsonschema.Draft202012Validator(schema)
    good = json.loads(record.to_json())
    assert validator.is_valid(good)
    for mistake in (
        {name: value for name, value in good.items() if name != key},
        {**good, "more": 1},
        {**good, "tool": "sdpa-verify"},
        {**good, version: 2 * good[version]},
    ):
        assert not validator.is_valid(mistake)


def edited(edit: Callable[[dict[str, Any]], object]) -> str:
    """Return the JSON text of the small record after an edit."""
    content = json.loads(SMALL.to_json())
    edit(content)
    return json.dumps(content)


DAMAGES = [
    pytest.param("", r"line 1: not complete JSON .*; run `sdpa-verify run`", id="empty"),
    pytest.param("[1, 2]", r'has no "schema"; give the results.json', id="a-list"),
    pytest.param('{"schema": 5}', r"schema 5, this version reads schema 6; install", id="older-schema"),
    pytest.param('{"schema": 6}', r"tool: Field required; run", id="nothing-else"),
    pytest.param("[" * 100_000, r'has no "schema"; give the results.json', id="nested-too-deep"),
    pytest.param('{"schema": ' + "9" * 5000 + "}", r'has no "schema"; give', id="number-too-long"),
    pytest.param(edited(lambda c: c["claims"][0].pop("title")), r"claims\.0\.title: Field", id="missing"),
    pytest.param(edited(lambda c: c["run"].update(more=1)), r"run\.more: Extra inputs", id="unknown"),
    pytest.param(edited(lambda c: c["run"].update(elapsed_s="long")), r"run\.elapsed_s: Input", id="type"),
    pytest.param(edited(lambda c: c["run"].update(elapsed_s=float("nan"))), r"finite number", id="nan"),
    pytest.param(edited(lambda c: c["claims"][0].update(id="A b")), r"claims\.0\.id: String", id="no-slug"),
    pytest.param(
        edited(lambda c: c["run"].update(created="yesterday")), r"run\.created: .*isoformat", id="no-time"
    ),
    pytest.param(
        edited(lambda c: c["claims"][0].update(title="\ud800")),
        r"holds the control character .ud800; remove it; run",
        id="half",
    ),
    pytest.param(
        edited(lambda c: c["run"]["settings"].update(seed=7)), r"changed since it was written; run", id="seed"
    ),
    pytest.param(edited(lambda c: c.pop("seal")), r"changed since it was written; run", id="no-seal"),
]


def refused(read: Callable[[Path], object], path: Path, text: str, message: str) -> None:
    """Check that a text is no record: one line starts with the path, and names the place and the fix."""
    path.write_text(text, encoding="utf-8")
    with pytest.raises(VerifyError, match=message) as caught:
        read(path)
    said = str(caught.value)
    assert said.startswith(f"{path}: ")
    assert "\n" not in said
    assert ";" in said


@pytest.mark.parametrize(("text", "message"), DAMAGES)
def test_damage_is_reported_in_one_line(tmp_path: Path, text: str, message: str) -> None:
    """Of every kind, with the place and the fix."""
    refused(load, tmp_path / "results.json", text, message)


def test_a_binary_file(tmp_path: Path) -> None:
    """A PDF given by mistake is no text file."""
    path = tmp_path / "report.pdf"
    path.write_bytes(b"%PDF-1.7\n\xe2\xe3\xcf\xd3")
    with pytest.raises(VerifyError, match=r"report\.pdf: line 2: is not text in UTF-8; give"):
        load(path)


@examples(60)
@given(st.integers(1, len(SMALL.to_json().rstrip()) - 1))
def test_cut_anywhere(tmp_path_factory: pytest.TempPathFactory, length: int) -> None:
    """A file cut short at any character is refused."""
    path = tmp_path_factory.mktemp("cut") / "results.json"
    path.write_text(SMALL.to_json()[:length], encoding="utf-8")
    with pytest.raises(VerifyError, match="not complete JSON"):
        load(path)
