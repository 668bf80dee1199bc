"""Citations for programs."""

from __future__ import annotations

import dataclasses
import json
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from verify.report.citation import Citation


def render(cited: Citation) -> str:
    """Return all that a citation holds, for programs."""
    content = {**dataclasses.asdict(cited), "created": cited.created.isoformat()}
    content |= {"html": cited.page, "pdf": cited.sheet}
    return json.dumps(content, ensure_ascii=False, indent=1)
