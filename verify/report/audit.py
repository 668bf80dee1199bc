"""What the page prints of an audit: what is wrong, one line a cause; shapes, all findings."""

from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Sequence
from decimal import ROUND_HALF_UP
from typing import NamedTuple

from verify.evidence.audits import AuditRecord, Finding, Judgement, LayerRecord, Shared, runs, shared, where
from verify.evidence.words import (
    Badge,
    Tally,
    Texts,
    badge,
    capitalised,
    closed,
    figures,
    held_against,
    shape_of,
    summary,
    tallies,
)
from verify.report.tables import TableCell, aligned, column_widths
from verify.text import numbers
from verify.text.latex import Prose

_LINES = 24  # lines of a judgement at most; what shares neither cause nor kind beyond them is counted
_ROWS = 600  # findings that have a row each at most: beyond them the pages would be a heap of numbers
_HEADS = (4.15, 4.3, 3.0, 3.0, 5.6, 4.6)  # em that the heads of a table's columns need
_INFINITE = "∞"
_DIGITS = 4
_HEADINGS = (
    ("wrong", "What is wrong", Judgement.REFUTED),
    ("undecided", "What could not be decided", Judgement.UNDECIDED),
    ("warned", "What is near a limit", Judgement.WARNED),
)
_ORIGINS = {
    "given": "given by the user",
    "recorded": "from the recording",
    "configuration": "read from the model’s configuration",
    "default": "assumed, as none was given",
    "unknown": "not judged, as queries or keys may have been scaled before the call",
}


class FindingLine(NamedTuple):
    """What is wrong, near a limit or undecided, in one line for all layers and heads that share it.

    ``first`` is one of its findings and ``link`` its anchor.
    """

    first: Finding
    where: str
    what: Prose
    link: str


class Lines(NamedTuple):
    """The lines of a judgement under a heading; ``more`` are left to the tables."""

    id: str
    heading: str
    lines: tuple[FindingLine, ...]
    more: int


class IntendedScale(NamedTuple):
    """A scale that was intended, for which layers, and who said so."""

    where: str
    formula: Prose
    value: str
    origin: Prose


class QuantitySummary(NamedTuple):
    """The findings of one name over all layers and heads: least, median and largest estimate, and tallies."""

    name: str
    quantity: Prose
    values: tuple[str, str, str]
    against: str
    tallies: tuple[Tally, ...]


class FoundRow(NamedTuple):
    """A finding as a row, or several heads' with the same judgement.

    ``cells`` are estimate, standard error and the ends of the interval, empty where there is none.
    """

    heads: str
    remark: Prose
    cells: tuple[TableCell, ...]
    against: str
    badge: Badge


class FoundGroup(NamedTuple):
    """The findings of one name in a layer; ``note`` says what all its rows have in common."""

    anchor: str
    name: str
    quantity: Prose
    note: Prose
    rows: tuple[FoundRow, ...]


class LayerTable(NamedTuple):
    """A layer with its findings; ``widths`` (em) are those of the table's columns after the first."""

    id: str
    name: str
    summary: Prose
    tallies: tuple[Tally, ...]
    notes: tuple[Prose, ...]
    groups: tuple[FoundGroup, ...]
    widths: tuple[float, ...]


class Audit(NamedTuple):
    """An audit as its pages print it.

    ``shapes`` are layers, one of each shape, with the names of all of that shape.
    """

    record: AuditRecord
    judged: Counter[Judgement]
    intended: tuple[IntendedScale, ...]
    found: tuple[Lines, ...]
    left_out: tuple[Prose, ...]
    differences: tuple[Prose, ...]
    quantities: tuple[QuantitySummary, ...]
    layers: tuple[LayerTable, ...]
    merged: bool

    @property
    def parts(self) -> tuple[tuple[str, str], ...]:
        """The parts of the page that a reader may go to."""
        named = (
            (self.quantities, "quantities", "Findings over all heads"),
            (self.layers, "layers", "All findings by layer"),
            (True, "method", "How it is judged"),
        )
        return tuple((name, text) for there, name, text in named if there)

    @property
    def tallies(self) -> tuple[Tally, ...]:
        """How often each judgement occurs among the findings that decide."""
        return tallies(self.judged, Judgement)

    @property
    def reported(self) -> int:
        """How many findings are only reported."""
        return sum(one.judgement is Judgement.REPORTED for one in self.record.findings)

    @property
    def shapes(self) -> list[tuple[LayerRecord, str]]:
        """A layer of each shape, with the names of all of that shape."""
        return _alike(
            self.record.layers,
            lambda one: (shape_of(one), one.sequences, one.tokens, one.dtype, one.backend),
        )

    @property
    def outcome(self) -> tuple[str, str]:
        """How the audit ends in a sentence, and the tone of its judgement."""
        total = self.judged.total()
        wrong, undecided = self.judged[Judgement.REFUTED], self.judged[Judgement.UNDECIDED]
        deciding = f"the {numbers.counted(total, 'finding')} that {'decides' if total == 1 else 'decide'}"
        if wrong:
            text, as_for = f"{numbers.count(wrong)} of {deciding} {_is(wrong)} refuted.", Judgement.REFUTED
        elif undecided:
            count = numbers.count(undecided)
            text = f"Nothing is refuted, but {count} of {deciding} {_is(undecided)} undecided."
            as_for = Judgement.UNDECIDED
        elif not total:
            text, as_for = "No finding decides; all are reported.", Judgement.REPORTED
        elif self.judged[Judgement.CONFIRMED] == total:
            text, as_for = f"{capitalised(deciding)} {_is(total)} confirmed.", Judgement.CONFIRMED
        else:
            text, as_for = f"None of {deciding} is refuted or undecided.", Judgement.WARNED
        return text, badge(as_for).tone

    @property
    def seen(self) -> str:
        """What was seen of the program, in a sentence."""
        layers = self.record.layers
        if not layers:
            return "No attention layer was seen."
        heads = sum(layer.heads for layer in layers)
        sequences = sorted({layer.sequences for layer in layers})
        tokens = (min(layer.tokens[0] for layer in layers), max(layer.tokens[1] for layer in layers))
        return (
            f"{numbers.counted(len(layers), 'layer')} with {numbers.counted(heads, 'head')} in all; "
            f"{_range(sequences)} "
            f"{'sequence' if sequences == [1] else 'sequences'} of {_range(tokens)} tokens."
        )


def audit_report(record: AuditRecord) -> Audit:
    """Return what the page prints about an audit."""
    merged = len(record.findings) > _ROWS
    return Audit(
        record=record,
        judged=Counter(one.judgement for one in record.findings if one.decides),
        intended=_intended(record.layers),
        found=tuple(_lines(record, *heading) for heading in _HEADINGS),
        left_out=tuple(Prose(closed(text)) for text in record.left_out),
        differences=tuple(Prose(capitalised(closed(text))) for text in record.differences),
        quantities=tuple(_quantities(record.layers)),
        layers=tuple(_layer(layer, merged=merged) for layer in record.layers),
        merged=merged,
    )


def _lines(record: AuditRecord, name: str, heading: str, judgement: Judgement) -> Lines:
    """Return what the first page says of the findings of one judgement."""
    found = shared(record.layers, judgement)
    lines = tuple(
        FindingLine(
            first=some.findings[0][1],
            where=where(some.heads(), record.layers),
            what=Prose(capitalised(closed(_what(some)))),
            link=some.link,
        )
        for some in found[:_LINES]
    )
    return Lines(name, heading, lines, max(len(found) - _LINES, 0))


def _what(some: Shared) -> str:
    """Return what was found: each quantity with its values, and the reason if all give the same."""
    values: dict[str, list[float]] = {}
    for _, one in some.findings:
        values.setdefault(one.quantity, []).extend([] if one.estimate is None else [one.estimate])
    parts = [
        f"{quantity}: {spread(sorted(found))}" if found else quantity for quantity, found in values.items()
    ]
    reasons = {one.reason for _, one in some.findings if one.reason}
    reason = reasons.pop() if len(reasons) == 1 else ""
    return f"{reason} ({'; '.join(parts)})" if reason else "; ".join(parts)


def _intended(layers: Sequence[LayerRecord]) -> tuple[IntendedScale, ...]:
    """Return the scales that were intended; where only the place of a layer differs, no place is named."""
    places = {layer.intention.where for layer in layers}
    sorts = _alike(layers, lambda one: (one.intention.latex, one.intention.value, one.intention.origin))
    return tuple(
        IntendedScale(
            where=names if len(sorts) > 1 else "",
            formula=Prose(f"${meant.latex}$"),
            value=numbers.exact(meant.value, 4),
            origin=Prose(
                _ORIGINS[meant.origin]
                + (f": {meant.where}" if meant.where and len(places) <= len(sorts) else "")
            ),
        )
        for meant, names in ((layer.intention, names) for layer, names in sorts)
    )


def _quantities(layers: Sequence[LayerRecord]) -> Iterable[QuantitySummary]:
    """Yield what was found of each name, over all layers and heads."""
    by_name: dict[str, list[Finding]] = {}
    for layer in layers:
        for one in layer.findings:
            by_name.setdefault(one.name, []).append(one)
    for name, found in by_name.items():
        values = sorted(one.estimate for one in found if one.estimate is not None)
        ends = (values[0], values[(len(values) - 1) // 2], values[-1]) if values else ()
        bands = {held_against(one) for one in found}
        # With its nines, what is 1 but for rounding would need more digits than are asked for.
        least, median, largest = (
            (numbers.exact(end, _DIGITS, ROUND_HALF_UP) for end in ends) if ends else ("–",) * 3
        )
        yield QuantitySummary(
            name=name,
            quantity=Prose(capitalised(found[0].quantity)),
            values=(least, median, largest),
            against=bands.pop() if len(bands) == 1 else "several",
            tallies=tallies(Counter(one.judgement for one in found), Judgement),
        )


def _alike(
    layers: Sequence[LayerRecord], by: Callable[[LayerRecord], Hashable]
) -> list[tuple[LayerRecord, str]]:
    """Return a layer of each sort, with the names of all of that sort."""
    found: dict[Hashable, list[LayerRecord]] = {}
    for layer in layers:
        found.setdefault(by(layer), []).append(layer)
    return [(some[0], where({one.id: frozenset() for one in some}, layers)) for some in found.values()]


def _layer(layer: LayerRecord, *, merged: bool) -> LayerTable:
    """Return a layer with its findings, in their order; if ``merged``, heads judged alike share a row."""
    by_name: dict[str, list[Finding]] = {}
    for one in layer.findings:
        by_name.setdefault(one.name, []).append(one)
    groups = tuple(_group(layer, found, merged=merged) for found in by_name.values())
    rows = [row for group in groups for row in group.rows]
    return LayerTable(
        id=layer.id,
        name=layer.name,
        summary=Prose(summary(layer)),
        tallies=tallies(Counter(one.judgement for one in layer.findings), Judgement),
        notes=tuple(Prose(closed(note)) for note in layer.notes),
        groups=groups,
        widths=column_widths(_HEADS, [((*row.cells, row.against), row.badge) for row in rows]),
    )


def _group(layer: LayerRecord, found: Sequence[Finding], *, merged: bool) -> FoundGroup:
    rows = [[one] for one in found]
    if merged:
        rows = [
            some for judgement in Judgement if (some := [one for one in found if one.judgement is judgement])
        ]
    remarks = [_remark(row) for row in rows]
    common = remarks[0] if len(set(remarks)) == 1 else ""
    return FoundGroup(
        anchor=f"{layer.id}.{found[0].name}",
        name=found[0].name,
        quantity=Prose(capitalised(found[0].quantity)),
        note=Prose(common),
        rows=tuple(
            FoundRow(
                heads=_heads(layer, row),
                remark=Prose("" if common else remark),
                cells=cells,
                against=held_against(row[0]),
                badge=badge(row[0].judgement),
            )
            for row, cells, remark in zip(rows, aligned([_texts(row) for row in rows]), remarks, strict=True)
        ),
    )


def _heads(layer: LayerRecord, row: Sequence[Finding]) -> str:
    found = [one.head for one in row]
    if len(found) == layer.heads > 1:
        return f"all {numbers.count(layer.heads)} heads"
    return f"{'head' if len(found) == 1 else 'heads'} {runs(found)}"


def _remark(row: Sequence[Finding]) -> str:
    """Return the reason if all give the same."""
    reasons = {one.reason for one in row}
    return reasons.pop() if len(reasons) == 1 else ""


def _texts(row: Sequence[Finding]) -> Texts:
    """Return the numbers of a row; of several findings the estimates' range and their intervals' hull."""
    found = [one for one in row if one.estimate is not None]
    if len(found) == 1:
        return figures(found[0])
    if not found:
        return "", "", "", ""
    errors = [one.standard_error for one in found if one.standard_error is not None]
    estimates = sorted(one.estimate for one in found if one.estimate is not None)
    intervals = [one.interval for one in found if one.interval != (None, None)]
    return (
        spread(estimates),
        f"≤{numbers.GAP}{numbers.small(max(errors))}" if errors else "",
        _outermost([low for low, _ in intervals], min, numbers.MINUS),
        _outermost([high for _, high in intervals], max, ""),
    )


def _outermost(ends: Sequence[float | None], pick: Callable[[Sequence[float]], float], sign: str) -> str:
    if not ends:
        return ""
    known = [end for end in ends if end is not None]
    return numbers.exact(pick(known), 4) if len(known) == len(ends) else f"{sign}{_INFINITE}"


def spread(values: Sequence[float], digits: int = 4) -> str:
    """Return values in order as one number, or from the smallest to the largest."""
    ends = [numbers.exact(one, digits) for one in (values[0], values[-1])]
    return ends[0] if ends[0] == ends[1] else f"{ends[0]} to {ends[1]}"


def _is(count: int) -> str:
    return "is" if count == 1 else "are"


def _range(ends: Sequence[int]) -> str:
    low, high = ends[0], ends[-1]
    return numbers.count(low) if low == high else f"{numbers.count(low)} to {numbers.count(high)}"
