"""What is on record of two recordings that were compared: for each layer what differs, and where."""

import textwrap
from collections.abc import Iterator
from enum import StrEnum
from typing import Annotated, ClassVar, Literal

from pydantic import Field

from verify.evidence.audits import Heads, counted, runs, together
from verify.evidence.records import Record, Sealed
from verify.evidence.runs import Tool
from verify.evidence.texts import Count, Digest, Line, Many, Moment, Named, Positive, Slug, Text
from verify.text import numbers

QUANTITIES = {
    "x": "the input of the layer’s module",
    "q": "queries",
    "k": "keys",
    "v": "values",
    "mask": "which keys rows see",
    "bias": "what is added to scores",
    "scale": "the factor of scores",
    "softcap": "the soft-cap of scores",
    "sink": "the scores of sinks",
    "out": "the output, each against its own formula",
}
"""What is compared of a layer, in the order in which it computes them."""

_WIDTH = 79


class Agreement(StrEnum):
    """What a comparison says of one quantity of a layer.

    Follows: it differs as far as what parted in an earlier layer, or in the layer's input, may make it. Not
    known: something was not recorded, or neither output is that of its formula.
    """

    SAME = "same"
    DIFFERS = "differs"
    FOLLOWS = "follows"
    UNKNOWN = "not known"


class DifferingRow(Record):
    """A row that differs: ``size`` is relative, None where numbers are not finite in one recording alone.

    All places are counted from 0. Of a mask, ``key`` is a key that the row sees in one recording alone.
    """

    size: Positive | None
    call: Count
    sequence: Count
    head: Count
    row: Count
    key: Count | None = None

    def __str__(self) -> str:
        where = f"call {self.call}, sequence {self.sequence}, head {self.head}, row {self.row}"
        return where if self.key is None else f"{where}, key {self.key}"


class ComparedPart(Record):
    """One quantity of a layer, a key of `QUANTITIES`, in both recordings.

    ``size`` is how far it differs, relative to its own size (root mean square over rows), of a mask the share
    of keys; ``allowed`` is up to where that is rounding. They are None where there is nothing of the kind,
    ``size`` also where numbers are not finite. ``heads`` are those that differ, empty for all, and ``what``
    says in words what differs.
    """

    name: Slug
    outcome: Agreement
    size: Positive | None = None
    allowed: Positive | None = None
    heads: Many[Count] = ()
    what: Text = ""
    rows: Many[DifferingRow] = ()

    def __str__(self) -> str:
        """Return what differs, with its size and how much rounding allows."""
        if self.size is None or self.allowed is None:
            return self.what
        return f"{self.what} ({share(self.size)} apart; rounding allows {share(self.allowed)})"


class ComparedLayer(Record):
    """One layer in both recordings; ``other`` is its name in the second where that differs.

    ``rows`` were compared; those of ``padding`` in both recordings were not.
    """

    id: Slug
    name: Line
    other: Line = ""
    heads: Heads
    key_heads: Heads
    calls: Count
    rows: Count
    padding: Count = 0
    dtype: Line
    parts: Many[ComparedPart]

    def of(self, outcome: Agreement) -> tuple[ComparedPart, ...]:
        """Return the parts of one outcome."""
        return tuple(part for part in self.parts if part.outcome is outcome)

    def place(self, part: ComparedPart) -> str:
        """Return the layer in words, with the heads in which a part differs where these are not all."""
        kind, count = ("key head", self.key_heads) if part.name in ("k", "v") else ("head", self.heads)
        if not part.heads or len(part.heads) == count:
            return self.name
        return f"{self.name}, {kind}{'' if len(part.heads) == 1 else 's'} {runs(part.heads)}"


class ComparisonRecord(Sealed):
    """The whole result of comparing recordings A and B, as ``comparison.json`` holds it.

    ``left_out`` says what was not compared, and why; ``allow_unseen`` are reasons of `UNSEEN` that are
    accepted, ``unseen`` those among them that are not.
    """

    in_short: ClassVar[tuple[str, ...]] = ("a", "b", "verdict")

    schema_version: Literal[1] = Field(default=1, alias="comparison_schema")
    tool: Tool
    a: Line
    b: Line
    allow_unseen: Many[Slug] = ()
    layers: Many[ComparedLayer]
    left_out: Many[Text] = ()
    unseen: Many[Slug] = ()
    environment: Named[Line]
    created: Moment
    elapsed_s: Annotated[float, Field(ge=0)]
    seal: Digest = ""

    @property
    def source(self) -> str:
        """Both recordings, in a line."""
        return f"{self.a} against {self.b}"

    @property
    def differing(self) -> tuple[ComparedLayer, ...]:
        """The layers in which something differs of itself, in their order."""
        return tuple(layer for layer in self.layers if layer.of(Agreement.DIFFERS))

    @property
    def is_by_order(self) -> bool:
        """Whether layers were matched in their order, for want of common names."""
        return any(layer.other for layer in self.layers)

    @property
    def is_partial(self) -> bool:
        """Whether something was not compared that could differ."""
        return bool(self.unseen) or any(layer.of(Agreement.UNKNOWN) for layer in self.layers)

    @property
    def exit_status(self) -> int:
        """1 if something differs, else 3 if something could not be compared, else 0."""
        if self.differing:
            return 1
        return 3 if self.is_partial or not self.layers else 0

    @property
    def verdict(self) -> str:
        """The outcome in a few words."""
        if self.differing:
            return "different"
        if not self.layers:
            return "not comparable"
        return "no difference found" + (" in part" if self.is_partial else "")

    @property
    def seen(self) -> str:
        """What was compared, in words."""
        calls, rows, padding = (
            sum(getattr(layer, name) for layer in self.layers) for name in ("calls", "rows", "padding")
        )
        parts = (counted(len(self.layers), "layer"), counted(calls, "call"), counted(rows, "row"))
        return ", ".join(parts) + " compared" + (f", without {padding:,} of padding" if padding else "")

    def __str__(self) -> str:
        """Return what differs first, in lines of at most 79 characters, and at last the verdict."""
        wrap = {"subsequent_indent": "  ", "break_long_words": False, "break_on_hyphens": False}
        return "\n".join(textwrap.fill(line, _WIDTH, **wrap) for line in comparison_lines(self))  # type: ignore[arg-type]


def comparison_lines(record: ComparisonRecord) -> Iterator[str]:
    """Yield the results of a comparison: where the recordings part first, what else differs, the verdict."""
    for number, layer in enumerate(record.differing):
        for part in layer.of(Agreement.DIFFERS):
            example = f"; such as {part.rows[0]}" if part.rows and not number else ""
            yield f"✗ {layer.place(part)}: {part.name} differs: {part}{example}"
    if record.differing:
        yield f"The first layer that differs is {record.differing[0].name}."
    following = [
        layer.name
        for layer in record.layers
        if layer.of(Agreement.FOLLOWS) and not layer.of(Agreement.DIFFERS)
    ]
    if following:
        yield f"- {together(following)}: differences that may follow from that"
    for layer in record.layers:
        for part in layer.of(Agreement.UNKNOWN):
            yield f"? {layer.name}: {part.name} not known: {part.what}"
    yield from (f"- not compared: {text}" for text in record.left_out)
    if record.is_by_order:
        yield "- layers are matched in their order, as no name is in both recordings"
    yield f"{record.verdict}: {record.seen}"


def share(value: float) -> str:
    """Return a relative difference as a percentage in two digits."""
    return f"{float(f'{100 * value:.2g}'):g}%" if value >= 1e-3 else f"{numbers.small(100 * value)}%"
