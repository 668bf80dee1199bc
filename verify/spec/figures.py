"""Figures that several claims draw, built from their checks and from the derived curves."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from sympy import sympify

from verify.evidence import Axis, Check, Figure, Layer
from verify.symbolic.predict import function
from verify.symbolic.printing import latex
from verify.symbolic.scores import d

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

Role = Literal["truth", "measured", "control", "other"]

D_AXIS = Axis(label="dimension $d_k$", scale="log")


def measured(checks: Iterable[Check], label: str, against: str = "d_k") -> Layer:
    """Return the estimates of ``checks`` against their dimension or another setting, with intervals."""
    ordered = sorted(checks, key=lambda check: float(check.cell[against]))
    return Layer(
        kind="points",
        role="measured",
        label=label,
        x=tuple(float(check.cell[against]) for check in ordered),
        y=tuple(check.estimate for check in ordered),
        lo=tuple(check.interval[0] for check in ordered),
        hi=tuple(check.interval[1] for check in ordered),
    )


def curve(
    label: str, role: Role, function: Callable[[float], float], span: tuple[float, float], points: int = 61
) -> Layer:
    """Return ``function`` drawn over ``span``, evenly spaced on the log axis of the dimension."""
    x = np.geomspace(*span, points)
    return Layer(
        kind="line",
        role=role,
        label=label,
        x=tuple(float(v) for v in x),
        y=tuple(float(function(float(v))) for v in x),
    )


def formula(words: str, role: Role, expression: Any, span: tuple[float, float], points: int = 61) -> Layer:
    """Return an expression in the dimension drawn over ``span``, named by the words and by itself."""
    return curve(f"{words}: ${latex(expression)}$", role, function((d,), sympify(expression)), span, points)


def against_dimension(
    name: str,
    title: str,
    alt: str,
    y_label: str,
    layers: Sequence[Layer],
    *,
    y_scale: Literal["linear", "log"] = "log",
) -> Figure:
    """Return a figure of something against the dimension on a log axis."""
    return Figure(
        id=name, title=title, alt=alt, x=D_AXIS, y=Axis(label=y_label, scale=y_scale), layers=tuple(layers)
    )
