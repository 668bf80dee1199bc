r"""Values as LaTeX macros: a file for ``\input`` that defines ``\verify{KEY}``."""

from __future__ import annotations

from typing import TYPE_CHECKING

from verify.citing.latex import EXPORTED, bare_number, macro_text
from verify.evidence import RunRecord
from verify.evidence.provenance import command, origin
from verify.text.escapes import one_line

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from verify.citing.value import Value
    from verify.citing.values import Evidence

SUFFIX = ".tex"
_HEAD = (
    EXPORTED
    + r"""{version}, {origin}. Written by
%   sdpa-verify export --format latex
% from the results of: {made_by}
% \verify{{KEY}} is a value in text and in formulas; \verifynum{{KEY}} its bare number, for \num of siunitx.
% An unknown key is an error. `sdpa-verify values` lists the keys.
\providecommand\verifyvalue[2]{{\expandafter\gdef\csname verify/#1\endcsname{{#2}}}}
\providecommand\verifynumber[2]{{\expandafter\gdef\csname verify*#1\endcsname{{#2}}}}
\providecommand\verifywords[1]{{\ifmmode\mbox{{#1}}\else#1\fi}}
\providecommand\verify[1]{{{{%
  \ifcsname verify/#1\endcsname\csname verify/#1\endcsname\else
    \errmessage{{sdpa-verify: no value `#1'; see `sdpa-verify values' for its keys}}%
  \fi}}}}
\providecommand\verifynum[1]{{%
  \ifcsname verify*#1\endcsname\csname verify*#1\endcsname\else\sdpaverifyhasnosuchnumber\fi}}
"""
)


def export(record: Evidence, chosen: Iterable[Value]) -> str:
    r"""Return the text of a file for ``\input`` that defines ``\verify`` for the values chosen."""
    head = _HEAD.format(
        version=record.tool.version,
        origin=origin(record),
        made_by=one_line(command(record) if isinstance(record, RunRecord) else "sdpa-verify audit"),
    )
    return head + "".join(line for value in chosen for line in _lines(value))


def _lines(value: Value) -> Iterator[str]:
    yield f"\\verifyvalue{{{value.key}}}{{{macro_text(value)}}}%\n"
    bare = bare_number(value)
    if bare is not None:
        yield f"\\verifynumber{{{value.key}}}{{{bare}}}%\n"
