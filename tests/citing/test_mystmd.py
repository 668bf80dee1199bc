"""The plugin for mystmd: what it answers, and a real build where mystmd is installed."""

import io
import json
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.report.records import record
from verify.citing import mystmd
from verify.citing.values import by_key

KEY = "score-variance.slope:estimate"


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a project with results and their report's address, which is the present folder."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "results.json").write_text(record().to_json(), encoding="utf-8")
    settings = '[tool.sdpa-verify]\nresults = "results.json"\nreport = "https://example.org/r/"\n'
    (tmp_path / "pyproject.toml").write_text(settings, encoding="utf-8")
    return tmp_path


def asked(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], body: str | None = None
) -> Any:
    """Return what the plugin answers to a call of mystmd."""
    monkeypatch.setattr(sys, "argv", ["plugin", *(["--role", "verify"] if body is not None else [])])
    monkeypatch.setattr(sys, "stdin", io.StringIO(json.dumps({"name": "verify", "body": body})))
    mystmd.main()
    return json.loads(capsys.readouterr().out)


@pytest.mark.usefixtures("project")
def test_a_role_becomes_a_linked_value(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """As the results have it, with a text of one's own where that is so."""
    assert [role["name"] for role in asked(monkeypatch, capsys)["roles"]] == ["verify"]
    value = by_key(record())[KEY]
    (link,) = asked(monkeypatch, capsys, KEY)
    assert link["url"] == f"https://example.org/r/report.html#{value.anchor}"
    assert link["children"] == [{"type": "text", "value": value.text}]
    rounded = f"{value.figures[0].exact:.2f}"
    (link,) = asked(monkeypatch, capsys, f"{rounded} <{KEY}>")
    assert link["children"][0]["value"] == rounded


@pytest.mark.usefixtures("project")
def test_what_is_not_so_is_a_node_with_an_error(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """In one line; the page is built all the same."""
    for body, what in (
        ("score-variance.slop", "did you mean"),
        (f"7.25 <{KEY}>", "'7.25' has 7.25, which is"),
    ):
        node, shown = asked(monkeypatch, capsys, body)
        assert (node["type"], node["value"]) == ("mystRoleError", body)
        assert what in node["message"] == shown["value"]
