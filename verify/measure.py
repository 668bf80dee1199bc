"""Measures an experiment: plans samples, draws, judges, and doubles what is still undecided."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from verify import evidence
from verify.evidence import Verdict
from verify.montecarlo.blocks import Cell, Sample, Sums, draw
from verify.montecarlo.estimands import MIN_BLOCKS, Goal, Measured
from verify.montecarlo.experiment import Comparison, Control, Exact, Experiment, Fit, Quantity
from verify.verdict import MAX_LOOKS, FalseAlarms, band, judge, refuting_power

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence


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

    def control(self, what: str) -> evidence.Control:
        """Return this as a control that says ``what`` is wrong about it."""
        c, m = self.comparison, self.measured
        return evidence.Control(
            id=c.id,
            what=what,
            cell=_settings(c),
            prediction=c.prediction.value,
            estimate=m.value,
            interval=m.interval,
            band=self.band,
            verdict=self.verdict,
            power=refuting_power(m, self.band),
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

    def plan(self, comparisons: Sequence[Comparison]) -> None:
        """Set the first look's blocks of every cell; a cell serves its most demanding comparison."""
        for one in _quantities(comparisons):
            wanted = one.estimand.blocks_needed(self.goal(one), None)
            if wanted is None:
                self.extend(one.cell, MIN_BLOCKS)
                wanted = one.estimand.blocks_needed(self.goal(one), self.sample(one.cell))
            self.planned[one.cell.id] = max(self.planned.get(one.cell.id, 0), wanted or MIN_BLOCKS)
        for fit in (c for c in comparisons if isinstance(c, Fit) and c.target != "misfit"):
            self._enlarge(fit)

    def _enlarge(self, fit: Fit) -> None:
        goal = self.goal(fit)
        relative = [goal.width / goal.deviations()]
        errors = [self._planned_error(member, logarithmic=fit.fit.model == "power") for member in fit.members]
        if None in errors:
            return
        known = [error for error in errors if error is not None]
        excess = (fit.fit.planned_error(fit.target, known) / relative[0]) ** 2
        if excess > 1:
            for member in fit.members:
                self.planned[member.cell.id] = math.ceil(self.planned[member.cell.id] * excess)

    def _planned_error(self, member: Quantity, *, logarithmic: bool) -> float | None:
        variance = getattr(member.estimand, "block_variance", None)
        if variance is None:
            return None
        error = math.sqrt(variance / self.planned[member.cell.id])
        return error if logarithmic else error * abs(member.prediction.value)

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
        exact = isinstance(comparison, Exact)
        width = 0.0 if exact else comparison.tolerance.width(prediction, self.settings.tolerance)
        within = band(prediction, width)
        verdict = judge(measured.interval, prediction, within, reliable=measured.reliable)
        return Decided(comparison, measured, within, verdict, 0 if exact else look, 0.0 if exact else alpha)


def measure(
    experiment: Experiment,
    claim: str,
    settings: evidence.Settings,
    alarms: FalseAlarms,
    mapper: Callable[[Callable[[int], Sums], Iterable[int]], Iterator[Sums]],
) -> tuple[tuple[evidence.Check, ...], tuple[evidence.Control, ...]]:
    """Return the checks and controls of one experiment, judged.

    Every comparison is judged at its planned size first; the cells of those still undecided are doubled,
    up to ``MAX_LOOKS`` looks in all. A verdict stands once given.
    """
    bench = _Bench(claim, settings, alarms, mapper)
    comparisons = [*experiment.checks, *(control.comparison for control in experiment.controls)]
    bench.plan(comparisons)
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
    return (
        tuple(decided[check.id].check(settings.tolerance) for check in experiment.checks),
        tuple(_control(control, decided) for control in experiment.controls),
    )


def _control(control: Control, decided: dict[str, Decided]) -> evidence.Control:
    return decided[control.comparison.id].control(control.what)


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
