"""Numbers outside markers in a document that quotes: those that a claim's values are, and those near one."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING

from verify.citing.languages import language_of
from verify.citing.markers import outside
from verify.citing.quotations import Number, is_of, numbers_in

if TYPE_CHECKING:
    from verify.citing.values import Value

_PARAGRAPH = re.compile(r"(?:[^\n]*\S[^\n]*(?:\n|\Z))+")
_MEASURED = (":estimate", ":low", ":high", ":halfwidth", ":value")
_SIGNIFICANT = 3
_MOST_UNITS_OFF = 10  # units of the last printed digit


def numbers_outside(path: Path, text: str, known: Mapping[str, Value]) -> Iterator[tuple[int, str, str]]:
    """Yield line, key and what to do of each number that a claim named in the same paragraph speaks of.

    Only numbers with a decimal point and three significant digits count. Such a number is to be quoted if it
    is an estimate, an end of an interval or a computed value of a claim that the paragraph names or quotes;
    it contradicts the claim if it is none, but differs from one by less than ten units of its last digit.
    """
    heads: dict[str, list[Value]] = {}
    for key, value in known.items():
        if key.endswith(_MEASURED) and value.figures and value.figures[0].rounding != "fixed":
            heads.setdefault(key.partition(".")[0], []).append(value)
    if not heads:
        return
    name = re.compile(rf"(?<![\w.-])(?:{'|'.join(map(re.escape, heads))})(?![\w-])")
    for passage, prose in outside(path, text, language_of(path)):
        for paragraph in _PARAGRAPH.finditer(passage.text):
            named = dict.fromkeys(name.findall(paragraph[0]))
            for number in numbers_in(prose[slice(*paragraph.span())]) if named else ():
                at, _ = passage.place(paragraph.start() + number.start, paragraph.start() + number.end)
                found = _said(number, [value for head in named for value in heads[head]])
                if found:
                    yield text.count("\n", 0, at) + 1, *found


def _said(number: Number, values: list[Value]) -> tuple[str, str] | None:
    digits = abs(number.value).scaleb(-number.place)
    if number.place >= 0 or digits < 10 ** (_SIGNIFICANT - 1):
        return None
    printed = f"{number.value:f}"
    for value in values:
        if is_of(number, value.figures[0]):
            return value.key, f"{printed} stands outside markers; quote it"
    step = Decimal(1).scaleb(number.place)
    near = [one for one in values if abs(one.figures[0].exact - number.value) < _MOST_UNITS_OFF * step]
    if near:
        value = min(near, key=lambda one: abs(one.figures[0].exact - number.value))
        return value.key, f"{printed} stands outside markers and is not {value.text}; correct or quote it"
    return None
