"""Languages of documents: one table of comments for markers, roles, code, and how values are written."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from verify.errors import CitationError
from verify.text.escapes import LOWERED, RAISED, for_html, for_markdown, for_rst, for_tex
from verify.text.numbers import GAP, MINUS, NO_BREAK

Comment = tuple[str, str]
"""A comment: between two signs anywhere in a line or, where the second is empty, a line of its own."""


@dataclass(frozen=True, eq=False)
class Language:
    """A language of documents.

    Markers stand in ``comments``; ``role`` finds what is looked up again when the document is built, in the
    group ``inside``. ``code`` blanks out what only shows how to quote; every character stays in its place.

    ``power`` is how a power of ten is written, ``signs`` are other signs of numbers, ``formula`` what stands
    around a number with signs that only a formula has, and ``words`` escapes what is no number.
    """

    comments: tuple[Comment, ...]
    role: re.Pattern[str] | None = None
    code: Callable[[str], str] = str
    power: str = ""
    signs: dict[str, str] = field(default_factory=dict)
    formula: str = "{}"
    words: Callable[[str], str] = str

    def written(self, text: str, is_number: bool) -> str:
        """Return a value's text in this language."""
        if not is_number:
            return self.words(text)
        # Splitting by a pattern with a group gives texts and powers in turn.
        pieces = re.split(f"×10([{RAISED}]+)", text) if self.power else [text]
        pieces[1::2] = [self.power.format(power.translate(LOWERED)) for power in pieces[1::2]]
        pieces[::2] = ["".join(self.signs.get(sign, sign) for sign in piece) for piece in pieces[::2]]
        new = "".join(pieces)
        return self.formula.format(new) if set(text) & set("−×±<>") else new


class Passage(NamedTuple):
    """A text as it is read, and where each of its characters starts and ends in the ``file``.

    What ``is_code`` is compared and never written.
    """

    path: Path
    file: str
    text: str
    starts: range | list[int]
    ends: range | list[int]
    language: Language
    is_code: bool = False

    def place(self, start: int, end: int) -> tuple[int, int]:
        """Return where a stretch of the text lies in the file."""
        first = self.starts[start] if start < len(self.starts) else self.ends[-1] if self.ends else 0
        return (first, self.ends[end - 1]) if end > start else (first, first)

    def error(self, at: int, what: str) -> CitationError:
        """Return what is wrong at a place of the text, with the line of the file."""
        line = self.file.count("\n", 0, self.place(at, at)[0]) + 1
        return CitationError(f"{self.path}:{line}: {what}")


_STRING = re.compile(r'"(?:[^"\\]|\\.)*+"')
# A character beyond the first 65,536 is escaped as two.
_CHARACTER = re.compile(r"(?i)\\ud[89ab][0-9a-f]{2}\\ud[c-f][0-9a-f]{2}|\\u[0-9a-f]{4}|\\.|[^\\]")


def passages(path: Path, text: str) -> Iterator[Passage]:
    """Yield the texts of a file: of a notebook its cells, of any other the whole.

    Raises:
        CitationError: a notebook is no JSON, or has no list of cells.
    """
    language = language_of(path)
    if language is not NOTEBOOK:
        yield Passage(path, text, text, range(len(text)), range(1, len(text) + 1), language)
        return
    strings = list(_STRING.finditer(text))
    numbers = iter(range(len(strings)))

    def named(table: dict[str, Any]) -> dict[str, Any]:
        return {json.loads(strings[int(number)][0]): inner for number, inner in table.items()}

    try:
        json.loads(text)
        # The same JSON with the number of each string in its place says where the strings are.
        whole = json.loads(_STRING.sub(lambda _: f'"{next(numbers)}"', text))
        for cell in map(named, named(whole)["cells"]):
            is_code = json.loads(strings[int(cell["cell_type"])][0]) == "code"
            source = cell["source"] if isinstance(cell["source"], list) else [cell["source"]]
            spans = [strings[int(number)].span() for number in source]
            signs = [sign for start, end in spans for sign in _CHARACTER.finditer(text, start + 1, end - 1)]
            shown = "".join(sign[0] if sign[0][0] != "\\" else json.loads(f'"{sign[0]}"') for sign in signs)
            starts, ends = [sign.start() for sign in signs], [sign.end() for sign in signs]
            yield Passage(path, text, shown, starts, ends, PYTHON if is_code else MARKDOWN, is_code)
    except (ValueError, RecursionError, AttributeError, KeyError, TypeError) as error:
        what = "is not a notebook, which is JSON with a list of cells; save it again"
        raise CitationError(f"{path}: {what}") from error


def blank(text: str) -> str:
    """Return a text with all but its line ends blanked out."""
    return re.sub(r"[^\n]", " ", text)


def blanked(pattern: re.Pattern[str], text: str) -> str:
    """Return a text with all that a pattern finds blanked out."""
    return pattern.sub(lambda match: blank(match[0]), text)


_SHOWN_AS_IT_IS = re.compile(r"(?is)<(?P<tag>pre|script|style|textarea)\b[^<>]*>.*?(?:</(?P=tag)\s*>|\Z)")
_FENCE = re.compile(
    r"^[ ]{0,3}(?:[-*+>] ?|\d+\. ?)*[ ]*(?P<fence>`{3,}|~{3,}|:{3,})[ ]*"
    r"(?P<info>(?:\{(?P<name>[\w:.-]+)\})?[^`\n]*)$"
)
# Directives and executed cells whose content is no prose.
_CODE = re.compile(
    r"code.*|sourcecode|literalinclude|math|mermaid|graphviz|raw|parsed-literal|doctest|testcode|eval-rst"
    r"|python|r|julia|ojs|bash|sh|shell|sql|typst|csv-table|\..*"
)
# Between runs of as many ticks; a role stays.
_SPAN = re.compile(r"(?P<role>\{verify\}`[^`\n]*`)|(?<!`)(?P<ticks>`+)(?!`).*?(?<!`)(?P=ticks)(?!`)")


def _without_markdown_code(text: str) -> str:
    """Return Markdown without code in fences, in ticks or between tags; directives hold prose."""
    lines: list[str] = []
    fences: list[tuple[str, bool]] = []  # those that are open, each with whether it holds code
    for line in text.splitlines(keepends=True):
        match = _FENCE.match(line.rstrip("\r\n"))
        in_code = bool(fences) and fences[-1][1]
        if match and fences and not match["info"].strip() and match["fence"].startswith(fences[-1][0]):
            fences.pop()
            lines.append(blank(line))
        elif match and not in_code:
            is_code = bool(_CODE.fullmatch(match["name"])) if match["name"] else match["fence"][0] != ":"
            fences.append((match["fence"], is_code))
            lines.append(blank(line))
        elif in_code:
            lines.append(blank(line))
        else:
            lines.append(_SPAN.sub(lambda span: span[0] if span["role"] else " " * len(span[0]), line))
    return blanked(_SHOWN_AS_IT_IS, "".join(lines))


_HTML, _SLASHES = ("<!--", "-->"), ("/*", "*/")
_ANGLES = {"<": "&lt;", ">": "&gt;"}
_BRACE = ("{", "&#123;")  # MDX, Vue and Liquid evaluate what a brace begins
_RST_ROLE = re.compile(r":verify:`(?P<inside>[^`\n]+)`")
_MYST_ROLE = re.compile(r"\{verify\}`(?P<inside>[^`\n]+)`")

MARKDOWN = Language(
    (_HTML, ("{/*", "*/}")),
    role=_MYST_ROLE,
    code=_without_markdown_code,
    signs=_ANGLES,
    words=lambda text: for_markdown(text).replace(*_BRACE),
)
HTML = Language(
    (_HTML,),
    code=partial(blanked, _SHOWN_AS_IT_IS),
    power="×10<sup>{}</sup>",
    signs=_ANGLES,
    words=lambda text: for_html(text).replace(*_BRACE),
)
RST = Language((("..", ""), _HTML), role=_RST_ROLE, words=for_rst)
PYTHON = replace(RST, comments=(("#", ""), ("..", ""), _HTML))
LATEX = Language(
    (("%", ""), _HTML),
    role=re.compile(r"\\verify(?:num)?\{(?P<inside>[^{}#\n]+)\}"),
    power=r"\times 10^{{{}}}",
    signs={MINUS: "-", "×": r"\times ", "±": r"\pm ", "%": r"\%", " ": r"\ ", GAP: r"\,", NO_BREAK: "~"},
    formula=r"\ensuremath{{{}}}",
    words=for_tex,
)
TYPST = Language(
    (_SLASHES, ("//", "")),
    power="×10#super[{}]",
    words=lambda text: re.sub(r"[\\*_`$#@<>\[\]~/]", r"\\\g<0>", text),
)
PLAIN = Language(
    (_HTML, ("{/*", "*/}"), _SLASHES, ("//", ""), ("#", ""), ("%", ""), ("..", "")),
    role=re.compile(r"(?::verify:|\{verify\})`(?P<inside>[^`\n]+)`"),
)
OUTPUT = Language((), power="e{}", signs={MINUS: "-", GAP: "", NO_BREAK: " "})
"""What a program prints, as a doctest shows it."""
NOTEBOOK = Language(())
"""JSON, whose cells are Markdown and Python."""

LANGUAGES: dict[str, Language] = {
    f".{ending}": language
    for endings, language in (
        ("md markdown mkd qmd rmd mdx", MARKDOWN),
        ("html htm xhtml svg vue", HTML),
        ("rst rest", RST),
        ("tex ltx", LATEX),
        ("typ", TYPST),
        ("py pyi", PYTHON),
        ("ipynb", NOTEBOOK),
        ("txt adoc asciidoc asc", PLAIN),
    )
    for ending in endings.split()
}
"""The languages by the endings of their files' names."""


def language_of(path: Path) -> Language:
    """Return the language of a file; what is not known is plain text, with markers in any comment."""
    return LANGUAGES.get(path.suffix.lower(), PLAIN)
