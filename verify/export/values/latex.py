r"""Values as LaTeX macros: a file for ``\input`` that defines ``\verify{KEY}``."""

from __future__ import annotations

from typing import TYPE_CHECKING

from verify.citing.latex import EXPORTED, macro_text
from verify.escapes import one_line
from verify.report.imprint import command, creation

if TYPE_CHECKING:
    from collections.abc import Iterable

    from verify.citing.values import Value
    from verify.evidence import RunRecord

SUFFIX = ".tex"
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


def export(record: RunRecord, chosen: Iterable[Value]) -> str:
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
