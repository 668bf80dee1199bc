"""Measures an experiment: draws the planned samples, judges, and enlarges by half what is still undecided."""

import math

from scipy import special

from verify import evidence
from verify.engine.samples import Samples, Sampling
from verify.evidence import Verdict
from verify.evidence.judging import GROWTH, MAX_LOOKS, ErrorBudget, judge, judge_exact
from verify.montecarlo.blocks import Request
from verify.montecarlo.estimands import Measured
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

_ENDLESS = 1e12
"""The number of blocks that is never reached."""


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
    found: dict[str, Measured] = {}
    checks: dict[str, evidence.Check] = {}
    for look in range(1, MAX_LOOKS + 1):
        pending = [c for c in comparisons if c.id not in checks or checks[c.id].verdict is Verdict.UNDECIDED]
        if not pending:
            break
        yield from samples.extend(
            [
                Request(cell, math.ceil(samples.planned[cell.id] * GROWTH ** (look - 1)))
                for cell in cells_of(pending)
            ]
        )
        alpha = budget.share(look)
        found |= {c.id: samples.measured(c, alpha) for c in pending}
        checks |= {c.id: judged(c, found[c.id], settings.tolerance, look, alpha) for c in pending}
    cells = {cell.id: cell for cell in cells_of(comparisons)}
    findings = Findings(
        checks={check.id: checks[check.id] for check in experiment.checks},
        cells=cells,
        samples={name: samples.sample(cell) for name, cell in cells.items()},
    )
    names = ((one, one.comparison.id) for one in experiment.controls)
    return findings, tuple(control_record(one, checks[name], found[name]) for one, name in names)


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


def judged(
    comparison: Comparison, found: Measured, tolerance: float, look: int, alpha: float
) -> evidence.Check:
    """Return what was found of a comparison as a check; ``tolerance`` is the run's."""
    prediction = comparison.prediction
    if isinstance(comparison, Exact):
        size, of, because = comparison.allowance.size, comparison.allowance.of, ""
        within = band(prediction.value, size, comparison.relation)
        verdict, look, alpha = judge_exact(found.value, within), 0, 0.0
    else:
        own = comparison.tolerance
        size, of, because = own.factor * tolerance, own.of, own.because
        within = band(prediction.value, own.width(prediction.value, tolerance), comparison.relation)
        verdict = judge(found.interval, prediction.value, within, reliable=found.reliable)
    reason = found.basis
    if verdict is Verdict.UNDECIDED:
        reason = found.doubt or _still_open(found, prediction.value, within)
    low, high = (end if math.isfinite(end) else None for end in within)
    return evidence.Check(
        id=comparison.id,
        quantity=comparison.label,
        method=_method(comparison),
        cell=_settings(comparison),
        prediction=prediction.value,
        prediction_latex=prediction.latex,
        origin=prediction.origin,
        estimate=found.value,
        standard_error=found.error,
        interval=found.interval,
        level=1 - alpha,
        relation=comparison.relation,
        tolerance=size,
        tolerance_of=of,
        tolerance_because=because,
        uncontrolled=comparison.uncontrolled,
        band=(low, high),
        verdict=verdict,
        reason=reason,
        tightness=evidence.tightness(comparison.relation, prediction.origin, found.value, prediction.value),
        looks=look,
        blocks=found.blocks,
        draws=found.coordinates,
    )


def control_record(control: Control, check: evidence.Check, measured: Measured) -> evidence.ControlRecord:
    """Return the evidence for a control from what its comparison is as a check."""
    low, high = check.band
    within = (-math.inf if low is None else low, math.inf if high is None else high)
    if not isinstance(control.comparison, Exact):
        within = tenable(check.prediction, within)
    same = evidence.ControlRecord.model_fields.keys() & evidence.Check.model_fields.keys()
    return evidence.ControlRecord(
        **{name: getattr(check, name) for name in same},
        what=control.what,
        power=refuting_power(measured, within, control.truth),
    )


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


def _settings(comparison: Comparison) -> dict[str, evidence.Setting]:
    if isinstance(comparison, Quantity):
        return dict(comparison.cell.settings)
    if isinstance(comparison, Exact):
        return dict(comparison.settings)
    x = comparison.fit.x
    return {"points": len(x), "from": x[0], "to": x[-1]}
