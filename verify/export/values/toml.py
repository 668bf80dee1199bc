"""Values as TOML, for Hugo, Zola and Typst: tables within tables."""

from __future__ import annotations

from typing import TYPE_CHECKING

from verify.export.nested import literal, tree

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from verify.citing.value import Value
    from verify.citing.values import Evidence
    from verify.export.nested import Tree

SUFFIX = ".toml"


def export(record: Evidence, chosen: Iterable[Value]) -> str:
    """Return a table for each claim and each finding."""
    return "".join(_tables(tree(record, chosen), ())).lstrip("\n")


def _tables(table: Tree, path: tuple[str, ...]) -> Iterator[str]:
    own = {word: inner for word, inner in table.items() if not isinstance(inner, dict)}
    if own and path:
        yield f"\n[{'.'.join(path)}]\n"
    for word, inner in own.items():
        yield f"{word} = {literal(inner)}\n"
    for word, inner in table.items():
        if isinstance(inner, dict):
            yield from _tables(inner, (*path, word))
