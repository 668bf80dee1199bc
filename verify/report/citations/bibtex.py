"""Citations for BibTeX."""

from __future__ import annotations

from typing import TYPE_CHECKING

from verify.evidence.words import capitalised
from verify.report.citation import AUTHORS
from verify.text.escapes import for_tex, prose_for_tex

if TYPE_CHECKING:
    from verify.report.citation import Citation


def render(cited: Citation) -> str:
    """Return a BibTeX entry."""
    note = f"{cited.judged}. {for_tex(cited.origin)}, digest {cited.digest}"
    if cited.found:
        note = f"{capitalised(prose_for_tex(cited.what))}: {for_tex(cited.found)}. {note}"
    entries = {
        "author": f"{{{AUTHORS}}}",
        "title": f"{{sdpa-verify, {cited.label}: {prose_for_tex(cited.title)}}}",
        "year": f"{cited.created:%Y}",
        "month": f"{cited.created:%b}".lower(),
        "howpublished": f"Software, version {for_tex(cited.version)}",
        "note": note,
        **({"doi": for_tex(cited.doi)} if cited.doi else {}),
        **({"url": cited.link} if cited.link else {}),
    }
    lines = (
        f"  {name} = {value}," if name == "month" else f"  {name} = {{{value}}},"
        for name, value in entries.items()
    )
    return "\n".join((f"@misc{{sdpa-verify:{cited.key},", *lines, "}"))
