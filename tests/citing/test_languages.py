"""Documents in every language: what they quote is found, what only shows how to quote is not."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.report.records import record
from verify.citing.documents import check, fix
from verify.citing.languages import LANGUAGES, language_of
from verify.citing.lookup import lookup
from verify.errors import CitationError

RUN = record()
KEY = "score-variance.slope:estimate"
NOW = lookup(RUN, KEY).text
FORM = f"{KEY}|default"
HTML = f"<!-- verify: {FORM} -->{{}}<!-- /verify -->"
MARKED = [
    ("page.md", f"It is {HTML} here.\n"),
    ("page.Rmd", f"It is {HTML} here.\n"),
    ("page.md", f":::{{note}}\nIt is {HTML} here.\n:::\n"),
    ("page.md", f"````{{admonition}} Title\n```{{tip}}\nIt is {HTML}.\n```\n````\n"),
    ("page.mdx", f"It is {{/* verify: {FORM} */}}{{}}{{/* /verify */}} here.\n"),
    ("page.html", f"<p>It is {HTML}.</p>\n"),
    ("page.rst", f'.. verify: {KEY}|"It is {{text}}."\n\nIt is {{}}.\n\n.. /verify\n'),
    ("paper.tex", f"It is\n% verify: {FORM}\n{{}}\n% /verify\nhere.\n"),
    ("page.adoc", f"It is\n// verify: {FORM}\n{{}}\n// /verify\nhere.\n"),
    ("page.org", f"It is\n# verify: {FORM}\n{{}}\n# /verify\nhere.\n"),
    ("page.md", f"- item\n\n    It is {HTML}, in the item.\n"),
    ("page.md", f"Text\n    goes on, it is {HTML}.\n"),
    ("page.md", f"!!! note\n\n    It is {HTML}.\n"),
    ("page.mdx", f"<Box>\n\n    It is {{/* verify: {FORM} */}}{{}}{{/* /verify */}}.\n\n</Box>\n"),
    ("page.typ", f"It is /* verify: {FORM} */{{}}/* /verify */ here.\n"),
    ("page.typ", f'// verify: {KEY}|"It is {{text}}."\nIt is {{}}.\n// /verify\n'),
    ("module.py", f'"""A module.\n\nIt is {HTML} here.\n"""\n'),
    ("module.py", f'# verify: {KEY}|"SLOPE = {{text}}"\nSLOPE = {{}}\n# /verify\n'),
    ("settings.yaml", f'# verify: {KEY}|"slope: {{text}}"\nslope: {{}}\n# /verify\n'),
    ("note.txt", f"It is {HTML} here.\n"),
]
LIVE = [
    ("page.markdown", "{verify}`%s`\n"),
    ("page.md", "```{note}\n{verify}`%s`\n```\n"),
    ("page.rst", ".. note::\n\n   :verify:`%s`\n"),
    ("part.txt", ":verify:`%s` and {verify}`%s`\n"),
    ("module.py", 'def f():\n    """Return it, see :verify:`%s`."""\n'),
    ("paper.tex", "\\[ x = \\verify{%s} \\] \\num{\\verifynum{%s}}\n"),
]
SHOWN = [
    ("page.md", "```html\n{}\n```\n~~~\n{}\n~~~\n`{}`\n"),
    ("page.md", "```{code-block} html\n{}\n```\n"),
    ("page.qmd", "```{python}\n# {}\n```\n"),
    ("page.md", "<pre>\n{}\n</pre>\n"),
    ("page.html", "<p><pre class='x'>{}</pre><script>{}</script></p>\n"),
]


def written(folder: Path, name: str, text: str) -> Path:
    """Return a file with this text."""
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path


@pytest.mark.parametrize(("name", "text"), MARKED)
def test_markers_are_found_in_every_language(tmp_path: Path, name: str, text: str) -> None:
    """A stale figure is reported with its line, and fixed; the rest stays."""
    path = written(tmp_path, name, text.replace("{}", "7.25"))
    (document,) = check([path], RUN)
    (problem,) = document.problems
    assert problem.kind == "stale"
    lines = path.read_text(encoding="utf-8").split("\n")
    assert any(KEY in line for line in lines[problem.quote.line - 1 : problem.quote.line])
    fix([document])
    fixed = path.read_text(encoding="utf-8")
    assert fixed != text.replace("{}", "7.25")
    assert "7.25" not in fixed
    assert check([path], RUN)[0].problems == []
    before, _, after = text.partition("{}")
    assert fixed.startswith(before)
    assert fixed.endswith(after)


@pytest.mark.parametrize(("name", "text"), LIVE)
def test_roles_and_macros_are_found_where_readers_see_them(tmp_path: Path, name: str, text: str) -> None:
    """An unknown key in a directive, a docstring, an included text or a formula is a problem."""
    path = written(tmp_path, name, text.replace("%s", "score-variance.nothing"))
    (document,) = check([path], RUN)
    assert {problem.kind for problem in document.problems} == {"unknown-key"}
    assert len(document.problems) == text.count("%s")
    path = written(tmp_path, name, text.replace("%s", KEY))
    assert check([path], RUN)[0].problems == []


@pytest.mark.parametrize(("name", "text"), SHOWN)
def test_what_only_shows_how_to_quote_is_no_quotation(tmp_path: Path, name: str, text: str) -> None:
    """In listings, literal blocks, comments and strings of a program."""
    path = written(tmp_path, name, text.replace("{}", HTML.replace(FORM, "nothing").replace("{}", "1")))
    (document,) = check([path], RUN)
    assert document.quotes == ()


MISTAKEN = [
    ("page.md", "~~~ a`b\n~~~\n{}\n"),
    ("page.md", "> ```\n> code\n\nIt is {}.\n"),
    ("page.md", "Text\n    ```\nis {}.\n"),
    ("page.md", "The `softmax\nof` is {} for `x`.\n"),
    ("page.html", "<pre>It is {}.</pre>\n"),
    ("page.typ", "`a\nb` is /* verify: KEY|default */7.25/* /verify */ `x`\n"),
    ("paper.tex", "% \\begin{verbatim}\n% verify: KEY|default\n7.25\n% /verify\n"),
]


@pytest.mark.parametrize(("name", "text"), MISTAKEN)
def test_what_looks_like_code_is_compared_where_its_key_is_known(
    tmp_path: Path, name: str, text: str
) -> None:
    """What a renderer shows as code cannot always be told; a marker that is only named is no quotation."""
    text = text.replace("{}", HTML.replace("{}", "7.25")).replace("KEY", KEY)
    path = written(tmp_path, name, text)
    (problem,) = check([path], RUN)[0].problems
    assert problem.kind == "stale"
    fix(check([path], RUN))
    assert "7.25" not in path.read_text(encoding="utf-8")
    assert check([path], RUN)[0].problems == []
    path = written(tmp_path, "page.md", f"Between `<!-- verify: {KEY} -->` and `<!-- /verify -->`.\n")
    assert check([path], RUN)[0].quotes == ()


def notebook(cell: str, source: Any, **more: Any) -> dict[str, Any]:
    """Return a notebook of one cell beside one of code with an output."""
    output = {"output_type": "stream", "name": "stdout", "text": [HTML.format("7.25")]}
    code = {"cell_type": "code", "source": "1", "outputs": [output], "execution_count": 1, "metadata": {}}
    return {"cells": [code, {"cell_type": cell, "metadata": {}, "source": source, **more}], "nbformat": 4}


@pytest.mark.parametrize(
    ("cell", "source"),
    [
        ("markdown", ['A "title" \\ é\n', f"\n it is {HTML.format('7.25')} \U0001f600"]),
        ("markdown", f"*One* text\nis {HTML.format('7.25')}\n"),
        (
            "code",
            [
                "%matplotlib inline\n",
                f'# verify: {KEY}|"slope = {{text}}"\n',
                "slope = 7.25\n",
                "# /verify\n",
            ],
        ),
    ],
)
def test_cells_of_notebooks_are_read_and_outputs_left_alone(
    tmp_path: Path, cell: str, source: list[str] | str
) -> None:
    """Every byte outside the quotation stays, and all code; what JSON escapes is no hindrance."""
    made = json.dumps(notebook(cell, source), indent=1)
    path = written(tmp_path, "book.ipynb", made)
    documents = check([path], RUN)
    (problem,) = documents[0].problems
    fix(documents)
    text = path.read_text(encoding="utf-8")
    if cell == "code":
        assert problem.what.endswith("code is compared and never written: correct it by hand")
        assert text == made
        return
    assert check([path], RUN)[0].problems == []
    assert json.loads(text)["cells"][0] == json.loads(made)["cells"][0]
    new = "".join(json.loads(text)["cells"][1]["source"])
    assert new.replace(NOW, "7.25") == "".join(source)


def test_a_file_that_is_no_notebook_is_refused(tmp_path: Path) -> None:
    """With what to do."""
    with pytest.raises(CitationError, match=r"book\.ipynb: is not a notebook, which is JSON"):
        check([written(tmp_path, "book.ipynb", "{")], RUN)
    for content in ('{"cells": 5}', '{"cells": [5]}', "{}", "[]", "5"):
        with pytest.raises(
            CitationError, match=r"book\.ipynb: is not a notebook, which is JSON with a list of cells"
        ):
            check([written(tmp_path, "book.ipynb", content)], RUN)


def test_every_language_says_its_suffixes() -> None:
    """No two share one; what is unknown is plain text."""
    wanted = ".md .rst .tex .ipynb .qmd .rmd .mdx .adoc .typ .py .html .txt"
    assert set(wanted.split()) <= LANGUAGES.keys()
    assert language_of(Path("x.unknown")) is language_of(Path("x.TXT"))
