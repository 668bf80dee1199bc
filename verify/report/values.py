"""What a figure draws, as text that a reader can take along."""

from __future__ import annotations

from typing import TYPE_CHECKING

from verify.text.latex import plain

if TYPE_CHECKING:
    from collections.abc import Iterator

    from verify.evidence import Figure, Layer


def figure_values(figure: Figure) -> str:
    """Return the values of a figure, each layer under a line with ``#`` and its label.

    Rows are ``x,y`` or, where there are intervals or bands, ``x,y,low,high``: to six digits what is measured,
    to four what is a line through many places.
    """
    head = f"# x: {plain(figure.x.label)}; y: {plain(figure.y.label)}"
    return "\n".join([head, *(line for layer in figure.layers for line in _lines(layer))])


def _lines(layer: Layer) -> Iterator[str]:
    yield f"# {plain(layer.label) or layer.kind}"
    shown = _rough if layer.kind == "line" else _fine
    columns = (layer.x, layer.y, layer.lo, layer.hi) if layer.lo else (layer.x, layer.y)
    yield from (",".join(map(shown, row)) for row in zip(*columns, strict=True))


def _fine(number: float) -> str:
    return f"{number:.6g}"


def _rough(number: float) -> str:
    """Return a number to four digits, or to six where that is shorter than a power of ten."""
    return min(f"{number:.4g}", _fine(number), key=len)
