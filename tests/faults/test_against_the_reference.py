"""Holds every figure of the catalogue against the committed reference, on any machine; and its bands.

What is drawn must lie within its error of the reference's estimate; what is derived, set or computed must be
the same. A fault that the tool's own checks cannot see, because it moves a bound, a setting or a statistic
within what the claim allows, is seen here.
"""

import math
from collections.abc import Iterable
from typing import Any

import numpy as np
import pytest

from tests.catalogue import CATALOGUE, EACH_QUICKLY_MADE, derivation, experiment
from verify.citing.compare import compare
from verify.engine.measure import check_record, control_record
from verify.evidence import Check, Record, RunRecord
from verify.montecarlo.estimands import Measured
from verify.montecarlo.experiment import Comparison, Exact, every_comparison
from verify.spec.claim import Words

SAME = 1e-12
"""What rounding may make of a derived number, relative to it."""
DRAWN = {
    *("estimate", "standard_error", "interval", "level", "basis", "doubt", "looks", "blocks", "draws"),
    *("verdict", "reason", "tightness", "power", "origin"),
}
"""What a record says of the sample rather than of the claim; the origin, of what is bound to its draws."""


def nearly(x: Any, y: Any, allowed: float = SAME) -> bool:
    """Return whether two values are equal, numbers in them to ``allowed`` of their size."""
    if isinstance(x, dict) and isinstance(y, dict):
        return x.keys() == y.keys() and all(nearly(x[key], y[key], allowed) for key in x)
    if isinstance(x, list | tuple) and isinstance(y, list | tuple):
        return len(x) == len(y) and all(nearly(*pair, allowed) for pair in zip(x, y, strict=True))
    if isinstance(x, float) or isinstance(y, float):
        numbers = all(isinstance(value, int | float) for value in (x, y))
        return numbers and math.isclose(x, y, rel_tol=allowed, abs_tol=1e-15)
    return bool(x == y)


def stated(comparison: Comparison) -> Measured:
    """Return what would be measured of a comparison where nothing is drawn."""
    value = comparison.computed if isinstance(comparison, Exact) else 0.0
    return Measured(value, 0.0, (value, value), 0, 0)


def other_statements(now: Iterable[Record], before: Iterable[Record]) -> list[str]:
    """Return what is said otherwise, but for what the sample decides, a line each."""
    new, old = ({record.id: record for record in group} for group in (now, before))  # type: ignore[attr-defined]
    lines = [f"{name}: in one of them only" for name in sorted(new.keys() ^ old.keys())]
    for name in new.keys() & old.keys():
        mine, theirs = (record.model_dump(exclude=DRAWN) for record in (new[name], old[name]))
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
    now = Words(claim, derived, facts, planned).spoken(planned)
    # Whatever the verdict: it is what a sample decides, and not compared.
    whole = {each.id: check_record(each, stated(each), tolerance, 0, 0.0) for each in every_comparison(now)}
    checks = [whole[each.id] for each in now.checks]
    controls = [
        control_record(each, whole[each.comparison.id], stated(each.comparison)) for each in now.controls
    ]
    assert other_statements(checks, known.checks) == []
    assert other_statements(controls, known.controls) == []
    assert other_statements(facts, known.facts) == []
    estimates = {each.id: each.estimate for group in (known.checks, known.controls) for each in group}
    moved = {
        each.id: (each.computed, estimates[each.id])
        for each in every_comparison(now)
        if isinstance(each, Exact)
        and abs(each.computed - estimates[each.id])
        > max(each.allowance.size, _same(each.id) * abs(each.computed))
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


CHAPTERS = {"raw_scores", "scaling", "limits"}
WIDEST = 5.0
"""Bands may be this many times as wide as the intervals that lie within them."""
REASONS = {
    ("score-mean", "mean-d1"): "one batch of blocks, the least that is drawn, is more than it takes",
    ("score-variance-any-law", "rademacher-variance-d1"): "a product of two signs squared is always 1",
}
"""Checks whose sample resolves more than their band, each with why."""


@pytest.mark.parametrize("name", [name for name, claim in CATALOGUE.items() if claim.chapter in CHAPTERS])
def test_bands_fit_what_is_resolved(reference: RunRecord, name: str) -> None:
    """A band far wider than its interval lets a wrong constant through that the sample could see."""
    loose = {check.id for check in reference.claim(name).checks if looseness(check) > WIDEST}
    assert loose <= {check for claim, check in REASONS if claim == name}


def looseness(check: Check) -> float:
    """Return how many times as wide as its interval a two-sided check's band is; 0 for all others.

    Where nothing is expected of what cannot be negative, the interval lies on one side.
    """
    low, high = check.band
    if check.method == "exact" or low is None or high is None:
        return 0.0
    least, most = check.interval
    reach = most - least if least == 0 == check.prediction else (most - least) / 2
    return (high - low) / 2 / reach
