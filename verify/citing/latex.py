"""Values in LaTeX: each one's text, and the lines of the file that ``export`` writes."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING

from verify.citing.figures import numbers_in
from verify.escapes import LOWERED, RAISED, for_tex

if TYPE_CHECKING:
    from verify.citing.value import Value

VALUE_LINE = re.compile(r"^\\verifyvalue\{(?P<key>[^{}]+)\}\{(?P<text>.*)\}%$", re.MULTILINE)
EXPORTED = "% Values of sdpa-verify "
"""What every exported file starts with."""


def macro_text(value: Value) -> str:
    """Return a value's text in LaTeX: its figures in mathematics, all else escaped."""
    return _with_figures(value.text) if value.figures else for_tex(value.text)


@lru_cache(maxsize=256)
def _with_figures(shown: str) -> str:
    text, end = "", 0
    for number in numbers_in(shown):
        text += for_tex(shown[end : number.start]) + f"${_mathematics(shown[number.start : number.end])}$"
        end = number.end
    return text + for_tex(shown[end:])


def _mathematics(figure: str) -> str:
    figure = figure.replace("−", "-").replace("\N{NARROW NO-BREAK SPACE}", r"\,")
    raised = re.sub(f"[{RAISED}]+", lambda run: f"^{{{run[0].translate(LOWERED)}}}", figure)
    return raised.replace("×", r"\times ")
