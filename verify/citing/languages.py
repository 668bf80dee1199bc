"""Languages of documents: where each quotes, what in it is code, and how it writes values."""

from __future__ import annotations

import io
import json
import re
import tokenize
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial
from itertools import accumulate
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

from verify.errors import CitationError
from verify.text.escapes import LOWERED, RAISED, for_html, for_markdown, for_rst, for_tex


class Block(NamedTuple):
    """A comment between two signs, anywhere in a line."""

    opening: str
    closing: str


class LineComment(NamedTuple):
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


def _passed_through(text: str) -> str:
    """Return text of AsciiDoc that is neither formatted nor replaced."""
    return text if re.fullmatch(r"[\w ,;:.-]*", text) else f"pass:c[{text.replace(']', chr(92) + ']')}]"


def _unbraced(escape: Callable[[str], str], text: str) -> str:
    """Return escaped text in which no brace begins an expression, which MDX, Vue and Liquid evaluate."""
    return escape(text).replace("{", "&#123;")


def _set_apart(text: str) -> str:
    """Return text of Org between whose signs stand spaces of no width, which its manual has for that."""
    return re.sub(r"[*/_=~+@\[\]$\\<{^#|]", "\u200b\\g<0>\u200b", text)


def _backslashed(signs: str, text: str) -> str:
    return re.sub(f"[{re.escape(signs)}]", r"\\\g<0>", text)


class Markup(NamedTuple):
    """How a language writes a value: ``signs`` of numbers, a ``raised`` exponent, and ``words`` escaped.

    ``formula`` is what stands around a number with signs that only a formula has.
    """

    signs: Mapping[str, str] = MappingProxyType({})
    raised: str = ""
    words: Callable[[str], str] = unchanged
    formula: str = "{}"

    def written(self, text: str, is_number: bool) -> str:
        """Return a value's text in this language."""
        if not is_number:
            return self.words(text)
        new = "".join(self.signs.get(sign, sign) for sign in text)
        if self.raised:
            new = re.sub(f"[{RAISED}]+", lambda run: self.raised.format(run[0].translate(LOWERED)), new)
        return self.formula.format(new) if set(text) & set("−×±<>") else new


MARKUPS = {
    "plain": Markup(),
    "html": Markup({"<": "&lt;", ">": "&gt;"}, "<sup>{}</sup>", partial(_unbraced, for_html)),
    "markdown": Markup({"<": "&lt;", ">": "&gt;"}, "", partial(_unbraced, for_markdown)),
    "rst": Markup(words=for_rst),
    "latex": Markup(
        {
            "−": "-",
            "×": r"\times ",
            "±": r"\pm ",
            "–": r"\mbox{--}",
            "t": r"\mbox{t",
            "o": "o}",
            "%": r"\%",
            " ": r"\ ",
            "\N{NARROW NO-BREAK SPACE}": r"\,",
            "\N{NO-BREAK SPACE}": "~",
        },
        "^{{{}}}",
        for_tex,
        r"\ensuremath{{{}}}",
    ),
    "asciidoc": Markup(raised="^{}^", words=_passed_through),
    "org": Markup(raised="^{{{}}}", words=_set_apart),
    "typst": Markup(raised="#super[{}]", words=partial(_backslashed, "\\*_`$#@<>[]~/")),
}
"""Each language's own markup for powers, signs, ± and groups, and for what its words would be taken for."""


@dataclass(frozen=True)
class Language:
    """A language of documents.

    Markers stand in ``comments``; ``role`` finds what is looked up again when the document is built, its key
    in the group ``inside``, maybe after a text where ``titled``. ``code`` blanks out what only shows how to
    quote, ``comment`` what only markers are read of; every character stays in its place. ``macros`` says that
    values are macros of another file. ``raw_lines`` finds where a marker turns its line into raw HTML.
    ``passages`` gives a file's texts, ``written`` a text as it stands in the file, and ``included`` the names
    of files that are a part of it. ``markup`` is how it writes values.
    """

    comments: tuple[Block | LineComment, ...]
    role: re.Pattern[str] | None = None
    titled: bool = True
    code: Callable[[str], str] = unchanged
    comment: Callable[[str], str] = unchanged
    macros: bool = False
    raw_lines: re.Pattern[str] | None = None
    passages: Callable[[str], Iterable[Passage]] | None = None
    written: Callable[[str], str] = unchanged
    included: re.Pattern[str] | None = None
    markup: Markup = MARKUPS["plain"]

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


_SHOWN_AS_IT_IS = re.compile(
    r"<(?P<tag>pre|script|style|textarea)\b[^<>]*>.*?(?:</(?P=tag)\s*>|\Z)", re.DOTALL | re.IGNORECASE
)

HTML_LIKE = Language(comments=(HTML,), code=partial(blanked, _SHOWN_AS_IT_IS), markup=MARKUPS["html"])

_FENCE = re.compile(r"^[ ]{0,3}(?:[-*+>] ?|\d+\. ?)*[ ]*(?P<fence>`{3,}|~{3,}|:{3,})[ ]*(?P<info>[^`\n]*)$")
_DIRECTIVE = re.compile(r"\{(?P<name>[\w:.-]+)\}")
_CODE_NAMES = (
    "code code-block code-cell sourcecode literalinclude math mermaid graphviz raw parsed-literal doctest"
    " testcode testsetup eval-rst dot python r julia ojs bash sh shell sql typst embed iframe csv-table"
)
_CODE = frozenset(_CODE_NAMES.split())  # directives and executed cells whose content is not prose
# Between runs of as many ticks.
_SPAN = re.compile(r"(?P<role>\{verify\}`[^`\n]*`)|(?<!`)(?P<ticks>`+)(?!`).*?(?<!`)(?P=ticks)(?!`)")


def without_markdown_code(text: str, *, indented: bool = True) -> str:
    """Return Markdown with its code blanked out, but for the text of roles and the content of directives.

    Code is fenced, in ticks, between tags such as ``<pre>``, and indented by four columns after a blank line,
    counted from the content of the list or the block that it stands in; unless ``indented`` is False.
    """
    lines = _without_indented(text) if indented else text.splitlines(keepends=True)
    shown: list[str] = []
    open_fences: list[tuple[str, bool]] = []  # each with whether it holds code
    for line in lines:
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
    return blanked(_SHOWN_AS_IT_IS, "".join(shown))


# A list's item, and what else holds an indented text: footnotes, definitions, admonitions and tabs of MkDocs.
_HOLDER = re.compile(r"[ ]*(?:(?:[-*+]|\d{1,9}[.)])[ ]{1,4}(?=\S)|(?:!!!|\?\?\?\+?|===|\[\^[^\]]+\]:|:)[ ])")

_QUOTE_MARKS = re.compile(r"[ ]{0,3}>(?:[ ]?>)*[ ]?")


def _without_indented(text: str) -> Iterator[str]:
    """Yield the lines of Markdown, those of indented code blanked out."""
    contents: list[int] = []  # the columns in which the content of the open holders starts
    may_start, in_fence, quoted = True, "", ""
    for line in text.splitlines(keepends=True):
        whole = line.expandtabs(4)
        marks = _QUOTE_MARKS.match(whole)
        before, quoted = quoted, marks[0].strip() if marks else ""
        shown = whole[marks.end() :] if marks else whole
        if not shown.strip():
            may_start = True
            yield line
            continue
        may_start = may_start or quoted != before
        depth = len(shown) - len(shown.lstrip())
        while contents and depth < contents[-1] and may_start:
            contents.pop()
        is_code = may_start and not in_fence and depth - (contents[-1] if contents else 0) >= 4
        fence = None if is_code else re.match(r"(`{3,}(?![^`]*`)|~{3,})", shown.lstrip())
        if fence and (not in_fence or fence[0].startswith(in_fence)):
            in_fence = "" if in_fence else fence[0]
        holder = None if is_code or in_fence else _HOLDER.match(shown)
        if holder:
            while contents and depth < contents[-1]:
                contents.pop()
            contents.append(depth + 4 if holder[0].lstrip()[0] in "!?=[:" else holder.end())
        # A heading or a fence ends a paragraph as a blank line does.
        may_start = is_code or bool(fence) or re.match("#{1,6}[ ]", shown.lstrip()) is not None
        yield blank(line) if is_code else line


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
    """Return a line with its code spans blanked out; the text of a role is none."""
    return _SPAN.sub(lambda span: span[0] if span["role"] else " " * len(span[0]), line)


MARKDOWN = Language(
    comments=(HTML, JSX),
    role=re.compile(r"\{verify\}`(?P<inside>[^`\n]+)`"),
    code=without_markdown_code,
    raw_lines=re.compile(
        r"^[ ]{0,3}(?:(?:[-*+>]|\d{1,9}[.)])[ ]{1,4})*(?=<!--[ \t]*verify[ \t]*:)", re.MULTILINE
    ),
    included=re.compile(r"^[ ]*[`:]{3,}\{include\}[ ]*(?P<name>[^\n{}]+?)[ ]*$", re.MULTILINE),
    markup=MARKUPS["markdown"],
)
MDX = replace(MARKDOWN, code=partial(without_markdown_code, indented=False))

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
    comments=(LineComment(".."), HTML),
    role=re.compile(r":verify:`(?P<inside>[^`\n]+)`"),
    code=without_literals,
    comment=without_rst_comments,
    included=re.compile(r"^[ ]*\.\. +include:: +(?P<name>[^\n]+?)[ ]*$", re.MULTILINE),
    markup=MARKUPS["rst"],
)

_VERBATIM = re.compile(
    r"\\begin\{(?P<name>verbatim\*?|Verbatim\*?|lstlisting|minted|comment|alltt|filecontents\*?)\}"
    r".*?(?:\\end\{(?P=name)\}|\Z)"
    r"|\\(?:verb\*?|lstinline)(?P<sign>[^A-Za-z0-9\s{*])(?:(?!(?P=sign))[^\n])*(?P=sign)",
    re.DOTALL,
)
_LATEX_COMMENT = re.compile(r"(?<!\\)%.*")

LATEX = Language(
    comments=(LineComment("%", joins=True), HTML),
    role=re.compile(r"\\verify(?:num)?\{(?P<inside>[^{}#\n]+)\}"),
    titled=False,
    code=partial(blanked, _VERBATIM),
    comment=partial(blanked, _LATEX_COMMENT),
    macros=True,
    included=re.compile(r"\\(?:input|include)\s*+\{(?P<name>[^{}]*)\}"),
    markup=MARKUPS["latex"],
)


# A block between fences, and paragraphs that start with a space, which are literal.
_LISTING = re.compile(
    r"^(?P<fence>-{4,}|\.{4,}|`{3,}|/{4,})[^\n]*$.*?(?:^(?P=fence)[ \t]*$|\Z)"
    r"|(?:\A|(?<=\n\n))[ \t]+\S[^\n]*(?:\n[^\n]*\S[^\n]*)*",
    re.MULTILINE | re.DOTALL,
)

ASCIIDOC = Language(
    comments=(LineComment("//"), HTML),
    code=partial(blanked, _LISTING),
    included=re.compile(r"^include::(?P<name>[^\[\n]+)\[", re.MULTILINE),
    markup=MARKUPS["asciidoc"],
)

_BLOCK = re.compile(
    r"^[ \t]*#\+begin_(?P<name>src|example|export)\b.*?(?:^[ \t]*#\+end_(?P=name)|\Z)|^[ \t]*: [^\n]*$",
    re.MULTILINE | re.DOTALL | re.IGNORECASE,
)


# A comment of Org is a line, which splits a paragraph; an export snippet stands within one.
ORG = Language(
    comments=(LineComment("#"), Block("@@html:<!--", "-->@@")),
    code=partial(blanked, _BLOCK),
    markup=MARKUPS["org"],
)

_RAW = re.compile(r"(?P<ticks>`{3,}).*?(?:(?P=ticks)|\Z)|`[^`\n]*`", re.DOTALL)

TYPST = Language(comments=(SLASHES, LineComment("//")), code=partial(blanked, _RAW), markup=MARKUPS["typst"])

PLAIN_TEXT = Language(
    comments=(HTML, JSX, SLASHES, LineComment("//"), LineComment("#"), LineComment("%"), LineComment("..")),
    role=re.compile(r"(?::verify:|\{verify\})`(?P<inside>[^`\n]+)`"),
)

_PYTHON_COMMENT = re.compile(r"^[ \t]*#.*$", re.MULTILINE)
_STARTS = {tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT}


def readable(text: str) -> str:
    """Return Python with all but its comments and the strings that are statements blanked out.

    From where it is no Python, as in a notebook's cell with commands, only lines of comments are left.
    """
    shown = list(blank(text))
    # Python's lines end with \n alone, not with a form feed or a separator of Unicode.
    starts = [0, *accumulate(map(len, re.findall(r"[^\n]*\n|[^\n]+", text)))]
    is_start = True
    try:
        for token in tokenize.generate_tokens(io.StringIO(text).readline):
            start, end = (starts[row - 1] + column for row, column in (token.start, token.end))
            if token.type == tokenize.COMMENT:
                shown[start:end] = text[start:end]
            elif token.type == tokenize.STRING and is_start:
                shown[start:end] = without_literals(text[start:end])
            is_start = token.type in _STARTS or (is_start and token.type in {tokenize.NL, tokenize.COMMENT})
    except (SyntaxError, tokenize.TokenError, IndexError):
        for match in _PYTHON_COMMENT.finditer(text):
            shown[slice(*match.span())] = match[0]
    return "".join(shown)


PYTHON = Language(
    comments=(LineComment("#"), LineComment(".."), HTML),
    role=re.compile(r":verify:`(?P<inside>[^`\n]+)`"),
    code=readable,
    comment=partial(blanked, _PYTHON_COMMENT),
    markup=MARKUPS["rst"],
)

_STRING = re.compile(r'"(?:[^"\\]|\\.)*+"')
_CHARACTER = re.compile(
    r"\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|\\u[0-9a-fA-F]{4}|\\.|[^\\]"
)
_KINDS = {"markdown": MARKDOWN, "raw": MARKDOWN, "code": PYTHON}


def passages(text: str) -> Iterator[Passage]:
    """Yield the source of each cell, with where its characters stand in the file.

    Raises:
        CitationError: it is no JSON, or has no list of cells.
    """
    found = list(_STRING.finditer(text))
    numbers = iter(range(len(found)))
    try:
        json.loads(text)
        # The same with the number of each text in its place says where the texts are.
        whole = json.loads(_STRING.sub(lambda _: f'"{next(numbers)}"', text))
        cells = [_named(cell, found) for cell in _named(whole, found)["cells"]]
        for cell in cells:
            language = _KINDS.get(json.loads(found[int(cell["cell_type"])][0]))
            source = cell["source"] if isinstance(cell["source"], list) else [cell["source"]]
            if language is not None:
                yield _decoded(text, [found[int(one)].span() for one in source], language)
    except (ValueError, RecursionError, AttributeError, KeyError, TypeError) as error:
        raise CitationError("is not a notebook, which is JSON with a list of cells; save it again") from error


def _named(table: dict[str, Any], found: list[re.Match[str]]) -> dict[str, Any]:
    return {json.loads(found[int(number)][0]): inner for number, inner in table.items()}


def _decoded(text: str, literals: list[tuple[int, int]], language: Language) -> Passage:
    shown: list[str] = []
    starts: list[int] = []
    ends: list[int] = []
    for start, end in literals:
        for match in _CHARACTER.finditer(text, start + 1, end - 1):
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
    **dict.fromkeys((".md", ".markdown", ".mkd", ".qmd", ".rmd"), MARKDOWN),
    ".mdx": MDX,
    **dict.fromkeys((".rst", ".rest"), RST),
    **dict.fromkeys((".tex", ".ltx"), LATEX),
    **dict.fromkeys((".adoc", ".asciidoc", ".asc"), ASCIIDOC),
    **dict.fromkeys((".org",), ORG),
    **dict.fromkeys((".typ",), TYPST),
    **dict.fromkeys((".txt",), PLAIN_TEXT),
    **dict.fromkeys((".py", ".pyi"), PYTHON),
    **dict.fromkeys((".ipynb",), NOTEBOOK),
}
"""The languages by the endings of their files' names."""


def language_of(path: Path) -> Language:
    """Return the language of a file; what is not known is plain text, with markers in any comment."""
    return LANGUAGES.get(path.suffix.lower(), PLAIN_TEXT)
