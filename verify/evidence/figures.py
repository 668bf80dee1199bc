"""What a figure draws, as numbers: its axes and layers, and the text that stands in for it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from pydantic import model_validator

from verify.evidence.records import Record
from verify.evidence.texts import Many, Slug, Text, refuse

if TYPE_CHECKING:
    from typing import Self


class Axis(Record):
    """An axis of a figure."""

    label: Text
    scale: Literal["linear", "log"] = "linear"


class Layer(Record):
    """One set of points of a figure; ``lo`` and ``hi`` are its interval, empty where it has none."""

    kind: Literal["points", "line", "band", "steps"]
    role: Literal["truth", "measured", "control", "other"]
    label: Text
    x: Many[float]
    y: Many[float]
    lo: Many[float] = ()
    hi: Many[float] = ()

    @model_validator(mode="after")
    def _has_as_many_of_each(self) -> Self:
        sizes = {len(self.x), len(self.y), *(len(ends) for ends in (self.lo, self.hi) if ends)}
        missing = bool(self.lo) != bool(self.hi) or (self.kind == "band" and not self.lo and bool(self.x))
        refuse(
            [(len(sizes) > 1, "its points differ in number"), (missing, "ends of its intervals are missing")]
        )
        return self


class Figure(Record):
    """What a figure draws: one message, with the text that stands in for it."""

    id: Slug
    title: Text
    alt: Text
    x: Axis
    y: Axis
    layers: Many[Layer]
