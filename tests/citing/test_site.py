"""Where the site has what a key names: one place for each key, in citations and in the inventory."""

from collections.abc import Callable
from pathlib import Path

import pytest
from sphobjinv import Inventory

from tests.report.records import PAIRWISE, record
from tests.tool import Ended
from verify.citing.lookup import by_key
from verify.report.site import inventory

SITE = "https://example.org/verify"


def test_the_inventory_has_every_place() -> None:
    """Each key of a claim, a finding and a statement once, under a name that says which."""
    run = record()
    made = Inventory(zlib=inventory(run))
    assert (made.project, made.version) == ("sdpa-verify", run.tool.version)
    labels = {label.name: label for label in made.objects}
    keys = {key for key in by_key(run) if ":" not in key and key != "run"}
    assert labels.keys() == {
        f"statement:{key.removeprefix('source.')}" if key.startswith("source.") else f"claim:{key}"
        for key in keys
    }
    assert {(label.domain, label.role) for label in made.objects} == {("std", "label")}
    assert labels[f"claim:{PAIRWISE.id}"].uri == f"claims/{PAIRWISE.id}/index.html"
    key = f"{PAIRWISE.id}.{PAIRWISE.checks[0].id}"
    assert labels[f"claim:{key}"].uri_expanded == f"claims/{PAIRWISE.id}/index.html#{key}"


def test_the_site_is_named_once(
    tool: Callable[..., Ended], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In pyproject.toml; cite and values take it from there, and --url stands before it."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "results.json").write_text(record().sealed().to_json(), encoding="utf-8")
    text = f'[tool.sdpa-verify]\nresults = "results.json"\nsite = "{SITE}/"\n'
    (tmp_path / "pyproject.toml").write_text(text, encoding="utf-8")
    page, other = f"{SITE}/claims/{PAIRWISE.id}/", "https://example.org/other"
    assert f"url = {{{page}}}" in tool("cite", PAIRWISE.id, "--format", "bibtex").out
    cited = tool("cite", PAIRWISE.id, "--format", "bibtex", "--url", other).out
    assert f"url = {{{other}/report.html#{PAIRWISE.id}}}" in cited
    assert all(page in line for line in tool("values", PAIRWISE.id).out.splitlines())
