"""Cells that several claims measure, with the block variances derived for them."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from sympy import Rational, S

from verify.montecarlo.blocks import Cell
from verify.montecarlo.estimands import Smooth, component, variance
from verify.montecarlo.experiment import Fit, Prediction, Quantity, Tolerance
from verify.montecarlo.fits import WeightedFit
from verify.montecarlo.planning import best_side
from verify.montecarlo.scores import ScoreMatrices
from verify.symbolic.blocks import mean_variance, square_variance
from verify.symbolic.printing import latex

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from verify.montecarlo.components import ComponentLaw
    from verify.montecarlo.fits import Model, Target


@dataclass(frozen=True)
class ScoreCell:
    """A cell of score matrices c·QKᵀ and the estimands of its scores' mean and variance."""

    d: int
    cell: Cell
    mean: Smooth
    variance: Smooth


def score_cell(
    d: int,
    query: ComponentLaw,
    key: ComponentLaw,
    tolerance: float,
    *,
    scale: float = 1.0,
    prefix: str = "",
    scale_name: str | None = None,
) -> ScoreCell:
    """Return the cell of scores ``scale``·q·k in ``d`` dimensions, its blocks shaped for ``tolerance``."""
    moments = tuple((law.mean, *_central(law)) for law in (query, key))
    single = mean_variance(d, 1, *moments)

    def relative(side: int) -> float:
        return square_variance(d, side, *moments) / single**2

    side = best_side(d, relative, tolerance)
    settings = (
        ("d_k", d),
        ("query", query.name),
        ("key", key.name),
        *((("scale", scale_name),) if scale_name else ()),
        ("block", f"{side}×{side}"),
    )
    cell = Cell(f"{prefix}d{d}", settings, ScoreMatrices(d, side, query, key, scale))
    return ScoreCell(
        d,
        cell,
        component(0, block_variance=scale**2 * mean_variance(d, side, *moments)),
        variance(0, 1, block_variance=relative(side)),
    )


def prediction(expression: Any) -> Prediction:
    """Return a number of SymPy's as a prediction, printed exactly."""
    return Prediction(float(expression), latex(expression))


def exactly(value: Fraction) -> Rational:
    """Return a fraction as SymPy's rational number."""
    return Rational(value.numerator, value.denominator)


def coefficients(
    label: str,
    members: Sequence[Quantity],
    dimensions: Sequence[int],
    wanted: Sequence[tuple[str, str, Model, Target, Any, Tolerance]],
    *,
    prefix: str = "",
) -> tuple[Fit, ...]:
    """Return weighted fits of ``members`` against the dimension.

    Each of ``wanted`` is (id, words, model, target, predicted expression, tolerance). Weights are
    1/(relative block variance × prediction²), so every cell counts by its planned precision.
    """
    x = tuple(float(d) for d in dimensions)
    fits = []
    for name, words, model, target, expression, tolerance in wanted:
        size = [1.0 if model == "power" else one.prediction.value for one in members]
        fit = WeightedFit(model, x, tuple(s**-2.0 for s in size))
        fits.append(
            Fit(f"{prefix}{name}", f"{words} of {label}", tuple(members), fit, target, prediction(expression), tolerance)
        )
    return tuple(fits)


def _central(law: ComponentLaw) -> tuple[Fraction, ...]:
    return law.moved(-law.mean, 1).moments(4)[2:]


def quantities(
    cells: Sequence[ScoreCell],
    label: str,
    predict: Callable[[int], Any],
    *,
    name: str = "variance",
    tolerance: Tolerance = Tolerance(),
) -> tuple[Quantity, ...]:
    """Return one comparison a cell of the scores' variance with ``predict(d)``."""
    return tuple(
        Quantity(
            f"{name}-d{one.d}", label, one.cell, one.variance, prediction(S(predict(one.d))), tolerance
        )
        for one in cells
    )
