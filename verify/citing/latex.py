"""Values in LaTeX: each one's text, its bare number for siunitx, and the lines of the file of macros."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from verify.citing.figures import numbers_in
from verify.text.escapes import LOWERED, RAISED, for_tex

if TYPE_CHECKING:
    from verify.citing.value import Value

VALUE_LINE = re.compile(r"^\\verify(?:value|number)\{(?P<key>[^{}]+)\}\{(?P<text>.*)\}%$", re.MULTILINE)
EXPORTED = "% Values of sdpa-verify "
"""What every exported file starts with."""
_BARE = re.compile(r"-?[0-9.]+(?:e-?[0-9]+)?")
_SIGNS = {
    "−": "-", "–": "-", "×": r"\times ", "±": r"\pm ", "≤": r"\le ", "≥": r"\ge ", "%": r"\%",
    "\N{NARROW NO-BREAK SPACE}": r"\,", "\N{NO-BREAK SPACE}": "~",
}  # fmt: skip


def macro_text(value: Value) -> str:
    """Return a value's text in LaTeX, for text and for formulas: figures as mathematics, words as words."""
    if value.figures and not re.search(r"[A-Za-z\\{}_^$&#]", value.text):
        return rf"\ensuremath{{{_mathematics(value.text)}}}"
    return rf"\verifywords{{{for_tex(value.text)}}}"


def bare_number(value: Value) -> str | None:
    r"""Return a value's number as programs and siunitx's ``\num`` read it, None if it has not exactly one."""
    found = numbers_in(value.text)
    if len(value.figures) != 1 or len(found) != 1 or found[0].unit:
        return None
    one = found[0]
    digits = f"{abs(one.value).scaleb(-one.power):f}"
    text = ("-" if one.value < 0 else "") + digits + (f"e{one.power}" if one.power else "")
    return text if _BARE.fullmatch(text) else None


def line_text(value: Value, quoted: str) -> str:
    """Return what should stand in the place of a macro's text: the bare number for a bare number."""
    bare = bare_number(value)
    return bare if bare is not None and _BARE.fullmatch(quoted) else macro_text(value)


def _mathematics(text: str) -> str:
    raised = re.sub(f"[{RAISED}]+", lambda run: f"^{{{run[0].translate(LOWERED)}}}", text)
    return "".join(_SIGNS.get(sign, sign) for sign in raised)
