r"""LaTeX: macros, whose figures stand in an exported file, and markers in its comments."""

from __future__ import annotations

import re

from verify.citing.language import HTML, Language, Line, blanked

_VERBATIM = re.compile(
    r"\\begin\{(?P<name>verbatim\*?|Verbatim\*?|lstlisting|minted|comment|alltt|filecontents\*?)\}"
    r".*?(?:\\end\{(?P=name)\}|\Z)"
    r"|\\(?:verb\*?|lstinline)(?P<sign>[^A-Za-z0-9\s{*])(?:(?!(?P=sign))[^\n])*(?P=sign)",
    re.DOTALL,
)
_COMMENT = re.compile(r"(?<!\\)%.*")


def without_verbatim(text: str) -> str:
    """Return LaTeX with what it shows letter by letter blanked out."""
    return blanked(_VERBATIM, text)


def without_comments(text: str) -> str:
    """Return LaTeX with its comments blanked out, every character in its place."""
    return blanked(_COMMENT, text)


LANGUAGE = Language(
    suffixes=(".tex", ".ltx"),
    comments=(Line("%", joins=True), HTML),
    role=re.compile(r"\\verify(?:num)?\{(?P<inside>[^{}#\n]+)\}"),
    titled=False,
    code=without_verbatim,
    comment=without_comments,
    macros=True,
    included=re.compile(r"\\(?:input|include)\s*+\{(?P<name>[^{}]*)\}"),
)
