"""Quotations of a document: between markers, or looked up again; what is mistyped or not closed is said."""

from pathlib import Path

import pytest

from verify.citing.languages import language_of
from verify.citing.markers import Quote, quotes_in
from verify.errors import CitationError

KEY = "score-variance.slope:estimate"
PAGE = Path("page.md")


def quotes(text: str, path: Path = PAGE) -> list[Quote]:
    """Return what a text quotes."""
    return quotes_in(path, text, language_of(path))


def test_what_stands_between_markers_is_quoted() -> None:
    """With its key, its line and its place; in the order of the text."""
    text = f"a\n<!-- verify: {KEY} -->1.0<!-- /verify -->% of\n<!--verify:b-->two<!--/verify-->"
    one, two = quotes(text)
    assert (one.key, one.line, one.quoted, text[: one.key_end]) == (KEY, 2, "1.0", f"a\n<!-- verify: {KEY}")
    assert text[one.start : one.end] == "1.0"
    assert (two.key, two.line, two.quoted, text[two.start : two.end]) == ("b", 3, "two", "two")
    assert quotes("nothing is quoted <!-- a comment -->") == []


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("\n<!-- verify: a -->1", "page.md:2: the marker of a is not closed; end what it quotes with"),
        ("1<!-- /verify -->", "page.md:1: <!-- /verify --> closes nothing; remove it"),
        (
            "<!-- verify: a -->\n<!-- verify: b -->1<!-- /verify -->",
            "page.md:2: a marker inside that of line 1; close it with <!-- /verify --> first",
        ),
    ],
)
def test_markers_that_do_not_pair_are_an_error(text: str, message: str) -> None:
    """By file and line, with what to do."""
    with pytest.raises(CitationError) as caught:
        quotes(text)
    assert str(caught.value).startswith(message)


@pytest.mark.parametrize(
    ("name", "text", "marker"),
    [
        ("page.tex", f"is % verify: {KEY}\n1.0\n", f"% verify: {KEY}"),
        ("page.tex", "is 1.0% /verify\n", "% /verify"),
        ("page.py", f"SLOPE = 1.02  # verify: {KEY}\n", f"# verify: {KEY}"),
        ("page.typ", f"#let s = 1.0 // verify: {KEY}\n", f"// verify: {KEY}"),
        ("page.yaml", f"slope: 1.0 # verify: {KEY}\n", f"# verify: {KEY}"),
    ],
)
def test_a_line_comment_that_ends_a_line_is_no_marker(name: str, text: str, marker: str) -> None:
    """It says so, for else a figure beside it would be thought to be compared with its value."""
    with pytest.raises(CitationError, match=":1: a marker at the end of a line; put it on its own line"):
        quotes(text, Path(name))
    assert marker in text


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("page.py", "TEXT = 'a # verify: key'\nX = (\n    'b # verify: key'\n)\n"),
        ("page.tex", "it is 50\\% verify: key\n"),
        ("page.txt", "https://verify:80\nsee page#verify:key and verify: key\n"),
        ("page.py", "x = 1  # verify this: key\n"),
    ],
)
def test_what_only_looks_like_a_marker_at_the_end_of_a_line_is_none(name: str, text: str) -> None:
    """Strings, addresses, signs that are no comment."""
    assert quotes(text, Path(name)) == []


@pytest.mark.parametrize(
    "marker",
    [
        "Verify: a.b",
        "verify:",
        "/Verify",
        "verify: a.b c",
        "/ verify",
    ],
)
def test_a_misspelt_marker_is_an_error(marker: str) -> None:
    """With what to write; other remarks are none."""
    with pytest.raises(
        CitationError, match=r"page\.md:1: misspelt marker .*; write <!-- verify: KEY --> or <!--"
    ):
        quotes(f"It is <!-- {marker} -->1.0")
    assert quotes("a <!-- verify this --> b <!-- verification: c --> d") == []


@pytest.mark.parametrize(
    ("marker", "key"),
    [
        ('verify: a|"{low} to {high}"', 'a|"{low} to {high}"'),
        ("verify: a | digits=3", "a | digits=3"),
        (r"verify: a\|digits=3", "a|digits=3"),
        (r'verify: a \| "{low}"', 'a | "{low}"'),
        ('verify: a|"`{text}`"', 'a|"`{text}`"'),
        ("verify: a|percent, digits=3", "a|percent, digits=3"),
    ],
)
def test_a_form_may_hold_spaces_and_ticks(marker: str, key: str) -> None:
    """A key has none."""
    (quote,) = quotes(f"It is <!-- {marker} -->1.0<!-- /verify -->.")
    assert (quote.key, quote.quoted) == (key, "1.0")


def test_a_role_is_looked_up_again_when_the_document_is_built() -> None:
    """Its key may come after a text."""
    one, two = quotes(f":verify:`{KEY}` and :verify:`1.0 <{KEY}>`", Path("page.rst"))
    assert (one.key, one.quoted) == (KEY, None)
    assert (two.key, two.quoted) == (KEY, "1.0")


@pytest.mark.parametrize(
    ("inside", "quoted"),
    [("1.0 % of 3\n", "1.0"), ("1.0\\%\n", "1.0\\%"), ("1.0 % a\n2.0\n", "1.0 % a\n2.0")],
)
def test_a_comment_that_ends_a_quotation_is_not_quoted(inside: str, quoted: str) -> None:
    """In LaTeX it starts with the sign for per cent."""
    (quote,) = quotes(f"% verify: {KEY}\n{inside}% /verify\n", Path("page.tex"))
    assert quote.quoted == quoted
