"""Citations in LaTeX."""

from __future__ import annotations

from typing import TYPE_CHECKING

from verify.evidence.words import capitalised
from verify.text.escapes import for_tex, prose_for_tex

if TYPE_CHECKING:
    from verify.report.citation import Citation


def render(cited: Citation) -> str:
    r"""Return LaTeX for running text; needs the package url."""
    measured = f" {capitalised(prose_for_tex(cited.what))}: {for_tex(cited.found)}." if cited.found else ""
    place = f" \\url{{{cited.page}}}" if cited.address else ""
    return (
        f"sdpa-verify {for_tex(cited.version)}, \\texttt{{{for_tex(cited.key)}}}: "
        f"\\emph{{{prose_for_tex(cited.title)}.}} {prose_for_tex(cited.statement)}{measured} "
        f"{cited.judged}. {for_tex(cited.origin)}, digest "
        f"\\texttt{{{cited.digest[:16]}}}.{place}"
    )
