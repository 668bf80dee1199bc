"""What the report prints of two recordings that were compared: where they diverge, and a map."""

from collections.abc import Iterable, Sequence
from itertools import groupby
from typing import NamedTuple

from verify.evidence.audits import together
from verify.evidence.comparisons import (
    QUANTITIES,
    Agreement,
    ComparedLayer,
    ComparedPart,
    ComparisonRecord,
    heads_in_words,
    said,
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
_MOST = 24  # lines beyond those of the first layer at most


class Found(NamedTuple):
    """A quantity that differs, or is not known, in one line; ``rows`` are examples, in words."""

    badge: Badge
    where: str
    name: str
    what: Prose
    rows: tuple[str, ...]


class MapCell(NamedTuple):
    """What became of a quantity in some layers, with how far it differs at most; no badge: there is none."""

    badge: Badge | None
    size: str


class MapRow(NamedTuple):
    """Layers that follow each other and are alike, with a cell for each quantity."""

    names: str
    cells: tuple[MapCell, ...]


class Comparison(NamedTuple):
    """A comparison as its pages print it; ``columns`` are quantities with what they are."""

    record: ComparisonRecord
    first: tuple[Found, ...]
    others: tuple[Found, ...]
    more: int
    left_out: tuple[Prose, ...]
    columns: tuple[tuple[str, str], ...]
    rows: tuple[MapRow, ...]

    @property
    def badges(self) -> tuple[tuple[Badge, str], ...]:
        """What each sign of the map means."""
        words = {
            Agreement.DIFFERS: "more than rounding, or anything before it, can explain.",
            Agreement.FOLLOWS: "it differs, but no more than earlier differences may cause.",
            Agreement.SAME: "up to rounding, or exactly for masks and scales; each output by its formula.",
            Agreement.UNKNOWN: "it was not recorded, or neither output follows its own formula.",
        }
        return tuple((_BADGES[one], text) for one, text in words.items())

    @property
    def outcome(self) -> tuple[str, str]:
        """How the comparison ends in a sentence, and its tone."""
        record = self.record
        if record.differing:
            layer = record.differing[0]
            names = [part.name for part in layer.of(Agreement.DIFFERS)]
            return f"They differ first in {layer.name}: {' and '.join(names)}.", "bad"
        if not record.layers:
            return "They cannot be compared.", "idle"
        if record.is_partial:
            return "No difference was found, but not everything could be compared.", "idle"
        return "No difference was found.", "good"


def comparison_report(record: ComparisonRecord) -> Comparison:
    """Return what the report prints about a comparison."""
    first, *later = record.differing or (None,)
    open_layers = [(layer, layer.of(Agreement.UNKNOWN)) for layer in record.layers]
    others = [
        *(_found(layer, part) for layer in later if layer for part in layer.of(Agreement.DIFFERS)),
        *(_found(layer, part) for layer, parts in open_layers for part in parts),
    ]
    names = [
        name for name in QUANTITIES if any(part.name == name for one in record.layers for part in one.parts)
    ]
    return Comparison(
        record=record,
        first=tuple(_found(first, part) for part in first.of(Agreement.DIFFERS)) if first else (),
        others=tuple(others[:_MOST]),
        more=max(len(others) - _MOST, 0),
        left_out=tuple(Prose(closed(text)) for text in record.left_out),
        columns=tuple((name, QUANTITIES[name]) for name in names),
        rows=tuple(_rows(record.layers, names)),
    )


def _found(layer: ComparedLayer, part: ComparedPart) -> Found:
    where = ", ".join(filter(None, [layer.name, heads_in_words(layer, part)]))
    what = Prose(capitalised(closed(said(part))))
    return Found(_BADGES[part.outcome], where, part.name, what, tuple(map(str, part.rows)))


def _rows(layers: Sequence[ComparedLayer], names: Sequence[str]) -> Iterable[MapRow]:
    """Yield the rows of the map: layers that are alike and in which nothing differs of itself share one."""
    for _, some in groupby(enumerate(layers), key=lambda one: _kind(one[0], one[1], names)):
        alike = [layer for _, layer in some]
        found = [{part.name: part for part in layer.parts} for layer in alike]
        cells = tuple(_cell([one[name] for one in found if name in one]) for name in names)
        yield MapRow(together([layer.name for layer in alike]), cells)


def _kind(number: int, layer: ComparedLayer, names: Sequence[str]) -> tuple[int, tuple[str, ...]]:
    parts = {part.name: str(part.outcome) for part in layer.parts}
    kept_apart = number if layer.of(Agreement.DIFFERS) else -1
    return kept_apart, tuple(parts.get(name, "") for name in names)


def _cell(parts: Sequence[ComparedPart]) -> MapCell:
    if not parts:
        return MapCell(None, "none")
    # Outputs are not compared with each other.
    if parts[0].name == "out":
        return MapCell(_BADGES[parts[0].outcome], "holds" if parts[0].outcome is Agreement.SAME else "")
    largest = max((part.size for part in parts if part.size is not None), default=0.0)
    return MapCell(_BADGES[parts[0].outcome], share(largest) if largest else "")
