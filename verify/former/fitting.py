"""Weighted fits through a claim's measured points, and the coefficients that a derived law has."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from sympy import S, diff, log, simplify

from verify.former.cells import place_of
from verify.former.checks import EVEN, prediction
from verify.montecarlo.experiment import Fit, Model, Quantity, Target, Tolerance, WeightedFit
from verify.symbolic.scores import d


def in_dimension(members: Sequence[Quantity], n: int) -> Quantity:
    """Return the one of ``members`` that is measured in ``n`` dimensions."""
    return next(one for one in members if _place(one, "d_k") == n)


def _place(member: Quantity, against: str) -> float:
    return place_of(member.id, dict(member.cell.settings), against)


@dataclass(frozen=True)
class Coefficient:
    """One coefficient of a fit against the dimension: its id, words, and the derived value."""

    id: str
    words: str
    model: Model
    target: Target
    expected: Any
    tolerance: Tolerance


def fits(
    members: Sequence[Quantity], *wanted: Coefficient, against: str = "d_k", label: str = ""
) -> tuple[Fit, ...]:
    """Return weighted fits of ``members`` against one of their settings, normally the dimension.

    Points are planned for relative errors in proportion to their tolerances, and weigh accordingly.
    ``label`` says what is fitted where that is not the label of every member.
    """
    x = tuple(_place(member, against) for member in members)
    logarithmic = tuple(member.tolerance.factor**-2.0 for member in members)
    relative = tuple(
        weight * member.prediction.value**-2.0 for weight, member in zip(logarithmic, members, strict=True)
    )
    return tuple(
        Fit(
            one.id,
            f"{one.words} of {label or members[0].label}",
            tuple(members),
            WeightedFit(one.model, x, logarithmic if one.model == "power" else relative),
            one.target,
            prediction(one.expected),
            one.tolerance,
        )
        for one in wanted
    )


def linear_fits(members: Sequence[Quantity], law: Any, prefix: str = "") -> tuple[Fit, ...]:
    """Return what a straight line in d must show: slope, intercept, no curvature, exponent, no misfit.

    Every expected value comes from ``law``, the derived expression in the dimension. Slope and exponent
    have the run's tolerance and a third of it; the intercept three times it, of the value at the smallest d;
    the curvature as often, of the slope over the largest d (so that the bend stays small against the line at
    its far end). What the points resolve anyway is not judged more coarsely.
    """
    places = [round(_place(member, "d_k")) for member in members]
    first, last = min(places), max(places)
    slope = slope_of(law, prefix)
    cheap = "a narrower one would need more draws than its points"
    of_first = Tolerance(3.0, abs(float(law.subs(d, first))), f"the value at $d_k = {first}$", cheap)
    bend = Tolerance(3.0, abs(float(slope.expected)) / last, "the slope over the largest $d_k$", cheap)
    return fits(
        members,
        slope,
        Coefficient(f"{prefix}intercept", "intercept", "line", "constant", law.subs(d, 0), of_first),
        Coefficient(f"{prefix}curvature", "quadratic term", "parabola", "square", diff(law, d, 2) / 2, bend),
        exponent(law, prefix),
        misfit("line", prefix),
    )


def slope_of(law: Any, prefix: str = "", tolerance: Tolerance = EVEN) -> Coefficient:
    """Return the slope of the line that ``law`` is in the dimension."""
    return Coefficient(f"{prefix}slope", "slope", "line", "slope", diff(law, d), tolerance)


def no_slope(level: Any, last: int, prefix: str = "", *, against: str = "$d_k$") -> Coefficient:
    """Return that a ``level`` has no slope, up to the level over the ``last`` place of what it is against."""
    rise = Tolerance(1.0, float(level) / last, f"the level over the largest {against}")
    words = "slope" if against == "$d_k$" else f"slope against the {against}"
    return replace(slope_of(level, prefix, rise), words=words)


def exponent(law: Any, prefix: str = "") -> Coefficient:
    """Return the log-log exponent that ``law`` has in the dimension, d·(log law)'."""
    expected = simplify(d * diff(log(law), d))
    return Coefficient(
        f"{prefix}exponent",
        "log–log exponent",
        "power",
        "slope",
        expected,
        Tolerance(1 / 3, 1.0, "an exponent of 1"),
    )


def misfit(model: Model, prefix: str = "") -> Coefficient:
    """Return the lack of fit, expected to be none: root-mean-square relative distance from the curve."""
    tolerance = Tolerance(1.0, 1.0, "the fitted values")
    return Coefficient(f"{prefix}lack-of-fit", "relative lack of fit", model, "misfit", S.Zero, tolerance)
