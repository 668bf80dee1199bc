"""Citations in RIS, which reference managers import."""

from __future__ import annotations

from typing import TYPE_CHECKING

from verify.report.citation import AUTHORS
from verify.text.escapes import one_line
from verify.text.latex import plain

if TYPE_CHECKING:
    from verify.report.citation import Citation


def render(cited: Citation) -> str:
    """Return a record of a computer program: a tag of two letters in each line."""
    found = f"{plain(cited.what)}: {cited.found}. " if cited.found else ""
    lines = [
        ("TY", "COMP"),
        ("AU", AUTHORS),
        ("TI", f"sdpa-verify, {cited.label}: {plain(cited.title)}"),
        ("PY", f"{cited.created:%Y}"),
        ("DA", f"{cited.created:%Y/%m/%d}"),
        ("ET", f"{cited.version} ({cited.run})"),
        ("N1", f"{found}{cited.judged}. {cited.origin}, digest {cited.digest}"),
        ("ID", f"sdpa-verify:{cited.key}"),
        *([("DO", cited.doi)] if cited.doi else []),
        *([("UR", cited.link)] if cited.link else []),
        ("ER", ""),
    ]
    return "\n".join(f"{tag}  - {one_line(text)}" for tag, text in lines)
