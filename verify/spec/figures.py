"""Figures: measured points with their intervals, and derived curves beside them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from typing import Any, Literal

import numpy as np
from sympy import Basic, Symbol, lambdify, sympify

from verify.errors import ClaimError, unknown
from verify.evidence import Axis, Check, Figure, PlotLayer
from verify.spec.checks import Fit, Plot
from verify.spec.comparisons import integrated
from verify.symbolic.notation import latex
from verify.symbolic.row_integrals import ON_PAPER
from verify.symbolic.vocabulary import E, n
from verify.text.latex import plain
from verify.text.numbers import exact

Role = Literal["truth", "measured", "control", "other"]

_AXES = {"d_k": "dimension $d_k$", "n": "keys $n$", "m": "queries $m$"}  # the label of a symbol's axis


def layer(
    kind: Literal["points", "line", "steps"], label: str, x: Iterable[float], y: Iterable[float], role: Role
) -> PlotLayer:
    """Return a layer through given points; the steps of a histogram end at 0, at its last edge."""
    return PlotLayer(kind=kind, role=role, label=label, x=tuple(map(float, x)), y=tuple(map(float, y)))


def figure(name: str, title: str, *layers: PlotLayer, x: Symbol | str, y: str, linear: str = "") -> Figure:
    """Return a figure; ``x`` is a symbol or the label of its axis; ``linear`` are axes not logarithmic."""
    # A label that several layers share stands at the first of them.
    labels = [layer.label for layer in layers]
    shown = tuple(
        layer.model_copy(update={"label": ""}) if layer.label in labels[:place] else layer
        for place, layer in enumerate(layers)
    )
    over = x if isinstance(x, str) else _AXES.get(str(x), f"${latex(x)}$")
    axes = {
        axis: Axis(label=words, scale="linear" if axis in linear else "log")
        for axis, words in (("x", over), ("y", y))
    }
    drawn = Figure(id=name, title=title, alt=name, layers=shown, **axes)
    return drawn.model_copy(update={"alt": described(drawn)})


_number = partial(exact, digits=3)
# Names of layers without a label.
_ROLES = {"measured": "measured", "truth": "derived", "control": "wrong", "other": "beside it"}


def described(figure: Figure) -> str:
    """Return the words that stand in for a figure: its axes, and how each layer runs."""
    ends = [end for layer in figure.layers for end in (layer.x[0], layer.x[-1])]
    scales = {("log", "log"): ", both logarithmic", ("log", "linear"): ", which is logarithmic"}
    span = f"from {_number(min(ends))} to {_number(max(ends))}"
    axes = f"{_sentence(figure.y.label)}, against {plain(figure.x.label)}, {span}"
    sentences = [axes + scales.get((figure.x.scale, figure.y.scale), "")]
    for layer in figure.layers:
        sentences += [f"{_sentence(layer.label or _ROLES[layer.role])}: {_course(layer)}"]
    return ". ".join(sentences) + "."


def _sentence(label: str) -> str:
    """Return a label in words, with a capital letter where it begins with a word."""
    words = plain(label)
    return words if label.startswith("$") else words[:1].upper() + words[1:]


def _course(layer: PlotLayer) -> str:
    """Return how a layer runs, such as ``from 1 to 64``; its intervals, or 2%, are noise."""
    first, last, low, high = layer.y[0], layer.y[-1], min(layer.y), max(layer.y)
    widths = (above - below for below, above in zip(layer.lo, layer.hi, strict=True))
    noise = max(0.02 * max(high - low, abs(high), abs(low)), *widths, 0.0)
    if high - low <= noise:
        return f"level at {_number(first)}"
    is_beyond = high - max(first, last) > noise or min(first, last) - low > noise
    turns = f", between {_number(low)} and {_number(high)}" if is_beyond else ""
    return f"from {_number(first)} to {_number(last)}{turns}"


def plot(item: Plot, findings: Any, title: str) -> Figure:
    """Return the figure of a plot of a claim of this ``title``: estimates, and curves from end to end.

    Raises:
        ClaimError: a check has no such setting, or its value is not a number.
    """
    patterns = (item.patterns,) if isinstance(item.patterns, str) else item.patterns
    labelled = patterns.items() if isinstance(patterns, Mapping) else [("measured", of) for of in patterns]
    checks = [(label, findings.matching(*([of] if isinstance(of, str) else of))) for label, of in labelled]
    layers, joined = [], []
    for label, matching in checks:
        placed = sorted(
            ((_place_of(check, str(item.over)), check) for check in matching), key=lambda at: at[0]
        )
        rows = [
            (place, *(item.as_drawn(place, value) for value in (check.estimate, *check.interval)))
            for place, check in placed
        ]
        x, values, *ends = zip(*rows, strict=True)
        low, high = (tuple(map(end, *ends)) for end in (min, max))
        layers.append(PlotLayer(kind="points", role="measured", label=label, x=x, y=values, lo=low, hi=high))
        # Without curves, a line joins what the checks are compared with.
        joined.append(layer("line", "derived", x, [check.prediction for _, check in placed], "truth"))
    places = item.span or [place for layer in layers for place in layer.x]
    layers += joined * (not item.curves)
    roles: dict[Role, Mapping[str, Any]] = {"truth": item.curves, "other": item.bounds, "control": item.wrong}
    for role, curves in roles.items():
        for label, given in curves.items():
            y, span = given if isinstance(given, tuple) else (given, places)
            layers.append(layer("line", label, *_curve(y, span, item), role))
    over, of = item.x or item.over, item.y or checks[0][1][0].quantity
    return figure(item.id, item.title or title, *layers, x=over, y=of, linear=item.linear)


def _place_of(check: Check, name: str) -> float:
    """Return the place of a check along a setting."""
    if name not in check.cell:
        otherwise = f"its settings are {', '.join(check.cell)}"
        raise ClaimError(f"check {check.id} has {unknown('setting', name, check.cell, otherwise)}")
    try:
        return float(check.cell[name])
    except ValueError:
        says = f"its setting {name!r} is {check.cell[name]!r}; take one that is a number"
        raise ClaimError(f"check {check.id}: {says}") from None


def _curve(y: Any, ends: Sequence[float], item: Plot) -> tuple[Any, Any]:
    """Return points of a curve of a plot between the ``ends``: of an expression in its symbol, or a function.

    Means over rows are integrated. Of numbers of keys, only whole ones are points.
    """
    is_mean = isinstance(y, Basic) and y.has(E)
    is_function = is_mean or (callable(y) and not isinstance(y, Basic))
    expression = None if is_function else sympify(y).subs(item.at)
    # A function, which may take an integral for each, has fewer points, a constant its ends.
    many = 17 if expression is None else 61 if expression.free_symbols else 2
    low, high = min(ends), max(ends)
    by_factors = "x" not in item.linear and low > 0
    x = np.geomspace(low, high, many) if by_factors else np.linspace(low, high, many)
    x = np.unique(np.round(x)) if item.over == n else x  # there is no half of a key
    if is_mean:
        settings = [{**item.at, item.over: int(place) if item.over == n else place} for place in x]
        return x, [integrated(y, at, ON_PAPER) for at in settings]
    if expression is None:
        return x, [y(place) for place in x]
    (symbol,) = expression.free_symbols or {Symbol("x")}
    with np.errstate(all="ignore"):
        values = np.broadcast_to(lambdify(symbol, expression, "scipy")(x), x.shape)
    if not np.isfinite(values).all():  # Γ of large numbers overflows, their quotient does not
        values = np.array([lambdify(symbol, expression, "mpmath")(place) for place in x])
    return x, values


def usual(title: str, fit: Fit, findings: Any) -> Figure:
    """Return the figure of a fit: its points over its symbol, on the derived law where it has that."""
    checks = findings.matching(fit.pattern)
    # A law with a further symbol, such as d/n over n, is no curve; a line joins what is derived instead.
    is_curve = sympify(fit.law).free_symbols <= {fit.over}
    curves = {f"derived: ${latex(sympify(fit.law))}$": fit.law} if is_curve else {}
    name = f"{fit.pattern.replace('*', '').strip('-')}-over-{str(fit.over).replace('_', '-').lower()}"
    linear: Literal["", "y"] = "" if all(check.estimate > 0 for check in checks) else "y"
    return plot(Plot(name, fit.pattern, fit.over, curves=curves, linear=linear), findings, title)
