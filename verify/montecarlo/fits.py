"""Weighted fits of measured values against a setting, with intervals; ordinary fits as description."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np

from verify.montecarlo import intervals
from verify.montecarlo.estimands import Measured, too_skewed

if TYPE_CHECKING:
    from collections.abc import Sequence

    from verify.montecarlo.distributions import Array

Model = Literal["line", "parabola", "power"]
Target = Literal["constant", "slope", "square", "misfit"]
_COLUMN = {"constant": 0, "slope": 1, "square": 2}


@dataclass(frozen=True)
class WeightedFit:
    """A least-squares fit of y on x whose weights are fixed before anything is drawn.

    ``line`` fits a + b·x, ``parabola`` a + b·x + c·x², ``power`` log y = a + b·log x. ``weights`` are
    proportional to 1/Var(y) as planned (relative variance for ``power``). Any fixed weights leave the
    coefficients unbiased; their errors come from the points' own standard errors, model or measured,
    whichever is larger.
    """

    model: Model
    x: tuple[float, ...]
    weights: tuple[float, ...]

    def _design(self) -> Array:
        x = np.log(self.x) if self.model == "power" else np.asarray(self.x, dtype=float)
        columns = [np.ones_like(x), x] + ([x**2] if self.model == "parabola" else [])
        return np.stack(columns, axis=1)

    def _solver(self) -> Array:
        """Return the matrix that maps the responses to the coefficients."""
        design = self._design()
        root = np.sqrt(np.asarray(self.weights))
        # Columns of very different size (1 and d²) are scaled before the pseudo-inverse.
        size = np.linalg.norm(design * root[:, None], axis=0)
        solver: Array = (np.linalg.pinv(design * root[:, None] / size) / size[:, None]) * root
        return solver

    def coefficient(self, target: Target, points: Sequence[Measured], alpha: float) -> Measured:
        """Return one coefficient with its interval at false-exclusion rate ``alpha``."""
        row = self.influence(target)
        values, errors, models = self._responses(points)
        value = float(row @ values)
        error = math.sqrt(float(row**2 @ errors**2))
        model = math.sqrt(float(row**2 @ models**2))
        quantile = intervals.student_quantile(alpha, min(p.blocks for p in points))
        half = quantile * max(error, model)
        third = float(row**3 @ (errors**3 * np.array([p.skewness for p in points])))
        skewness = third / error**3 if error > 0 else 0.0
        interval = (value - half, value + half)
        return self._outcome(value, error, interval, points, model=model, skewness=skewness, alpha=alpha)

    def misfit(self, points: Sequence[Measured], alpha: float) -> Measured:
        """Return the root-mean-square relative distance of the true points from the fitted curve.

        From the chi-square statistic of the fit: its noncentrality over the points' total precision,
        with the interval that inverting the noncentral chi-square distribution gives. Zero for a true model.
        """
        design, (values, errors, models) = self._design(), self._responses(points)
        sigma = np.maximum(errors, models)
        scaled = design / sigma[:, None]
        size = np.linalg.norm(scaled, axis=0)
        coefficients, *_ = np.linalg.lstsq(scaled / size, values / sigma, rcond=None)
        fitted = design @ (coefficients / size)
        statistic = float(np.sum(((values - fitted) / sigma) ** 2))
        relative = sigma if self.model == "power" else sigma / np.abs(fitted)
        freedom = len(values) - design.shape[1]
        unit = float(np.sum(relative**-2.0))
        low, high = intervals.noncentrality(statistic, freedom, alpha)
        value = math.sqrt(max(0.0, statistic - freedom) / unit)
        error = math.sqrt(1 / unit)
        interval = (math.sqrt(low / unit), math.sqrt(high / unit))
        skewness = max(abs(p.skewness) for p in points) / math.sqrt(len(points))
        return self._outcome(value, error, interval, points, model=error, skewness=skewness, alpha=alpha)

    def influence(self, target: Target) -> Array:
        """Return how far a coefficient moves with each point's response, shape (points,)."""
        row: Array = self._solver()[_COLUMN[target]]
        return row

    def planned_error(self, target: Target, errors: Sequence[float]) -> float:
        """Return the standard error a coefficient will have if the points have these ``errors``."""
        return math.sqrt(float(self.influence(target) ** 2 @ np.asarray(errors) ** 2))

    def _responses(self, points: Sequence[Measured]) -> tuple[Array, Array, Array]:
        values = np.array([p.value for p in points])
        errors = np.array([p.error for p in points])
        models = np.array([p.error if p.model_error is None else p.model_error for p in points])
        if self.model == "power":
            return np.log(values), errors / values, models / values
        return values, errors, models

    @staticmethod
    def _outcome(
        value: float,
        error: float,
        interval: intervals.Interval,
        points: Sequence[Measured],
        *,
        model: float,
        skewness: float,
        alpha: float,
    ) -> Measured:
        total = sum(p.blocks for p in points)
        # Skewness averages out in a fit; what else casts doubt on a point does not.
        doubt = next((p.doubt for p in points if p.doubt and not p.skewness), "")
        if not doubt and not intervals.is_reliable(skewness, alpha):
            doubt = too_skewed(total * intervals.least_blocks(skewness, alpha))
        return Measured(
            value,
            error,
            interval,
            blocks=total,
            coordinates=sum(p.coordinates for p in points),
            model_error=model,
            skewness=skewness,
            doubt=doubt,
        )


def ordinary(x: Sequence[float], y: Sequence[float]) -> tuple[float, float, float]:
    """Return slope, intercept and R² of the unweighted fit; description only, its interval does not hold."""
    (along, across), (_, apart) = np.cov(x, y, bias=True)
    slope = across / along
    # A line through equal values leaves nothing unexplained.
    correlation = across / math.sqrt(along * apart) if apart else 1.0
    return float(slope), float(np.mean(y) - slope * np.mean(x)), float(correlation**2)
