"""The last hand on a document that WeasyPrint has drawn: links, names of places, its bytes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pydyf

from verify.executors.machine import processors
from verify.executors.threads import thread_map

if TYPE_CHECKING:
    from collections.abc import Mapping

_ROUNDING = 0.01
"""Pixels by which a box may stick out of the one around it."""


def name_places(pdf: Any, places: Mapping[str, str]) -> None:
    """Give places that have a name, the values, further names, the keys; none of these may be taken.

    An element for every name would do as well, but each takes its share of the time of laying out a line.
    """
    if not places:
        return
    found = pdf.catalog["Names"]["Dests"]["Names"]
    known = {name.string: place for name, place in zip(found[::2], found[1::2], strict=True)}
    known |= {name: known[place] for name, place in places.items()}
    found[:] = [part for name in sorted(known) for part in (pydyf.String(name), known[name])]


def drop_nested_links(document: Any) -> None:
    """Leave out the links within a link: WeasyPrint makes one of each box inside it."""
    for page in document.pages:
        kept: list[Any] = []
        for link in page.links:
            if not any(_is_within(link, other) for other in reversed(kept)):
                kept.append(link)
        page.links = kept


def _is_within(link: Any, other: Any) -> bool:
    """Return whether a link leads where another does and lies on its line, between its ends."""
    (left, top, right, bottom), (start, high, end, low) = link[2], other[2]
    lies_there = start - _ROUNDING <= left and right <= end + _ROUNDING and top < low and high < bottom
    return bool(lies_there and link[:2] == other[:2])


def write_once(pdf: Any) -> None:
    """Make the bytes of every object now; else each is made, and compressed, for the digest and again."""
    places = [place for place, one in enumerate(pdf.objects) if one.free != "f"]
    with thread_map(processors(None)) as mapped:
        # Python's zlib lets go of the interpreter.
        for place, one in zip(
            places, mapped(_Written, [pdf.objects[place] for place in places]), strict=True
        ):
            pdf.objects[place] = one


class _Written(pydyf.Object):  # type: ignore[misc]
    """An object whose bytes are made."""

    def __init__(self, made_of: Any) -> None:
        super().__init__()
        self.number, self.generation = made_of.number, made_of.generation
        self._compressible, self._data = made_of.compressible, made_of.data

    @property
    def compressible(self) -> bool:
        """Whether it may lie in a stream of objects."""
        return bool(self._compressible)

    @property
    def data(self) -> bytes:
        """The bytes."""
        return bytes(self._data)
