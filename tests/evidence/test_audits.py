"""Audits on record: they come back as they were written, and what is said of them in lines by cause."""

import json
from pathlib import Path
from typing import Any

import jsonschema  # type: ignore[import-untyped]  # no stubs among the tools
import pytest

from tests.auditing.records import bad, good
from tests.evidence.test_load import refused
from tests.report.records import record
from verify.errors import VerifyError
from verify.evidence.audits import AuditRecord, Judgement, summary_lines, together
from verify.evidence.load import json_schema, load, load_audit, load_either

SMALL = bad(2, 2)


def changed() -> str:
    """Return the JSON text of the small audit with a number of its first finding changed."""
    content = json.loads(SMALL.to_json())
    content["layers"][0]["findings"][0]["sequences"] = 1
    return json.dumps(content)


@pytest.mark.parametrize("audit", [good(), bad(), good(1, 1)], ids=["good", "bad", "one head"])
def test_what_was_written_comes_back(tmp_path: Path, audit: AuditRecord) -> None:
    """By the loader for audits, and by the one that looks what a file is."""
    path = tmp_path / "audit.json"
    path.write_text(audit.to_json(), encoding="utf-8")
    assert load_audit(path) == audit == load_either(path)
    jsonschema.Draft202012Validator(json_schema(AuditRecord)).validate(json.loads(audit.to_json()))


DAMAGES = [
    pytest.param(
        SMALL.to_json()[:-200], r"line \d+: not complete JSON .*; run `sdpa-verify audit`", id="cut"
    ),
    pytest.param(record().to_json(), r'has no "audit_schema"; give the audit.json', id="results"),
    pytest.param(
        '{"audit_schema": 9}', r"audit_schema 9, this version reads audit_schema 3; inst", id="newer"
    ),
    pytest.param(changed(), r"changed since it was written", id="changed"),
]


@pytest.mark.parametrize(("text", "message"), DAMAGES)
def test_damage_is_one_line(tmp_path: Path, text: str, message: str) -> None:
    """Of every kind, with the place and the fix."""
    refused(load_audit, tmp_path / "audit.json", text, message)


def test_files_of_other_kinds_are_refused(tmp_path: Path) -> None:
    """A folder, a missing file, and an audit where results are wanted."""
    audit = tmp_path / "audit.json"
    audit.write_text(SMALL.to_json(), encoding="utf-8")
    for path in (tmp_path, tmp_path / "none.json"):
        with pytest.raises(VerifyError, match=r"cannot be read .*; give the audit.json"):
            load_audit(path)
    with pytest.raises(VerifyError, match=r'has no "schema"; give the results.json'):
        load(audit)


def test_the_worst_finding_that_decides_gives_exit_status_and_verdict() -> None:
    """1 for a refuted one, else 3 for an undecided one, else 0, whatever is only reported."""
    assert good().exit_status == 0
    assert bad().exit_status == 1
    ends = {}
    for judgement in Judgement:
        audit = _with(good(1, 1), {"judgement": judgement})
        ends[judgement.value] = audit.exit_status, str(audit).splitlines()[-1].partition(":")[0]
    assert ends == {
        "confirmed": (0, "confirmed"),
        "refuted": (1, "refuted"),
        "undecided": (3, "undecided"),
        "warned": (0, "confirmed"),
        "reported": (0, "nothing decides"),
    }
    partly = good().model_copy(update={"unseen": ("calls",)})
    assert (partly.exit_status, partly.verdict) == (3, "confirmed in part")


def test_one_cause_is_one_line_over_layers_and_kinds() -> None:
    """Those on most heads come first; where no cause is known, what was found is said."""
    wrong, mask, undecided, *_, counts = str(bad(4, 4)).splitlines()
    assert wrong.startswith("✗ decoder.layers.0–2.self_attn: scale refuted: the scale is 1/√512 = 1/√D: ")
    assert wrong.endswith("; divide by √64, not √512: every score is 2.83 times too small")
    assert mask.startswith("✗ decoder.layers.3.self_attn, head 1: formula refuted: the mask")
    assert undecided.startswith("? decoder.layers.3.self_attn: scale undecided: the scale over the intended")
    assert counts.startswith("refuted: 4 layers, 16 heads; 24 calls, ")


@pytest.mark.parametrize(
    ("changes", "line"),
    [
        ({"cause": "", "reason": "half of the range", "fix": "scale"}, "is 0.3; half of the range; scale"),
        ({"cause": "no scale", "reason": "looked at 3 rows", "fix": "divide"}, "refuted: no scale; divide"),
    ],
)
def test_a_fix_does_not_hide_what_was_found(changes: dict[str, str], line: str) -> None:
    """Without a cause, the line has the measured number and the reason before the fix."""
    wrong = {"estimate": 0.3, "judgement": Judgement.REFUTED, "heads": (), **changes}
    assert next(summary_lines(_with(good(1, 1), wrong))).endswith(line)


def _with(audit: AuditRecord, *changes: dict[str, Any]) -> AuditRecord:
    """Return an audit with these changes to the first finding of each layer, and without the others."""
    layers = [
        layer.model_copy(update={"findings": (layer.findings[0].model_copy(update=change),)})
        for layer, change in zip(audit.layers, changes, strict=True)
    ]
    return audit.model_copy(update={"layers": tuple(layers)})


def test_places_stay_short() -> None:
    """What has no common pattern is listed up to three."""
    assert together(["encoder", "decoder", "cross"]) == "encoder, decoder, cross"
    assert together([f"{name}.attn" for name in "abcdefg"]) == "a.attn, b.attn, c.attn and 4 more layers"
    heads = [{"heads": (n,), "judgement": Judgement.WARNED} for n in range(8)]
    assert "head 2 and 5 more groups of heads: mask" in next(summary_lines(_with(good(8, 8), *heads)))
