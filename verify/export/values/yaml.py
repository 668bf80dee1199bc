"""Values as YAML, for Quarto's variables, MkDocs' extra and Hugo's data: tables within tables."""

from __future__ import annotations

from typing import TYPE_CHECKING

from verify.export.nested import literal, tree

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from verify.citing.value import Value
    from verify.citing.values import Evidence
    from verify.export.nested import Tree

SUFFIX = ".yml"


def export(record: Evidence, chosen: Iterable[Value]) -> str:
    """Return block mappings; every text is in quotation marks, so that none is taken for anything else."""
    return "".join(_lines(tree(record, chosen), 0))


def _lines(table: Tree, depth: int) -> Iterator[str]:
    for word, inner in table.items():
        start = f"{'  ' * depth}{literal(word)}:"
        if not isinstance(inner, dict):
            yield f"{start} {literal(inner)}\n"
        elif inner:
            yield f"{start}\n"
            yield from _lines(inner, depth + 1)
        else:
            yield f"{start} {{}}\n"
