"""Fits: the coefficients that a derived law has in a symbol, and the bands in which they are judged."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fnmatch import fnmatchcase
from typing import Any

from sympy import S, diff, log, simplify, sympify

from verify.errors import ClaimError
from verify.montecarlo.experiment import Comparison, Model, Prediction, Quantity, Target, Tolerance
from verify.montecarlo.experiment import WeightedFit
from verify.montecarlo.experiment import Fit as FittedCoefficient
from verify.spec.checks import Check, Fit, Item
from verify.symbolic.notation import latex

_CHEAP = "a narrower one would need more draws than its points"


def members_of(item: Fit, items: Sequence[Item]) -> list[Check]:
    """Return the checks that a fit goes through.

    Raises:
        ClaimError: fewer than two match that have a value of the symbol; fewer than three where a bend is
            looked for.
    """
    members = [check for check in items if isinstance(check, Check) and fnmatchcase(check.id, item.pattern)]
    members = [check for check in members if item.over in check.at]
    if len(members) < 2:
        count = len(members)
        raise ClaimError(f"fit over {item.pattern!r}: {count} checks match; a fit needs at least two")
    if len(members) == 2 and (has_misfit(item) or "curvature" in _wanted(item)):
        raise ClaimError(
            f"fit over {item.pattern!r}: 2 checks match, through which any line goes; add a third, or ask "
            'for less with only=("slope",)'
        )
    return members


def _wanted(item: Fit) -> dict[str, Any]:
    """Return the coefficients that a fit is asked for, with their expected values, by their ids' endings."""
    if item.law is None:
        given = {"slope": item.slope, "intercept": item.intercept, "exponent": item.exponent}
        return {name: sympify(value) for name, value in given.items() if value is not None}
    law, x = sympify(item.law), item.over
    wanted = {"exponent": simplify(x * diff(log(law), x))}
    if not law.has(x):
        wanted = {"level": law, "slope": S.Zero, **wanted}
    elif law.is_polynomial(x):
        line = {"slope": diff(law, x), "intercept": law.subs(x, 0), "curvature": diff(law, x, 2) / 2}
        wanted = line | wanted
    return {name: value for name, value in wanted.items() if not item.only or name in item.only}


def has_misfit(item: Fit) -> bool:
    """Return whether a fit is asked for its lack of fit."""
    return item.law is not None and not item.only


_COEFFICIENTS: Mapping[str, tuple[str, Model, Target]] = {
    "level": ("level", "line", "constant"),
    "slope": ("slope", "line", "slope"),
    "intercept": ("intercept", "line", "constant"),
    "curvature": ("quadratic term", "parabola", "square"),
    "exponent": ("log–log exponent", "power", "slope"),
}


def coefficients(
    item: Fit, members: list[Check], checks: Mapping[str, Comparison]
) -> list[FittedCoefficient]:
    """Return the comparisons of a fit's coefficients.

    Points are planned for relative errors in proportion to their tolerances, and weigh accordingly.
    """
    points = [checks[member.id] for member in members]
    quantities = tuple(point for point in points if isinstance(point, Quantity))
    x = tuple(float(member.at[item.over]) for member in members)
    logarithmic = tuple(point.tolerance.factor**-2.0 for point in quantities)
    relative = tuple(
        weight * point.prediction.value**-2.0 for weight, point in zip(logarithmic, quantities, strict=True)
    )
    # What all points have in common is put in, as a power that is another in each fit.
    first, *others = members
    common = {
        symbol: sympify(value)
        for symbol, value in first.at.items()
        if all(other.at.get(symbol) == value for other in others)
    }
    drawn = " and ".join(dict.fromkeys(law.name for law in first.laws.values()))
    label = f"${latex(sympify(first.quantity).xreplace(common))}$" + f", {drawn} components" * bool(drawn)

    def fitted(
        name: str, words: str, model: Model, target: Target, value: Any, within: Tolerance
    ) -> FittedCoefficient:
        fit = WeightedFit(model, x, logarithmic if model == "power" else relative)
        prediction, name = Prediction(float(value), latex(value)), f"{item.prefix}{name}"
        return FittedCoefficient(name, f"{words} of {label}", quantities, fit, target, prediction, within)

    coefficients = []
    for name, value in _wanted(item).items():
        if item.over in value.free_symbols:
            raise ClaimError(
                f"fit {item.prefix}{name}: the law {item.law} is no power of {item.over} and no polynomial; "
                "draw a Plot of the checks in place of the Fit"
            )
        if left := ", ".join(sorted(map(str, value.free_symbols))):
            raise ClaimError(
                f"fit {item.prefix}{name}: it is {value}, in which {left} is left; put a number in, or fit "
                f"over {left}"
            )
        within = _tolerance(name, value, item, members, quantities)
        coefficients.append(fitted(name, *_COEFFICIENTS[name], value, within))
    if has_misfit(item):
        model: Model = "line" if sympify(item.law).is_polynomial(item.over) else "power"
        within = Tolerance(1.0, 1.0, "the fitted values")
        coefficients.append(fitted("lack-of-fit", "relative lack of fit", model, "misfit", S.Zero, within))
    return coefficients


def _tolerance(
    name: str, value: Any, item: Fit, members: list[Check], points: Sequence[Quantity]
) -> Tolerance:
    """Return a coefficient's band: what the points resolve anyway is not judged more coarsely.

    Slope and exponent have the run's tolerance and a third of it; the intercept three times it, of the value
    at the smallest place; the curvature as often, of the slope over the largest place, so that the bend stays
    small against the line at its far end.
    """
    symbol = f"${latex(item.over)}$"
    places = {float(member.at[item.over]): point for member, point in zip(members, points, strict=True)}
    first, last = min(places), max(places)
    level = abs(places[first].prediction.value)
    if name == "exponent":
        return Tolerance(1 / 3, 1.0, "an exponent of 1")
    if name == "intercept":
        return Tolerance(3.0, level, f"the value at ${latex(item.over)} = {first:g}$", _CHEAP)
    if name == "level":
        return Tolerance()
    if name == "curvature":
        rise = abs(float(_wanted(item).get("slope", S.One)))
        return Tolerance(3.0, rise / last, f"the slope over the largest {symbol}", _CHEAP)
    return Tolerance(1.0, level / last, f"the level over the largest {symbol}") if value == 0 else Tolerance()
