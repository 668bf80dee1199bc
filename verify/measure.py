"""Measures an experiment: plans samples, draws, judges, and doubles what is still undecided."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from verify import evidence
from verify.claim import Findings
from verify.evidence import Verdict
from verify.montecarlo.blocks import Cell, Sample, Sums, draw
from verify.montecarlo.estimands import MIN_BLOCKS, PILOT_BLOCKS, Goal, Measured
from verify.montecarlo.experiment import Comparison, Control, Exact, Experiment, Fit, Quantity
from verify.verdict import MAX_LOOKS, FalseAlarms, band, judge, refuting_power

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator


@dataclass(frozen=True)
class Decided:
    """A comparison with its verdict and what it rests on."""

    comparison: Comparison
    measured: Measured
    band: tuple[float, float]
    verdict: Verdict
    looks: int
    alpha: float

    def check(self, tolerance: float) -> evidence.Check:
        """Return this as a check of the claim; ``tolerance`` is the run's."""
        c, m = self.comparison, self.measured
        return evidence.Check(
            id=c.id,
            quantity=c.label,
            method=_method(c),
            cell=_settings(c),
            prediction=c.prediction.value,
            prediction_latex=c.prediction.latex,
            estimate=m.value,
            standard_error=m.error,
            interval=m.interval,
            level=1 - self.alpha,
            tolerance=0.0 if isinstance(c, Exact) else c.tolerance.factor * tolerance,
            tolerance_of="nothing: exact" if isinstance(c, Exact) else c.tolerance.of,
            band=self.band,
            verdict=self.verdict,
            looks=self.looks,
            blocks=m.blocks,
            draws=m.coordinates,
        )

    def control(self, control: Control) -> evidence.Control:
        """Return this as the evidence for ``control``."""
        c, m = self.comparison, self.measured
        return evidence.Control(
            id=c.id,
            what=control.what,
            cell=_settings(c),
            prediction=c.prediction.value,
            estimate=m.value,
            interval=m.interval,
            band=self.band,
            verdict=self.verdict,
            power=refuting_power(m, self.band, control.truth),
            blocks=m.blocks,
            draws=m.coordinates,
        )


@dataclass
class _Bench:
    """The samples drawn so far for one claim, and the sizes planned for its cells."""

    claim: str
    settings: evidence.Settings
    alarms: FalseAlarms
    mapper: Callable[[Callable[[int], Sums], Iterable[int]], Iterator[Sums]]
    sums: dict[str, Sums] = field(default_factory=dict)
    planned: dict[str, int] = field(default_factory=dict)

    def extend(self, cell: Cell, blocks: int) -> None:
        """Draw until the cell has at least ``blocks`` blocks."""
        so_far = self.sums.get(cell.id)
        if so_far is None or so_far.count < blocks:
            self.sums[cell.id] = draw(cell, self.claim, self.settings.seed, blocks, so_far, self.mapper)

    def sample(self, cell: Cell) -> Sample:
        """Return what is known of the cell's blocks."""
        return self.sums[cell.id].sample(cell)

    def goal(self, comparison: Quantity | Fit) -> Goal:
        """Return what the comparison's sample is planned for."""
        prediction = comparison.prediction.value
        width = comparison.tolerance.width(prediction, self.settings.tolerance)
        return Goal(self.alarms.share(1), 1 - self.settings.power, prediction, width)

    def plan(self, experiment: Experiment) -> None:
        """Set the first look's blocks of every cell; a cell serves its most demanding comparison."""
        for one in _quantities(experiment.checks):
            self._plan_quantity(one, None)
        for fit in experiment.checks:
            if isinstance(fit, Fit) and fit.target != "misfit":
                self._enlarge(fit)
        for one in _quantities(control.comparison for control in experiment.controls):
            if one.cell.id not in self.planned:
                self._plan_quantity(one, self._gap)

    def _plan_quantity(self, one: Quantity, gap: Callable[[Quantity, Sample], float] | None) -> None:
        goal = self.goal(one)
        wanted = one.estimand.blocks_needed(goal, None)
        if wanted is None:
            self.extend(one.cell, PILOT_BLOCKS)
            pilot = self.sample(one.cell)
            if gap is not None:
                goal = replace(goal, width=max(goal.width, gap(one, pilot)))
            wanted = one.estimand.blocks_needed(goal, pilot) or MIN_BLOCKS
        self.planned[one.cell.id] = max(self.planned.get(one.cell.id, 0), wanted)

    def _gap(self, one: Quantity, pilot: Sample) -> float:
        """Return how far a wrong world lies outside the band, by its pilot: what refuting it must resolve."""
        goal = self.goal(one)
        value = one.estimand.measure(pilot, goal.alpha).value
        return abs(value - goal.prediction) - goal.width

    def _enlarge(self, fit: Fit) -> None:
        """Plan more blocks for the points of a fit whose coefficient would come out too vague."""
        goal = self.goal(fit)
        errors: list[float] = []
        for member in fit.members:
            error = self._planned_error(member, logarithmic=fit.fit.model == "power")
            if error is None:
                return
            errors.append(error)
        excess = (fit.fit.planned_error(fit.target, errors) * goal.deviations() / goal.width) ** 2
        if excess > 1:
            for member in fit.members:
                self.planned[member.cell.id] = math.ceil(self.planned[member.cell.id] * excess)

    def _planned_error(self, member: Quantity, *, logarithmic: bool) -> float | None:
        variance = getattr(member.estimand, "block_variance", None)
        if variance is None:
            return None
        error = math.sqrt(variance / self.planned[member.cell.id])
        size = abs(member.prediction.value)
        absolute = error * size if getattr(member.estimand, "positive", True) else error
        return absolute / size if logarithmic else absolute

    def measured(self, comparison: Comparison, alpha: float) -> Measured:
        """Return the comparison's estimate from the samples drawn so far."""
        if isinstance(comparison, Exact):
            value = comparison.computed
            return Measured(value, 0.0, (value, value), 0, 0)
        if isinstance(comparison, Quantity):
            return comparison.estimand.measure(self.sample(comparison.cell), alpha)
        points = [member.estimand.measure(self.sample(member.cell), alpha) for member in comparison.members]
        if comparison.target == "misfit":
            return comparison.fit.misfit(points, alpha)
        return comparison.fit.coefficient(comparison.target, points, alpha)

    def decide(self, comparison: Comparison, look: int) -> Decided:
        """Return the comparison judged on the samples drawn so far."""
        alpha = self.alarms.share(look)
        measured = self.measured(comparison, alpha)
        prediction = comparison.prediction.value
        if isinstance(comparison, Exact):
            within, look, alpha = band(prediction, 0.0), 0, 0.0
        else:
            within = band(prediction, comparison.tolerance.width(prediction, self.settings.tolerance))
        verdict = judge(measured.interval, prediction, within, reliable=measured.reliable)
        return Decided(comparison, measured, within, verdict, look, alpha)


def measure(
    experiment: Experiment,
    claim: str,
    settings: evidence.Settings,
    alarms: FalseAlarms,
    mapper: Callable[[Callable[[int], Sums], Iterable[int]], Iterator[Sums]],
) -> tuple[Findings, tuple[evidence.Control, ...]]:
    """Return the findings and the controls of one experiment, judged.

    Every comparison is judged at its planned size first; the cells of those still undecided are doubled,
    up to ``MAX_LOOKS`` looks in all. A verdict stands once given.
    """
    bench = _Bench(claim, settings, alarms, mapper)
    comparisons = [*experiment.checks, *(control.comparison for control in experiment.controls)]
    bench.plan(experiment)
    decided: dict[str, Decided] = {}
    for look in range(1, MAX_LOOKS + 1):
        pending = [
            c for c in comparisons if c.id not in decided or decided[c.id].verdict is Verdict.UNDECIDED
        ]
        if not pending:
            break
        for cell in _cells(pending):
            bench.extend(cell, bench.planned[cell.id] * 2 ** (look - 1))
        decided |= {c.id: bench.decide(c, look) for c in pending}
    cells = {cell.id: cell for cell in _cells(comparisons)}
    findings = Findings(
        checks={check.id: decided[check.id].check(settings.tolerance) for check in experiment.checks},
        cells=cells,
        samples={name: bench.sample(cell) for name, cell in cells.items()},
    )
    return findings, tuple(decided[c.comparison.id].control(c) for c in experiment.controls)


def _quantities(comparisons: Iterable[Comparison]) -> list[Quantity]:
    quantities: dict[tuple[str, str], Quantity] = {}
    for one in comparisons:
        members = one.members if isinstance(one, Fit) else (one,) if isinstance(one, Quantity) else ()
        quantities |= {(member.id, member.cell.id): member for member in members}
    return list(quantities.values())


def _cells(comparisons: Iterable[Comparison]) -> list[Cell]:
    return list({one.cell.id: one.cell for one in _quantities(comparisons)}.values())


def _method(comparison: Comparison) -> evidence.Method:
    if isinstance(comparison, Exact):
        return "exact"
    return "fit" if isinstance(comparison, Fit) else "monte-carlo"


def _settings(comparison: Comparison) -> dict[str, evidence.Setting]:
    if isinstance(comparison, Quantity):
        return dict(comparison.cell.settings)
    if isinstance(comparison, Exact):
        return dict(comparison.settings)
    x = comparison.fit.x
    return {"points": len(x), "from": x[0], "to": x[-1]}
