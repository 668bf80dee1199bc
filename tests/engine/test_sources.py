"""The file of source statements: what ships is complete, and every mistake in it is reported in one line."""

import re
import tomllib
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from verify.engine.sources import KeyPath, Origin, PartEntry, packs, read_sources, refuse_unknown_claims
from verify.errors import SourcesError
from verify.evidence import Outcome
from verify.files.names import shipped_folder
from verify.text.numbers import is_figure

GOOD = '''\
# a comment
[[source]]
id = "s"
title = "A lesson"
kind = "lesson"

[[statement]]
id = "s1"
source = "s"
text = """
[[statement]] inside text is no header
note = neither"""
claim = "one-claim"
note = "Because $x$."
noted = "holds"

[[statement.part]]
text = "It says so."
claim = "one-claim"
evidence = "verdict"
kind = "says"

[[statement.part]]
text = "It prints so."
claim = "one-claim"
evidence = "fact:a-fact"
kind = "prints"
printed = "0.880"
'''

# What to replace in the good file, by what; then the line, the place and a word of the message.
MISTAKES = [
    pytest.param("# a comment", "# a comment [", None, None, None, id="comments-may-hold-anything"),
    pytest.param('id = "s"', "id = ", 3, "", "is not TOML", id="syntax"),
    pytest.param('printed = "0.880"', 'printed = "0.880', 28, "", "is not TOML", id="open-string"),
    pytest.param('title = "A lesson"\n', "", 2, '[[source]] s, key "title"', "is missing", id="missing"),
    pytest.param('note = "Because $x$."\n', "", 7, '[[statement]] s1, key "note"', "missing", id="no-note"),
    pytest.param('note = "Be', 'notes = "Be', 14, 'key "notes"', "is not a known key", id="misspelt"),
    pytest.param('id = "s1"\n', "", 7, '[[statement]] 1, key "id"', "is missing", id="no-id"),
    pytest.param(
        'kind = "says"',
        'kind = "says"\noutcome = "holds"',
        22,
        '[[statement.part]] 1, key "outcome"',
        "is not a known key",
        id="an-outcome-may-not-be-written",
    ),
    pytest.param(
        'claim = "one-claim"\nnote', "claim = 3\nnote", 13, 'key "claim"', "must be text", id="type"
    ),
    pytest.param('id = "s1"', 'id = "S 1"', 8, 'key "id"', "hyphens", id="no-slug"),
    pytest.param('text = "It says so."', 'text = " "', 18, 'key "text"', "must not be empty", id="blank"),
    pytest.param("$x$", "$x", 14, '[[statement]] s1, key "note"', "dollar", id="dollar"),
    pytest.param('source = "s"', 'source = "t"', 9, 'key "source"', "none of the sources s", id="source"),
    pytest.param(
        'claim = "one-claim"\nnote', 'claim = "x"\nnote', 13, 'key "claim"', "parts", id="main-claim"
    ),
    pytest.param('"verdict"', '"Verdict"', 20, "[[statement.part]] 1", "kind of evidence", id="evidence"),
    pytest.param('"verdict"', '"check:"', 20, 'key "evidence"', "kind of evidence", id="evidence-without-id"),
    pytest.param('"verdict"', '"fact:a-fact"', 20, 'key "evidence"', "figure", id="said-by-a-fact"),
    pytest.param('"fact:a-fact"', '"verdict"', 26, 'key "evidence"', "figure", id="printed-by-a-verdict"),
    pytest.param('kind = "says"', 'kind = "sings"', 21, 'key "kind"', '"prints"', id="kind"),
    pytest.param('"0.880"', '"about one"', 28, 'key "printed"', "decimal number", id="printed"),
    pytest.param('"0.880"', "0.88", 28, 'key "printed"', "quotation marks", id="printed-loses-its-zero"),
    pytest.param(
        'printed = "0.880"', "", 23, '[[statement.part]] 2, key "printed"', "missing", id="no-figure"
    ),
    pytest.param(
        '"fact:a-fact"', '"control:wrong"', 28, 'key "printed"', "remove it", id="a-control-has-no-figure"
    ),
    pytest.param(
        'kind = "says"', 'kind = "says"\nabout = "yes"', 22, 'key "about"', "true or false", id="about"
    ),
    pytest.param("[[statement.part]]", "[[statement.parts]]", 17, 'key "parts"', "known", id="header"),
    pytest.param(
        GOOD[GOOD.index("\n[[statement.part]]") :],
        "part = []",
        13,
        '[[statement]] s1, key "claim"',
        "none of the parts",
        id="no-parts",
    ),
    pytest.param('noted = "holds"\n', "", 7, 'key "noted"', "missing beside", id="no-noted"),
    pytest.param('"It says so."', '"It says 7."', 18, 'key "text"', "the number 7", id="another-number"),
    pytest.param("[[source]]", "[source]", 2, 'key "source"', "[[header]]", id="single-brackets"),
]


def message_for(path: Path) -> str:
    """Return the text of the error that reading ``path`` raises; it is one line and names the file."""
    with pytest.raises(SourcesError) as raised:
        read_sources(path)
    message = str(raised.value)
    assert "\n" not in message
    assert message.startswith(f"{path}: ")
    return message


@pytest.mark.parametrize(("old", "new", "line", "place", "word"), MISTAKES)
def test_a_mistake_is_reported_by_file_line_and_key(
    tmp_path: Path, old: str, new: str, line: int | None, place: str, word: str
) -> None:
    """Each mistake gives exactly one line, with the line number and key to fix."""
    assert old in GOOD
    path = tmp_path / "mine.toml"
    path.write_text(GOOD.replace(old, new, 1), encoding="utf-8")
    if line is None:
        assert read_sources(path).statements[0].id == "s1"
        return
    message = message_for(path)
    assert f": line {line}: " in message
    assert place in message
    assert word in message
    assert re.search(r"; \w+|; .*or", message), "the message says how to fix it"


@pytest.mark.parametrize("lost", range(GOOD.count("\n")))
def test_a_lost_line_is_harmless_or_reported(tmp_path: Path, lost: int) -> None:
    """Whatever line goes missing, the file still reads or one line says what is wrong."""
    lines = GOOD.split("\n")
    path = tmp_path / "mine.toml"
    path.write_text("\n".join(lines[:lost] + lines[lost + 1 :]), encoding="utf-8")
    if lines[lost].startswith(("#", "[[statement]] inside")) or not lines[lost]:
        assert read_sources(path).statements
    else:
        assert ": line " in message_for(path)


@pytest.mark.parametrize("table", ["source", "statement"])
def test_a_repeated_id_is_refused(tmp_path: Path, table: str) -> None:
    """The second of two equal ids is the one that is pointed at."""
    head, tail = GOOD.split("[[statement]]\n", 1)
    again = head.removeprefix("# a comment\n") if table == "source" else "\n[[statement]]\n" + tail
    path = tmp_path / "mine.toml"
    path.write_text(GOOD + again, encoding="utf-8")
    message = message_for(path)
    line = int(message.removeprefix(f"{path}: line ").split(":")[0])
    assert path.read_text(encoding="utf-8").split("\n")[line - 1].startswith("id = ")
    assert line > GOOD.count("\n")
    assert f"earlier {table}" in message


def test_a_file_that_cannot_be_read_as_text_is_reported(tmp_path: Path) -> None:
    """A missing file, a folder and bytes that are not UTF-8 each give one line."""
    assert "cannot be read" in message_for(tmp_path / "none.toml")
    assert "cannot be read" in message_for(tmp_path)
    path = tmp_path / "latin.toml"
    path.write_bytes(b"# fine\n# caf\xe9\n")
    assert "line 2: is not text in UTF-8" in message_for(path)


def test_an_empty_file_has_no_statements(tmp_path: Path) -> None:
    """A report of one's own claims may do without; a statement of no source is a mistake."""
    path = tmp_path / "empty.toml"
    path.write_text("", encoding="utf-8")
    book = read_sources(path)
    assert (book.sources, book.statements) == ((), ())
    path.write_text(GOOD[GOOD.index("[[statement]]") :], encoding="utf-8")
    assert "is of no source; add a [[source]]" in message_for(path)


def test_the_shipped_file_is_complete() -> None:
    """All statements of the five sources are there, each with a reason and at least one part."""
    book = read_sources()
    assert [source.id for source in book.sources] == ["v", "n", "b", "p", "a"]
    wanted = {"v": 6, "n": 10, "b": 10, "p": 11, "a": 9}
    assert [entry.id for entry in book.statements] == [
        f"{s}{i}" for s, n in wanted.items() for i in range(1, n + 1)
    ]
    for entry in book.statements:
        assert entry.source == entry.id[0]
        assert entry.parts
        assert entry.note is not None
        assert entry.note.endswith(".")
        assert entry.claim is not None
        assert re.fullmatch(r"[a-z]+(-[a-z]+)+", entry.claim)


def test_a_pack_is_read_by_its_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The pack has what it says; a file of that name goes before it, and is the user's own."""
    book = read_sources(Path("introductions"))
    assert list(packs()) == [book.pack] == ["introductions"]
    assert len(book.sources) >= 10
    assert len(book.statements) >= 25
    assert all(source.url for source in book.sources)
    assert "sqrt-scaling" in book.claims
    monkeypatch.chdir(tmp_path)
    Path("introductions").write_text(GOOD, encoding="utf-8")
    own = read_sources(Path("introductions"))
    assert (own.pack, own.claims) == (None, ("one-claim",))


def test_the_shipped_file_writes_no_outcome() -> None:
    """Outcomes come from the run; the file only says for which outcome a note was written."""
    text = (shipped_folder("data") / "sources.toml").read_text(encoding="utf-8")
    outcomes = {outcome.value for outcome in Outcome}
    for statement in tomllib.loads(text)["statement"]:
        for table in (statement, *statement["part"]):
            assert not {"outcome", "expected", "holds", "computed"} & set(table)
            words = {value for key, value in table.items() if isinstance(value, str) and key != "noted"}
            assert not outcomes & words


def test_a_claim_that_does_not_exist_is_refused_by_file_and_line(tmp_path: Path) -> None:
    """A mistyped id is a mistake, not an open statement; the nearest id is offered."""
    path = tmp_path / "mine.toml"
    path.write_text(GOOD, encoding="utf-8")
    book = read_sources(path)
    refuse_unknown_claims(book, {"one-claim"})
    with pytest.raises(SourcesError) as raised:
        refuse_unknown_claims(book, {"on-claim", "another"})
    assert str(raised.value) == (
        f'{path}: line 19: [[statement]] s1, [[statement.part]] 1, key "claim" names the claim '
        "'one-claim', which does not exist; did you mean 'on-claim'?"
    )


def test_evidence_that_does_not_exist_is_refused_by_file_and_line(tmp_path: Path) -> None:
    """Whoever has the names of a claim's evidence can hold against them what the statements want."""
    path = tmp_path / "mine.toml"
    path.write_text(GOOD, encoding="utf-8")
    (wanted,) = read_sources(path).wanted("one-claim")
    wanted.found_among("one-claim", {"fact:a-fact"})
    with pytest.raises(SourcesError) as raised:
        wanted.found_among("one-claim", {"check:a-fact", "fact:some-fact"})
    assert str(raised.value) == (
        f'{path}: line 26: [[statement]] s1, [[statement.part]] 2, key "evidence" names the fact '
        "'a-fact', which the claim one-claim does not have; did you mean 'some-fact'?"
    )


PART: dict[str, Any] = {"text": "It says so.", "claim": "a-claim", "evidence": "verdict", "kind": "says"}


@pytest.mark.parametrize("text", ["", "about 1", ".5", "5.", "1e3", "1,000", "+1", "5 %", "٣"])
def test_anything_else_is_no_figure(text: str) -> None:
    """It is refused with how to write one."""
    assert not is_figure(text)
    with pytest.raises(ValidationError, match="is not a decimal number; write it as in"):
        PartEntry.model_validate(PART | {"printed": text})


TEXT = '''title = "All"

[[statement]]
id = "v4"
claim = "score-variance"

[[statement]]
id = "v5"
note = """
id = "no key"
"""
parts = [
  { says = "a" },
]
'''


@pytest.fixture
def origin() -> Origin:
    """Return the origin of that text."""
    return Origin.of("mine.toml", TEXT, tomllib.loads(TEXT))


@pytest.mark.parametrize(
    ("place", "line"),
    [
        (("title",), 1),
        (("statement", 0), 3),
        (("statement", 0, "claim"), 5),
        (("statement", 1, "id"), 8),
        (("statement", 1, "parts"), 12),
        (("statement", 1, "missing"), 7),
        (("nothing",), 1),
    ],
)
def test_the_line_of_a_place(origin: Origin, place: KeyPath, line: int) -> None:
    """Lines within a text of several lines hold no keys; what is missing has its table's line."""
    assert origin.line(place) == line
