"""What a figure draws, as text that a reader can take along."""

from __future__ import annotations

from typing import TYPE_CHECKING

from verify.report.latex import plain

if TYPE_CHECKING:
    from collections.abc import Iterator

    from verify.evidence import Figure, Layer


def figure_values(figure: Figure) -> str:
    """Return the values of a figure to six digits, each layer under a line with ``#`` and its label.

    Rows are ``x,y`` or, where there are intervals or bands, ``x,y,low,high``.
    """
    head = f"# x: {plain(figure.x.label)}; y: {plain(figure.y.label)}"
    return "\n".join([head, *(line for layer in figure.layers for line in _lines(layer))])


def _lines(layer: Layer) -> Iterator[str]:
    yield f"# {plain(layer.label) or layer.kind}"
    columns = (layer.x, layer.y, layer.lo, layer.hi) if layer.lo else (layer.x, layer.y)
    yield from (",".join(f"{number:.6g}" for number in row) for row in zip(*columns, strict=True))
