"""Citations in HTML."""

from __future__ import annotations

from typing import TYPE_CHECKING

from verify.evidence.words import capitalised
from verify.text.escapes import for_html
from verify.text.latex import plain

if TYPE_CHECKING:
    from verify.report.citation import Citation


def render(cited: Citation) -> str:
    """Return a paragraph of HTML; formulas are in words."""
    measured = f" {for_html(capitalised(plain(cited.what)))}: {for_html(cited.found)}." if cited.found else ""
    return (
        f'<p class="citation"><a href="{for_html(cited.page)}">sdpa-verify {for_html(cited.version)}, '
        f"<code>{for_html(cited.key)}</code></a>: <cite>{for_html(plain(cited.title))}.</cite> "
        f"{for_html(plain(cited.statement))}{measured} {cited.judged}. {cited.origin}, "
        f'digest <code>{cited.digest}</code> (<a href="{for_html(cited.sheet)}">PDF</a>).</p>'
    )
