"""Documents as their own programs build them: what is marked is shown, what is exported is read."""

import re
from pathlib import Path

import pytest

from tests.report.records import record
from verify.citing.citations import FORMS, cite
from verify.citing.documents import check, fix
from verify.citing.exports import exported
from verify.citing.values import by_key

pytestmark = pytest.mark.slow

RUN = record()
KEY = "score-variance.slope"
NOW = by_key(RUN)[f"{KEY}:estimate"].text
PM = by_key(RUN)[f"{KEY}|pm"].text.replace("\N{NO-BREAK SPACE}", " ")


def pandoc(text: str, source: str, folder: Path, *arguments: str) -> str:
    """Return a text as pandoc makes HTML of it."""
    program = pytest.importorskip("pypandoc", reason="needs pandoc")
    html: str = program.convert_text(
        text, "html", format=source, extra_args=["--resource-path", str(folder), *arguments]
    )
    return html.replace("\N{NO-BREAK SPACE}", " ")


@pytest.mark.parametrize(
    ("name", "source", "text"),
    [
        ("page.md", "markdown", f"It is <!-- verify: {KEY}|pm --><!-- /verify --> here.\n"),
        ("page.md", "gfm", f"| a |\n|---|\n| it is <!-- verify: {KEY}\\|pm --><!-- /verify --> here. |\n"),
        ("page.rst", "rst", f"It\n\n.. verify: {KEY}|pm\n\n.. /verify\n\nis here.\n"),
        ("page.tex", "latex", f"It is\n% verify: {KEY}|pm\n% /verify\nhere.\n"),
        ("page.typ", "typst", f"It is /* verify: {KEY}|pm *//* /verify */ here.\n"),
    ],
)
def test_pandoc_shows_what_was_written(tmp_path: Path, name: str, source: str, text: str) -> None:
    """And nothing of the markers."""
    path = tmp_path / name
    path.write_text(text, encoding="utf-8")
    fix(check([path], RUN))
    assert check([path], RUN)[0].problems == []
    html = pandoc(path.read_text(encoding="utf-8"), source, tmp_path)
    # Mathematics has spaces of other widths.
    shown = re.sub(r"<!--.*?-->|\s", "", html)
    assert "verify" not in shown
    assert PM.replace(" ", "") in shown


@pytest.mark.parametrize(("form", "ending"), [("bibtex", "bib"), ("csl-json", "json")])
def test_pandoc_cites_from_both_libraries(tmp_path: Path, form: str, ending: str) -> None:
    """With title, year and the note that says what the number is."""
    library = tmp_path / f"library.{ending}"
    claim = RUN.claim("score-variance")
    library.write_text(FORMS[form](cite(RUN, claim, claim.check("slope"))), encoding="utf-8")
    text = f"See [@sdpa-verify:{KEY}].\n"
    html = pandoc(text, "markdown", tmp_path, "--citeproc", "--bibliography", str(library))
    words = " ".join(html.split())
    assert "variance of a score is" in words.lower()
    assert "(The sdpa-verify authors 2026)" in words


def test_typst_reads_what_was_exported(tmp_path: Path) -> None:
    """Texts by their names, numbers as numbers; a marked text compiles."""
    typst = pytest.importorskip("typst", reason="needs Typst")
    (tmp_path / "verify.json").write_text(exported(RUN, (), "json"), encoding="utf-8")
    page = tmp_path / "page.typ"
    text = (
        '#let verify = json("verify.json")\n'
        "#assert(verify.numbers.score_variance_slope_estimate > 0.9)\n"
        "#verify.texts.score_variance_slope_estimate\n"
        f"It is /* verify: {KEY}|pm *//* /verify */.\n"
    )
    page.write_text(text, encoding="utf-8")
    documents = check([page], RUN)
    assert [document.path.name for document in documents] == ["page.typ", "verify.json"]
    fix(documents)
    svg = typst.compile(str(page), format="svg")
    assert svg.startswith(b"<svg")
    assert NOW in page.read_text(encoding="utf-8")
