"""Holds every figure of the catalogue against the committed reference, on any machine.

What is drawn must lie within its error of the reference's estimate; what is derived, set or computed must be
the same. A fault that the tool's own checks cannot see, because it moves a bound, a setting or a statistic
within what the claim allows, is seen here.
"""

import math
from collections.abc import Iterable
from typing import Any

import numpy as np

from tests.catalogue import CATALOGUE, EACH_QUICKLY_MADE, derivation, experiment
from verify.citing.compare import compare
from verify.engine.measure import check_record, control_record
from verify.evidence import Record, RunRecord
from verify.montecarlo.estimands import Measured
from verify.montecarlo.experiment import Comparison, Exact, every_comparison

SAME = 1e-12
"""What rounding may make of a derived number, relative to it."""
DRAWN = {
    *("estimate", "standard_error", "interval", "level", "basis", "doubt", "looks", "blocks", "draws"),
    *("verdict", "reason", "tightness", "power", "origin"),
}
"""What a record says of the sample rather than of the claim; the origin, of what is bound to its draws."""


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
    whole = {one.id: check_record(one, stated(one), tolerance, 0, 0.0) for one in every_comparison(now)}
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


def test_a_quick_run_agrees_with_the_reference(quick: RunRecord, reference: RunRecord) -> None:
    """In every line of derivations, in what is derived, set or computed, and in estimates to their errors."""
    changes = compare(reference, quick)
    assert (changes.verdicts, changes.moved) == ((), ())
    for claim in quick.claims:
        known = reference.claim(claim.id)
        assert claim.derivation == known.derivation, claim.id
        now, before = ({check.id: check.origin for check in each.checks} for each in (claim, known))
        assert now == {name: before[name] for name in now}, claim.id
