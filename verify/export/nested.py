"""Values as tables within tables, whose names are names in every language, for other programs' data files."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

from verify.citing.latex import bare_number
from verify.evidence import RunRecord
from verify.evidence.provenance import creation

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from verify.citing.value import Value
    from verify.citing.values import Evidence

Tree = dict[str, Any]


def tree(record: Evidence, chosen: Iterable[Value]) -> Tree:
    """Return three tables: ``about`` the results, the values' ``texts`` as printed, and their ``numbers``.

    The words of a key lead to its value, with underscores for hyphens: ``score-variance.slope:estimate`` is
    at score_variance, slope, estimate. What a key without a part stands for is called ``text`` and
    ``number``. Only values of one figure have a number.
    """
    texts: Tree = {}
    numbers: Tree = {}
    for value in chosen:
        *path, last = _path(value.key)
        _put(texts, path, last or "text", value.text)
        bare = bare_number(value)
        if bare is not None:
            _put(numbers, path, last or "number", float(bare) if re.search(r"[.e]", bare) else int(bare))
    return {"about": _about(record), "texts": texts, "numbers": numbers}


def _about(record: Evidence) -> Tree:
    made = {"tool": "sdpa-verify", "version": record.tool.version, "date": f"{creation(record):%Y-%m-%d}"}
    if not isinstance(record, RunRecord):
        return {**made, "seal": record.seal}
    settings = record.run.settings
    return {**made, "seed": settings.seed, "profile": settings.profile, "seal": record.seal}


def _path(key: str) -> tuple[str, ...]:
    whole, _, part = key.partition(":")
    return (*map(name, whole.split(".", 1)), name(part) if part else "")


def name(word: str) -> str:
    """Return a word of a key as a name that every language takes."""
    safe = re.sub(r"\W", "_", word, flags=re.ASCII)
    return f"n{safe}" if safe[:1].isdigit() else safe


def _put(table: Tree, path: list[str], last: str, leaf: object) -> None:
    for word in path:
        inner = table.setdefault(word, {})
        if not isinstance(inner, dict):
            # A claim's own part, such as its checks, has the name of one of its findings.
            table[f"{word}_"] = inner
            inner = table[word] = {}
        table = inner
    table[f"{last}_" if isinstance(table.get(last), dict) else last] = leaf


def literal(leaf: object) -> str:
    """Return a text or a number as JSON, YAML and TOML alike write it."""
    if isinstance(leaf, float):
        # YAML takes 1e-06 for a text.
        return re.sub(r"^(-?\d+)e", r"\1.0e", repr(leaf))
    # TOML alone forbids this one.
    return json.dumps(leaf, ensure_ascii=False).replace("\x7f", "\\u007f")


def leaves(table: Tree, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], object]]:
    """Yield every text and number with the names that lead to it."""
    for word, inner in table.items():
        if isinstance(inner, dict):
            yield from leaves(inner, (*path, word))
        else:
            yield (*path, word), inner
