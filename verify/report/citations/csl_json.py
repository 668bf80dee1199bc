"""Citations in CSL-JSON."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from verify.report.citation import AUTHORS
from verify.text.latex import plain

if TYPE_CHECKING:
    from verify.report.citation import Citation


def render(cited: Citation) -> str:
    """Return a list of one item in CSL-JSON, which reference managers and Pandoc read."""
    note = f"{cited.judged.lower()}; {cited.origin.lower()}; digest {cited.digest}"
    item: dict[str, Any] = {
        "id": f"sdpa-verify:{cited.key}",
        "type": "software",
        "title": f"sdpa-verify, {cited.label}: {plain(cited.title)}",
        "author": [{"literal": AUTHORS}],
        "issued": {"date-parts": [[cited.created.year, cited.created.month, cited.created.day]]},
        # Styles print the version, few the note.
        "version": f"{cited.version} ({cited.run})",
        "note": f"{plain(cited.what)}: {cited.found}; {note}" if cited.found else note,
        **({"URL": cited.link} if cited.link else {}),
    }
    if cited.doi:
        item["DOI"] = cited.doi
    fields = (f"{json.dumps(name)}: {json.dumps(value, ensure_ascii=False)}" for name, value in item.items())
    return "[{\n  " + ",\n  ".join(fields) + "\n}]"
