"""The file of source statements: what ships is complete, and every mistake in it is reported in one line."""

from pathlib import Path

import pytest

from verify.engine.sources import packs, read_sources
from verify.errors import SourcesError


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

# What to replace in the good file, by what; then the place and a word of the message.
MISTAKES = [
    ('id = "s"', "id = ", "", "is not TOML: Invalid value (at line 3"),
    ('title = "A lesson"\n', "", "source s, title", "is missing"),
    ('note = "Because $x$."\n', "", "statement s1", "note and noted go together"),
    ('note = "Be', 'notes = "Be', "statement s1, notes", "is no key"),
    ('id = "s1"\n', "", "statement 1, id", "is missing"),
    ('kind = "says"', 'kind = "says"\noutcome = "holds"', "statement s1, part 1, outcome", "is no key"),
    ('claim = "one-claim"\nnote', "claim = 3\nnote", "statement s1, claim", "valid string"),
    ('id = "s1"', 'id = "S 1"', "statement S 1, id", "should match pattern"),
    ('text = "It says so."', 'text = " "', "statement s1, part 1, text", "must not be empty"),
    ("$x$", "$x", "statement s1, note", "dollar"),
    ('source = "s"', 'source = "t"', "", "statement s1 is of the source t; add a [[source]]"),
    ('claim = "one-claim"\nnote', 'claim = "x"\nnote', "statement s1", "decide its parts"),
    ('"verdict"', '"Verdict"', "statement s1, part 1, evidence", "should match pattern"),
    ('"verdict"', '"fact:a-fact"', "statement s1, part 1", "a fact is a figure"),
    ('"fact:a-fact"', '"verdict"', "statement s1, part 2", "is decided by a fact"),
    ('kind = "says"', 'kind = "sings"', "statement s1, part 1, kind", "'prints'"),
    ('"0.880"', '"about one"', "statement s1, part 2, printed", "decimal number"),
    ('printed = "0.880"', "", "statement s1, part 2", "printed is missing"),
    ('"fact:a-fact"', '"control:wrong"', "statement s1, part 2", "to compare with"),
    ('kind = "says"', 'kind = "says"\nabout = "yes"', "statement s1, part 1, about", "valid boolean"),
    ("[[statement.part]]", "[[statement.parts]]", "statement s1, parts", "is no key"),
    (GOOD[GOOD.index("\n[[statement.part]]") :], "part = []", "statement s1", "decide its parts"),
    ('"It says so."', '"It says 7."', "statement s1, part 1", "the number 7"),
    ("[[source]]", "[source]", "source", "valid tuple"),
    (GOOD, GOOD + GOOD[GOOD.index("[[statement]]\nid") :], "", "two statements have the id s1"),
    (GOOD, GOOD + GOOD[: GOOD.index("[[statement]]\nid")], "", "two sources have the id s"),
]


def message_for(path: Path) -> str:
    """Return the text of the error that reading ``path`` raises; it is one line and names the file."""
    with pytest.raises(SourcesError) as raised:
        read_sources(path)
    message = str(raised.value)
    assert "\n" not in message
    assert message.startswith(f"{path}: ")
    return message


@pytest.mark.parametrize(("old", "new", "place", "word"), MISTAKES)
def test_a_mistake_is_reported_by_file_and_place(
    tmp_path: Path, old: str, new: str, place: str, word: str
) -> None:
    """Each mistake gives exactly one line, with the statement, part and key to correct."""
    assert old in GOOD
    path = tmp_path / "mine.toml"
    path.write_text(GOOD.replace(old, new, 1), encoding="utf-8")
    message = message_for(path)
    assert message.startswith(f"{path}: {place}")
    assert word in message


def test_a_file_that_cannot_be_read_as_text_is_reported(tmp_path: Path) -> None:
    """A missing file, a folder and bytes that are not UTF-8 each give one line."""
    assert "cannot be read" in message_for(tmp_path / "none.toml")
    assert "cannot be read" in message_for(tmp_path)
    path = tmp_path / "latin.toml"
    path.write_bytes(b"# fine\n# caf\xe9\n")
    assert "line 2: is not text in UTF-8" in message_for(path)


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


def test_a_claim_that_does_not_exist_is_refused(tmp_path: Path) -> None:
    """A mistyped id is a mistake, not an open statement; the nearest id is offered."""
    path = tmp_path / "mine.toml"
    path.write_text(GOOD, encoding="utf-8")
    book = read_sources(path)
    book.refuse_unknown_claims({"one-claim"})
    with pytest.raises(SourcesError) as raised:
        book.refuse_unknown_claims({"on-claim", "another"})
    assert str(raised.value) == (
        f"{path}: statement s1, part 1: there is no claim 'one-claim'; did you mean 'on-claim'?"
    )
