"""AsciiDoc: markers in line comments; its own listings are code."""

from __future__ import annotations

import re

from verify.citing.language import HTML, Language, Line, blanked

_LISTING = re.compile(
    r"^(?P<fence>-{4,}|\.{4,}|`{3,}|/{4,})[^\n]*$.*?(?:^(?P=fence)[ \t]*$|\Z)", re.MULTILINE | re.DOTALL
)


def prose(text: str) -> str:
    """Return the text without its listings, literal and comment blocks."""
    return blanked(_LISTING, text)


LANGUAGE = Language(
    suffixes=(".adoc", ".asciidoc", ".asc"),
    comments=(Line("//"), HTML),
    code=prose,
    included=re.compile(r"^include::(?P<name>[^\[\n]+)\[", re.MULTILINE),
)
