"""reStructuredText: roles, and markers in its comments."""

from __future__ import annotations

import re

from verify.citing.language import HTML, Language, Line, blank, blanked, indented_blocks

_LITERAL = re.compile(
    r"\s*\.\. +(?:code|code-block|sourcecode|literalinclude|parsed-literal|math|raw|doctest|testcode"
    r"|testsetup|testoutput|prompt|graphviz|mermaid|ipython|jupyter-execute|highlight|csv-table) *::"
)
_EXPLICIT = re.compile(r"\s*\.\. +(?:\[|_|\||[\w:+.-]+ *::)")
_COMMENT = re.compile(r"\s*\.\.(?:\s|$)")
_SPAN = re.compile(r"``(?:[^`\n]|`(?!`))+``")


def _opens_literal(line: str) -> bool:
    if _LITERAL.match(line):
        return True
    return line.rstrip().endswith("::") and not _COMMENT.match(line)


def _is_comment(line: str) -> bool:
    return _COMMENT.match(line) is not None and not _EXPLICIT.match(line)


def prose(text: str) -> str:
    """Return the text with its literal blocks and spans blanked out."""
    lines = indented_blocks(text, _opens_literal)
    return blanked(_SPAN, "".join(blank(line) if is_literal else line for is_literal, line in lines))


def without_comments(text: str) -> str:
    """Return the text with its comments blanked out."""
    lines = indented_blocks(text, _is_comment)
    return "".join(blank(line) if inside or _is_comment(line) else line for inside, line in lines)


LANGUAGE = Language(
    suffixes=(".rst", ".rest"),
    comments=(Line(".."), HTML),
    role=re.compile(r":verify:`(?P<inside>[^`\n]+)`"),
    code=prose,
    comment=without_comments,
    included=re.compile(r"^[ ]*\.\. +include:: +(?P<name>[^\n]+?)[ ]*$", re.MULTILINE),
)
