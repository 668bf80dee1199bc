"""Fits: the coefficients that a derived law has in a symbol, and the bands in which they are judged."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fnmatch import fnmatchcase
from typing import Any

from sympy import S, diff, log, simplify, sympify

from verify.errors import ClaimError
from verify.montecarlo.experiment import Comparison, Model, Prediction, Quantity, Target, Tolerance
from verify.montecarlo.experiment import WeightedFit, Fit as FittedCoefficient
from verify.spec.checks import Check, Fit, Item
from verify.symbolic.notation import latex

_COEFFICIENTS: Mapping[str, tuple[str, Model, Target]] = {
    "level": ("level", "line", "constant"),
    "slope": ("slope", "line", "slope"),
    "intercept": ("intercept", "line", "constant"),
    "curvature": ("quadratic term", "parabola", "square"),
    "exponent": ("log–log exponent", "power", "slope"),
}
_CHEAP = "a narrower one would need more draws than its points"


def members_of(item: Fit, items: Sequence[Item]) -> list[Check]:
    """Return the checks that a fit goes through.

    Raises:
        ClaimError: fewer than two match that have a value of the symbol; fewer than three where a bend is
            looked for.
    """
    checks = [check for check in items if isinstance(check, Check) and fnmatchcase(check.id, item.pattern)]
    members, of_fit = [check for check in checks if item.over in check.at], f"fit over {item.pattern!r}"
    if len(members) < 2:
        have = f"{len(checks)} checks match, {len(members) or 'none'} of them with a value of {item.over}"
        raise ClaimError(f"{of_fit}: {have}; a fit needs two at least, as in Check(…, {{{item.over}: 8}})")
    if len(members) == 2 and (not item.only or "curvature" in _wanted(item)):
        raise ClaimError(
            f"{of_fit}: 2 checks match, through which any line goes; add a third, or ask for less with "
            'only=("slope",)'
        )
    return members


def _wanted(item: Fit) -> dict[str, Any]:
    """Return the coefficients that a fit is asked for, with their expected values, by their ids' endings."""
    law, x = sympify(item.law), item.over
    wanted = {"exponent": simplify(x * diff(log(law), x))}
    if not law.has(x):
        wanted = {"level": law, "slope": S.Zero, **wanted}
    elif law.is_polynomial(x):
        line = {"slope": diff(law, x), "intercept": law.subs(x, 0), "curvature": diff(law, x, 2) / 2}
        wanted = line | wanted
    return {name: value for name, value in wanted.items() if not item.only or name in item.only}


def coefficients(
    item: Fit, members: list[Check], checks: Mapping[str, Comparison]
) -> list[FittedCoefficient]:
    """Return the comparisons of a fit's coefficients.

    Points are planned for relative errors in proportion to their tolerances, and weigh accordingly.
    """
    points = tuple(point for member in members if isinstance(point := checks[member.id], Quantity))
    x = tuple(float(member.at[item.over]) for member in members)
    logarithmic = tuple(point.tolerance.factor**-2.0 for point in points)
    relative = tuple(w * p.prediction.value**-2.0 for w, p in zip(logarithmic, points, strict=True))
    # Values that all points share are put in, such as a power, so that labels of several fits differ.
    first, *others = members
    same = {symbol for symbol, value in first.at.items() if all(o.at.get(symbol) == value for o in others)}
    shown = sympify(first.quantity).xreplace({symbol: sympify(first.at[symbol]) for symbol in same})
    drawn = " and ".join(dict.fromkeys(law.name for law in first.laws.values()))
    label = f"${latex(shown)}$" + f", {drawn} components" * bool(drawn)

    def fitted(name: str, words: str, model: Model, target: Target, value: Any, band: Tolerance) -> Any:
        fit = WeightedFit(model, x, logarithmic if model == "power" else relative)
        prediction = Prediction(float(value), latex(value))
        return FittedCoefficient(name, f"{words} of {label}", points, fit, target, prediction, band)

    made = []
    for name, value in _wanted(item).items():
        own = f"{item.prefix}{name}"
        if item.over in value.free_symbols:
            raise ClaimError(
                f"fit {own}: the law {item.law} is no power of {item.over} and no polynomial; draw a Plot of "
                "the checks in place of the Fit"
            )
        if left := ", ".join(sorted(map(str, value.free_symbols))):
            says = f"it is {value}, in which {left} is left; put a number in, or fit over {left}"
            raise ClaimError(f"fit {own}: {says}")
        made.append(fitted(own, *_COEFFICIENTS[name], value, _tolerance(name, value, item, x, points)))
    if not item.only:
        model: Model = "line" if sympify(item.law).is_polynomial(item.over) else "power"
        name, band = f"{item.prefix}lack-of-fit", Tolerance(1.0, 1.0, "the fitted values")
        made.append(fitted(name, "relative lack of fit", model, "misfit", S.Zero, band))
    return made


def _tolerance(name: str, value: Any, item: Fit, x: Sequence[float], points: Sequence[Quantity]) -> Tolerance:
    """Return a coefficient's band, no wider than the points resolve anyway.

    Slope and exponent have the run's tolerance and a third of it; the intercept three times it, of the value
    at the smallest place; the curvature as often, of the slope over the largest place, so that the bend stays
    small against the line at its far end.
    """
    symbol, last = latex(item.over), max(x)
    first, point = min(zip(x, points, strict=True), key=lambda pair: pair[0])
    level = abs(point.prediction.value)
    if name == "exponent":
        return Tolerance(1 / 3, 1.0, "an exponent of 1")
    if name == "intercept":
        return Tolerance(3.0, level, f"the value at ${symbol} = {first:g}$", _CHEAP)
    if name == "curvature":
        rise = abs(float(_wanted(item).get("slope", S.One)))
        return Tolerance(3.0, rise / last, f"the slope over the largest ${symbol}$", _CHEAP)
    if name == "slope" and value == 0:
        return Tolerance(1.0, level / last, f"the level over the largest ${symbol}$")
    return Tolerance()
