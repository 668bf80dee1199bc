r"""Values as LaTeX macros: a file that defines ``\verify{KEY}``, and each value's text in LaTeX."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING

from verify.citing.figures import numbers_in
from verify.escapes import LOWERED, RAISED, for_tex, one_line
from verify.report.imprint import command, creation

if TYPE_CHECKING:
    from collections.abc import Iterable

    from verify.citing.values import Value
    from verify.evidence import RunRecord

VALUE_LINE = re.compile(r"^\\verifyvalue\{(?P<key>[^{}]+)\}\{(?P<text>.*)\}%$", re.MULTILINE)
EXPORTED = "% Values of sdpa-verify "
"""What every exported file starts with."""

_HEAD = (
    EXPORTED
    + r"""{version}, seed {seed}, {profile} profile, {date}. Written by
%   sdpa-verify export --format latex
% from the results of: {command}
% Quote one with \verify{{KEY}}; an unknown key is an error. `sdpa-verify values` lists the keys.
\providecommand\verifyvalue[2]{{\expandafter\gdef\csname verify/#1\endcsname{{#2}}}}
\providecommand\verify[1]{{%
  \ifcsname verify/#1\endcsname\csname verify/#1\endcsname\else
    \errmessage{{sdpa-verify: no value `#1'; see `sdpa-verify values' for its keys}}%
  \fi}}
"""
)


def macros(record: RunRecord, chosen: Iterable[Value]) -> str:
    r"""Return the text of a file for ``\input`` that defines ``\verify`` for the values chosen."""
    head = _HEAD.format(
        version=record.tool.version,
        seed=record.run.settings.seed,
        profile=record.run.settings.profile,
        date=f"{creation(record):%Y-%m-%d}",
        command=one_line(command(record)),
    )
    lines = (rf"\verifyvalue{{{value.key}}}{{{macro_text(value)}}}%" for value in chosen)
    return head + "\n".join(lines) + "\n"


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
