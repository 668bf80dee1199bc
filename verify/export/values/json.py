"""Values as JSON, for JavaScript, R, Hugo and MDX: tables within tables."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from verify.export.nested import tree

if TYPE_CHECKING:
    from collections.abc import Iterable

    from verify.citing.value import Value
    from verify.citing.values import Evidence

SUFFIX = ".json"


def export(record: Evidence, chosen: Iterable[Value]) -> str:
    """Return an object of objects: ``texts.score_variance.slope.estimate``, and the same of ``numbers``."""
    return json.dumps(tree(record, chosen), indent=2, ensure_ascii=False) + "\n"
