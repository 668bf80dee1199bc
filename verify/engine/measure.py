"""Measures an experiment: draws the planned samples, judges, and enlarges by half what is still undecided."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from scipy import special

from verify import evidence
from verify.engine.samples import Samples, Sampling
from verify.evidence import Verdict
from verify.evidence.judging import GROWTH, MAX_LOOKS, ErrorBudget, judge, judge_exact
from verify.montecarlo.blocks import Request
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
    tenable,
)
from verify.spec.claim import Findings

if TYPE_CHECKING:
    from verify.montecarlo.estimands import Measured


_ENDLESS = 1e12
"""The number of blocks that is never reached."""


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
            origin=c.prediction.origin,
            estimate=m.value,
            standard_error=m.error,
            interval=m.interval,
            level=1 - self.alpha,
            relation=c.relation,
            tolerance=c.allowance.size if isinstance(c, Exact) else c.tolerance.factor * tolerance,
            tolerance_of=c.allowance.of if isinstance(c, Exact) else c.tolerance.of,
            tolerance_because="" if isinstance(c, Exact) else c.tolerance.because,
            uncontrolled=c.uncontrolled,
            band=_closed_ends(self.band),
            verdict=self.verdict,
            reason=self._reason(),
            tightness=evidence.tightness(c.relation, c.prediction.origin, m.value, c.prediction.value),
            looks=self.looks,
            blocks=m.blocks,
            draws=m.coordinates,
        )

    def _reason(self) -> str:
        """Return why the check is undecided and what would help, or what its interval rests on."""
        m = self.measured
        if self.verdict is not Verdict.UNDECIDED:
            return m.basis
        return m.doubt or _still_open(m, self.comparison.prediction.value, self.band)

    def control(self, control: Control) -> evidence.ControlRecord:
        """Return this as the evidence for ``control``."""
        c, m = self.comparison, self.measured
        left = self.band if isinstance(c, Exact) else tenable(c.prediction.value, self.band)
        return evidence.ControlRecord(
            id=c.id,
            what=control.what,
            cell=_settings(c),
            prediction=c.prediction.value,
            estimate=m.value,
            interval=m.interval,
            relation=c.relation,
            band=_closed_ends(self.band),
            verdict=self.verdict,
            power=refuting_power(m, left, control.truth),
            blocks=m.blocks,
            draws=m.coordinates,
        )


def measure(
    experiment: Experiment,
    claim: str,
    settings: evidence.Settings,
    budget: ErrorBudget,
) -> Sampling[tuple[Findings, tuple[evidence.ControlRecord, ...]]]:
    """Return the findings and the controls of one experiment, judged; a generator that has cells drawn.

    Every comparison is judged at its planned size first; the cells of those still undecided grow by
    half, up to ``MAX_LOOKS`` looks in all. A verdict stands once given.
    """
    samples = Samples(claim, settings, budget)
    comparisons = every_comparison(experiment)
    yield from samples.plan(experiment)
    decided: dict[str, Decided] = {}
    for look in range(1, MAX_LOOKS + 1):
        pending = [
            c for c in comparisons if c.id not in decided or decided[c.id].verdict is Verdict.UNDECIDED
        ]
        if not pending:
            break
        yield from samples.extend(
            [
                Request(cell, math.ceil(samples.planned[cell.id] * GROWTH ** (look - 1)))
                for cell in cells_of(pending)
            ]
        )
        decided |= {c.id: _decide(samples, c, look) for c in pending}
    cells = {cell.id: cell for cell in cells_of(comparisons)}
    findings = Findings(
        checks={check.id: decided[check.id].check(settings.tolerance) for check in experiment.checks},
        cells=cells,
        samples={name: samples.sample(cell) for name, cell in cells.items()},
    )
    return findings, tuple(decided[c.comparison.id].control(c) for c in experiment.controls)


def refuting_power(measured: Measured, within: tuple[float, float], truth: float | None = None) -> float:
    """Return the probability, at the sample size used, that an interval is disjoint from ``within``.

    Normal approximation about ``truth``, or about the measured value where None, with the standard error
    (derived, where there is one) and the interval's own half-width on the band's side.
    """
    low, high = measured.interval
    centre = measured.value if truth is None else truth
    error = measured.error if measured.model_error is None else measured.model_error
    above = (centre - within[1]) - (measured.value - low)
    below = (within[0] - centre) - (high - measured.value)
    room = max(above, below)
    return float(room > 0) if error == 0 else float(special.ndtr(room / error))


def _decide(samples: Samples, comparison: Comparison, look: int) -> Decided:
    """Return the comparison judged on the samples drawn so far."""
    alpha = samples.budget.share(look)
    measured = samples.measured(comparison, alpha)
    prediction = comparison.prediction.value
    if isinstance(comparison, Exact):
        within = band(prediction, comparison.allowance.size, comparison.relation)
        return Decided(comparison, measured, within, judge_exact(measured.value, within), 0, 0.0)
    width = comparison.tolerance.width(prediction, samples.settings.tolerance)
    within = band(prediction, width, comparison.relation)
    verdict = judge(measured.interval, prediction, within, reliable=measured.reliable)
    return Decided(comparison, measured, within, verdict, look, alpha)


def _still_open(measured: Measured, prediction: float, within: tuple[float, float]) -> str:
    """Return how many blocks would take an interval that reaches over the band's edge to one side of it.

    Of a bound, to one side of the bound itself will do.
    """
    (low, high), value = measured.interval, measured.value
    needed = [
        ((value - low if edge < value else high - value) / (edge - value)) ** 2 if edge != value else math.inf
        for edge in {*within, *tenable(prediction, within)}
        if low < edge < high
    ]
    every = all(map(math.isfinite, within))
    times = (max if every else min)(needed, default=math.inf)
    if times * measured.blocks > _ENDLESS:
        return "the estimate lies on the edge of the band, where no number of blocks would decide"
    blocks = math.ceil(times * measured.blocks)
    return (
        f"the interval reaches over the edge of the band; about {blocks:,} blocks would decide, "
        "if the estimate is right"
    )


def _method(comparison: Comparison) -> evidence.Method:
    if isinstance(comparison, Exact):
        return "exact"
    return "fit" if isinstance(comparison, Fit) else "monte-carlo"


def _closed_ends(within: tuple[float, float]) -> tuple[float | None, float | None]:
    low, high = (end if math.isfinite(end) else None for end in within)
    return low, high


def _settings(comparison: Comparison) -> dict[str, evidence.Setting]:
    if isinstance(comparison, Quantity):
        return dict(comparison.cell.settings)
    if isinstance(comparison, Exact):
        return dict(comparison.settings)
    x = comparison.fit.x
    return {"points": len(x), "from": x[0], "to": x[-1]}
