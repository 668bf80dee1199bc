"""Holds every figure of the catalogue against the committed reference, on any machine.

What is drawn must lie within its error of the reference's estimate; what is derived, set or computed must be
the same. A fault that the tool's own checks cannot see, because it moves a bound, a setting or a statistic
within what the claim allows, is seen here.
"""

import math
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np
import pytest

from tests.catalogue import CATALOGUE, EACH_QUICKLY_MADE, derivation, experiment
from verify.engine.measure import control_record, judged
from verify.evidence import PROFILES, Check, ClaimRecord, ControlRecord, Record, RunRecord
from verify.montecarlo.estimands import DistanceToLaw, Measured
from verify.montecarlo.experiment import Comparison, Exact, Fit, Quantity, every_comparison

ERRORS = 6.0
"""Combined standard errors that two estimates of one quantity may lie apart."""
SAME = 1e-12
"""What rounding may make of a derived number, relative to it."""
DRAWN = {
    *("estimate", "standard_error", "interval", "level", "basis", "doubt", "looks", "blocks", "draws"),
    *("verdict", "reason", "tightness", "power", "origin"),
}
"""What a record says of the sample rather than of the claim; the origin, of what is bound to its draws."""


@pytest.fixture(scope="module")
def pairs(quick: RunRecord, reference: RunRecord) -> list[tuple[ClaimRecord, ClaimRecord]]:
    """Return each claim of the quick run, and the same of the reference."""
    return [(claim, reference.claim(claim.id)) for claim in quick.claims]


def nearly(one: Any, other: Any, allowed: float = SAME) -> bool:
    """Return whether two values are equal, numbers in them to ``allowed`` of their size."""
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(nearly(one[key], other[key], allowed) for key in one)
    if isinstance(one, list | tuple) and isinstance(other, list | tuple):
        return len(one) == len(other) and all(nearly(x, y, allowed) for x, y in zip(one, other, strict=True))
    if isinstance(one, float) or isinstance(other, float):
        numbers = all(isinstance(x, int | float) for x in (one, other))
        return numbers and math.isclose(one, other, rel_tol=allowed, abs_tol=1e-15)
    return bool(one == other)


def stated(comparison: Comparison) -> Measured:
    """Return what would be measured of a comparison where nothing is drawn."""
    value = comparison.computed if isinstance(comparison, Exact) else 0.0
    return Measured(value, 0.0, (value, value), 0, 0)


def other_statements(now: Iterable[Record], before: Iterable[Record]) -> list[str]:
    """Return what is said otherwise, but for what the sample decides, a line each."""
    found, known = {one.id: one for one in now}, {one.id: one for one in before}  # type: ignore[attr-defined]
    lines = [f"{name}: in one of them only" for name in sorted(found.keys() ^ known.keys())]
    for name in found.keys() & known.keys():
        mine, theirs = (one.model_dump(exclude=DRAWN) for one in (found[name], known[name]))
        lines += [
            f"{name}, {field}: {mine.get(field, '')}, was {theirs.get(field, '')}"
            for field in mine | theirs
            if not nearly(mine.get(field, ""), theirs.get(field, ""))
        ]
    return lines


def _same(name: str) -> float:
    """Return how far a value may move on another processor, relative to it."""
    return 2 * float(np.finfo(np.float32).eps) if "single-precision" in name else SAME


@EACH_QUICKLY_MADE
def test_predictions_bands_settings_and_facts_are_those_of_the_reference(
    reference: RunRecord, name: str
) -> None:
    """And so are relations, labels, words of controls; values computed without draws to their rounding."""
    known, tolerance = reference.claim(name), reference.run.settings.tolerance
    claim, derived = CATALOGUE[name], derivation(name)
    facts = claim.exact_values(derived)
    planned = experiment(name, tolerance)
    now = claim.words(derived, facts, planned).spoken(planned)
    # Whatever the verdict: it is what a sample decides, and not compared.
    whole = {one.id: judged(one, stated(one), tolerance, 0, 0.0) for one in every_comparison(now)}
    checks = [whole[one.id] for one in now.checks]
    controls = [control_record(one, whole[one.comparison.id], stated(one.comparison)) for one in now.controls]
    assert other_statements(checks, known.checks) == []
    assert other_statements(controls, known.controls) == []
    assert other_statements(facts, known.facts) == []
    estimates = {one.id: one.estimate for group in (known.checks, known.controls) for one in group}
    moved = {
        one.id: (one.computed, estimates[one.id])
        for one in every_comparison(now)
        if isinstance(one, Exact)
        and abs(one.computed - estimates[one.id]) > max(one.allowance.size, _same(one.id) * abs(one.computed))
    }
    assert moved == {}


def test_derivations_are_those_of_the_reference(pairs: list[tuple[ClaimRecord, ClaimRecord]]) -> None:
    """Every formula, rule and check of every step, and what is derived, set or computed."""
    for quickly, known in pairs:
        assert quickly.derivation == known.derivation, known.id
        now, before = ({one.id: one.origin for one in each.checks} for each in (quickly, known))
        assert now == {one: before[one] for one in now}, known.id


def test_derived_curves_are_those_of_the_reference(pairs: list[tuple[ClaimRecord, ClaimRecord]]) -> None:
    """What a figure draws as the truth does not depend on the sample."""
    for quickly, known in pairs:
        before = _curves(known)
        for name, curves in _curves(quickly).items():
            assert all(any(nearly(curve, other, 1e-9) for other in before[name]) for curve in curves), (
                known.id
            )


def _curves(record: ClaimRecord) -> dict[str, list[dict[str, Any]]]:
    """Return the layers of each figure that are the truth."""
    return {
        figure.id: [layer.model_dump() for layer in figure.layers if layer.role == "truth"]
        for figure in record.series
    }


def test_quick_estimates_agree_with_the_reference(pairs: list[tuple[ClaimRecord, ClaimRecord]]) -> None:
    """Two samples of one quantity differ by no more than their errors; of a control, than its intervals.

    A control whose world is wrong by several tolerances says so in its settings or its label, and is another
    quantity. So is the distance of a wrong world from a law or a curve: it weighs points by the run's
    tolerances, or takes the largest of many gaps.
    """
    for now, before in pairs:
        assert apart(now.checks, before.checks, _error) == {}, now.id
        worlds = {one.id: _world(one) for one in before.controls}
        controls = experiment(now.id, PROFILES["quick"]).controls
        quickly, usual = (_labels(now.id, profile) for profile in ("quick", "standard"))
        distances = {one.comparison.id for one in controls if _is_distance(one.comparison)}
        alike = [
            one
            for one in now.controls
            if _world(one) == worlds[one.id] and quickly[one.id] == usual[one.id] and one.id not in distances
        ]
        assert len(alike) >= len(before.controls) - len(distances) - 1, now.id
        assert apart(alike, before.controls, _half) == {}, now.id


def _is_distance(comparison: Comparison) -> bool:
    if isinstance(comparison, Fit):
        return comparison.target == "misfit"
    return isinstance(comparison, Quantity) and isinstance(comparison.estimand, DistanceToLaw)


def _world(control: ControlRecord) -> dict[str, Any]:
    """Return the control's settings but for the shape of its blocks, which changes with the tolerance."""
    return {key: value for key, value in control.cell.items() if key != "block"}


def _labels(claim: str, profile: str) -> dict[str, str]:
    """Return the labels of a claim's controls, in which stands by what an expression is multiplied."""
    return {one.comparison.id: one.comparison.label for one in experiment(claim, PROFILES[profile]).controls}


def apart(
    now: Sequence[Check] | Sequence[ControlRecord],
    before: Sequence[Check] | Sequence[ControlRecord],
    spread: Callable[[Any], float],
) -> dict[str, tuple[float, float]]:
    """Return the estimates that lie further apart than their two spreads allow, by id."""
    known = {one.id: one for one in before}
    return {
        one.id: (one.estimate, known[one.id].estimate)
        for one in now
        if one.blocks
        and abs(one.estimate - known[one.id].estimate) > math.hypot(spread(one), spread(known[one.id]))
    }


def _error(check: Check) -> float:
    return ERRORS * check.standard_error


def _half(control: ControlRecord) -> float:
    return (control.interval[1] - control.interval[0]) / 2


def test_every_difference_is_seen(reference: RunRecord) -> None:
    """A changed prediction, setting, band, allowance, fact or estimate is named."""
    known = reference.claim("score-variance")
    check = known.checks[0]
    changes = (
        {"prediction": check.prediction * (1 + 1e-9)},
        {"cell": {**check.cell, "d_k": 2}},
        {"relation": "≤"},
        {"band": (check.band[0], None)},
        {"tolerance_of": "anything"},
    )
    for change in changes:
        (line,) = other_statements([check.model_copy(update=change)], [check])
        assert line.startswith(f"{check.id}, {next(iter(change))}:")
    assert other_statements([], [check]) == [f"{check.id}: in one of them only"]
    assert other_statements([check.model_copy(update={"estimate": 7.0})], [check]) == []
    far = check.model_copy(update={"estimate": check.estimate + 9 * check.standard_error})
    assert list(apart([far], [check], _error)) == [check.id]
    assert apart([check], [check], _error) == {}
