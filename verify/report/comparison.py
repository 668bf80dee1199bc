"""What the page prints of two recordings that were compared: where they diverge, and a map."""

from itertools import groupby
from typing import NamedTuple

from verify.evidence.audits import together
from verify.evidence.comparisons import (
    QUANTITIES,
    Agreement,
    ComparedLayer,
    ComparedPart,
    ComparisonRecord,
    share,
)
from verify.evidence.words import Badge, capitalised, closed
from verify.text.latex import Prose

_BADGES = {
    Agreement.DIFFERS: Badge("cross", "bad", "differs"),
    Agreement.FOLLOWS: Badge("about", "fair", "may follow"),
    Agreement.UNKNOWN: Badge("open", "idle", "not known"),
    Agreement.SAME: Badge("check", "good", "same"),
}
_MEANINGS = {
    Agreement.DIFFERS: "more than rounding, or anything before it, can explain.",
    Agreement.FOLLOWS: "it differs, but no more than earlier differences may cause.",
    Agreement.SAME: "up to rounding, or exactly for masks and scales; each output by its formula.",
    Agreement.UNKNOWN: "it was not recorded, or neither output follows its own formula.",
}
_MOST = 24  # lines beyond those of the first layer at most

Line = tuple[Badge, str, str, Prose, tuple[str, ...]]
"""A quantity that differs, or is not known: badge, layer and heads, name, what differs, and rows."""

Cell = tuple[Badge | None, str]
"""What became of a quantity in layers that are alike, and how far it differs; no badge where none has it."""


class Comparison(NamedTuple):
    """A comparison as its pages print it; ``columns`` are quantities with what they are."""

    record: ComparisonRecord
    outcome: tuple[str, str]
    first: tuple[Line, ...]
    others: tuple[Line, ...]
    more: int
    left_out: tuple[Prose, ...]
    columns: tuple[tuple[str, str], ...]
    rows: tuple[tuple[str, tuple[Cell, ...]], ...]
    badges: tuple[tuple[Badge, str], ...]


def comparison_report(record: ComparisonRecord) -> Comparison:
    """Return what the report prints about a comparison."""
    first, *later = [
        [_line(layer, part) for part in layer.of(Agreement.DIFFERS)] for layer in record.differing
    ] or [[]]
    unknown = [[_line(layer, part) for part in layer.of(Agreement.UNKNOWN)] for layer in record.layers]
    others = [line for lines in (*later, *unknown) for line in lines]
    outcome = "No difference was found.", "good"
    if record.differing:
        layer = record.differing[0]
        differing = " and ".join(part.name for part in layer.of(Agreement.DIFFERS))
        outcome = f"They differ first in {layer.name}: {differing}.", "bad"
    elif not record.layers:
        outcome = "They cannot be compared.", "idle"
    elif record.is_partial:
        outcome = "No difference was found, but not everything could be compared.", "idle"
    present = {part.name for layer in record.layers for part in layer.parts}
    names = [name for name in QUANTITIES if name in present]
    rows = []
    # Layers that follow each other and are alike, and in which nothing differs of itself, share a row.
    for _, group in groupby(enumerate(record.layers), key=lambda pair: _kind(*pair)):
        layers = [layer for _, layer in group]
        cells = [_cell([p for layer in layers for p in layer.parts if p.name == name]) for name in names]
        rows.append((together([layer.name for layer in layers]), tuple(cells)))
    return Comparison(
        record=record,
        outcome=outcome,
        first=tuple(first),
        others=tuple(others[:_MOST]),
        more=max(len(others) - _MOST, 0),
        left_out=tuple(Prose(closed(text)) for text in record.left_out),
        columns=tuple((name, QUANTITIES[name]) for name in names),
        rows=tuple(rows),
        badges=tuple((_BADGES[outcome], text) for outcome, text in _MEANINGS.items()),
    )


def _line(layer: ComparedLayer, part: ComparedPart) -> Line:
    what = Prose(capitalised(closed(str(part))))
    return _BADGES[part.outcome], layer.place(part), part.name, what, tuple(map(str, part.rows))


def _kind(number: int, layer: ComparedLayer) -> tuple[int, tuple[tuple[str, str], ...]]:
    """Return what layers that share a row have in common."""
    own = number if layer.of(Agreement.DIFFERS) else -1
    return own, tuple((part.name, str(part.outcome)) for part in layer.parts)


def _cell(parts: list[ComparedPart]) -> Cell:
    if not parts:
        return None, "none"
    outcome, badge = parts[0].outcome, _BADGES[parts[0].outcome]
    # Outputs are not compared with each other.
    if parts[0].name == "out":
        return badge, "holds" if outcome is Agreement.SAME else badge.word
    largest = max((part.size for part in parts if part.size is not None), default=0.0)
    return badge, share(largest) if largest else badge.word
