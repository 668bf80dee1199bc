"""Markdown of every kind: CommonMark, MyST with its roles and directives, Quarto, R Markdown, MDX."""

from __future__ import annotations

import re
from collections import defaultdict, deque
from typing import TYPE_CHECKING

from verify.citing.language import HTML, JSX, Language, blank

if TYPE_CHECKING:
    from collections.abc import Iterator

_FENCE = re.compile(r"^[ ]{0,3}(?:[-*+>] ?|\d+\. ?)*[ ]*(?P<fence>`{3,}|~{3,}|:{3,})[ ]*(?P<info>[^`\n]*)$")
_DIRECTIVE = re.compile(r"\{(?P<name>[\w:.-]+)\}")
_CODE_NAMES = (
    "code code-block code-cell sourcecode literalinclude math mermaid graphviz raw parsed-literal doctest"
    " testcode testsetup eval-rst dot python r julia ojs bash sh shell sql typst embed iframe csv-table"
)
_CODE = frozenset(_CODE_NAMES.split())
"""Directives and executed cells whose content nobody reads as prose."""
_TICKS = re.compile("`+")
_ROLE = "{verify}"


def prose(text: str) -> str:
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


LANGUAGE = Language(
    suffixes=(".md", ".markdown", ".mkd", ".qmd", ".rmd", ".mdx"),
    comments=(HTML, JSX),
    role=re.compile(r"\{verify\}`(?P<inside>[^`\n]+)`"),
    code=prose,
    raw_lines=re.compile(
        r"^[ ]{0,3}(?:(?:[-*+>]|\d{1,9}[.)])[ ]{1,4})*(?=<!--[ \t]*verify[ \t]*:)", re.MULTILINE
    ),
    included=re.compile(r"^[ ]*[`:]{3,}\{include\}[ ]*(?P<name>[^\n{}]+?)[ ]*$", re.MULTILINE),
)
