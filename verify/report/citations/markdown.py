"""Citations in Markdown."""

from __future__ import annotations

from typing import TYPE_CHECKING

from verify.evidence.words import capitalised
from verify.text.escapes import for_markdown, prose_for_markdown

if TYPE_CHECKING:
    from verify.report.citation import Citation


def render(cited: Citation) -> str:
    """Return Markdown; formulas stay between dollar signs."""
    measured = f" {capitalised(prose_for_markdown(cited.what))}: {cited.found}." if cited.found else ""
    return (
        f"[sdpa-verify {for_markdown(cited.version)}, `{cited.key}`]({cited.page}): "
        f"*{prose_for_markdown(cited.title)}.* "
        f"{prose_for_markdown(cited.statement)}{measured} "
        f"{cited.judged}. {cited.origin}, digest `{cited.digest}` ([PDF]({cited.sheet}))."
    )
