"""What a claim measures: comparisons of estimates with predictions, and its controls."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Literal

from verify.montecarlo.reduced import Reduced

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from verify.montecarlo.blocks import BlockSampler, Cell, Settings
    from verify.montecarlo.estimands import Estimand
    from verify.montecarlo.fits import Target, WeightedFit

Relation = Literal["=", "≤", "≥"]
"""What is said of a quantity: that it equals the prediction, or that the prediction bounds it."""


@dataclass(frozen=True)
class Prediction:
    """What a quantity is compared with, and the LaTeX of the exact expression that it came from.

    It is derived, or a threshold where only a direction or an order of size is claimed.
    """

    value: float
    latex: str
    origin: Literal["derived", "set"] = "derived"


@dataclass(frozen=True)
class Tolerance:
    """The band around a prediction: ± factor × the run's tolerance × scale.

    ``scale`` None means the prediction's own size; ``of`` names the scale in words. ``because`` says in the
    report why the band is so wide: wider than twice the run's tolerance, it has to be said.
    """

    factor: float = 1.0
    scale: float | None = None
    of: str = "the prediction"
    because: str = ""

    def width(self, prediction: float, tolerance: float) -> float:
        """Return the band's half-width in the quantity's units."""
        return self.factor * tolerance * (abs(prediction) if self.scale is None else self.scale)

    def times(self, prediction: float) -> float:
        """Return how many times the run's tolerance the band is, of the prediction, or of the scale if 0."""
        return self.width(prediction, 1.0) / abs(prediction) if prediction else self.factor


@dataclass(frozen=True)
class Quantity:
    """A comparison in one cell; by ``relation`` the prediction is the value or a bound of it.

    ``uncontrolled`` says in the report why no control goes through the same code, where none does.
    """

    id: str
    label: str
    cell: Cell
    estimand: Estimand
    prediction: Prediction
    tolerance: Tolerance = Tolerance()
    relation: Relation = "="
    uncontrolled: str = ""


@dataclass(frozen=True)
class Fit:
    """A comparison of one coefficient of a weighted fit through several cells' quantities.

    ``uncontrolled`` is as in a ``Quantity``.
    """

    id: str
    label: str
    members: tuple[Quantity, ...]
    fit: WeightedFit
    target: Target
    prediction: Prediction
    tolerance: Tolerance = Tolerance()
    uncontrolled: str = ""

    relation: ClassVar[Relation] = "="


@dataclass(frozen=True)
class Allowance:
    """How far a computed value may lie from what it is compared with, and for what.

    ``size`` is in the value's units; ``of`` names what it makes up for, so that the distance from a limit or
    a coarse spacing of numbers is never taken for rounding.

    Raises:
        ValueError: ``size`` is negative or no finite number, or ``of`` is empty.
    """

    size: float
    of: str = "rounding of floating-point arithmetic"

    def __post_init__(self) -> None:
        if not 0 <= self.size < math.inf:
            raise ValueError(f"an allowance of {self.size}: must be finite and not negative")
        if not self.of.strip():
            raise ValueError("an allowance must say what it is for")


EXACTLY = Allowance(0.0, "nothing: exact")
"""No allowance: both values are exact."""


@dataclass(frozen=True)
class Exact:
    """A comparison of two computed values; nothing is drawn.

    By ``relation`` the prediction is the value or a bound of it; ``allowance`` is how far beyond the value
    may lie. ``code`` is the function that the computed value comes from, a name of the claim's module or of
    ``verify.spec.designs``; without it, the label stands for what is computed. ``uncontrolled`` is as in a
    ``Quantity``.
    """

    id: str
    label: str
    settings: Settings
    prediction: Prediction
    computed: float
    allowance: Allowance = EXACTLY
    relation: Relation = "="
    code: Callable[..., object] | None = None
    uncontrolled: str = ""


Comparison = Quantity | Fit | Exact


@dataclass(frozen=True)
class Control:
    """A wrong version of the claim, in words and as a comparison that must come out refuted.

    ``truth`` is the derived value of what is measured, at which the control's power is computed; where
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
    quantities: dict[tuple[str, str], Quantity] = {}
    for one in comparisons:
        members = one.members if isinstance(one, Fit) else (one,) if isinstance(one, Quantity) else ()
        quantities |= {(member.id, member.cell.id): member for member in members}
    return list(quantities.values())


def cells_of(comparisons: Iterable[Comparison]) -> list[Cell]:
    """Return the cells that ``comparisons`` draw from, each once."""
    return list({one.cell.id: one.cell for one in quantities_of(comparisons)}.values())


def every_comparison(experiment: Experiment) -> list[Comparison]:
    """Return the checks and what the controls compare, in order."""
    return [*experiment.checks, *(control.comparison for control in experiment.controls)]


Route = tuple[str, ...]


def route_of(comparison: Comparison) -> Route:
    """Return the code that a comparison goes through: what a control of it must go through as well.

    For a quantity the classes of its input and statistic, or of its sampler, the kind of its estimand and
    the relation; for a fit its model and coefficient; for an exact comparison the function that computes it.
    """
    if isinstance(comparison, Fit):
        return ("fit", comparison.fit.model, comparison.target)
    if isinstance(comparison, Quantity):
        return (
            "quantity",
            *_drawn_by(comparison.cell.sampler),
            comparison.estimand.kind,
            comparison.relation,
        )
    code = comparison.code.__qualname__ if comparison.code else comparison.label
    return ("exact", code)


def _drawn_by(sampler: BlockSampler) -> tuple[str, ...]:
    parts = (sampler.input, sampler.statistic) if isinstance(sampler, Reduced) else (sampler,)
    return tuple(type(one).__name__ for one in parts)


def band(prediction: float, width: float, relation: Relation = "=") -> tuple[float, float]:
    """Return the values that count as agreeing: within ``width`` of the prediction, or beyond it.

    A bound leaves one side open, at infinity.
    """
    low = -math.inf if relation == "≤" else prediction - width
    high = math.inf if relation == "≥" else prediction + width
    return low, high


def tenable(prediction: float, within: tuple[float, float]) -> tuple[float, float]:
    """Return the values of which an interval that does not refute holds one: the band, or what keeps a bound.

    The tolerance of a bound lets an interval around it reach over; it makes no value beyond it right.
    """
    low, high = within
    return prediction if high == math.inf else low, prediction if low == -math.inf else high


def excess(value: float, within: tuple[float, float]) -> float:
    """Return how far ``value`` lies outside the band ``within``; inside, minus its distance to the edge."""
    return max(within[0] - value, value - within[1])
