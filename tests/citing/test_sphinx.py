"""The Sphinx extension in real builds: values linked to the report; an unknown key fails the build."""

import io
import warnings
from contextlib import redirect_stderr
from pathlib import Path

import pytest
from sphinx.cmd.build import build_main
from sphinx.util.console import strip_colors

from tests.report.records import record
from verify.citing.citations import link_to
from verify.citing.values import by_key
from verify.evidence import Verdict

CONF = """extensions = ["verify.citing.sphinx", "myst_parser"]
exclude_patterns = ["out"]
verify_results = "results.json"
verify_report = "https://example.org/report.html"
"""
PAGE = "Page\n====\n\n:verify:`score-variance.slope:estimate`\n"


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """Return a Sphinx project with a results file."""
    (tmp_path / "conf.py").write_text(CONF, encoding="utf-8")
    (tmp_path / "results.json").write_text(record().to_json(), encoding="utf-8")
    return tmp_path


def build(
    project: Path, *pages: tuple[str, str], strict: bool = True, builder: str = "html"
) -> tuple[int, str]:
    """Write the pages, build them in this process, and return the exit status and what is said."""
    for name, text in pages:
        (project / name).write_text(text, encoding="utf-8")
    said, options = io.StringIO(), ["-W", "--keep-going"] * strict
    with warnings.catch_warnings(), redirect_stderr(said):
        # Those of Sphinx about itself.
        warnings.simplefilter("ignore")
        status = build_main([*options, "-q", "-b", builder, str(project), str(project / "out")])
    return status, strip_colors(said.getvalue())


def test_values_are_shown_and_linked(project: Path) -> None:
    """In reStructuredText and in MyST Markdown alike."""
    key = "score-variance.slope:interval"
    index = f"Index\n=====\n\n:verify:`{key}`\n\n.. toctree::\n\n   more\n"
    status, said = build(project, ("index.rst", index), ("more.md", f"# More\n\n{{verify}}`{key}`\n"))
    assert (status, said) == (0, "")
    value = by_key(record())[key]
    for name in ("index", "more"):
        page = (project / "out" / f"{name}.html").read_text(encoding="utf-8")
        assert 'href="https://example.org/report.html#score-variance.slope"' in page
        assert value.text in page


def test_an_unknown_key_fails_the_build(project: Path) -> None:
    """Without -W, too; in one line with file, line and the nearest key, again until it is fixed."""
    page = ("index.rst", "Index\n=====\n\n:verify:`score-variance.slop`\n")
    for pages in ((page,), ()):
        status, said = build(project, *pages, strict=False)
        assert status != 0
        assert "index.rst:4: no value 'score-variance.slop' in these results; did you mean 'score-va" in said
    assert build(project, (page[0], page[1].replace("slop", "slope"))) == (0, "")


def test_a_text_of_one_s_own_is_held_against_the_value(project: Path) -> None:
    """Rounded is right; what is stale is a warning, at every build."""
    value = by_key(record())["score-variance.slope:estimate"]
    rounded = f"{value.figures[0].exact:.2f}"
    page = f"Index\n=====\n\n:verify:`{rounded} <{value.key}>`\n"
    more = ("more.md", f"---\norphan: true\n---\n# More\n\n{{verify}}`{rounded} <{value.key}>`\n")
    assert build(project, ("index.rst", page), more) == (0, "")
    shown = (project / "out" / "index.html").read_text(encoding="utf-8")
    assert f">{rounded}</a>" in shown
    for pages in ((("index.rst", page.replace(rounded, "7.25")),), ()):
        status, said = build(project, *pages)
        assert status != 0
        assert f"index.rst:4: WARNING: {value.key}: '7.25' has 7.25, which is none of estimate; to" in said


BROKEN = next(claim for claim in record().claims if claim.verdict is Verdict.REFUTED)


@pytest.mark.parametrize(
    ("text", "what"),
    [
        # With -W, as here, a warning fails the build as well.
        (f":verify:`{BROKEN.id}.{BROKEN.checks[0].id}`", "its claim is no longer confirmed but refuted"),
        # The line is that of the file that is included.
        (".. include:: part.txt", "part.txt:3: no value 'nothing'"),
        ("", "cannot be read"),
    ],
)
def test_what_is_wrong_fails_the_build(project: Path, text: str, what: str) -> None:
    """A claim that is not confirmed, a file that is included, and missing results before any page."""
    (project / "part.txt").write_text("One.\n\nTwo :verify:`nothing`.\n", encoding="utf-8")
    if not text:
        (project / "results.json").unlink()
    status, said = build(project, ("index.rst", f"Index\n=====\n\n{text}\n"))
    assert status != 0
    assert what in said


@pytest.mark.slow
def test_pages_that_quote_a_changed_value_are_built_again(project: Path) -> None:
    """Though they did not change themselves; those that quote nothing stay as they were built."""
    index = "Index\n=====\n\n:verify:`run:seed`\n\n.. toctree::\n\n   more\n"
    more = "More\n====\n\nNothing.\n"
    assert build(project, ("index.rst", index), ("more.rst", more))[0] == 0
    times = {name: (project / "out" / f"{name}.html").stat().st_mtime_ns for name in ("index", "more")}
    run = record()
    settings = run.run.settings.model_copy(update={"seed": 777})
    changed = run.model_copy(update={"run": run.run.model_copy(update={"settings": settings})}).sealed()
    (project / "results.json").write_text(changed.to_json(), encoding="utf-8")
    assert build(project)[0] == 0
    now = {name: (project / "out" / f"{name}.html").stat().st_mtime_ns for name in times}
    assert now["index"] > times["index"]
    assert ">777<" in (project / "out" / "index.html").read_text(encoding="utf-8")
    assert now["more"] == times["more"]


def test_links_lead_to_the_report_from_every_page(project: Path) -> None:
    """From a folder below, where each page is a folder; files, folders and addresses as `cite` has them."""
    with (project / "conf.py").open("a", encoding="utf-8") as conf:
        conf.write("verify_report = 'report.html'\n")
    (project / "deep").mkdir()
    index = ("index.rst", "Index\n=====\n\n.. toctree::\n\n   deep/page\n")
    assert build(project, index, ("deep/page.rst", PAGE), builder="dirhtml")[0] == 0
    shown = (project / "out" / "deep/page/index.html").read_text(encoding="utf-8")
    assert 'href="../../report.html#score-variance.slope"' in shown
    assert link_to("reports/", "a", 1) == "../reports/report.html#a"
    assert link_to("https://example.org/r", "a", 2) == "https://example.org/r/report.html#a"


def test_latex_gets_signs_that_tex_knows(project: Path) -> None:
    """No narrow space and no minus sign that stops pdflatex; words stay words."""
    keys = ("slope", "slope:draws", "slope:level")
    roles = " ".join(f":verify:`score-variance.{key}`" for key in keys)
    own = ":verify:`confirmed <score-variance:verdict>`"
    page = ("index.rst", f"Index\n=====\n\n{roles} :verify:`score-variance:verdict` {own}\n")
    assert build(project, page, builder="latex")[0] == 0
    (made,) = (project / "out").glob("*.tex")
    text = made.read_text(encoding="utf-8")
    assert text.count(r"\ensuremath{") == 3
    assert not set(text) & set("\u202f\u2212\u207b")
    assert text.count("confirmed") == 2
