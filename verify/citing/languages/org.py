"""Org: markers in line comments; its source blocks are code."""

from __future__ import annotations

import re

from verify.citing.language import HTML, Language, Line, blanked

_BLOCK = re.compile(
    r"^[ \t]*#\+begin_(?P<name>src|example|export)\b.*?(?:^[ \t]*#\+end_(?P=name)|\Z)",
    re.MULTILINE | re.DOTALL | re.IGNORECASE,
)


def prose(text: str) -> str:
    """Return the text without its source and example blocks."""
    return blanked(_BLOCK, text)


LANGUAGE = Language(suffixes=(".org",), comments=(Line("#"), HTML), code=prose)
