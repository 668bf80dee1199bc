"""What the page prints of two recordings that were compared: what differs, and a map of layers."""

from typing import NamedTuple

from verify.evidence.comparisons import QUANTITIES, Agreement, ComparedPart, ComparisonRecord, share
from verify.evidence.words import Badge

_BADGES = {
    Agreement.DIFFERS: Badge("cross", "bad", "differs"),
    Agreement.FOLLOWS: Badge("about", "fair", "may follow"),
    Agreement.UNKNOWN: Badge("open", "idle", "not known"),
    Agreement.SAME: Badge("check", "good", "same"),
}

Cell = tuple[Badge | None, str]
"""What became of a quantity in a layer, and how far it differs; no badge where the layer has none."""


class Comparison(NamedTuple):
    """A comparison as its page prints it: its lines but the last, which is the verdict, and the map."""

    record: ComparisonRecord
    lines: tuple[str, ...]
    verdict: str
    columns: tuple[tuple[str, str], ...]
    rows: tuple[tuple[str, tuple[Cell, ...]], ...]


def comparison_report(record: ComparisonRecord) -> Comparison:
    """Return what the report prints about a comparison."""
    *lines, verdict = record.lines
    present = {part.name for layer in record.layers for part in layer.parts}
    names = [name for name in QUANTITIES if name in present]
    rows = []
    for layer in record.layers:
        parts = {part.name: part for part in layer.parts}
        rows.append((layer.name, tuple(_cell(parts.get(name)) for name in names)))
    columns = tuple((name, QUANTITIES[name]) for name in names)
    return Comparison(record, tuple(lines), verdict, columns, tuple(rows))


def _cell(part: ComparedPart | None) -> Cell:
    if part is None:
        return None, "none"
    badge = _BADGES[part.outcome]
    # Outputs are not compared with each other, so their difference says nothing.
    return badge, share(part.size) if part.size and part.name != "out" else badge.word
