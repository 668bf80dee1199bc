"""Measures an experiment: plans and draws its samples, judges, and enlarges undecided samples by half.

Planning and drawing are generators: they yield the requests that they need drawn, and are sent the sums.
"""

import math
from collections import Counter
from collections.abc import Callable, Generator, Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TypeVar

import numpy as np
from scipy import special

from verify import evidence
from verify.errors import ClaimError, SettingsError
from verify.evidence import Settings, Verdict
from verify.evidence.judging import GROWTH, MAX_LOOKS, PLANNED_LOOK, ends_of, share, tenable
from verify.montecarlo.blocks import Cell, Request, Sample, Sums
from verify.montecarlo.estimands import MIN_BLOCKS, Goal, Measured
from verify.montecarlo.experiment import (
    Comparison,
    Control,
    Exact,
    Experiment,
    Fit,
    Quantity,
    band,
    cells_of,
    every_comparison,
    excess,
    quantities_of,
)
from verify.spec.claim import Findings

T = TypeVar("T")

MAX_DRAWS = 10**12
"""A cell planned to draw more components than this is refused: it would take hours."""

PILOT_BLOCKS = 4096
"""Blocks of the largest pilot sample, which the planned sample continues; the smallest has ``MIN_BLOCKS``."""

# How many times its size a pilot can foretell; it is doubled while planning by it asks for more.
_FORETOLD = 2

_BY_THEN = GROWTH ** (PLANNED_LOOK - 1)  # the planned sample over that of the first look
_SAME = 1e-12  # so near, relative to itself, a value is the same but for rounding

Sampling = Generator[list[Request], Sequence[Sums], T]
"""Yields requests, is sent the sums of their cells in the same order, and returns a T."""


@dataclass
class Samples:
    """The samples drawn so far for a claim, and the sizes planned for its cells."""

    claim: str
    settings: Settings
    sums: dict[str, Sums] = field(default_factory=dict)
    planned: Counter[str] = field(default_factory=Counter)
    larger_pilots: dict[str, Request] = field(default_factory=dict)

    def extend(self, requests: Iterable[Request]) -> Sampling[None]:
        """Have each cell drawn until it has at least the blocks requested."""
        # A request is for the whole sample of a cell: draws go on from those that there are.
        drawn = {name: sums.count for name, sums in self.sums.items()}
        short = [request for request in requests if drawn.get(request.cell.id, 0) < request.blocks]
        if short:
            sums = yield short
            self.sums |= dict(zip((request.cell.id for request in short), sums, strict=True))

    def sample(self, cell: Cell) -> Sample:
        """Return the cell's sample so far."""
        return self.sums[cell.id].sample(cell)

    def goal(self, comparison: Quantity | Fit, look: int = PLANNED_LOOK) -> Goal:
        """Return the goal of the comparison's sample, to be decided at a ``look``."""
        prediction = comparison.prediction.value
        width = comparison.tolerance.width(prediction, self.settings.tolerance)
        if not width > 0:
            raise ClaimError(
                f"claim {self.claim}, check {comparison.id}: its prediction is 0, of which a relative "
                'tolerance is 0; give it a scale: Within(1, 8.0, "a deviation")'
            )
        return Goal(share(self.settings.false_alarm, look), 1 - self.settings.power, prediction, width)

    def plan(self, experiment: Experiment) -> Sampling[None]:
        """Set the first look's blocks of every cell; a cell serves its most demanding comparison.

        A check is to be decided by the look ``PLANNED_LOOK`` with the wanted power, a bound and a control at
        the first.
        """
        # Each turn plans all anew by the pilots at hand, and may find that one of them is too small to tell.
        while True:
            self.planned.clear()
            self.larger_pilots.clear()
            # Results of too large sums are refused, without a warning of NumPy's.
            with np.errstate(over="ignore", invalid="ignore"):
                for quantity in quantities_of(experiment.checks):
                    self._plan_quantity(quantity, control=False)
                for control in experiment.controls:
                    self._plan_control(control)
            if not self.larger_pilots:
                break
            yield from self.extend(self.larger_pilots.values())
        chosen = self.settings
        for cell in cells_of(every_comparison(experiment)):
            if (draws := self.planned[cell.id] * cell.coordinates) > MAX_DRAWS:
                raise SettingsError(
                    f"claim {self.claim}, cell {cell.id}: tolerance {chosen.tolerance:g} at false-alarm rate "
                    f"{chosen.false_alarm:g} and power {chosen.power:g} would take {draws:.1e} random "
                    f"numbers (at most {MAX_DRAWS:.0e}); raise --tolerance"
                )

    def _plan_control(self, control: Control) -> None:
        """Plan a control to be refuted with the wanted power: its sample must resolve how wrong it is."""
        wrong = control.comparison
        if isinstance(wrong, Exact):
            return
        truth = control.truth
        if truth is not None:
            # Where the true value is derived, the gap to it is known before anything is drawn.
            goal = self.goal(wrong, 1)
            within = band(goal.prediction, goal.width, wrong.relation)
            gap = excess(truth, tenable(goal.prediction, within))
            if gap <= 0:
                where = f"claim {self.claim}, control {wrong.id}: "
                if excess(truth, band(goal.prediction, _SAME * abs(truth), wrong.relation)) <= 0:
                    claims = f"{wrong.relation.strip('=')} {goal.prediction:.6g}".strip()
                    raise ClaimError(
                        f"{where}it is not wrong: it claims {claims}, and {truth:.6g} is derived, so it "
                        "cannot be rejected; claim something that is false"
                    )
                raise SettingsError(
                    f"{where}at tolerance {self.settings.tolerance:g} the negative control counts as "
                    "agreeing and cannot be rejected; lower --tolerance"
                )
            if isinstance(wrong, Quantity):
                resolving = replace(goal, prediction=truth, width=gap)
                blocks = wrong.estimand.blocks_needed(resolving, None)
                blocks = blocks or self._piloted(wrong, lambda _: resolving)
                self.planned[wrong.cell.id] = max(self.planned[wrong.cell.id], blocks)
        for quantity in quantities_of([wrong]):
            if quantity.cell.id not in self.planned or (quantity is wrong and truth is None):
                self._plan_quantity(quantity, control=True)

    def _plan_quantity(self, quantity: Quantity, *, control: bool) -> None:
        is_bound = quantity.relation != "="
        # Of a bound broken within its tolerance, too many would pass at a smaller sample.
        at_first = control or is_bound
        goal = self.goal(quantity, 1 if at_first else PLANNED_LOOK)
        blocks = None if is_bound else quantity.estimand.blocks_needed(goal, None)
        if blocks is None:
            to_edge = partial(self._to_edge, quantity, goal, control=control)
            blocks = self._piloted(quantity, to_edge if at_first else lambda _: goal)
        blocks = blocks if at_first else max(MIN_BLOCKS, math.ceil(blocks / _BY_THEN))
        self.planned[quantity.cell.id] = max(self.planned[quantity.cell.id], blocks)

    def _piloted(self, quantity: Quantity, goal: Callable[[Sample], Goal]) -> int:
        """Return the blocks that reach the ``goal``, by a pilot, which is requested, or a larger one."""
        cell = quantity.cell
        # The smallest pilot is asked for first, and doubled while it would foretell too much.
        if cell.id not in self.sums:
            self.larger_pilots[cell.id] = Request(cell, MIN_BLOCKS)
            return MIN_BLOCKS
        pilot = self.sample(cell)
        wanted = quantity.estimand.blocks_needed(goal(pilot), pilot)
        if (wanted is None or wanted > _FORETOLD * pilot.blocks) and pilot.blocks < PILOT_BLOCKS:
            self.larger_pilots[cell.id] = Request(cell, min(2 * pilot.blocks, PILOT_BLOCKS))
        return wanted or MIN_BLOCKS

    @staticmethod
    def _to_edge(quantity: Quantity, goal: Goal, pilot: Sample, *, control: bool) -> Goal:
        """Return the goal of telling the quantity from the edge of its band, judged by the pilot.

        A wrong world lies outside the band, a quantity that keeps a bound inside by any distance; to refute a
        bound is to separate the quantity from the bound itself.
        """
        measured = quantity.estimand.measure(pilot, goal.alpha)
        within = band(goal.prediction, goal.width, quantity.relation)
        outside = excess(measured.value, tenable(goal.prediction, within) if control else within)
        # A pilot that by chance lies at the edge does not make the sample endless.
        if quantity.relation == "=":
            return replace(goal, width=max(goal.width, outside))
        # A quantity that breaks a bound by half of its tolerance lies as near to the edge as to the bound.
        width = max(goal.width / 2, math.hypot(outside, measured.error))
        return replace(goal, prediction=measured.value, width=width)

    @np.errstate(over="ignore", invalid="ignore")
    def measured(self, comparison: Comparison, alpha: float) -> Measured:
        """Return the comparison's estimate from the samples drawn so far.

        Raises:
            ClaimError: a power law is to be fitted through an estimate that is not positive.
        """
        if isinstance(comparison, Exact):
            value = comparison.computed
            return Measured(value, 0.0, (value, value), 0, 0)
        if isinstance(comparison, Quantity):
            return comparison.estimand.measure(self.sample(comparison.cell), alpha)
        points = [member.estimand.measure(self.sample(member.cell), alpha) for member in comparison.members]
        for member, point in zip(comparison.members, points, strict=True):
            if comparison.fit.model == "power" and point.value <= 0:  # it has no logarithm to fit
                raise ClaimError(
                    f"claim {self.claim}, check {member.id}: it is measured as {point.value:.3g}, where "
                    f"{member.prediction.value:.6g} is predicted, and {comparison.id} fits a power law; "
                    "measure what is derived, or correct the prediction"
                )
        return comparison.fit.measure(comparison.target, points, alpha)


def measure(
    experiment: Experiment, claim: str, settings: Settings
) -> Sampling[tuple[Findings, tuple[evidence.ControlRecord, ...]]]:
    """Return the findings and the controls of an experiment, judged; a generator that has cells drawn.

    Every comparison is judged at its planned size first; the cells of those still undecided grow by
    half, up to ``MAX_LOOKS`` looks in all. A verdict stands once given.
    """
    samples = Samples(claim, settings)
    comparisons = every_comparison(experiment)
    yield from samples.plan(experiment)
    measured: dict[str, Measured] = {}
    checks: dict[str, evidence.Check] = {}
    pending = comparisons
    for look in range(1, MAX_LOOKS + 1):
        growth, alpha = GROWTH ** (look - 1), share(settings.false_alarm, look)
        yield from samples.extend(
            [Request(cell, math.ceil(samples.planned[cell.id] * growth)) for cell in cells_of(pending)]
        )
        # Decided comparisons keep what they had when they were decided, though their cells may grow.
        for comparison in pending:
            name = comparison.id
            measured[name] = samples.measured(comparison, alpha)
            checks[name] = check_record(comparison, measured[name], settings.tolerance, look, alpha)
        pending = [check for check in pending if checks[check.id].verdict is Verdict.UNDECIDED]
        if not pending:
            break
    findings = Findings(
        checks={check.id: checks[check.id] for check in experiment.checks},
        samples={cell.id: samples.sample(cell) for cell in cells_of(comparisons)},
    )
    named = [(control, control.comparison.id) for control in experiment.controls]
    return findings, tuple(control_record(control, checks[name], measured[name]) for control, name in named)


def check_record(
    comparison: Comparison, measured: Measured, tolerance: float, look: int, alpha: float
) -> evidence.Check:
    """Return the measured comparison as a check; ``tolerance`` is the run's."""
    prediction = comparison.prediction
    if isinstance(comparison, Exact):
        allowance, cell = comparison.allowance, comparison.settings
        size, of, because, width = allowance.size, allowance.of, "", allowance.size
        method, look, alpha = "exact", 0, 0.0
    else:
        own = comparison.tolerance
        size, of, because = own.factor * tolerance, own.of, own.because
        width = own.width(prediction.value, tolerance)
        if isinstance(comparison, Fit):
            x = comparison.fit.x
            method, cell = "fit", (("points", len(x)), ("from", x[0]), ("to", x[-1]))
        else:
            method, cell = "monte-carlo", comparison.cell.settings
    ends = band(prediction.value, width, comparison.relation)
    return evidence.Check(
        id=comparison.id,
        quantity=comparison.label,
        method=method,
        cell=dict(cell),
        prediction=prediction.value,
        prediction_latex=prediction.latex,
        origin=prediction.origin,
        estimate=measured.value,
        standard_error=measured.error,
        interval=measured.interval,
        level=1 - alpha,
        relation=comparison.relation,
        tolerance=size,
        tolerance_of=of,
        tolerance_because=because,
        band=tuple(end if math.isfinite(end) else None for end in ends),
        basis=measured.basis,
        doubt=measured.doubt,
        looks=look,
        blocks=measured.blocks,
        draws=measured.coordinates,
    )


def control_record(control: Control, check: evidence.Check, measured: Measured) -> evidence.ControlRecord:
    """Return the evidence for a control from its comparison as a check.

    Its power, the probability that the interval is disjoint from what is tenable, is a normal approximation
    about the true value, or about the measured value where that is not derived. It takes the standard error
    (derived, where that is known) and the interval's own half-width on the band's side.
    """
    within = ends_of(check.band)
    if not isinstance(control.comparison, Exact):
        within = tenable(check.prediction, within)
    (low, high), value = measured.interval, measured.value
    centre = value if control.truth is None else control.truth
    error = measured.error if measured.model_error is None else measured.model_error
    room = max((centre - within[1]) - (value - low), (within[0] - centre) - (high - value))
    same = evidence.ControlRecord.model_fields.keys() & evidence.Check.model_fields.keys()
    return evidence.ControlRecord(
        **{name: getattr(check, name) for name in same},
        what=control.what,
        power=float(special.ndtr(room / error)) if error else float(room > 0),
    )
