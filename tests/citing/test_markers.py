"""Documents in every language: what they quote is found, what only shows how to quote is not."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.citing.test_documents import written
from tests.report.records import record
from verify.citing.documents import check, fix
from verify.citing.values import by_key
from verify.citing.quotations import quotes_in
from verify.errors import CitationError

RUN, PAGE = record(), Path("page.md")
KEY = "score-variance.slope:estimate"
NOW = by_key(RUN)[KEY].text
FORM = f"{KEY}|default"
HTML = f"<!-- verify: {FORM} -->{{}}<!-- /verify -->"


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("page.md", f"````{{admonition}} Title\n```{{tip}}\nIt is {HTML}.\n```\n````\n:::{{note}}\n:::\n"),
        ("page.md", f"- item\n\n    It is {HTML}, in the item.\n"),
        ("page.mdx", f"<Box>\n\n    It is {{/* verify: {FORM} */}}{{}}{{/* /verify */}}.\n\n</Box>\n"),
        ("page.html", f"<p>It is {HTML}.</p>\n"),
        ("page.rst", f'.. verify: {KEY}|"It is {{text}}."\n\nIt is {{}}.\n\n.. /verify\n'),
        ("paper.tex", f"It is\n% verify: {FORM}\n{{}}\n% /verify\nhere.\n"),
        ("page.adoc", f"It is\n// verify: {FORM}\n{{}}\n// /verify\nhere.\n"),
        ("page.org", f"It is\n# verify: {FORM}\n{{}}\n# /verify\nhere.\n"),
        ("page.typ", f"It is /* verify: {FORM} */{{}}/* /verify */ here.\n"),
        ("module.py", f'"""A module.\n\nIt is {HTML} here.\n"""\n'),
        ("module.py", f'# verify: {KEY}|"SLOPE = {{text}}"\nSLOPE = {{}}\n# /verify\n'),
        # What looks like code is read where the key is known: renderers differ in what they take for code.
        ("page.md", f"~~~ a`b\n~~~\n{HTML}\n"),
        ("page.md", f"> ```\n> code\n\nIt is {HTML}.\n"),
        ("page.md", f"The `softmax\nof` is {HTML} for `x`.\n"),
    ],
)
def test_a_stale_figure_is_fixed_in_every_language(tmp_path: Path, name: str, text: str) -> None:
    """It is reported with its line; the rest of the document stays."""
    path = written(tmp_path, text.replace("{}", "7.25"), name)
    (document,) = check([path], RUN)
    (problem,) = document.problems
    assert problem.kind == "stale"
    assert KEY in document.text.split("\n")[problem.quote.line - 1]
    fix([document])
    before, _, after = text.partition("{}")
    fixed = path.read_text(encoding="utf-8")
    assert fixed.startswith(before)
    assert fixed.endswith(after)
    assert "7.25" not in fixed
    assert check([path], RUN)[0].problems == []


def test_roles_and_macros_are_found_where_readers_see_them(tmp_path: Path) -> None:
    """An unknown key in a directive, a docstring, an included text or a formula is a problem."""
    for name, text in (
        ("page.md", "```{note}\n{verify}`%s`\n```\n"),
        ("page.rst", ".. note::\n\n   :verify:`%s`\n"),
        ("part.txt", ":verify:`%s` and {verify}`1.0 <%s>`\n"),
        ("module.py", 'def f():\n    """Return it, see :verify:`%s`."""\n'),
        ("paper.tex", "\\[ x = \\verify{%s} \\] \\num{\\verifynum{%s}}\n"),
    ):
        (document,) = check([written(tmp_path, text.replace("%s", "score-variance.nothing"), name)], RUN)
        assert [problem.kind for problem in document.problems] == ["unknown-key"] * text.count("%s")
        assert check([written(tmp_path, text.replace("%s", KEY), name)], RUN)[0].problems == []


SHOWN = "<!-- verify: nothing -->1<!-- /verify -->"


def test_what_is_no_quotation() -> None:
    """Code of Markdown and HTML, other comments, addresses, signs that are no comment."""
    for name, text in (
        ("page.md", f"```html\n{SHOWN}\n```\n~~~\n{SHOWN}\n~~~\n`{SHOWN}`\n<pre>\n{SHOWN}\n</pre>\n"),
        ("page.md", f"```{{code-block}} html\n{SHOWN}\n```\n"),
        ("page.md", f"Between `<!-- verify: {KEY} -->` and `<!-- /verify -->`.\n"),
        ("page.qmd", f"```{{python}}\n# {SHOWN}\n```\n"),
        ("page.html", f"<p><pre class='x'>{SHOWN}</pre><script>{SHOWN}</script></p>\n"),
        ("page.md", "<!-- a comment -->, <!-- verify this -->"),
        ("page.tex", "it is 50\\% verify: key\n"),
        ("page.txt", "https://verify:80\nsee page#verify:key and verify: key\n"),
        ("page.py", "x = 1  # verify this: key\n"),
    ):
        assert quotes_in(Path(name), text, [KEY]) == []


def test_what_stands_between_markers_is_quoted() -> None:
    """With its key, its line and its place; in the order of the text."""
    text = f"a\n<!-- verify: {KEY} -->1.0<!-- /verify -->% of\n<!--verify:b-->two<!--/verify-->"
    first, second = quotes_in(PAGE, text)
    assert (first.key, first.line, first.quoted) == (KEY, 2, "1.0")
    assert (text[: first.key_end], text[first.start : first.end]) == (f"a\n<!-- verify: {KEY}", "1.0")
    assert (second.key, second.line, text[second.start : second.end]) == ("b", 3, "two")
    # A form may hold spaces and ticks, and its bar a backslash, as in tables.
    for marker in (r'a \| "{low}"', 'a|"`{text:.12}`"', "a|pm, .1%"):
        (quote,) = quotes_in(PAGE, f"It is <!-- verify: {marker} -->1.0<!-- /verify -->.")
        assert (quote.key, quote.quoted) == (marker.replace("\\", ""), "1.0")


INSIDE = "2: a marker inside that of a; close it with <!-- /verify --> first"
END = "1: a marker at the end of a line; put it on its own line"


def test_markers_that_are_wrong_are_an_error() -> None:
    """By file and line, with what to do; so is a notebook that is none."""
    for name, text, message in (
        ("page.md", "\n<!-- verify: a -->1", "2: the marker of a is not closed; end what it quotes with"),
        ("page.md", "1<!-- /verify -->", "1: <!-- /verify --> closes nothing; remove it"),
        ("page.md", f"<!-- verify: a -->\n{SHOWN}", INSIDE),
        *(
            ("page.md", f"It is <!-- {marker} -->1.0", "1: misspelt marker")
            for marker in ("Verify: a.b", "verify:", "/Verify", "verify: a.b c", "/ verify")
        ),
        ("page.tex", "is % verify: a\n1.0\n", END),
        ("page.py", "SLOPE = 1.02  # verify: a\n", END),
        ("page.typ", "#let s = 1.0 // verify: a\n", END),
        *(
            ("book.ipynb", text, " is not a notebook, which is JSON with a list of cells")
            for text in ("{", '{"cells": 5}', '{"cells": [5]}', "{}", "[]", "5")
        ),
    ):
        with pytest.raises(CitationError) as caught:
            quotes_in(Path(name), text)
        assert str(caught.value).startswith(f"{name}:{message}")


def test_the_output_of_a_doctest_is_quoted() -> None:
    """Up to the next example, a blank line, or the end of the block; there is no other marker."""
    for name, text in (
        ("page.md", "```pycon\n>>> slope()  # verify: a|.3f\n1.000\n>>> 1 + 1\n2\n```\n"),
        ("page.rst", ".. doctest::\n\n   >>> x = slope()\n   >>> x  # verify: a|.3f\n   1.000\n\nText.\n"),
        ("module.py", 'def f():\n    """Do it.\n\n    >>> slope()  # verify: a|.3f\n    1.000\n    """\n'),
    ):
        (quote,) = quotes_in(Path(name), text)
        assert (quote.key, quote.quoted, text[quote.start : quote.end]) == ("a|.3f", "1.000", "1.000")
        assert quotes_in(Path(name), text.replace("  # verify: a|.3f", "")) == []


def test_what_is_switched_off_is_not_read() -> None:
    """From the marker to its counterpart or to the end; elsewhere all is."""
    comments = ("page.md", "<!-- ", " -->"), ("page.rst", ".. ", ""), ("page.tex", "% ", "")
    for name, opening, closing in comments:
        start, end, off, on = (
            f"{opening}{word}{closing}" for word in ("verify: a.b", "/verify", "verify: off", "verify: on")
        )
        inside = f"{start}\n1\n{end}\n"
        text = f"{inside}\n{off}\n\n{inside}\n{on}\n\n{inside}"
        assert [quote.line for quote in quotes_in(Path(name), text)] == [1, 13]
        for text in (f"{inside}\n{off}\n\n{start}\nnever closed\n", f"Prose says verify: off.\n\n{inside}"):
            assert len(quotes_in(Path(name), text)) == 1


@pytest.mark.parametrize(
    ("cell", "source"),
    [
        ("markdown", ['A "title" \\ é\n', f"\n it is {HTML.format('7.25')} \U0001f600"]),
        ("markdown", f"*One* text\nis {HTML.format('7.25')}\n"),
        ("code", ["%matplotlib inline\n", f'# verify: {KEY}|"s = {{text}}"\n', "s = 7.25\n", "# /verify\n"]),
    ],
)
def test_cells_of_notebooks_are_read_and_outputs_left_alone(tmp_path: Path, cell: str, source: Any) -> None:
    """Every byte outside the quotation stays, and all code; what JSON escapes is no hindrance."""
    output = {"output_type": "stream", "name": "stdout", "text": [HTML.format("7.25")]}
    code = {"cell_type": "code", "source": "1", "outputs": [output], "execution_count": 1, "metadata": {}}
    cells = [code, {"cell_type": cell, "metadata": {}, "source": source}]
    made = json.dumps({"cells": cells, "nbformat": 4}, indent=1)
    path = written(tmp_path, made, "book.ipynb")
    documents = check([path], RUN)
    (problem,) = documents[0].problems
    fix(documents)
    text = path.read_text(encoding="utf-8")
    if cell == "code":
        assert problem.what.endswith("code is compared and never written: correct it by hand")
        assert text == made
        return
    assert check([path], RUN)[0].problems == []
    assert json.loads(text)["cells"][0] == code
    new = "".join(json.loads(text)["cells"][1]["source"])
    assert new.replace(NOW, "7.25") == "".join(source)
