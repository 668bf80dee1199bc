"""Quotations of a document: between markers, or looked up again; what is mistyped or not closed is said."""

from pathlib import Path

import pytest

from verify.citing.markers import Quote, quotes_in
from verify.errors import CitationError

KEY = "score-variance.slope:estimate"


def quotes(text: str, name: str = "page.md") -> list[Quote]:
    """Return what a text quotes."""
    return quotes_in(Path(name), text)


def test_what_stands_between_markers_is_quoted() -> None:
    """With its key, its line and its place; in the order of the text."""
    text = f"a\n<!-- verify: {KEY} -->1.0<!-- /verify -->% of\n<!--verify:b-->two<!--/verify-->"
    first, second = quotes(text)
    assert (first.key, first.line, first.quoted) == (KEY, 2, "1.0")
    assert (text[: first.key_end], text[first.start : first.end]) == (f"a\n<!-- verify: {KEY}", "1.0")
    assert (second.key, second.line, text[second.start : second.end]) == ("b", 3, "two")
    assert quotes("nothing is quoted <!-- a comment -->, <!-- verify this -->") == []


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("page.md", "\n<!-- verify: a -->1", "2: the marker of a is not closed; end what it quotes with"),
        ("page.md", "1<!-- /verify -->", "1: <!-- /verify --> closes nothing; remove it"),
        (
            "page.md",
            "<!-- verify: a -->\n<!-- verify: b -->1<!-- /verify -->",
            "2: a marker inside that of a; close it with <!-- /verify --> first",
        ),
        *(
            ("page.md", f"It is <!-- {marker} -->1.0", "1: misspelt marker")
            for marker in ("Verify: a.b", "verify:", "/Verify", "verify: a.b c", "/ verify")
        ),
        *(
            (name, text, "1: a marker at the end of a line; put it on its own line")
            for name, text in (
                ("page.tex", "is % verify: a\n1.0\n"),
                ("page.py", "SLOPE = 1.02  # verify: a\n"),
                ("page.typ", "#let s = 1.0 // verify: a\n"),
                ("page.yaml", "slope: 1.0 # verify: a\n"),
            )
        ),
    ],
)
def test_markers_that_are_wrong_are_an_error(name: str, text: str, message: str) -> None:
    """By file and line, with what to do."""
    with pytest.raises(CitationError) as caught:
        quotes(text, name)
    assert str(caught.value).startswith(f"{name}:{message}")


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("page.tex", "it is 50\\% verify: key\n"),
        ("page.txt", "https://verify:80\nsee page#verify:key and verify: key\n"),
        ("page.py", "x = 1  # verify this: key\n"),
    ],
)
def test_what_only_looks_like_a_marker_at_the_end_of_a_line_is_none(name: str, text: str) -> None:
    """Strings, addresses, signs that are no comment."""
    assert quotes(text, name) == []


@pytest.mark.parametrize(
    ("marker", "key"),
    [
        ('verify: a|"{low} to {high}"', 'a|"{low} to {high}"'),
        ("verify: a | .3f", "a | .3f"),
        (r'verify: a \| "{low}"', 'a | "{low}"'),
        ('verify: a|"`{text:.12}`"', 'a|"`{text:.12}`"'),
        ("verify: a|pm, .1%", "a|pm, .1%"),
    ],
)
def test_a_form_may_hold_spaces_and_ticks(marker: str, key: str) -> None:
    """A key has none."""
    (quote,) = quotes(f"It is <!-- {marker} -->1.0<!-- /verify -->.")
    assert (quote.key, quote.quoted) == (key, "1.0")


def test_a_role_is_looked_up_again_when_the_document_is_built() -> None:
    """Its key may come after a text."""
    first, second = quotes(f":verify:`{KEY}` and :verify:`1.0 <{KEY}>`", "page.rst")
    assert (first.key, first.quoted) == (KEY, None)
    assert (second.key, second.quoted) == (KEY, "1.0")


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("page.md", "```pycon\n>>> slope()  # verify: a|.3f\n1.000\n>>> 1 + 1\n2\n```\n"),
        ("page.rst", "Try:\n\n>>> slope()  # verify: a|.3f\n1.000\n\nText.\n"),
        ("page.rst", ".. doctest::\n\n   >>> x = slope()\n   >>> x  # verify: a|.3f\n   1.000\n"),
        ("module.py", '"""Do it.\n\n>>> slope()  # verify: a|.3f\n1.000\n"""\n'),
        ("module.py", 'def f():\n    """Do it.\n\n    >>> slope()  # verify: a|.3f\n    1.000\n    """\n'),
    ],
)
def test_the_output_of_a_doctest_is_quoted(name: str, text: str) -> None:
    """Up to the next example, a blank line, or the end of the block; there is no other marker."""
    (quote,) = quotes(text, name)
    assert (quote.key, quote.quoted, text[quote.start : quote.end]) == ("a|.3f", "1.000", "1.000")
    assert quotes(text.replace("  # verify: a|.3f", ""), name) == []


@pytest.mark.parametrize(
    ("name", "off", "on"),
    [
        ("page.md", "<!-- verify: off -->", "<!-- verify: on -->"),
        ("page.rst", ".. verify: off", ".. verify: on"),
        ("page.tex", "% verify: off", "% verify: on"),
        ("page.py", "# verify: off", "# verify: on"),
    ],
)
def test_what_is_switched_off_is_not_read(name: str, off: str, on: str) -> None:
    """From the marker to its counterpart or to the end; elsewhere all is."""
    start, end = off.replace("off", "a.b"), off.replace("verify: off", "/verify")
    inside = f"{start}\n1\n{end}\n"
    assert [quote.line for quote in quotes(f"{inside}\n{off}\n\n{inside}\n{on}\n\n{inside}", name)] == [
        1,
        13,
    ]
    assert len(quotes(f"{inside}\n{off}\n\n{start}\nnever closed\n", name)) == 1
