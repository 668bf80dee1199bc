"""Where the site has what a key names: one place for each key, in citations and in the inventory."""

from collections.abc import Callable
from pathlib import Path

import pytest
from sphobjinv import Inventory

from tests.auditing.records import good
from tests.report.records import PAIRWISE, record
from tests.tool import Ended
from verify.citing.citations import FORMS, address_on_site, cite, place_on_site
from verify.citing.lookup import by_key
from verify.files.writing import write_whole
from verify.report.site import inventory

SITE = "https://example.org/verify"


@pytest.mark.parametrize(
    ("key", "place", "anchor"),
    [
        ("run", "", ""),
        ("run:seed", "", ""),
        ("score-variance", "claims/score-variance/", ""),
        ("score-variance:verdict", "claims/score-variance/", ""),
        ("score-variance.slope", "claims/score-variance/", "#score-variance.slope"),
        ("score-variance.slope:estimate", "claims/score-variance/", "#score-variance.slope"),
        ("source.b3", "statements/b3/", ""),
        ("source.b3:printed", "statements/b3/", ""),
    ],
)
@pytest.mark.parametrize("site", [SITE, f"{SITE}/", f"{SITE}/index.html"])
def test_a_key_has_one_address(site: str, key: str, place: str, anchor: str) -> None:
    """However the site's own is written; its parts are where the whole is."""
    assert place_on_site(key) == place
    assert address_on_site(site, key) == f"{SITE}/{place}{anchor}"


@pytest.mark.parametrize("form", sorted(FORMS))
def test_every_citation_leads_to_the_page(form: str) -> None:
    """In all forms; of an audit, which has no site, nothing of it is said."""
    run = record()
    cited = cite(run, PAIRWISE, PAIRWISE.checks[0], site=SITE)
    page = address_on_site(SITE, f"{PAIRWISE.id}.{PAIRWISE.checks[0].id}")
    assert cited.url == page
    assert page in FORMS[form](cited).replace("\\", "")
    audit = good()
    assert SITE not in FORMS[form](cite(audit, audit.layers[0], site=SITE))


def test_the_inventory_has_every_place() -> None:
    """Each key of a claim, a finding and a statement once, under a name that says which."""
    run = record()
    made = Inventory(zlib=inventory(run))
    assert (made.project, made.version) == ("sdpa-verify", run.tool.version)
    labels = {one.name: one for one in made.objects}
    keys = {key for key in by_key(run) if ":" not in key and key != "run"}
    names = {
        f"statement:{key.removeprefix('source.')}" if key.startswith("source.") else f"claim:{key}"
        for key in keys
    }
    assert labels.keys() == names
    assert {(one.domain, one.role) for one in made.objects} == {("std", "label")}
    first = labels[f"claim:{PAIRWISE.id}"]
    assert first.uri == f"claims/{PAIRWISE.id}/index.html"
    check = labels[f"claim:{PAIRWISE.id}.{PAIRWISE.checks[0].id}"]
    assert check.uri_expanded == f"claims/{PAIRWISE.id}/index.html#{PAIRWISE.id}.{PAIRWISE.checks[0].id}"


def test_the_site_is_named_once(
    tool: Callable[..., Ended], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In pyproject.toml; cite and values take it from there, and --url stands before it."""
    monkeypatch.chdir(tmp_path)
    write_whole(tmp_path / "results.json", record().sealed().to_json().encode())
    text = f'[tool.sdpa-verify]\nresults = "results.json"\nsite = "{SITE}/"\n'
    (tmp_path / "pyproject.toml").write_text(text, encoding="utf-8")
    page = f"{SITE}/claims/{PAIRWISE.id}/"
    assert f"url = {{{page}}}" in tool("cite", PAIRWISE.id, "--format", "bibtex").out
    other = tool("cite", PAIRWISE.id, "--format", "bibtex", "--url", "https://example.org/other").out
    assert f"url = {{https://example.org/other/report.html#{PAIRWISE.id}}}" in other
    lines = tool("values", PAIRWISE.id).out.splitlines()
    assert all(page in line for line in lines)
