"""Cells that several claims measure, with the block variances derived for them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from sympy import Rational, S, diff, log, simplify, sympify

from verify.evidence import PROFILES, Fact
from verify.montecarlo.blocks import Cell
from verify.montecarlo.distributions import NORMAL
from verify.montecarlo.estimands import Smooth, component, variance
from verify.montecarlo.experiment import Allowance, Exact, Fit, Prediction, Quantity, Tolerance
from verify.montecarlo.fits import WeightedFit
from verify.montecarlo.literal import distance_from_loops
from verify.montecarlo.planning import best_side
from verify.montecarlo.rows import AttentionRows
from verify.montecarlo.scores import ScoreMatrices
from verify.symbolic.blocks import mean_variance, square_variance
from verify.symbolic.printing import latex
from verify.symbolic.scores import d

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from fractions import Fraction

    from verify.montecarlo.blocks import DescribedSampler, Settings
    from verify.montecarlo.distributions import Array, Distribution
    from verify.montecarlo.fits import Model, Target
    from verify.montecarlo.rows import Statistic


EVEN = Tolerance()
"""The run's tolerance, of the prediction."""

LOOPS_SCALE = 0.25
"""The scale at which array code is compared with loops."""

ROUNDING = Allowance(1e-12)
"""What array code of numbers near 1 may lose to rounding."""


def of_probability(factor: float = 1.0) -> Tolerance:
    """Return ``factor`` times the run's tolerance, of a probability of 1."""
    return Tolerance(factor, 1.0, "a probability of 1")


def of_deviation(variance: Any, factor: float = 1.0) -> Tolerance:
    """Return ``factor`` times the run's tolerance, of the standard deviation that a ``variance`` gives."""
    return Tolerance(factor, float(variance) ** 0.5, "the standard deviation")


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


def against_loops(name: str = "array-code", softmax: Callable[[Array], Array] | None = None) -> Exact:
    """Return the comparison of the array code's gradients with those of plain loops.

    With ``softmax`` the array code gets that one's weights, in place of its own.
    """
    label = "largest distance of an entry of the array code's gradients from those of plain loops"
    found = distance_from_loops(LOOPS_SCALE, softmax)
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
    law: Any,
    *,
    name: str = "variance",
    tolerance: Tolerance | Callable[[int], Tolerance] = EVEN,
) -> tuple[Quantity, ...]:
    """Return one comparison a cell: the scores' variance with ``law``, an expression in the dimension.

    ``tolerance`` is one for all cells, or gives that of a dimension.
    """
    return tuple(_comparison(one, one.variance, label, law, name, tolerance) for one in cells)


def means(
    cells: Sequence[ScoreCell],
    label: str,
    law: Any,
    tolerance: Callable[[int], Tolerance],
    *,
    name: str = "mean",
) -> tuple[Quantity, ...]:
    """Return one comparison a cell: the scores' mean with ``law``, an expression in the dimension.

    ``tolerance`` gives that of a dimension: a mean of 0 has no size of its own to take it from.
    """
    return tuple(_comparison(one, one.mean, label, law, name, tolerance) for one in cells)


def _comparison(
    one: ScoreCell,
    estimand: Smooth,
    label: str,
    law: Any,
    name: str,
    tolerance: Tolerance | Callable[[int], Tolerance],
) -> Quantity:
    expected = prediction(sympify(law).subs(d, one.d))
    band = tolerance(one.d) if callable(tolerance) else tolerance
    return Quantity(f"{name}-d{one.d}", label, one.cell, estimand, expected, band)


def in_dimension(members: Sequence[Quantity], n: int) -> Quantity:
    """Return the one of ``members`` that is measured in ``n`` dimensions."""
    return next(one for one in members if _place(one, "d_k") == n)


def _place(member: Quantity, against: str) -> float:
    return float(dict(member.cell.settings)[against])


def attention_cell(keys: int, d_k: int, queries: int, scale: Any, *statistics: Statistic) -> Cell:
    """Return the cell of the ``statistics`` of attention's rows, for normal queries and keys.

    Its id says whether scores are ``raw``, at scale 1, or ``scaled``.
    """
    sampler = AttentionRows(d_k, queries, keys, NORMAL, NORMAL, scaled(scale, d_k), statistics)
    return cell_of(f"{'raw' if scale == 1 else 'scaled'}-n{keys}-d{d_k}", sampler, scale=scale)


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
    members: Sequence[Quantity], *wanted: Wanted, against: str = "d_k", label: str = ""
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
    of_first = Tolerance(3.0, abs(float(law.subs(d, first))), f"the value at $d_k = {first}$")
    bend = Tolerance(3.0, abs(float(slope.expected)) / last, "the slope over the largest $d_k$")
    return fits(
        members,
        slope,
        Wanted(f"{prefix}intercept", "intercept", "line", "constant", law.subs(d, 0), of_first),
        Wanted(f"{prefix}curvature", "quadratic term", "parabola", "square", diff(law, d, 2) / 2, bend),
        exponent(law, prefix),
        misfit("line", prefix),
    )


def slope_of(law: Any, prefix: str = "", tolerance: Tolerance = EVEN) -> Wanted:
    """Return the slope of the line that ``law`` is in the dimension."""
    return Wanted(f"{prefix}slope", "slope", "line", "slope", diff(law, d), tolerance)


def no_slope(level: Any, last: int, prefix: str = "", *, against: str = "$d_k$") -> Wanted:
    """Return that a ``level`` has no slope, up to the level over the ``last`` place of what it is against."""
    rise = Tolerance(1.0, float(level) / last, f"the level over the largest {against}")
    return slope_of(level, prefix, rise)


def exponent(law: Any, prefix: str = "") -> Wanted:
    """Return the log-log exponent that ``law`` has in the dimension, d·(log law)'."""
    expected = simplify(d * diff(log(law), d))
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
