"""Languages of documents: where each quotes, what in it is code, and how its text lies in the file."""

from __future__ import annotations

import ast
import io
import json
import re
import tokenize
from collections import defaultdict, deque
from dataclasses import dataclass
from functools import partial
from itertools import accumulate
from typing import TYPE_CHECKING, NamedTuple

from verify.errors import CitationError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from pathlib import Path


class Block(NamedTuple):
    """A comment between two signs, anywhere in a line."""

    opening: str
    closing: str


class Line(NamedTuple):
    """A comment that is a line of its own, after a sign.

    Where such a comment may also end a line, ``joins`` says that no space has to stand before it.
    """

    opening: str
    closing: str = ""
    joins: bool = False


HTML, JSX, SLASHES = Block("<!--", "-->"), Block("{/*", "*/}"), Block("/*", "*/")


class Passage(NamedTuple):
    """A text as it is read, and where each of its characters starts and ends in the file."""

    text: str
    starts: range | list[int]
    ends: range | list[int]
    language: Language

    def place(self, start: int, end: int) -> tuple[int, int]:
        """Return where a stretch of the text lies in the file."""
        first = self.starts[start] if start < len(self.starts) else self.ends[-1] if self.ends else 0
        return (first, self.ends[end - 1]) if end > start else (first, first)


def unchanged(text: str) -> str:
    """Return the text."""
    return text


@dataclass(frozen=True)
class Language:
    """A language of documents.

    Markers stand in ``comments``; ``role`` finds what is looked up again when the document is built, its key
    in the group ``inside``, maybe after a text where ``titled``. ``code`` blanks out what only shows how to
    quote, ``comment`` what only markers are read of; every character stays in its place. ``macros`` says that
    values are macros of another file. ``raw_lines`` finds where a marker turns its line into raw HTML.
    ``passages`` gives a file's texts, ``written`` a text as it stands in the file, and ``included`` the names
    of files that are a part of it.
    """

    comments: tuple[Block | Line, ...]
    role: re.Pattern[str] | None = None
    titled: bool = True
    code: Callable[[str], str] = unchanged
    comment: Callable[[str], str] = unchanged
    macros: bool = False
    raw_lines: re.Pattern[str] | None = None
    passages: Callable[[str], Iterable[Passage]] | None = None
    written: Callable[[str], str] = unchanged
    included: re.Pattern[str] | None = None

    def texts(self, text: str) -> Iterable[Passage]:
        """Return the passages of a file."""
        if self.passages is not None:
            return self.passages(text)
        return [Passage(text, range(len(text)), range(1, len(text) + 1), self)]


def blank(text: str) -> str:
    """Return a text with all but its line ends blanked out."""
    return re.sub(r"[^\n]", " ", text)


def blanked(pattern: re.Pattern[str], text: str) -> str:
    """Return a text with all that a pattern finds blanked out."""
    return pattern.sub(lambda match: blank(match[0]), text)


def indented_blocks(text: str, opens: Callable[[str], bool]) -> Iterator[tuple[bool, str]]:
    """Yield the lines of a text, each with whether it is in the block indented under one that ``opens``.

    Lines keep their ends.
    """
    level: int | None = None
    for line in text.splitlines(keepends=True):
        depth = len(line) - len(line.lstrip()) if line.strip() else None
        if level is not None and depth is not None and depth <= level:
            level = None
        yield level is not None, line
        if level is None and depth is not None and opens(line):
            level = depth


HTML_LIKE = Language(comments=(HTML,))


_FENCE = re.compile(r"^[ ]{0,3}(?:[-*+>] ?|\d+\. ?)*[ ]*(?P<fence>`{3,}|~{3,}|:{3,})[ ]*(?P<info>[^`\n]*)$")
_DIRECTIVE = re.compile(r"\{(?P<name>[\w:.-]+)\}")
_CODE_NAMES = (
    "code code-block code-cell sourcecode literalinclude math mermaid graphviz raw parsed-literal doctest"
    " testcode testsetup eval-rst dot python r julia ojs bash sh shell sql typst embed iframe csv-table"
)
_CODE = frozenset(_CODE_NAMES.split())
"""Directives and executed cells whose content is not prose."""
_TICKS = re.compile("`+")
_ROLE = "{verify}"


def without_markdown_code(text: str) -> str:
    """Return Markdown with its code blanked out, but for the text of roles and the content of directives."""
    shown: list[str] = []
    open_fences: list[tuple[str, bool]] = []  # each with whether it holds code
    for line in text.splitlines(keepends=True):
        match = _FENCE.match(line.rstrip("\r\n"))
        in_code = bool(open_fences) and open_fences[-1][1]
        if match and _closes(match, open_fences):
            open_fences.pop()
            shown.append(blank(line))
        elif match and not in_code:
            open_fences.append((match["fence"], _is_code(match)))
            shown.append(blank(line))
        else:
            shown.append(blank(line) if in_code else _without_spans(line))
    return "".join(shown)


def _closes(match: re.Match[str], fences: list[tuple[str, bool]]) -> bool:
    if not fences or match["info"].strip():
        return False
    opened = fences[-1][0]
    return match["fence"][0] == opened[0] and len(match["fence"]) >= len(opened)


def _is_code(match: re.Match[str]) -> bool:
    directive = _DIRECTIVE.match(match["info"].strip())
    if match["fence"][0] == ":":
        return directive is not None and directive["name"] in _CODE
    return directive is None or directive["name"] in _CODE or directive["name"].startswith(".")


def _without_spans(line: str) -> str:
    shown, end = [], 0
    for start, stop in _spans(line) if "`" in line else ():
        shown += [line[end:start], " " * (stop - start)]
        end = stop
    return "".join([*shown, line[end:]])


def _spans(line: str) -> Iterator[tuple[int, int]]:
    """Yield where the code spans of a line start and end: at the next run of as many ticks."""
    runs = list(_TICKS.finditer(line))
    later: defaultdict[int, deque[int]] = defaultdict(deque)
    for place, run in enumerate(runs):
        later[len(run[0])].append(place)
    place = 0
    while place < len(runs):
        run = runs[place]
        if run[0] == "`" and line.endswith(_ROLE, 0, run.start()):
            place += 2
            continue
        same = later[len(run[0])]
        while same and same[0] <= place:
            same.popleft()
        if same:
            yield run.start(), runs[same[0]].end()
        place = same[0] + 1 if same else place + 1


MARKDOWN = Language(
    comments=(HTML, JSX),
    role=re.compile(r"\{verify\}`(?P<inside>[^`\n]+)`"),
    code=without_markdown_code,
    raw_lines=re.compile(
        r"^[ ]{0,3}(?:(?:[-*+>]|\d{1,9}[.)])[ ]{1,4})*(?=<!--[ \t]*verify[ \t]*:)", re.MULTILINE
    ),
    included=re.compile(r"^[ ]*[`:]{3,}\{include\}[ ]*(?P<name>[^\n{}]+?)[ ]*$", re.MULTILINE),
)


_RST_LITERAL = re.compile(
    r"\s*\.\. +(?:code|code-block|sourcecode|literalinclude|parsed-literal|math|raw|doctest|testcode"
    r"|testsetup|testoutput|prompt|graphviz|mermaid|ipython|jupyter-execute|highlight|csv-table) *::"
)
_RST_EXPLICIT = re.compile(r"\s*\.\. +(?:\[|_|\||[\w:+.-]+ *::)")
_RST_COMMENT = re.compile(r"\s*\.\.(?:\s|$)")
_RST_SPAN = re.compile(r"``(?:[^`\n]|`(?!`))+``")


def _opens_literal(line: str) -> bool:
    if _RST_LITERAL.match(line):
        return True
    return line.rstrip().endswith("::") and not _RST_COMMENT.match(line)


def _is_comment(line: str) -> bool:
    return _RST_COMMENT.match(line) is not None and not _RST_EXPLICIT.match(line)


def without_literals(text: str) -> str:
    """Return the text with its literal blocks and spans blanked out."""
    lines = indented_blocks(text, _opens_literal)
    return blanked(_RST_SPAN, "".join(blank(line) if is_literal else line for is_literal, line in lines))


def without_rst_comments(text: str) -> str:
    """Return the text with its comments blanked out."""
    lines = indented_blocks(text, _is_comment)
    return "".join(blank(line) if inside or _is_comment(line) else line for inside, line in lines)


RST = Language(
    comments=(Line(".."), HTML),
    role=re.compile(r":verify:`(?P<inside>[^`\n]+)`"),
    code=without_literals,
    comment=without_rst_comments,
    included=re.compile(r"^[ ]*\.\. +include:: +(?P<name>[^\n]+?)[ ]*$", re.MULTILINE),
)


_VERBATIM = re.compile(
    r"\\begin\{(?P<name>verbatim\*?|Verbatim\*?|lstlisting|minted|comment|alltt|filecontents\*?)\}"
    r".*?(?:\\end\{(?P=name)\}|\Z)"
    r"|\\(?:verb\*?|lstinline)(?P<sign>[^A-Za-z0-9\s{*])(?:(?!(?P=sign))[^\n])*(?P=sign)",
    re.DOTALL,
)
_LATEX_COMMENT = re.compile(r"(?<!\\)%.*")


LATEX = Language(
    comments=(Line("%", joins=True), HTML),
    role=re.compile(r"\\verify(?:num)?\{(?P<inside>[^{}#\n]+)\}"),
    titled=False,
    code=partial(blanked, _VERBATIM),
    comment=partial(blanked, _LATEX_COMMENT),
    macros=True,
    included=re.compile(r"\\(?:input|include)\s*+\{(?P<name>[^{}]*)\}"),
)


_LISTING = re.compile(
    r"^(?P<fence>-{4,}|\.{4,}|`{3,}|/{4,})[^\n]*$.*?(?:^(?P=fence)[ \t]*$|\Z)", re.MULTILINE | re.DOTALL
)


ASCIIDOC = Language(
    comments=(Line("//"), HTML),
    code=partial(blanked, _LISTING),
    included=re.compile(r"^include::(?P<name>[^\[\n]+)\[", re.MULTILINE),
)


_BLOCK = re.compile(
    r"^[ \t]*#\+begin_(?P<name>src|example|export)\b.*?(?:^[ \t]*#\+end_(?P=name)|\Z)",
    re.MULTILINE | re.DOTALL | re.IGNORECASE,
)


ORG = Language(comments=(Line("#"), HTML), code=partial(blanked, _BLOCK))


_RAW = re.compile(r"(?P<ticks>`{3,}).*?(?:(?P=ticks)|\Z)|`[^`\n]*`", re.DOTALL)


TYPST = Language(comments=(SLASHES, Line("//")), code=partial(blanked, _RAW))


PLAIN_TEXT = Language(
    comments=(HTML, JSX, SLASHES, Line("//"), Line("#"), Line("%"), Line("..")),
    role=re.compile(r"(?::verify:|\{verify\})`(?P<inside>[^`\n]+)`"),
)


_PYTHON_COMMENT = re.compile(r"^[ \t]*#.*$", re.MULTILINE)
# What may be meant as a marker, at the end of a line with code.
_TRAILING = re.compile(
    r"(?<=[ \t])#[ \t]*+(?:/[ \t]*+[A-Za-z]{4,8}|[A-Za-z]{4,8}[ \t]*+:[ \t]*+[^\s`<>#]++)[ \t]*+$",
    re.MULTILINE,
)
_HOLDERS = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)


def docstrings(text: str) -> str:
    """Return Python with all but its docstrings blanked out, each without the code that it shows.

    What is no Python, such as a cell with commands of a notebook, has none.
    """
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return blank(text)
    shown = list(blank(text))
    for start, end in _docstring_spans(tree, text.splitlines(keepends=True), _line_starts(text)):
        shown[start:end] = without_literals(text[start:end])
    return "".join(shown)


def readable(text: str) -> str:
    """Return Python with all but docstrings, comment lines and what may be meant as markers blanked out."""
    shown = list(docstrings(text))
    for match in _PYTHON_COMMENT.finditer(text):
        shown[match.start() : match.end()] = match[0]
    trailing = list(_TRAILING.finditer(text))
    starts = _comment_starts(text) if trailing else frozenset()
    for match in trailing:
        if match.start() in starts:
            shown[match.start() : match.end()] = match[0]
    return "".join(shown)


def _comment_starts(text: str) -> frozenset[int]:
    """Return where the comments of Python start; a sign in one of its strings starts none."""
    starts, found = _line_starts(text), set()
    try:
        for token in tokenize.generate_tokens(io.StringIO(text).readline):
            if token.type == tokenize.COMMENT:
                found.add(starts[token.start[0] - 1] + token.start[1])
    except (SyntaxError, tokenize.TokenError):
        # What comes after is no Python.
        pass
    return frozenset(found)


def _line_starts(text: str) -> list[int]:
    return [0, *accumulate(map(len, text.splitlines(keepends=True)))]


def _docstring_spans(tree: ast.Module, lines: list[str], starts: list[int]) -> list[tuple[int, int]]:
    found = []
    for holder in ast.walk(tree):
        if isinstance(holder, _HOLDERS) and holder.body:
            first = holder.body[0]
            value = first.value if isinstance(first, ast.Expr) else None
            if isinstance(value, ast.Constant) and isinstance(value.value, str):
                found.append((_index(value, lines, starts), _index(value, lines, starts, end=True)))
    return found


def _index(node: ast.Constant, lines: list[str], starts: list[int], *, end: bool = False) -> int:
    # Python counts columns in bytes.
    row, column = (node.end_lineno or 1, node.end_col_offset or 0) if end else (node.lineno, node.col_offset)
    return starts[row - 1] + len(lines[row - 1].encode()[:column].decode())


PYTHON = Language(
    comments=(Line("#"), Line(".."), HTML),
    role=re.compile(r":verify:`(?P<inside>[^`\n]+)`"),
    code=readable,
    comment=partial(blanked, _PYTHON_COMMENT),
)


_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*+"|[\[\]{}:,]')
_CHARACTER = re.compile(
    r"\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|\\u[0-9a-fA-F]{4}|\\.|[^\\]"
)
_KINDS = {"markdown": MARKDOWN, "raw": MARKDOWN, "code": PYTHON}


class _Level(NamedTuple):
    """A list or table of the file that is open: its kind, and the key or the number of what comes next."""

    is_table: bool
    key: list[str | int]


def passages(text: str) -> Iterator[Passage]:
    """Yield the source of each cell, with where its characters stand in the file.

    Raises:
        CitationError: it is no JSON.
    """
    try:
        json.loads(text)
    except (ValueError, RecursionError) as error:
        raise CitationError("is no notebook, whose file is JSON; save it again") from error
    cells: dict[int, list[tuple[int, int]]] = {}
    kinds: dict[int, str] = {}
    for path, start, end in _strings(text):
        if len(path) >= 3 and path[0] == "cells" and isinstance(path[1], int):
            if path[2] == "source":
                cells.setdefault(path[1], []).append((start, end))
            elif path[2:] == ("cell_type",):
                kinds[path[1]] = text[start:end]
    for place, literals in cells.items():
        language = _KINDS.get(kinds.get(place, ""))
        if language is not None:
            yield _decoded(text, literals, language)


def _strings(text: str) -> Iterator[tuple[tuple[str | int, ...], int, int]]:
    """Yield where each text of valid JSON stands, without quotation marks, and the keys that lead to it."""
    levels: list[_Level] = []
    is_key = False
    for token in _TOKEN.finditer(text):
        sign = token[0]
        if sign in "{[":
            levels.append(_Level(sign == "{", [0 if sign == "[" else ""]))
            is_key = sign == "{"
        elif sign in "}]":
            levels.pop()
            is_key = False
        elif sign == ",":
            is_key = levels[-1].is_table
            if not is_key:
                levels[-1].key[0] = int(levels[-1].key[0]) + 1
        elif sign == ":":
            is_key = False
        elif is_key:
            levels[-1].key[0] = sign[1:-1]
        else:
            yield tuple(level.key[0] for level in levels), token.start() + 1, token.end() - 1


def _decoded(text: str, literals: list[tuple[int, int]], language: Language) -> Passage:
    shown: list[str] = []
    starts: list[int] = []
    ends: list[int] = []
    for start, end in literals:
        for match in _CHARACTER.finditer(text, start, end):
            shown.append(match[0] if match[0][0] != "\\" else json.loads(f'"{match[0]}"'))
            starts.append(match.start())
            ends.append(match.end())
    return Passage("".join(shown), starts, ends, language)


def written(text: str) -> str:
    """Return a text as it stands in a file of JSON."""
    return json.dumps(text, ensure_ascii=False)[1:-1]


NOTEBOOK = Language(comments=(HTML,), passages=passages, written=written)


LANGUAGES: dict[str, Language] = {
    **dict.fromkeys((".html", ".htm", ".xhtml", ".svg", ".vue"), HTML_LIKE),
    **dict.fromkeys((".md", ".markdown", ".mkd", ".qmd", ".rmd", ".mdx"), MARKDOWN),
    **dict.fromkeys((".rst", ".rest"), RST),
    **dict.fromkeys((".tex", ".ltx"), LATEX),
    **dict.fromkeys((".adoc", ".asciidoc", ".asc"), ASCIIDOC),
    **dict.fromkeys((".org",), ORG),
    **dict.fromkeys((".typ",), TYPST),
    **dict.fromkeys((".txt",), PLAIN_TEXT),
    **dict.fromkeys((".py", ".pyi"), PYTHON),
    **dict.fromkeys((".ipynb",), NOTEBOOK),
}
"""The languages by the endings of their files' names; an author may add one."""


def language_of(path: Path) -> Language:
    """Return the language of a file; what is not known is plain text, with markers in any comment."""
    return LANGUAGES.get(path.suffix.lower(), PLAIN_TEXT)
