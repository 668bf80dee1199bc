"""A claim's measurements: comparisons with predictions, controls, and the shape and number of blocks."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np

from verify.montecarlo import intervals
from verify.montecarlo.blocks import Cell, Settings
from verify.montecarlo.estimands import Estimand, Measured, too_skewed

FINEST = 1e-4
"""The smallest tolerance of a run: the rounding of single precision stays far below it."""

Relation = Literal["=", "≤", "≥"]
"""How a quantity relates to its prediction: that equals it, or bounds it."""


@dataclass(frozen=True)
class Prediction:
    """The number that a quantity is compared with, and the LaTeX of the exact expression behind it.

    It is derived of just this quantity, computed from derived values, or a threshold that is set where only
    a direction or an order of size is claimed.
    """

    value: float
    latex: str
    origin: Literal["derived", "computed", "set"] = "derived"


@dataclass(frozen=True)
class Tolerance:
    """The band around a prediction: ± factor × the run's tolerance × scale.

    ``scale`` None means the prediction's own size; ``of`` names the scale in words. ``because`` says in the
    report why the band is so wide: wider than twice the run's tolerance, it has to be said. A ``fixed`` band
    has been made no wider than in the standard profile.
    """

    factor: float = 1.0
    scale: float | None = None
    of: str = "the prediction"
    because: str = ""
    fixed: bool = False

    def width(self, prediction: float, tolerance: float) -> float:
        """Return the band's half-width in the quantity's units."""
        return self.factor * tolerance * (abs(prediction) if self.scale is None else self.scale)


@dataclass(frozen=True)
class Quantity:
    """A comparison in one cell; by ``relation`` the prediction is the value or a bound of it."""

    id: str
    label: str
    cell: Cell
    estimand: Estimand
    prediction: Prediction
    tolerance: Tolerance = Tolerance()
    relation: Relation = "="


@dataclass(frozen=True)
class Fit:
    """A comparison of one coefficient of a weighted fit through several cells' quantities."""

    id: str
    label: str
    members: tuple[Quantity, ...]
    fit: WeightedFit
    target: Target
    prediction: Prediction
    tolerance: Tolerance = Tolerance()

    relation: ClassVar[Relation] = "="


@dataclass(frozen=True)
class Allowance:
    """How far a computed value may lie from its prediction, and for what reason.

    ``size`` is in the value's units; ``of`` names what it makes up for, so that the distance from a limit or
    a coarse spacing of numbers is never taken for rounding.
    """

    size: float
    of: str = "rounding of floating-point arithmetic"


EXACTLY = Allowance(0.0, "nothing: exact")
"""No allowance: both values are exact."""


@dataclass(frozen=True)
class Exact:
    """A comparison of two computed values; nothing is drawn.

    By ``relation`` the prediction is the value or a bound of it; ``allowance`` is how far beyond the value
    may lie. ``code`` is the function that the computed value comes from; without it, the label names
    the computation.
    """

    id: str
    label: str
    settings: Settings
    prediction: Prediction
    computed: float
    allowance: Allowance = EXACTLY
    relation: Relation = "="
    code: Callable[..., object] | None = None


Comparison = Quantity | Fit | Exact


@dataclass(frozen=True)
class Control:
    """A wrong version of the claim, in words and as a comparison that must come out refuted.

    ``truth`` is the derived value of the quantity, at which the control's power is computed; where
    nothing is derived for the control's own world it is None, and the measured value serves.
    """

    what: str
    comparison: Comparison
    truth: float | None = None


@dataclass(frozen=True)
class Experiment:
    """All that a claim measures."""

    checks: tuple[Comparison, ...]
    controls: tuple[Control, ...]


def quantities_of(comparisons: Iterable[Comparison]) -> list[Quantity]:
    """Return the quantities that ``comparisons`` rest on, the members of fits included, each once."""
    members = (check.members if isinstance(check, Fit) else (check,) for check in comparisons)
    drawn = [member for group in members for member in group if isinstance(member, Quantity)]
    return list({(member.id, member.cell.id): member for member in drawn}.values())


def cells_of(comparisons: Iterable[Comparison]) -> list[Cell]:
    """Return the cells that ``comparisons`` draw from, each once."""
    return list({quantity.cell.id: quantity.cell for quantity in quantities_of(comparisons)}.values())


def every_comparison(experiment: Experiment) -> list[Comparison]:
    """Return the checks and the comparisons of the controls, in order."""
    return [*experiment.checks, *(control.comparison for control in experiment.controls)]


def band(prediction: float, width: float, relation: Relation = "=") -> tuple[float, float]:
    """Return the values that count as agreeing: within ``width`` of the prediction, or beyond it.

    For a bound, an end of the band is infinite.
    """
    low = -math.inf if relation == "≤" else prediction - width
    high = math.inf if relation == "≥" else prediction + width
    return low, high


def excess(value: float, within: tuple[float, float]) -> float:
    """Return how far ``value`` lies outside the band ``within``; inside, minus its distance to the edge."""
    return max(within[0] - value, value - within[1])


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

    def measure(self, target: Target, points: Sequence[Measured], alpha: float) -> Measured:
        """Return one coefficient, or the lack of fit, with its interval at false-exclusion rate ``alpha``.

        The lack of fit is the root-mean-square relative distance of the true points from the fitted curve,
        zero for a true model: from the chi-square statistic, its noncentrality over the points' total
        precision, with the interval that inverting the noncentral chi-square distribution gives.
        """
        values, errors = np.array([p.value for p in points]), np.array([p.error for p in points])
        models = np.array([p.error if p.model_error is None else p.model_error for p in points])
        skewnesses, x = np.array([p.skewness for p in points]), np.asarray(self.x, dtype=float)
        if self.model == "power":
            values, errors, models, x = np.log(values), errors / values, models / values, np.log(x)
        design = np.vander(x, 3 if self.model == "parabola" else 2, increasing=True)
        # Weighted as planned; where distances have to make a chi-square, by the points' own errors.
        root, sigma = np.sqrt(np.asarray(self.weights)), np.maximum(errors, models)
        weighted = design / sigma[:, None] if target == "misfit" else design * root[:, None]
        # Columns of very different size (1 and d²) are scaled before anything is solved.
        size = np.linalg.norm(weighted, axis=0)
        if target == "misfit":
            coefficients, *_ = np.linalg.lstsq(weighted / size, values / sigma, rcond=None)
            fitted = design @ (coefficients / size)
            statistic = float(np.sum(((values - fitted) / sigma) ** 2))
            relative = sigma if self.model == "power" else sigma / np.abs(fitted)
            freedom, unit = len(values) - design.shape[1], float(np.sum(relative**-2.0))
            low, high = intervals.noncentrality(statistic, freedom, alpha)
            # The noncentrality is the squared distance of the true points in standard errors, summed.
            value, error = math.sqrt(max(0.0, statistic - freedom) / unit), math.sqrt(1 / unit)
            interval, model = (math.sqrt(low / unit), math.sqrt(high / unit)), error
            skewness = float(np.abs(skewnesses).max()) / math.sqrt(len(points))
        else:
            # A coefficient is a fixed combination of the points, and so are its error and third moment.
            row = (np.linalg.pinv(weighted / size) / size[:, None] * root)[_COLUMN[target]]
            value, error = float(row @ values), math.sqrt(float(row**2 @ errors**2))
            model = math.sqrt(float(row**2 @ models**2))
            half = intervals.student_quantile(alpha, min(p.blocks for p in points)) * max(error, model)
            third = float(row**3 @ (errors**3 * skewnesses))
            interval, skewness = (value - half, value + half), third / error**3 if error > 0 else 0.0
        blocks = sum(p.blocks for p in points)
        # Skewness averages out in a fit; other doubts of a point do not.
        doubt = next((p.doubt for p in points if p.doubt and not p.skewness), "")
        if not doubt and not intervals.is_reliable(skewness, alpha):
            doubt = too_skewed(blocks * intervals.least_blocks(skewness, alpha))
        coordinates = sum(p.coordinates for p in points)
        return Measured(value, error, interval, blocks, coordinates, model, skewness, doubt)


def ordinary(x: Sequence[float], y: Sequence[float]) -> tuple[float, float, float]:
    """Return slope, intercept and R² of the unweighted fit; description only, its interval does not hold."""
    (along, across), (_, apart) = np.cov(x, y, bias=True)
    slope = across / along
    # A line through equal values leaves nothing unexplained.
    correlation = across / math.sqrt(along * apart) if apart else 1.0
    return float(slope), float(np.mean(y) - slope * np.mean(x)), float(correlation**2)
