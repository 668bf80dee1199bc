"""Claims that a document names without quoting a figure of theirs."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from verify.evidence import RunRecord, Verdict

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

    from verify.citing.values import Evidence

_NAME = re.compile(r"(?<![\w.-])[a-z0-9]+(?:-[a-z0-9]+)+(?![\w-])")


def mentions(text: str, record: Evidence, quoted: Collection[str]) -> Iterator[tuple[str, int, str]]:
    """Yield each claim that a text names, is not quoted, and is not confirmed, with the line and what it is.

    Only ids of several words count, for one word alone may be any.
    """
    if not isinstance(record, RunRecord):
        return
    doubtful = {
        claim.id: claim.verdict
        for claim in record.claims
        if claim.verdict is not Verdict.CONFIRMED and claim.id not in quoted
    }
    if not doubtful:
        return
    seen: set[str] = set()
    for number, line in enumerate(text.splitlines(), 1):
        for name in _NAME.findall(line):
            if name in doubtful and name not in seen:
                seen.add(name)
                yield name, number, f"is named here and is {doubtful[name]}; see whether the text still holds"
