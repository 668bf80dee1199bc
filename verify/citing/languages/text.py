"""Plain text, which other documents may include, and all that is not known: markers in any comment, roles."""

from __future__ import annotations

import re

from verify.citing.language import HTML, JSX, SLASHES, Language, Line

LANGUAGE = Language(
    suffixes=(".txt",),
    comments=(HTML, JSX, SLASHES, Line("//"), Line("#"), Line("%"), Line("..")),
    role=re.compile(r"(?::verify:|\{verify\})`(?P<inside>[^`\n]+)`"),
)
