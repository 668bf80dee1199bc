"""The site of a run: a page for each claim and statement, links that lead somewhere, written whole."""

import posixpath
import re
from pathlib import Path
from typing import Any
from urllib.parse import quote, unquote

import pytest

from tests.auditing.records import good
from tests.report.browser import IN_A_BROWSER, opened
from tests.report.records import CLAIMS, PAIRWISE, STATEMENTS, record
from tests.tool import Tool
from verify.errors import VerifyError
from verify.evidence.load import load
from verify.files import write_folder, write_whole
from verify.report.site import MARKER, site_files

pytestmark = pytest.mark.usefixtures("no_faces")

ADDRESS = "https://example.org/verify/"
_LINK = re.compile(r'(?:href|src)="([^"]*)"')


@pytest.fixture(scope="module")
def made() -> dict[str, bytes]:
    """Return the files of the made-up run's site."""
    return site_files(record(), ADDRESS)


def pages(made: dict[str, bytes]) -> dict[str, str]:
    """Return the pages as text."""
    return {path: content.decode() for path, content in made.items() if path.endswith(".html")}


def test_each_claim_and_statement_has_a_page(made: dict[str, bytes]) -> None:
    """Under its permanent address, which it names; besides them the first, and the evidence."""
    texts = pages(made)
    wanted = [f"claims/{claim.id}/index.html" for claim in CLAIMS]
    wanted += [f"statements/{statement.id}/index.html" for statement in STATEMENTS]
    assert sorted(texts) == sorted(["index.html", *wanted])
    for path in wanted:
        address = f"{ADDRESS}{path.removesuffix('index.html')}"
        assert f'<link rel="canonical" href="{address}">' in texts[path]
    badges = {f"badges/{claim.id}.svg" for claim in CLAIMS}
    assets = {"assets/site.css", "assets/site.js", "results.json", "objects.inv"}
    assert made.keys() - texts.keys() == badges | assets


def test_a_claim_has_its_whole_derivation_and_evidence(made: dict[str, bytes]) -> None:
    """A line for each of a chain, a row for each check and control, with their keys as anchors."""
    texts = pages(made)
    for claim in CLAIMS:
        page = texts[f"claims/{claim.id}/index.html"]
        lines = sum(len(chain.lines) for chain in claim.derivation.chains)
        assert len(re.findall(r'<div class="reason"', page)) == lines
        ids = set(re.findall(r' id="([^"]+)"', page))
        assert {f"{claim.id}.{check.id}" for check in claim.checks} <= ids
        assert {f"{claim.id}.{control.id}" for control in claim.controls} <= ids
        assert {f"{claim.id}.{fact.id}" for fact in claim.facts} <= ids
        assert "<details" not in page.replace('<details class="values">', "")


def test_every_link_leads_somewhere_and_none_leaves(made: dict[str, bytes]) -> None:
    """Relative ones, to a file of the site and an anchor on it; so a folder will do, and any prefix."""
    texts = pages(made)
    ids = {path: set(re.findall(r' id="([^"]+)"', page)) for path, page in texts.items()}
    count = 0
    for path, page in texts.items():
        for link in _LINK.findall(page):
            if link.startswith(("data:", ADDRESS, "https://", "http://")):
                continue
            file, _, anchor = link.partition("#")
            target = posixpath.normpath(posixpath.join(posixpath.dirname(path), file)) if file else path
            assert target in made, (path, link)
            assert not anchor or unquote(anchor) in ids[target], (path, link)
            count += 1
    assert count > 5 * len(texts)
    outside = {link for page in texts.values() for link in _LINK.findall(page) if link.startswith("http")}
    references = {reference.url for claim in CLAIMS for reference in claim.references}
    sources = {source.url for source in record().sources}
    assert {link for link in outside if not link.startswith(ADDRESS)} <= references | sources
    assert "http" not in made["assets/site.js"].decode()
    assert "url('http" not in made["assets/site.css"].decode()


def test_an_audit_has_no_site() -> None:
    """One line says so."""
    with pytest.raises(VerifyError, match=r"site: is made of a run only; give a results\.json"):
        site_files(good())


@pytest.mark.slow
def test_the_command_writes_the_site(tool: Tool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of the results that are named, into the folder that is; pages of claims that went are gone from it."""
    monkeypatch.chdir(tmp_path)
    write_whole(tmp_path / "r.json", record(PAIRWISE, statements=()).sealed().to_json().encode())
    out = Path("docs/site")
    write_folder(out, {"claims/gone/index.html": b"", "index.html": b""}, MARKER)
    ended = tool("site", "--results", "r.json", "--out", out)
    assert (ended.status, ended.out.strip()) == (0, "docs/site/index.html")
    assert load(out / "results.json") == load(Path("r.json"))
    assert [path.name for path in (out / "claims").iterdir()] == [PAIRWISE.id]
    names = (out / MARKER).read_text(encoding="utf-8").splitlines()
    assert {path.relative_to(out).as_posix() for path in out.rglob("*") if path.is_file()} == {*names, MARKER}


@pytest.mark.parametrize(
    ("words", "count"),
    [pytest.param(*case, marks=IN_A_BROWSER) for case in (("pairs biased", 1), ("no such claim", 0))],
)
def test_the_search_works_from_a_folder(
    made: dict[str, bytes], tmp_path: Path, browser: Any, words: str, count: int
) -> None:
    """In Chromium, by the file's own address: the entries that have all words stay, and are counted."""
    write_folder(tmp_path / "site", made, MARKER)
    own = (tmp_path / "site").as_uri()
    with opened(browser, f"{own}/index.html#q={quote(words)}", own) as shown:
        assert shown.locator("li.entry").count() == len(CLAIMS) + len(STATEMENTS)
        assert shown.locator("li.entry:not([hidden])").count() == count
        assert shown.locator("output").text_content() == f"{count} of {len(CLAIMS) + len(STATEMENTS)}"
