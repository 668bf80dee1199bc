"""Figures in one call: measured points with their intervals, and the derived curves beside them."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from sympy import Basic

from verify.errors import ClaimError
from verify.evidence import Axis, Check, Figure, PlotLayer
from verify.former.cells import place_of
from verify.symbolic.printing import function, latex
from verify.symbolic.scores import d

Role = Literal["truth", "measured", "control", "other"]
Scale = Literal["linear", "log"]

DIMENSION = "dimension $d_k$"


@dataclass(frozen=True)
class Line:
    """A line of a figure, from one end to another or as far as the figure's measured points."""

    label: str
    role: Role
    y: Callable[[float], float]
    points: int
    ends: tuple[float, float] | None

    def drawn(self, places: list[float], scale: Scale) -> PlotLayer:
        """Return the line on an axis of that ``scale``; without ends it runs as far as the ``places``."""
        low, high = self.ends or (min(places), max(places))
        spaced = np.geomspace if scale == "log" else np.linspace
        return _layer("line", self.role, self.label, spaced(low, high, self.points), self.y)


def figure(
    name: str,
    title: str,
    alt: str,
    y: str,
    *layers: PlotLayer | Line,
    x: str = DIMENSION,
    x_scale: Scale = "log",
    y_scale: Scale = "log",
) -> Figure:
    """Return a figure with the axes ``x``, normally the dimension, and ``y``, both by their labels.

    ``alt`` is the text that stands in for it. A label that several layers share stands at the first of them.

    Raises:
        ClaimError: nothing measured is drawn from which a line without ends of its own could take them.
    """
    places = [
        place for one in layers if isinstance(one, PlotLayer) and one.role == "measured" for place in one.x
    ]
    if not places and any(isinstance(one, Line) and one.ends is None for one in layers):
        raise ClaimError(f"figure {name}: it shows nothing measured; give its lines their ends with `over`")
    drawn = [one.drawn(places, x_scale) if isinstance(one, Line) else one for one in layers]
    for place, one in enumerate(drawn):
        if one.label in {before.label for before in drawn[:place]}:
            drawn[place] = one.model_copy(update={"label": ""})
    axes = Axis(label=x, scale=x_scale), Axis(label=y, scale=y_scale)
    return Figure(id=name, title=title, alt=alt, x=axes[0], y=axes[1], layers=tuple(drawn))


def measured(
    checks: Iterable[Check],
    label: str = "measured",
    against: str = "d_k",
    as_drawn: Callable[[float, float], float] = lambda _, value: value,
) -> PlotLayer:
    """Return the estimates of ``checks`` with intervals, against their dimension or another setting.

    ``as_drawn`` makes of a place and a measured value there what the figure shows of it.

    Raises:
        ClaimError: a check's cell has no such setting, or one that is not a number.
    """
    ordered = sorted(checks, key=lambda check: place_of(check.id, check.cell, against))
    x = [place_of(check.id, check.cell, against) for check in ordered]
    return estimates(label, x, ((one.estimate, one.interval) for one in ordered), as_drawn=as_drawn)


def beside(
    checks: Iterable[Check], label: str, y: Any, against: str = "d_k", **of_line: Any
) -> tuple[PlotLayer | Line, PlotLayer]:
    """Return a line and what is measured beside it: ``line(label, y)`` and ``measured(checks)``."""
    return line(label, y, **of_line), measured(checks, against=against)


def expected(checks: Iterable[Check], label: str, against: str = "d_k") -> PlotLayer:
    """Return the line through what ``checks`` compare with, at their places as in ``measured``.

    Raises:
        ClaimError: a check's cell has no such setting, or one that is not a number.
    """
    found = sorted((place_of(check.id, check.cell, against), check.prediction) for check in checks)
    return _layer("line", "truth", label, (place for place, _ in found), [value for _, value in found])


def estimates(
    label: str,
    x: Iterable[float],
    found: Iterable[tuple[float, tuple[float, float]]],
    role: Role = "measured",
    *,
    as_drawn: Callable[[float, float], float] = lambda _, value: value,
    kind: Literal["points", "band"] = "points",
) -> PlotLayer:
    """Return what was ``found`` at the places ``x``, each an estimate and its interval.

    ``as_drawn`` makes of a place and a value there what the figure shows of it; a ``kind`` "band" joins them.
    """
    places, points = tuple(map(float, x)), tuple(found)

    def shown(values: Iterable[float]) -> tuple[float, ...]:
        return tuple(as_drawn(place, value) for place, value in zip(places, values, strict=True))

    ends = [shown(interval[side] for _, interval in points) for side in (0, 1)]
    return PlotLayer(
        kind=kind,
        role=role,
        label=label,
        x=places,
        y=shown(value for value, _ in points),
        lo=tuple(map(min, *ends)),
        hi=tuple(map(max, *ends)),
    )


def line(
    label: str,
    y: Any,
    role: Role = "truth",
    *,
    over: tuple[float, float] | None = None,
    points: int = 61,
    at: Iterable[float] | None = None,
) -> PlotLayer | Line:
    """Return a line: an expression in one symbol, a function, one number or, ``at`` given places, many.

    An expression in the dimension stands in the label beside the words. The line's ``points``, evenly spaced
    on the figure's axis, run ``over`` what lies between two ends, without which it goes as far as what is
    measured.
    """
    if isinstance(y, Basic):
        of = function(tuple(y.free_symbols) or (d,), y)
        label = f"{label}: ${latex(y)}$" if y.free_symbols <= {d} else label
    else:
        of = y if callable(y) else lambda _: y
    if at is not None:
        return _layer("line", role, label, at, y if np.ndim(y) else of)
    return Line(label, role, of, points, over)


def scatter(
    label: str, x: Iterable[float], y: Any, role: Role = "measured", *, bars: bool = False
) -> PlotLayer:
    """Return points without intervals at ``x``: a function of the place, or the values themselves.

    Values may be ``bars`` of a histogram, of which ``x`` are the edges, one more than there are bars.
    """
    return _layer("steps", role, label, x, [*y, 0.0]) if bars else _layer("points", role, label, x, y)


def _layer(
    kind: Literal["line", "points", "steps"], role: Role, label: str, x: Iterable[float], y: Any
) -> PlotLayer:
    places = tuple(map(float, x))
    values = map(y, places) if callable(y) else y
    return PlotLayer(kind=kind, role=role, label=label, x=places, y=tuple(map(float, values)))
