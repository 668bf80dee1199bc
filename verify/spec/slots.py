"""What authors may type in a claim's texts, and the slots that hold the rest."""

from __future__ import annotations

import re
import unicodedata

from verify.errors import ClaimError

_OPEN, _CLOSE = "\ue000", "\ue001"
PIECE = re.compile(rf"{_OPEN}(.*?){_CLOSE}|\{{([^{{}}]+)\}}", re.DOTALL)
"""A piece that the tool has printed, or a slot, without braces."""
_IN_NAME = re.compile(r"\b[A-Za-z]+[0-9][A-Za-z0-9]*")


def printed(text: str) -> str:
    """Return text that the tool itself printed from objects, marked as such: it is no author's typing."""
    return f"{_OPEN}{text}{_CLOSE}"


def unmarked(text: str) -> str:
    """Return text without the marks of ``printed``."""
    return text.replace(_OPEN, "").replace(_CLOSE, "")


def refuse_typed(claim: str, where: str, text: str) -> None:
    """Refuse a text that holds a digit, a formula or a relation sign outside its slots.

    A digit after a letter is part of a name, as in bfloat16.

    Raises:
        ClaimError: it does; the line quotes the piece.
    """
    blank = PIECE.sub(lambda piece: " " * len(piece[0]), text)
    blank = _IN_NAME.sub(lambda name: "x" * len(name[0]), blank)
    for place, sign in enumerate(blank):
        if _is_formula(sign):
            raise ClaimError(
                f"claim {claim}: its {where} types “{_around(text, place)}”; put a slot there, such as "
                "{theorem}, or a fact, check or symbol by its name"
            )


def _is_formula(sign: str) -> bool:
    if sign.isascii():
        return sign in "$\\{}^=<>~+|0123456789"
    return unicodedata.category(sign) == "Sm" or unicodedata.numeric(sign, None) is not None


def _around(text: str, place: int) -> str:
    """Return the formula or the word that stands at a place of a text."""
    if text[place] == "$":
        return text[place : (text.find("$", place + 1) + 1) or len(text)]
    before, after = re.split(r"\s", text[:place])[-1], re.split(r"\s", text[place:])[0]
    return unmarked(before + after)
