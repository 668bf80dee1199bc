"""What is on record of two recordings that were compared: what differs of each layer, and where."""

from enum import StrEnum
from typing import ClassVar, Literal

from pydantic import Field

from verify.evidence.audits import counted, heads_in_words, together
from verify.evidence.records import Record, Sealed
from verify.evidence.runs import Tool
from verify.evidence.texts import Count, Digest, Line, Many, Moment, Positive, Slug
from verify.text import numbers


class Agreement(StrEnum):
    """What a comparison says of one quantity of a layer.

    Follows: it differs as far as what parted in an earlier layer, or in the layer's input, may make it. Not
    known: something was not recorded, or neither output is that of its formula.
    """

    SAME = "same"
    DIFFERS = "differs"
    FOLLOWS = "follows"
    UNKNOWN = "not known"


_IN_WORDS = {"x": "its input x", "out": "its output"}


class ComparedPart(Record):
    """One quantity of a layer in both recordings, by its ``name``.

    That is mask, bias, scale, softcap or sink; x, the input of the layer's module; q, k or v; or out, the
    output, which is compared with its own formula in each. ``size`` is how far it differs, relative to its
    own size (root mean square over rows), of a mask the share of keys; ``allowed`` is up to where that is
    rounding. They are None where there is nothing of the kind, ``size`` also where numbers are not finite.
    ``heads`` are those that differ, empty for all. ``what`` says more of the difference in words, and
    ``example`` in which row it is largest; places are counted from 0.
    """

    name: Slug
    outcome: Agreement = Agreement.SAME
    size: Positive | None = None
    allowed: Positive | None = None
    heads: Many[Count] = ()
    what: Line = ""
    example: Line = ""

    def __str__(self) -> str:
        """Return what differs, with its size, how much rounding allows, and an example."""
        texts = [self.what]
        if self.size is not None and self.allowed is not None:
            texts.append(f"{share(self.size)} apart, where rounding allows {share(self.allowed)}")
        texts.append(f"such as {self.example}" if self.example else "")
        return ", ".join(filter(None, texts))


class ComparedLayer(Record):
    """One layer in both recordings; ``other`` is its name in the second where that differs.

    ``rows`` were compared; those of padding in both recordings were not.
    """

    name: Line
    other: Line = ""
    heads: Count
    key_heads: Count
    calls: Count
    rows: Count
    parts: Many[ComparedPart]

    def of(self, outcome: Agreement) -> tuple[ComparedPart, ...]:
        """Return the parts of one outcome."""
        return tuple(part for part in self.parts if part.outcome is outcome)


class ComparisonRecord(Sealed):
    """The whole result of comparing recordings A and B, as ``comparison.json`` holds it.

    ``left_out`` says what was not compared, and why.
    """

    in_short: ClassVar[tuple[str, ...]] = ("a", "b", "verdict")

    schema_version: Literal[2] = Field(default=2, alias="comparison_schema")
    tool: Tool
    a: Line
    b: Line
    layers: Many[ComparedLayer]
    left_out: Many[Line] = ()
    created: Moment
    seal: Digest = ""

    @property
    def differing(self) -> tuple[ComparedLayer, ...]:
        """The layers in which something differs of itself, in their order."""
        return tuple(layer for layer in self.layers if layer.of(Agreement.DIFFERS))

    @property
    def is_partial(self) -> bool:
        """Whether something was not compared that could differ."""
        unknown = any(layer.of(Agreement.UNKNOWN) for layer in self.layers)
        return unknown or bool(self.left_out) or not self.layers

    @property
    def exit_status(self) -> int:
        """1 if something differs, else 3 if something could not be compared, else 0."""
        return 1 if self.differing else 3 if self.is_partial else 0

    @property
    def verdict(self) -> str:
        """The outcome in a few words."""
        if self.differing:
            return "different"
        if not self.layers:
            return "not comparable"
        return "no difference found" + (" in part" if self.is_partial else "")

    def __str__(self) -> str:
        """Return where the recordings part first, what else differs, what is not known, and the verdict."""
        # Layers of which the same is to be said are named together.
        alike: dict[tuple[str, str], list[str]] = {}
        for layer in self.differing:
            for part in layer.of(Agreement.DIFFERS):
                text = f"{_IN_WORDS.get(part.name, part.name)} differs: {part}"
                kind, count = ("key ", layer.key_heads) if part.name in ("k", "v") else ("", layer.heads)
                # Where all of its heads differ, none is named.
                heads = f"{kind}{heads_in_words(part.heads)}" if 0 < len(part.heads) < count else ""
                alike.setdefault((heads, text), []).append(layer.name)
        lines = [
            f"✗ {', '.join(filter(None, (together(at), heads)))}: {text}"
            for (heads, text), at in alike.items()
        ]
        if self.differing:
            lines.append(f"The first layer that differs is {self.differing[0].name}.")
        alone = [layer for layer in self.layers if not layer.of(Agreement.DIFFERS)]
        if following := [layer.name for layer in alone if layer.of(Agreement.FOLLOWS)]:
            lines.append(f"- {together(following)}: differences that may follow from that")
        for layer in self.layers:
            unknown = layer.of(Agreement.UNKNOWN)
            lines += [f"? {layer.name}: {part.name} not known: {part.what}" for part in unknown]
        lines += [f"- not compared: {text}" for text in self.left_out]
        if any(layer.other for layer in self.layers):
            lines.append("- layers are matched in their order, as no name is in both recordings")
        calls, rows = (sum(getattr(layer, name) for layer in self.layers) for name in ("calls", "rows"))
        compared = counted(len(self.layers), "layer"), counted(calls, "call"), counted(rows, "row")
        return "\n".join([*lines, f"{self.verdict}: {', '.join(compared)} compared"])


def share(value: float) -> str:
    """Return a relative difference as a percentage in two digits."""
    return f"{float(f'{100 * value:.2g}'):g}%" if value >= 1e-3 else f"{numbers.small(100 * value)}%"
