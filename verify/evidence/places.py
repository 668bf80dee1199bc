"""Layers and heads in few words: ``decoder.layers.0–11.self_attn, all 8 heads``."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from verify.evidence.layers import LayerRecord

Heads = frozenset[int]
"""Heads by number; none of them stands for the layer as a whole."""

_NAMED = 3  # layers or runs of numbers that are listed before the rest are counted
_RUNS = 5
_NUMBER = re.compile(r"(\d+)")


def where(heads: Mapping[str, Heads], layers: Sequence[LayerRecord]) -> str:
    """Return in words the heads, by the id of their layer, of an audit's ``layers``."""
    alike: dict[str, list[str]] = {}
    for layer in layers:
        if layer.id in heads:
            alike.setdefault(_heads(heads[layer.id], layer.heads), []).append(layer.name)
    names = [layer.name for layer in layers]
    parts = [", ".join(filter(None, [_layers(some, names), which])) for which, some in alike.items()]
    return _listed(parts, "more groups of heads", "; ")


def together(names: Sequence[str]) -> str:
    """Return names that differ in one number as one name with a range, others as a list cut short."""
    pattern = common(names)
    if pattern is None:
        return _listed(list(names), "more layers", ", ")
    before, after = pattern
    found = (int(name[len(before) : len(name) - len(after)]) for name in names)
    return f"{before}{runs(found)}{after}"


def common(names: Sequence[str]) -> tuple[str, str] | None:
    """Return what names have before and after the one number in which they differ, None if they do not."""
    split = [_NUMBER.split(name) for name in dict.fromkeys(names)]
    if len(split) < 2 or len({len(one) for one in split}) > 1:
        return None
    differing = [place for place, parts in enumerate(zip(*split, strict=True)) if len(set(parts)) > 1]
    if len(differing) != 1 or differing[0] % 2 == 0:
        return None
    (place,) = differing
    return "".join(split[0][:place]), "".join(split[0][place + 1 :])


def runs(found: Iterable[int]) -> str:
    """Return whole numbers in order as runs, such as ``0–2, 5``, of which only so many are listed."""
    parts: list[list[int]] = []
    for one in sorted(set(found)):
        if parts and one == parts[-1][-1] + 1:
            parts[-1].append(one)
        else:
            parts.append([one])
    texts = [str(run[0]) if len(run) == 1 else f"{run[0]}–{run[-1]}" for run in parts[:_RUNS]]
    left = sum(map(len, parts[_RUNS:]))
    return ", ".join(texts) + (f" and {left} more" if left else "")


def _heads(some: Heads, count: int) -> str:
    if not some:
        return ""
    if len(some) == count:
        return "" if count == 1 else "both heads" if count == 2 else f"all {count} heads"
    return f"{'head' if len(some) == 1 else 'heads'} {runs(some)}"


def _layers(some: Sequence[str], of: Sequence[str]) -> str:
    if len(some) == len(of) > 1:
        return f"all {len(of)} layers"
    return together(some)


def _listed(parts: list[str], rest: str, between: str) -> str:
    left = len(parts) - _NAMED
    if left < 2:
        return between.join(parts)
    return f"{between.join(parts[:_NAMED])} and {left} {rest}"
