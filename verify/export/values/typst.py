"""Values for Typst: a module to import, of dictionaries within dictionaries."""

from __future__ import annotations

from typing import TYPE_CHECKING

from verify.export.nested import tree
from verify.text.escapes import CONTROLS

if TYPE_CHECKING:
    from collections.abc import Iterable

    from verify.citing.value import Value
    from verify.citing.values import Evidence

SUFFIX = ".typ"


def export(record: Evidence, chosen: Iterable[Value]) -> str:
    """Return the module: ``#import "verify.typ": texts``, then ``#texts.score_variance.slope.estimate``."""
    return "".join(f"#let {word} = {_written(table)}\n" for word, table in tree(record, chosen).items())


def _written(leaf: object, depth: int = 1) -> str:
    if isinstance(leaf, dict):
        if not leaf:
            return "(:)"
        indent = "  " * depth
        inside = (f"{indent}{word}: {_written(inner, depth + 1)},\n" for word, inner in leaf.items())
        return f"(\n{''.join(inside)}{'  ' * (depth - 1)})"
    return _text(leaf) if isinstance(leaf, str) else repr(leaf)


def _text(text: str) -> str:
    quoted = text.replace("\\", "\\\\").replace('"', '\\"')
    return '"' + CONTROLS.sub(lambda sign: f"\\u{{{ord(sign[0]):x}}}", quoted) + '"'
