"""Citations in reStructuredText."""

from __future__ import annotations

from typing import TYPE_CHECKING

from verify.evidence.words import capitalised
from verify.text.escapes import for_rst, prose_for_rst

if TYPE_CHECKING:
    from verify.report.citation import Citation


def render(cited: Citation) -> str:
    """Return reStructuredText; formulas are math roles."""
    measured = f" {capitalised(prose_for_rst(cited.what))}: {cited.found}." if cited.found else ""
    return (
        f"`sdpa-verify {for_rst(cited.version)}, {cited.key} <{cited.page}>`__: "
        f"{prose_for_rst(cited.title)}. "
        f"{prose_for_rst(cited.statement)}{measured} {cited.judged}. {cited.origin}, "
        f"digest ``{cited.digest}`` "
        f"(`PDF <{cited.sheet}>`__)."
    )
