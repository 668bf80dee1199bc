"""Cells that several claims measure, with the block variances derived for them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from sympy import Rational, S, diff, log, simplify, sympify

from verify.evidence import PROFILES, Fact
from verify.montecarlo.blocks import Cell
from verify.montecarlo.estimands import Smooth, component, variance
from verify.montecarlo.experiment import Allowance, Exact, Fit, Prediction, Quantity, Tolerance
from verify.montecarlo.fits import WeightedFit
from verify.montecarlo.literal import distance_from_loops
from verify.montecarlo.planning import best_side
from verify.montecarlo.scores import ScoreMatrices
from verify.symbolic.blocks import mean_variance, square_variance
from verify.symbolic.printing import latex
from verify.symbolic.scores import d

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from fractions import Fraction

    from verify.montecarlo.blocks import DescribedSampler, Settings
    from verify.montecarlo.distributions import Distribution
    from verify.montecarlo.fits import Model, Target


EVEN = Tolerance()
"""The run's tolerance, of the prediction."""

LOOPS_SCALE = 0.25
"""The scale at which array code is compared with loops."""

ROUNDING = Allowance(1e-12)
"""What array code of numbers near 1 may lose to rounding."""


def capped(factor: float, tolerance: float) -> Tolerance:
    """Return ``factor`` times the run's tolerance, in coarse profiles no more than in the standard one.

    For quantities so skewed that a coarser band would not take fewer blocks.
    """
    return Tolerance(factor * min(1.0, PROFILES["standard"] / tolerance))


@dataclass(frozen=True)
class ScoreCell:
    """A cell of score matrices c·QKᵀ and the estimands of its scores' mean and variance."""

    d: int
    cell: Cell
    mean: Smooth
    variance: Smooth


def cell_of(name: str, sampler: DescribedSampler, *, scale: Any = None, **more: float | str) -> Cell:
    """Return the cell that ``sampler`` draws, described by the sampler itself.

    ``scale`` is the expression in the dimension that the sampler's factor was made from with ``scaled``; it
    is recorded in the place of the number. ``more`` are settings under which the claim speaks of the cell.
    """
    settings = dict(sampler.settings) | more
    if scale is not None:
        settings["scale"] = _written(scale)
    return Cell(name, tuple(settings.items()), sampler)


def scaled(scale: Any, n: int) -> float:
    """Return the number that ``scale``, an expression in the dimension, is in ``n`` dimensions."""
    return float(sympify(scale).subs(d, n))


def _written(scale: Any) -> int | float | str:
    """Return a scale as a setting: a whole number or a decimal as it is, all else as a formula."""
    expression = sympify(scale)
    if expression.is_Integer:
        return int(expression)
    return float(expression) if expression.is_Float else f"${latex(expression)}$"


def score_cell(
    d: int,
    query: Distribution,
    key: Distribution,
    tolerance: float,
    *,
    scale: Any = None,
    prefix: str = "",
) -> ScoreCell:
    """Return the cell of scores ``scale``·q·k in ``d`` dimensions, its blocks shaped for ``tolerance``.

    ``scale`` is a number, or an expression in the dimension; the record's settings say it.
    """
    moments = tuple((law.mean, *law.central_moments(4)[2:]) for law in (query, key))
    factor = 1.0 if scale is None else scaled(scale, d)
    single = mean_variance(d, 1, *moments)

    def relative(side: int) -> float:
        return square_variance(d, side, *moments) / single**2

    side = best_side(d, relative, tolerance)
    return ScoreCell(
        d,
        cell_of(f"{prefix}d{d}", ScoreMatrices(d, side, query, key, factor), scale=scale),
        component("mean", block_variance=factor**2 * mean_variance(d, side, *moments)),
        variance(block_variance=relative(side)),
    )


def prediction(expression: Any) -> Prediction:
    """Return a number of SymPy's as a prediction, printed exactly."""
    return Prediction(float(expression), latex(expression))


def threshold(value: Any) -> Prediction:
    """Return a number that is set in advance, not derived: what "most", "few" or "more" shall mean."""
    return replace(prediction(value), origin="set")


def no_distance(
    name: str,
    label: str,
    settings: Settings,
    found: float,
    code: Callable[..., object],
    allowance: Allowance = ROUNDING,
) -> Exact:
    """Return the comparison of the largest distance that ``code`` has ``found`` with none at all."""
    return Exact(name, label, settings, prediction(S.Zero), found, allowance, code=code)


def integrated(value: float) -> Prediction:
    """Return a number that was integrated numerically as a prediction."""
    return Prediction(value, f"{value:.6g}")


def against_loops(name: str, found: float) -> Exact:
    """Return the comparison of the array code's gradients with those of plain loops: what it ``found``."""
    label = "largest distance of an entry of the array code's gradients from those of plain loops"
    return no_distance(name, label, (("scale", LOOPS_SCALE),), found, distance_from_loops)


def exactly(value: Fraction) -> Rational:
    """Return a fraction as SymPy's rational number."""
    return Rational(value.numerator, value.denominator)


def fact(name: str, what: str, expression: Any) -> Fact:
    """Return an exact value as a fact of a claim."""
    return Fact(id=name, what=what, latex=latex(expression), value=float(expression))


def variances(
    cells: Sequence[ScoreCell],
    label: str,
    predict: Callable[[int], Any],
    *,
    name: str = "variance",
    tolerance: Tolerance = EVEN,
) -> tuple[Quantity, ...]:
    """Return one comparison a cell: the scores' variance with ``predict(d)``."""
    return tuple(
        Quantity(f"{name}-d{one.d}", label, one.cell, one.variance, prediction(predict(one.d)), tolerance)
        for one in cells
    )


@dataclass(frozen=True)
class Wanted:
    """One coefficient of a fit against the dimension: its id, words, and the derived value."""

    id: str
    words: str
    model: Model
    target: Target
    expected: Any
    tolerance: Tolerance


def fits(
    members: Sequence[Quantity], dimensions: Sequence[int], label: str, wanted: Sequence[Wanted]
) -> tuple[Fit, ...]:
    """Return weighted fits of ``members`` against their ``dimensions``.

    Points are planned for relative errors in proportion to their tolerances, and weigh accordingly.
    """
    x = tuple(map(float, dimensions))
    logarithmic = tuple(member.tolerance.factor**-2.0 for member in members)
    relative = tuple(
        weight * member.prediction.value**-2.0 for weight, member in zip(logarithmic, members, strict=True)
    )
    return tuple(
        Fit(
            one.id,
            f"{one.words} of {label}",
            tuple(members),
            WeightedFit(one.model, x, logarithmic if one.model == "power" else relative),
            one.target,
            prediction(one.expected),
            one.tolerance,
        )
        for one in wanted
    )


def linear_law(result: Any, span: tuple[int, int], prefix: str = "") -> tuple[Wanted, ...]:
    """Return what a straight line in d must show: slope, intercept, no curvature, exponent, no misfit.

    Every expected value comes from ``result``, the derived expression in the dimension. Slope and exponent
    have the run's tolerance and a third of it; the intercept three times it, of the value at d = 1; the
    curvature as often, of the slope over the largest d (so that the bend stays small against the line at its
    far end). What the points resolve anyway is not judged more coarsely.
    """
    first, last = span
    slope = diff(result, d)
    of_one = abs(float(result.subs(d, first)))
    bend = Tolerance(3.0, abs(float(slope)) / last, "the slope over the largest $d_k$")
    return (
        Wanted(f"{prefix}slope", "slope", "line", "slope", slope, Tolerance()),
        Wanted(
            f"{prefix}intercept",
            "intercept",
            "line",
            "constant",
            result.subs(d, 0),
            Tolerance(3.0, of_one, f"the value at $d_k = {first}$"),
        ),
        Wanted(f"{prefix}curvature", "quadratic term", "parabola", "square", diff(result, d, 2) / 2, bend),
        exponent(result, prefix),
        misfit("line", prefix),
    )


def exponent(result: Any, prefix: str = "") -> Wanted:
    """Return the log-log exponent that ``result`` has in the dimension, d·(log result)'."""
    expected = simplify(d * diff(log(result), d))
    return Wanted(
        f"{prefix}exponent",
        "log–log exponent",
        "power",
        "slope",
        expected,
        Tolerance(1 / 3, 1.0, "an exponent of 1"),
    )


def misfit(model: Model, prefix: str = "") -> Wanted:
    """Return the lack of fit, expected to be none: root-mean-square relative distance from the curve."""
    tolerance = Tolerance(1.0, 1.0, "the fitted values")
    return Wanted(f"{prefix}lack-of-fit", "relative lack of fit", model, "misfit", S.Zero, tolerance)
