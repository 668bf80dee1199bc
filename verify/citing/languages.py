"""Languages of documents: where each quotes, what in it is code, and how it writes values."""

from __future__ import annotations

import io
import json
import re
import tokenize
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import accumulate
from pathlib import Path
from typing import Any, NamedTuple

from verify.errors import CitationError
from verify.text.escapes import LOWERED, RAISED, for_html, for_markdown, for_rst, for_tex
from verify.text.numbers import GAP, MINUS, NO_BREAK


class Comment(NamedTuple):
    """A comment: between two signs anywhere in a line or, without a closing sign, a line of its own.

    A sign of the latter that may also follow a word without a space is a ``glued`` one.
    """

    opening: str
    closing: str = ""
    glued: bool = False


HTML, JSX, SLASHES = Comment("<!--", "-->"), Comment("{/*", "*/}"), Comment("/*", "*/")


@dataclass(frozen=True, eq=False)
class Markup:
    """How a language writes a value.

    ``power`` is a power of ten, ``signs`` other signs of numbers, ``formula`` what stands around a number
    with signs that only a formula has, and ``words`` escapes what is no number.
    """

    power: str = ""
    signs: dict[str, str] = field(default_factory=dict)
    words: Callable[[str], str] = str
    formula: str = "{}"

    def written(self, text: str, is_number: bool) -> str:
        """Return a value's text in this language."""
        if not is_number:
            return self.words(text)
        pieces = re.split(f"×10([{RAISED}]+)", text) if self.power else [text]
        new = "".join(
            self.power.format(piece.translate(LOWERED))
            if number % 2
            else "".join(self.signs.get(sign, sign) for sign in piece)
            for number, piece in enumerate(pieces)
        )
        return self.formula.format(new) if set(text) & set("−×±<>") else new


def _unbraced(escape: Callable[[str], str], text: str) -> str:
    # MDX, Vue and Liquid evaluate what a brace begins.
    return escape(text).replace("{", "&#123;")


def _passed_through(text: str) -> str:
    return text if re.fullmatch(r"[\w ,;:.-]*", text) else f"pass:c[{text.replace(']', chr(92) + ']')}]"


def _backslashed(text: str) -> str:
    return re.sub(r"[\\*_`$#@<>\[\]~/]", r"\\\g<0>", text)


def _set_apart(text: str) -> str:
    # Org's manual has spaces of no width for this.
    return re.sub(r"[*/_=~+@\[\]$\\<{^#|]", "\u200b\\g<0>\u200b", text)


_ANGLES = {"<": "&lt;", ">": "&gt;"}
_TEX_SIGNS = {
    MINUS: "-",
    "×": r"\times ",
    "±": r"\pm ",
    "–": r"\mbox{--}",
    "t": r"\mbox{t",
    "o": "o}",
    "%": r"\%",
    " ": r"\ ",
    GAP: r"\,",
    NO_BREAK: "~",
}
MARKUPS = {
    "plain": Markup(),
    "html": Markup("×10<sup>{}</sup>", _ANGLES, partial(_unbraced, for_html)),
    "markdown": Markup("", _ANGLES, partial(_unbraced, for_markdown)),
    "rst": Markup(words=for_rst),
    "latex": Markup(r"\times 10^{{{}}}", _TEX_SIGNS, for_tex, r"\ensuremath{{{}}}"),
    "asciidoc": Markup("×10^{}^", words=_passed_through),
    "org": Markup("×10^{{{}}}", words=_set_apart),
    "typst": Markup("×10#super[{}]", words=_backslashed),
    "python": Markup("e{}", {MINUS: "-", GAP: "", NO_BREAK: " "}),
}
"""Each language's own markup for powers, signs and words; ``python`` is that of a program's output."""


class Passage(NamedTuple):
    """A text as it is read, and where each of its characters starts and ends in the file.

    What ``is_code`` is compared and never written.
    """

    text: str
    starts: range | list[int]
    ends: range | list[int]
    language: Language
    is_code: bool = False

    def place(self, start: int, end: int) -> tuple[int, int]:
        """Return where a stretch of the text lies in the file."""
        first = self.starts[start] if start < len(self.starts) else self.ends[-1] if self.ends else 0
        return (first, self.ends[end - 1]) if end > start else (first, first)


@dataclass(frozen=True, eq=False)
class Language:
    """A language of documents.

    Markers stand in ``comments``; ``role`` finds what is looked up again when the document is built, its key
    in the group ``inside``, maybe after a text where ``titled``. ``code`` blanks out what only shows how to
    quote, ``comment`` what only markers are read of; every character stays in its place. ``raw_lines`` finds
    where a marker turns its line into raw HTML, and ``included`` the names of files that are a part of it.
    ``passages`` gives a file's texts, ``written`` a text as it stands in the file.
    """

    comments: tuple[Comment, ...]
    role: re.Pattern[str] | None = None
    titled: bool = True
    code: Callable[[str], str] = str
    comment: Callable[[str], str] = str
    raw_lines: re.Pattern[str] | None = None
    included: re.Pattern[str] | None = None
    passages: Callable[[str], Iterable[Passage]] | None = None
    written: Callable[[str], str] = str
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


_SHOWN_AS_IT_IS = re.compile(
    r"<(?P<tag>pre|script|style|textarea)\b[^<>]*>.*?(?:</(?P=tag)\s*>|\Z)", re.DOTALL | re.IGNORECASE
)
_FENCE = re.compile(r"^[ ]{0,3}(?:[-*+>] ?|\d+\. ?)*[ ]*(?P<fence>`{3,}|~{3,}|:{3,})[ ]*(?P<info>[^`\n]*)$")
_DIRECTIVE = re.compile(r"\{(?P<name>[\w:.-]+)\}")
# Directives and executed cells whose content is not prose.
_CODE = re.compile(
    r"code|code-block|code-cell|sourcecode|literalinclude|math|mermaid|graphviz|raw|parsed-literal|doctest"
    r"|testcode|testsetup|eval-rst|dot|python|r|julia|ojs|bash|sh|shell|sql|typst|embed|iframe|csv-table|\..*"
)
# Between runs of as many ticks.
_SPAN = re.compile(r"(?P<role>\{verify\}`[^`\n]*`)|(?<!`)(?P<ticks>`+)(?!`).*?(?<!`)(?P=ticks)(?!`)")
# A list's item, and what else holds an indented text: footnotes, definitions, admonitions and tabs of MkDocs.
_HOLDER = re.compile(r"[ ]*(?:(?:[-*+]|\d{1,9}[.)])[ ]{1,4}(?=\S)|(?:!!!|\?\?\?\+?|===|\[\^[^\]]+\]:|:)[ ])")
_QUOTE_MARKS = re.compile(r"[ ]{0,3}>(?:[ ]?>)*[ ]?")


def without_markdown_code(text: str, *, indented: bool = True) -> str:
    """Return Markdown with its code blanked out, but for the text of roles and the content of directives.

    Code is fenced, in ticks, between tags such as ``<pre>``, and indented by four columns after a blank line,
    counted from the content of the list or the block that it stands in; unless ``indented`` is False.
    """
    shown: list[str] = []
    fences: list[tuple[str, bool]] = []  # those that are open, each with whether it holds code
    for line in _without_indented(text) if indented else text.splitlines(keepends=True):
        match = _FENCE.match(line.rstrip("\r\n"))
        in_code = bool(fences) and fences[-1][1]
        if match and fences and not match["info"].strip() and match["fence"].startswith(fences[-1][0]):
            fences.pop()
            shown.append(blank(line))
        elif match and not in_code:
            directive = _DIRECTIVE.match(match["info"].strip())
            name = directive["name"] if directive else ""
            plain = not directive and match["fence"][0] != ":"
            fences.append((match["fence"], plain or _CODE.fullmatch(name) is not None))
            shown.append(blank(line))
        elif in_code:
            shown.append(blank(line))
        else:
            shown.append(_SPAN.sub(lambda span: span[0] if span["role"] else " " * len(span[0]), line))
    return blanked(_SHOWN_AS_IT_IS, "".join(shown))


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


_RST_LITERAL = re.compile(
    r"\s*\.\. +(?:code|code-block|sourcecode|literalinclude|parsed-literal|math|raw|doctest|testcode"
    r"|testsetup|testoutput|prompt|graphviz|mermaid|ipython|jupyter-execute|highlight|csv-table) *::"
)
_RST_COMMENT = re.compile(r"\s*\.\.(?:\s|$)(?! *(?:\[|_|\||[\w:+.-]+ *::))")
_RST_SPAN = re.compile(r"``(?:[^`\n]|`(?!`))+``")


def _indented_blocks(text: str, opens: Callable[[str], bool]) -> Iterator[tuple[bool, str]]:
    """Yield the lines of a text, each with whether it is in the block indented under one that ``opens``."""
    level: int | None = None
    for line in text.splitlines(keepends=True):
        depth = len(line) - len(line.lstrip()) if line.strip() else None
        if level is not None and depth is not None and depth <= level:
            level = None
        yield level is not None, line
        if level is None and depth is not None and opens(line):
            level = depth


def _opens_literal(line: str) -> bool:
    ends = line.rstrip().endswith("::") and not re.match(r"\s*\.\.(?:\s|$)", line)
    return ends or _RST_LITERAL.match(line) is not None


def without_literals(text: str) -> str:
    """Return reStructuredText with its literal blocks and spans blanked out."""
    lines = _indented_blocks(text, _opens_literal)
    return blanked(_RST_SPAN, "".join(blank(line) if is_literal else line for is_literal, line in lines))


def _without_rst_comments(text: str) -> str:
    lines = _indented_blocks(text, lambda line: _RST_COMMENT.match(line) is not None)
    return "".join(blank(line) if inside or _RST_COMMENT.match(line) else line for inside, line in lines)


_VERBATIM = re.compile(
    r"\\begin\{(?P<name>verbatim\*?|Verbatim\*?|lstlisting|minted|comment|alltt|filecontents\*?)\}"
    r".*?(?:\\end\{(?P=name)\}|\Z)"
    r"|\\(?:verb\*?|lstinline)(?P<sign>[^A-Za-z0-9\s{*])(?:(?!(?P=sign))[^\n])*(?P=sign)",
    re.DOTALL,
)
# A block between fences, and paragraphs that start with a space, which are literal.
_ASCIIDOC_LISTING = re.compile(
    r"^(?P<fence>-{4,}|\.{4,}|`{3,}|/{4,})[^\n]*$.*?(?:^(?P=fence)[ \t]*$|\Z)"
    r"|(?:\A|(?<=\n\n))[ \t]+\S[^\n]*(?:\n[^\n]*\S[^\n]*)*",
    re.MULTILINE | re.DOTALL,
)
_ORG_BLOCK = re.compile(
    r"^[ \t]*#\+begin_(?P<name>src|example|export)\b.*?(?:^[ \t]*#\+end_(?P=name)|\Z)|^[ \t]*: [^\n]*$",
    re.MULTILINE | re.DOTALL | re.IGNORECASE,
)
_TYPST_RAW = re.compile(r"(?P<ticks>`{3,}).*?(?:(?P=ticks)|\Z)|`[^`\n]*`", re.DOTALL)
_PYTHON_COMMENT = re.compile(r"^[ \t]*#.*$", re.MULTILINE)
_STARTS = {tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT}


def _readable(text: str) -> str:
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


_STRING = re.compile(r'"(?:[^"\\]|\\.)*+"')
_CHARACTER = re.compile(
    r"\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|\\u[0-9a-fA-F]{4}|\\.|[^\\]"
)


def _cells(text: str) -> Iterator[Passage]:
    """Yield the source of each cell of a notebook, with where its characters stand in the file.

    Raises:
        CitationError: it is no JSON, or has no list of cells.
    """
    strings = list(_STRING.finditer(text))
    numbers = iter(range(len(strings)))

    def named(table: dict[str, Any]) -> dict[str, Any]:
        return {json.loads(strings[int(number)][0]): inner for number, inner in table.items()}

    try:
        json.loads(text)
        # The same with the number of each text in its place says where the texts are.
        whole = json.loads(_STRING.sub(lambda _: f'"{next(numbers)}"', text))
        for cell in [named(cell) for cell in named(whole)["cells"]]:
            kind = json.loads(strings[int(cell["cell_type"])][0])
            source = cell["source"] if isinstance(cell["source"], list) else [cell["source"]]
            places = [
                match
                for number in source
                for match in _CHARACTER.finditer(
                    text, strings[int(number)].start() + 1, strings[int(number)].end() - 1
                )
            ]
            shown = "".join(sign[0] if sign[0][0] != "\\" else json.loads(f'"{sign[0]}"') for sign in places)
            starts, ends = [sign.start() for sign in places], [sign.end() for sign in places]
            yield Passage(shown, starts, ends, PYTHON if kind == "code" else MARKDOWN, kind == "code")
    except (ValueError, RecursionError, AttributeError, KeyError, TypeError) as error:
        raise CitationError("is not a notebook, which is JSON with a list of cells; save it again") from error


HTML_LIKE = Language((HTML,), code=partial(blanked, _SHOWN_AS_IT_IS), markup=MARKUPS["html"])
MARKDOWN = Language(
    (HTML, JSX),
    role=re.compile(r"\{verify\}`(?P<inside>[^`\n]+)`"),
    code=without_markdown_code,
    raw_lines=re.compile(
        r"^[ ]{0,3}(?:(?:[-*+>]|\d{1,9}[.)])[ ]{1,4})*(?=<!--[ \t]*verify[ \t]*:)", re.MULTILINE
    ),
    included=re.compile(r"^[ ]*[`:]{3,}\{include\}[ ]*(?P<name>[^\n{}]+?)[ ]*$", re.MULTILINE),
    markup=MARKUPS["markdown"],
)
MDX = replace(MARKDOWN, code=partial(without_markdown_code, indented=False))
RST = Language(
    (Comment(".."), HTML),
    role=re.compile(r":verify:`(?P<inside>[^`\n]+)`"),
    code=without_literals,
    comment=_without_rst_comments,
    included=re.compile(r"^[ ]*\.\. +include:: +(?P<name>[^\n]+?)[ ]*$", re.MULTILINE),
    markup=MARKUPS["rst"],
)
LATEX = Language(
    (Comment("%", glued=True), HTML),
    role=re.compile(r"\\verify(?:num)?\{(?P<inside>[^{}#\n]+)\}"),
    titled=False,
    code=partial(blanked, _VERBATIM),
    comment=partial(blanked, re.compile(r"(?<!\\)%.*")),
    included=re.compile(r"\\(?:input|include)\s*+\{(?P<name>[^{}]*)\}"),
    markup=MARKUPS["latex"],
)
ASCIIDOC = Language(
    (Comment("//"), HTML),
    code=partial(blanked, _ASCIIDOC_LISTING),
    included=re.compile(r"^include::(?P<name>[^\[\n]+)\[", re.MULTILINE),
    markup=MARKUPS["asciidoc"],
)
# A comment of Org is a line, which splits a paragraph; an export snippet stands within one.
ORG = Language(
    (Comment("#"), Comment("@@html:<!--", "-->@@")), code=partial(blanked, _ORG_BLOCK), markup=MARKUPS["org"]
)
TYPST = Language((SLASHES, Comment("//")), code=partial(blanked, _TYPST_RAW), markup=MARKUPS["typst"])
PLAIN_TEXT = Language(
    (HTML, JSX, SLASHES, *map(Comment, ("//", "#", "%", ".."))),
    role=re.compile(r"(?::verify:|\{verify\})`(?P<inside>[^`\n]+)`"),
)
PYTHON = Language(
    (Comment("#"), Comment(".."), HTML),
    role=re.compile(r":verify:`(?P<inside>[^`\n]+)`"),
    code=_readable,
    comment=partial(blanked, _PYTHON_COMMENT),
    markup=MARKUPS["rst"],
)
NOTEBOOK = Language((HTML,), passages=_cells, written=lambda text: json.dumps(text, ensure_ascii=False)[1:-1])

LANGUAGES: dict[str, Language] = {
    f".{ending}": language
    for endings, language in (
        ("html htm xhtml svg vue", HTML_LIKE),
        ("md markdown mkd qmd rmd", MARKDOWN),
        ("mdx", MDX),
        ("rst rest", RST),
        ("tex ltx", LATEX),
        ("adoc asciidoc asc", ASCIIDOC),
        ("org", ORG),
        ("typ", TYPST),
        ("txt", PLAIN_TEXT),
        ("py pyi", PYTHON),
        ("ipynb", NOTEBOOK),
    )
    for ending in endings.split()
}
"""The languages by the endings of their files' names."""


def language_of(path: Path) -> Language:
    """Return the language of a file; what is not known is plain text, with markers in any comment."""
    return LANGUAGES.get(path.suffix.lower(), PLAIN_TEXT)
