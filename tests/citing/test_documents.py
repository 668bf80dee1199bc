"""Documents that quote: stale figures are found by file and line and fixed, malformed ones refused."""

import errno
import os
from pathlib import Path

import pytest

from tests.report.records import record
from verify.citing.documents import ProblemKind, check, fix
from verify.citing.documents import find_documents as documents
from verify.citing.exports import exported
from verify.citing.lookup import lookup
from verify.errors import CitationError, OutputError
from verify.evidence import RunRecord

KEY = "score-variance.slope"
FORM = f"{KEY}|default"


@pytest.fixture(scope="module")
def run() -> RunRecord:
    """Return a run with a claim of every outcome."""
    return record()


def written(folder: Path, text: str, name: str = "page.md") -> Path:
    """Return a document with this text."""
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path


def quoted(text: str, key: str = FORM) -> str:
    """Return a quotation between its markers."""
    return f"<!-- verify: {key} -->{text}<!-- /verify -->"


def problems(path: Path, run: RunRecord) -> list[str]:
    """Return the problems of one document, as lines."""
    (document,) = check([path], run)
    return [str(problem) for problem in document.problems]


def test_mending_writes_the_present_figures(tmp_path: Path, run: RunRecord) -> None:
    """Once fixed, nothing is wrong; words, line ends and permissions stay."""
    key = f'{KEY}|"{{estimate}}, interval {{low}} to {{high}}"'
    path = written(tmp_path, f"Slope **{quoted('1.5, interval 1.2 to 1.9', key)}**.\r\nRest.\n")
    path.chmod(0o640)
    assert fix(check([path], run)) == [path]
    assert problems(path, run) == []
    text = path.read_bytes().decode()
    assert ", interval " in text
    assert text.endswith("**.\r\nRest.\n")
    assert path.stat().st_mode & 0o777 == 0o640
    assert fix(check([path], run)) == []


@pytest.mark.parametrize("content", [b"\x89PNG\r\n\x1a\n\xff", b"text\0text"])
def test_a_binary_file_is_refused(tmp_path: Path, run: RunRecord, content: bytes) -> None:
    """It is named, with what to give instead."""
    path = tmp_path / "picture.png"
    path.write_bytes(content)
    with pytest.raises(CitationError, match=r"picture\.png: .*is not .*text.*give Markdown"):
        check([path], run)


def test_a_claim_that_is_no_longer_confirmed(tmp_path: Path, run: RunRecord) -> None:
    """A right figure of a refuted claim is a problem that --write cannot fix; its verdict is none."""
    broken = next(claim for claim in run.claims if claim.verdict == "refuted")
    value = lookup(run, f"{broken.id}.{broken.checks[0].id}")
    path = written(tmp_path, quoted(value.text, value.key) + quoted("refuted", f"{broken.id}:verdict"))
    (problem,) = problems(path, run)
    assert "no longer confirmed but refuted" in problem
    assert fix(check([path], run)) == []


def test_a_read_only_document_is_left_alone(tmp_path: Path, run: RunRecord) -> None:
    """And so are all others of that call."""
    first = written(tmp_path, quoted("7 [6, 8]"), "first.md")
    second = written(tmp_path, quoted("7 [6, 8]"), "second.md")
    second.chmod(0o444)
    with pytest.raises(OutputError, match=r"second\.md: is read-only"):
        fix(check([first, second], run))
    assert first.read_text() == quoted("7 [6, 8]")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["first.md", "second.md"]


def test_an_author_s_text_is_checked_and_never_written(tmp_path: Path, run: RunRecord) -> None:
    """It is reported with a form to paste, beside what is written again."""
    text = quoted("slope 1.5", f"{KEY}:estimate") + quoted("7 [6, 8]")
    path = written(tmp_path, text)
    first, _ = problems(path, run)
    now = lookup(run, f"{KEY}:estimate").text
    assert first.endswith(
        f"{KEY}:estimate: 'slope 1.5' has 1.5, which is none of estimate; "
        f"to have it written: {KEY}:estimate|default for {now!r}"
    )
    fix(check([path], run))
    assert path.read_text(encoding="utf-8").startswith(quoted("slope 1.5", f"{KEY}:estimate"))
    assert problems(path, run) == [first]


@pytest.mark.parametrize("row", ["| x {} | 1 |", "x {} | 1"])
def test_a_bar_that_ends_a_cell_is_found(tmp_path: Path, run: RunRecord, row: str) -> None:
    """In a table alone; written again it has a backslash."""
    now = lookup(run, KEY).text
    text = f"Text {quoted(now)} | no table.\n\n| a | b |\n|---|--:|\n{row.format(quoted(now))}\n"
    path = written(tmp_path, text)
    role = written(tmp_path, f"| a |\n|---|\n| {{verify}}`{KEY}|pm` |\n", "role.md")
    fix(check([role], run))
    assert f"`{KEY}\\|pm`" in role.read_text(encoding="utf-8")
    assert check([role], run)[0].problems == []
    (document,) = check([path], run)
    (problem,) = document.problems
    assert (problem.kind, problem.quote.line) == (ProblemKind.BAR, 5)
    fix([document])
    head, _, table = text.partition("--:|")
    assert path.read_text(encoding="utf-8") == head + "--:|" + table.replace("|default", r"\|default")
    assert check([path], run)[0].problems == []


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("is 1.0003 there", "1.0003 stands outside markers; quote it"),
        ("is 1.00 there", "1.00 stands outside markers; quote it"),
        ("is 1.0009 there", "1.0009 stands outside markers and is not 1.0010; correct or quote it"),
        ("is 1.5 there, of 2017, at 512, x1.0003", ""),
        ("is there.\n\nAnd 1.0003 elsewhere", ""),
        ("is there, `1.0003`", ""),
    ],
)
def test_numbers_outside_markers_are_found_where_asked(
    tmp_path: Path, run: RunRecord, text: str, found: str
) -> None:
    """In the paragraph that names a claim, of every document given."""
    assert lookup(run, f"{KEY}:estimate").text == "1.0003"
    path = written(tmp_path, f"Seed.\n\nThe claim score-variance {text}.\n")
    (document,) = check([path], run, strict=True)
    assert [(one.kind, one.quote.line, one.what) for one in document.problems] == (
        [(ProblemKind.OUTSIDE, 3, found)] if found else []
    )
    assert check([path], run)[0].problems == []


def test_a_document_is_checked_once(tmp_path: Path, run: RunRecord) -> None:
    """However often it is given, and by whichever name."""
    path = written(tmp_path, quoted("7"))
    assert len(check([path, path, tmp_path / "." / "page.md"], run)) == 1


@pytest.mark.parametrize("name", ["page.rst", "page.md"])
def test_a_role_s_own_text_is_checked(tmp_path: Path, run: RunRecord, name: str) -> None:
    """Sphinx shows it in the place of the value."""
    role = ":verify:" if name.endswith("rst") else "{verify}"
    now = lookup(run, f"{KEY}:estimate").text
    path = written(tmp_path, f"{role}`{now} <{KEY}:estimate>` {role}`7.00 <{KEY}:estimate|default>`", name)
    (problem,) = problems(path, run)
    assert "printed '7.00', now '" in problem
    fix(check([path], run))
    assert problems(path, run) == []
    assert path.read_text(encoding="utf-8").startswith(f"{role}`{now} <{KEY}:estimate>` {role}`")


@pytest.mark.parametrize("command", [r"\input{verify}", r"\include{verify}", r"\input{ verify.tex }"])
def test_exported_macros_are_checked_with_the_paper(tmp_path: Path, run: RunRecord, command: str) -> None:
    """The paper's figures are theirs."""
    macros = written(tmp_path, exported(run, ["run:seed"], "latex").replace("{2", "{3", 1), "verify.tex")
    written(tmp_path, r"\verifyvalue{run:seed}{$1$}%", "other.tex")
    others = "".join(rf"\input{{{name}}}" for name in ("other", "nothing", "x" * 999))
    text = f"{command} {others} % \\input{{verify}}\n\\verify{{run:seed}}"
    paper = written(tmp_path, text, "paper.tex")
    documents = check([paper], run)
    assert [document.path for document in documents] == [paper, macros]
    assert [len(one.problems) for one in documents] == [0, 1]
    assert len(check([paper, macros], run)) == 2


PROSE = [
    ("page.rst", f".. verify: {FORM}\n\nOne sentence, 0.9. Another.\n\n.. /verify\n"),
    ("page.tex", f"% verify: {FORM}\nThe slope is 0.9. And prose.\n% /verify\n"),
    ("page.adoc", f"|===\n// verify: {FORM}\n| slope | 0.9\n// /verify\n|===\n"),
    ("page.md", f"It is {quoted('0.9, and a word')}.\n"),
    ("module.py", f"# verify: {FORM}\nslope = 0.9\n# /verify\n"),
    ("page.md", f"It is {quoted('0.9 and 0.8', KEY + '|interval')}.\n"),
]


@pytest.mark.parametrize(("name", "text"), PROSE)
def test_what_holds_more_than_one_value_s_text_is_never_replaced(
    tmp_path: Path, run: RunRecord, name: str, text: str
) -> None:
    """One line says how to mark it; with nothing between the markers, the text is written."""
    path = written(tmp_path, text, name)
    (document,) = check([path], run)
    (problem,) = document.problems
    assert problem.what.endswith("put the markers around that text alone, or leave nothing")
    assert fix([document]) == []
    assert path.read_text(encoding="utf-8") == text


@pytest.mark.parametrize(
    ("name", "empty", "filled"),
    [
        ("page.md", f"It is {quoted('')}.\n", f"It is {quoted('NOW')}.\n"),
        ("page.typ", f"// verify: {FORM}\n// /verify\n", f"// verify: {FORM}\nNOW\n// /verify\n"),
        ("page.rst", f".. verify: {FORM}\n\n\n.. /verify\n", f".. verify: {FORM}\n\nNOW\n\n.. /verify\n"),
    ],
)
def test_an_empty_quotation_is_filled(
    tmp_path: Path, run: RunRecord, name: str, empty: str, filled: str
) -> None:
    """So nobody has to copy the first number; between lines it is one."""
    path = written(tmp_path, empty, name)
    fix(check([path], run))
    assert path.read_text(encoding="utf-8") == filled.replace("NOW", lookup(run, KEY).text)


def test_the_output_of_a_doctest_is_written_as_python_prints_it(tmp_path: Path, run: RunRecord) -> None:
    """And what is switched off is left alone."""
    text = f">>> slope()  # verify: {KEY}:estimate|.3f\n0.9\n>>> 1\n1\n"
    bare = written(tmp_path, f"   >>> slope()  # verify: {KEY}:estimate|.3f\n   >>> 1\n   1\n", "bare.rst")
    (problem,) = problems(bare, run)
    assert problem.endswith("is empty, now '1.000'; put what it prints below it")
    off = f"<!-- verify: off -->\n{quoted('never')}\n"
    path = written(tmp_path, f"```\n{text}```\n{off}")
    fix(check([path], run))
    assert path.read_text(encoding="utf-8") == f"```\n{text.replace('0.9', '1.000')}```\n{off}"


def test_a_full_disk_or_a_locked_folder_is_reported_with_what_helps(
    tmp_path: Path, run: RunRecord, monkeypatch: pytest.MonkeyPatch
) -> None:
    """This command has no --out to choose another folder with."""
    path = written(tmp_path, quoted("7 [6, 8]"))

    def full(_: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr("verify.files.writing.os.fsync", full)
    with pytest.raises(OutputError, match=r"page\.md: cannot be written \(No space") as caught:
        fix(check([path], run))
    assert "--out" not in str(caught.value)
    assert "free space or allow writing in its folder" in str(caught.value)
    assert path.read_text(encoding="utf-8") == quoted("7 [6, 8]")


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a folder of documents, of what is made of them, and of other files."""
    for name in (
        "a.md",
        "b/c.tex",
        "b/d.MD",
        "b/data.csv",
        "h[1].md",
        "node_modules/e.md",
        "build/f.md",
        ".git/g.md",
        ".hidden.md",
    ):
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_text("")
    (tmp_path / "link.md").symlink_to(tmp_path / "a.md")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def names(folder: Path, *paths: Path) -> list[str]:
    """Return what is found, from the folder on."""
    return [str(path.relative_to(folder)) for path in documents(paths)]


def test_a_folder_has_its_documents(folder: Path) -> None:
    """Of all depths, in order; nothing that is made, installed, hidden or only a link."""
    assert names(folder, folder) == ["a.md", "b/c.tex", "b/d.MD", "h[1].md"]


def test_each_file_is_there_once(folder: Path) -> None:
    """However many paths name it, in the order of the paths; a file that is given is one, whatever it is."""
    given = (folder / "b" / "data.csv", folder / "a.md", folder / "*.md", folder / "a.md")
    assert names(folder, *given) == ["b/data.csv", "a.md", "h[1].md", "link.md"]
    assert documents([Path("missing.md")]) == [Path("missing.md")]


def test_a_pattern_may_reach_into_folders_and_a_name_is_no_pattern(folder: Path) -> None:
    """Where a file of that very name is there."""
    assert [path.name for path in documents([Path("**/*.tex")])] == ["c.tex"]
    assert names(folder, folder / "h[1].md") == ["h[1].md"]


@pytest.mark.parametrize(
    ("path", "message"),
    [("*.rst", "no file fits this pattern; correct it"), ("empty", "holds no document that can be checked")],
)
@pytest.mark.usefixtures("folder")
def test_nothing_to_be_found_is_an_error(path: str, message: str) -> None:
    """In one line that begins with the path."""
    Path("empty").mkdir()
    with pytest.raises(CitationError) as caught:
        documents([Path(path)])
    assert str(caught.value).startswith(f"{path}: {message}")
