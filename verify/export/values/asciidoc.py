"""Values as attributes of AsciiDoc: a file to include."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from verify.text.escapes import one_line

if TYPE_CHECKING:
    from collections.abc import Iterable

    from verify.citing.value import Value
    from verify.citing.values import Evidence

SUFFIX = ".adoc"


def export(_record: Evidence, chosen: Iterable[Value]) -> str:
    """Return a line for each value, quoted as ``{verify-score-variance-slope--estimate}``.

    A point of a key is one hyphen there, and a colon two.
    """
    return "".join(f":{_name(value.key)}: {_shown(value.text)}\n" for value in chosen)


def _name(key: str) -> str:
    return "verify-" + re.sub(r"[^a-z0-9-]", "-", key.lower().replace(":", "--"))


def _shown(text: str) -> str:
    # Neither formatting nor references, which attributes may hold.
    return f"pass:c[{one_line(text).replace(']', chr(92) + ']')}]"
