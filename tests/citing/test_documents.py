"""Documents that quote: stale figures are found by file and line and fixed, malformed ones refused."""

import errno
import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.report.records import record
from verify.citing.documents import FORMS, changes, check, find_documents, fix, left
from verify.citing.exports import exported
from verify.citing.values import by_key
from verify.errors import CitationError, OutputError

RUN = record()
KEY = "score-variance.slope"
FORM, BARRED = f"{KEY}|default", rf"{KEY}\|default"
NOW = by_key(RUN)[KEY].text
ESTIMATE = by_key(RUN)[f"{KEY}:estimate"].text


def written(folder: Path, text: str, name: str = "page.md") -> Path:
    """Return a document with this text."""
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path


def quoted(text: str, key: str = FORM) -> str:
    """Return a quotation between its markers."""
    return f"<!-- verify: {key} -->{text}<!-- /verify -->"


def problems(path: Path) -> list[str]:
    """Return what is wrong in one document."""
    (document,) = check([path], RUN)
    return [problem.what for problem in document.problems]


GIT = shutil.which("git")


@pytest.mark.skipif(GIT is None, reason="needs git")
def test_every_form_says_all(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A command of GitHub a line, what can be done in text, and as a diff for git what writing does."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "docs").mkdir()
    unknown = quoted("1", "score-variance.nothing")
    text = f"It is {quoted('7.25 [1, 9]')}.\n100%: so {unknown}\n{quoted('7.25 (Fig. 3)', KEY)}"
    page = written(tmp_path / "docs", text, "a page.md")
    checked = check([page], RUN)
    lines = FORMS["github"](checked, "seed 1").splitlines()
    assert len(lines) == 4
    assert lines[0].startswith(f"::error file=docs/a page.md,line=1,title=sdpa-verify stale::{FORM}: printed")
    assert all(re.match(r"::(error|notice) [^:]*::", line) for line in lines)
    *_, last = FORMS["text"](checked, "seed 1").splitlines()
    assert last.startswith("`sdpa-verify check-docs --write")
    assert GIT
    patch = changes(checked)
    subprocess.run([GIT, "apply", "-"], input=patch, cwd=tmp_path, text=True, check=True, encoding="utf-8")
    applied = page.read_text(encoding="utf-8")
    page.write_text(text, encoding="utf-8")
    fix(checked)
    assert page.read_text(encoding="utf-8") == applied != text
    assert len(left(checked)) == 2
    assert "1 fixed, 2 stale or wrong" in FORMS["text"](checked, "seed 1")


def test_mending_writes_the_present_figures(tmp_path: Path) -> None:
    """Once fixed, nothing is wrong; words, line ends and permissions stay."""
    key = f'{KEY}|"{{estimate}}, interval {{low}} to {{high}}"'
    path = written(tmp_path, f"Slope **{quoted('1.5, interval 1.2 to 1.9', key)}**.\r\nRest.\n")
    path.chmod(0o640)
    assert fix(check([path, path, tmp_path / "." / "page.md"], RUN)) == [path]
    assert problems(path) == []
    text = path.read_bytes().decode()
    assert ", interval " in text
    assert text.endswith("**.\r\nRest.\n")
    assert path.stat().st_mode & 0o777 == 0o640
    assert fix(check([path], RUN)) == []


@pytest.mark.parametrize(
    ("name", "text", "fixed"),
    [
        # Empty quotations are filled: between lines with lines.
        ("page.md", f"It is {quoted('')}.\n", f"It is {quoted(NOW)}.\n"),
        ("page.typ", f"// verify: {FORM}\n// /verify\n", f"// verify: {FORM}\n{NOW}\n// /verify\n"),
        ("page.rst", f".. verify: {FORM}\n\n\n.. /verify\n", f".. verify: {FORM}\n\n{NOW}\n\n.. /verify\n"),
        # The text of a role that has a form.
        (
            "page.rst",
            f":verify:`{ESTIMATE} <{KEY}:estimate>` :verify:`7.00 <{KEY}:estimate|default>`",
            f":verify:`{ESTIMATE} <{KEY}:estimate>` :verify:`{ESTIMATE} <{KEY}:estimate|default>`",
        ),
        # The output of a doctest; what is switched off stays.
        (
            "page.md",
            f"```\n>>> f()  # verify: {KEY}:estimate|.3f\n0.9\n```\n<!-- verify: off -->{quoted('x')}\n",
            f"```\n>>> f()  # verify: {KEY}:estimate|.3f\n1.000\n```\n<!-- verify: off -->{quoted('x')}\n",
        ),
        # The bar of a form ends a cell of a table, and nothing elsewhere.
        (
            "page.md",
            f"{quoted(NOW)} | x\n\n| a | b |\n|---|--:|\n| x {quoted(NOW)} | 1 |\n",
            f"{quoted(NOW)} | x\n\n| a | b |\n|---|--:|\n| x {quoted(NOW, BARRED)} | 1 |\n",
        ),
        (
            "page.md",
            f"a | b\n--- | ---\n{{verify}}`{KEY}|pm` | 1\n",
            f"a | b\n--- | ---\n{{verify}}`{KEY}\\|pm` | 1\n",
        ),
    ],
)
def test_what_is_stale_is_fixed(tmp_path: Path, name: str, text: str, fixed: str) -> None:
    """One thing in each document; once fixed, it is current."""
    path = written(tmp_path, text, name)
    assert len(problems(path)) == 1
    fix(check([path], RUN))
    assert path.read_text(encoding="utf-8") == fixed
    assert problems(path) == []


MORE = "put the markers around that text alone"
REFUTED = next(claim for claim in RUN.claims if claim.verdict == "refuted")
BROKEN = by_key(RUN)[f"{REFUTED.id}.{REFUTED.checks[0].id}"]
PASTE = f"which is none of estimate; to have it written: {KEY}:estimate|default for {ESTIMATE!r}"


@pytest.mark.parametrize(
    ("name", "text", "what"),
    [
        # More than a value's text is never replaced.
        ("page.rst", f".. verify: {FORM}\n\nOne sentence, 0.9. Another.\n\n.. /verify\n", MORE),
        ("page.tex", f"% verify: {FORM}\nThe slope is 0.9. And prose.\n% /verify\n", MORE),
        ("page.md", f"It is {quoted('0.9, and a word')}.\n", MORE),
        ("module.py", f"# verify: {FORM}\nslope = 0.9\n# /verify\n", MORE),
        ("page.md", f"It is {quoted('0.9 and 0.8', KEY + '|interval')}.\n", MORE),
        # An author's text is reported with a form to paste.
        ("page.md", quoted("slope 1.5", f"{KEY}:estimate"), PASTE),
        # The figure of a refuted claim is a problem, its verdict is none.
        (
            "page.md",
            quoted(BROKEN.text, BROKEN.key) + quoted("refuted", f"{REFUTED.id}:verdict"),
            "its claim is no longer confirmed but refuted; rewrite what rests on it",
        ),
        ("page.rst", f"   >>> f()  # verify: {KEY}:estimate|.3f\n   >>> 1\n", "put what it prints below it"),
    ],
)
def test_what_only_the_author_can_put_right_stays(tmp_path: Path, name: str, text: str, what: str) -> None:
    """One line says what to do."""
    path = written(tmp_path, text, name)
    (problem,) = problems(path)
    assert problem.endswith(what)
    assert fix(check([path], RUN)) == []
    assert path.read_text(encoding="utf-8") == text


def test_a_binary_file_is_refused(tmp_path: Path) -> None:
    """It is named, with what to give instead."""
    for content in (b"\x89PNG\r\n\x1a\n\xff", b"text\0text"):
        path = tmp_path / "picture.png"
        path.write_bytes(content)
        with pytest.raises(CitationError, match=r"picture\.png: .*is not .*text.*give Markdown"):
            check([path], RUN)


def test_all_documents_are_written_or_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Not where one is read-only or the disk is full."""
    first = written(tmp_path, quoted("7 [6, 8]"), "first.md")
    second = written(tmp_path, quoted("7 [6, 8]"), "second.md")
    second.chmod(0o444)
    with pytest.raises(OutputError, match=r"second\.md: cannot be written \(it is read-only"):
        fix(check([first, second], RUN))
    second.chmod(0o644)

    def full(_: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr("verify.files.os.fsync", full)
    with pytest.raises(OutputError, match=r"\.md: cannot be written \(No space"):
        fix(check([first, second], RUN))
    assert first.read_text(encoding="utf-8") == second.read_text(encoding="utf-8") == quoted("7 [6, 8]")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["first.md", "second.md"]


def test_numbers_outside_markers_are_found_where_asked(tmp_path: Path) -> None:
    """In the paragraph that names a claim, of every document given."""
    for text, what in (
        ("is 1.0003 there", "1.0003 stands outside markers, 1.0003 here; quote it"),
        ("is 1.0009 there", "1.0009 stands outside markers, 1.0010 here; quote it"),
        ("is 1.5 there, of 2017, at 512, x1.0003", ""),
        ("is there.\n\nAnd 1.0003 elsewhere", ""),
        ("is there, `1.0003`", ""),
    ):
        assert ESTIMATE == "1.0003"
        path = written(tmp_path, f"Seed.\n\nThe claim score-variance {text}.\n")
        (document,) = check([path], RUN, strict=True)
        listed = [(problem.kind, problem.quote.line, problem.what) for problem in document.problems]
        assert listed == [("number-outside-markers", 3, what)] * bool(what)
        assert problems(path) == []


def test_exported_macros_are_checked_with_the_paper(tmp_path: Path) -> None:
    """Those in its folder, each once; what stands in other files is their authors'."""
    stale = exported(RUN, ["run"], "latex").replace("digest ", "digest 0")
    macros = written(tmp_path, stale, "verify.tex")
    written(tmp_path, r"\verifyvalue{run:seed}{$1$}%", "other.tex")
    paper = written(tmp_path, "\\input{verify}\n\\verify{run:seed}", "paper.tex")
    for given in ([paper], [paper, macros]):
        documents = check(given, RUN)
        assert {document.path: len(document.problems) for document in documents} == {paper: 0, macros: 1}


def test_paths_name_files_folders_and_patterns(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each file once, in their order; nothing that is made, installed, hidden or a link in a folder."""
    names = "a.md b/c.tex b/d.MD b/data.csv h[1].md node_modules/e.md build/f.md .git/g.md .hidden.md"
    for name in names.split():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("")
    (tmp_path / "link.md").symlink_to(tmp_path / "a.md")
    os.mkfifo(tmp_path / "pipe.md")
    (tmp_path / "empty").mkdir()
    monkeypatch.chdir(tmp_path)
    for given, wanted in (
        ((".",), "a.md b/c.tex b/d.MD h[1].md"),
        (("b/data.csv", "a.md", "*.md", "a.md"), "b/data.csv a.md h[1].md link.md"),
        (("missing.md",), "missing.md"),
        (("**/*.tex",), "b/c.tex"),
        (("h[1].md",), "h[1].md"),
    ):
        assert [str(path) for path in find_documents([*map(Path, given)])] == wanted.split()
    for name, what in (("*.rst", "no file fits this pattern"), ("empty", "holds no document")):
        with pytest.raises(CitationError) as caught:
            find_documents([Path(name)])
        assert str(caught.value).startswith(f"{name}: {what}")
