"""Citations as plain text."""

from __future__ import annotations

from typing import TYPE_CHECKING

from verify.report.citation import without_address

if TYPE_CHECKING:
    from verify.report.citation import Citation


def render(cited: Citation) -> str:
    """Return one paragraph of plain text."""
    return f"{without_address(cited)} {cited.page}, {cited.sheet}"
