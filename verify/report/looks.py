"""Colours, markers and dashes of a figure's layers."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Sequence

    from verify.evidence import Layer

INK = "#010203"
"""Stands for the surrounding text's colour until the SVG is written."""


class Look(NamedTuple):
    """How a layer is drawn: never distinguished by colour alone."""

    colour: str
    marker: str
    dashes: str | tuple[float, tuple[float, ...]]


# After Okabe and Ito's palette, its amber and light blue darkened so that all are 3 to 1 against a page,
# white or dark; a second layer of the same role takes the next look.
_LOOKS = {
    "truth": (
        Look(INK, "D", "-"),
        Look("#009E73", "v", (0, (8, 2))),
        Look("#CC79A7", "P", (0, (8, 2, 1, 2))),
    ),
    "measured": (
        Look("#0072B2", "o", "-"),
        Look("#009E73", "^", (0, (6, 2))),
        Look("#CC79A7", "D", (0, (3, 2))),
    ),
    "control": (
        Look("#D55E00", "X", (0, (4, 2))),
        Look("#B97F00", "s", (0, (1, 1.5))),
        Look("#CC79A7", "v", "-."),
    ),
    "other": (
        Look("#2E93D6", "s", (0, (1, 1.5))),
        Look("#B97F00", "<", "-."),
        Look("#009E73", ">", (0, (5, 1))),
    ),
}


def layer_looks(layers: Sequence[Layer]) -> tuple[Look, ...]:
    """Return how each layer of a figure is drawn, so that any two that are labelled differ."""
    # A band and a line of the same role belong together, hence by role and kind; a layer without a label
    # belongs to the labelled one before it.
    labelled = {(layer.role, layer.kind) for layer in layers if layer.label}
    looks: list[Look] = []
    used: dict[tuple[str, str], int] = {}
    for layer in layers:
        key = (layer.role, layer.kind)
        shares = not layer.label and key in labelled and key in used
        used[key] = used.get(key, -1) + (not shares)
        looks.append(_LOOKS[layer.role][used[key] % len(_LOOKS[layer.role])])
    return tuple(looks)
