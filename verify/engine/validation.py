"""Refuses experiments before anything is drawn: those that could not fail or are unclear."""

import math
import re
from collections import Counter
from collections.abc import Iterator

from verify.errors import ClaimError
from verify.evidence import SLUG, Fact
from verify.evidence.judging import WIDE
from verify.montecarlo.cells import Cell
from verify.montecarlo.experiment import (
    Allowance,
    Comparison,
    Exact,
    Experiment,
    Tolerance,
    cells_of,
    every_comparison,
    route_of,
)

_SAME_CODE = {
    "quantity": "the same kind of estimand, and the same relation",
    "fit": "the same model and coefficient",
    "exact": "the same function",
}
"""The code that a check and its control share, in words, by the kind of comparison."""

_ROUNDING = 1e-6  # of the prediction or of 1: the rounding of single precision, and more
MAX_BATCH_BYTES = 4 * 2**30
"""More memory than this is not asked for."""


def validate(experiment: Experiment, claim: str, facts: tuple[Fact, ...] = ()) -> None:
    """Refuse an experiment that could not fail, or in which something is unclear.

    Raises:
        ClaimError: no check or no control; an id that is no slug or names two findings; numbers that are not
            finite; a check without a word on why its tolerance is wide, or without a control; a block that
            takes more memory than a machine has to spare.
    """
    if not experiment.checks or not experiment.controls:
        raise ClaimError(f"claim {claim}: needs at least one check and one control, or it could not fail")
    comparisons = every_comparison(experiment)
    # A control that takes another way through the code would not notice a mistake in the check's.
    routes = {route_of(control.comparison) for control in experiment.controls}
    mistakes = [(f"check {of.id}", mistake) for of in comparisons for mistake in _wrong_numbers(of)]
    for check in experiment.checks:
        if silent := _silent(check):
            mistakes.append((f"check {check.id}", silent))
        if (route := route_of(check)) not in routes:
            no_control = f"no control goes through its code ({_SAME_CODE[route[0]]})"
            mistakes.append((f"check {check.id}", f"{no_control}; add a wrong version of it"))
    mistakes += [
        (f"cell {cell.id}", mistake) for cell in cells_of(comparisons) for mistake in wrong_cell(cell)
    ]
    # The first alone: its correction may well correct the others.
    for place, mistake in mistakes:
        raise ClaimError(f"claim {claim}, {place}: {mistake}")
    # A finding is linked to and cited by its claim and its name.
    names = Counter(finding.id for finding in (*comparisons, *facts))
    for name in (name for name, times in names.items() if times > 1):
        raise ClaimError(f"claim {claim}: {name!r} names two findings; rename the fact")


def _wrong_numbers(comparison: Comparison) -> Iterator[str]:
    """Yield the faults of an id, and numbers that are not finite."""
    if not re.fullmatch(SLUG, comparison.id):
        yield "its id is not of lower-case words joined by hyphens; rename it"
    numbers = {"prediction": comparison.prediction.value}
    if isinstance(comparison, Exact):
        numbers["computed value"] = comparison.computed
    for what, value in numbers.items():
        if not math.isfinite(value):
            yield f"its {what} is {value:g}; give a finite number"


def wrong_cell(cell: Cell) -> Iterator[str]:
    """Yield that a cell's blocks are giants."""
    if cell.batch_bytes > MAX_BATCH_BYTES:
        yield f"a block takes {cell.batch_bytes / 2**30:.0f} GB; make it smaller"


def _silent(check: Comparison) -> str:
    """Return the words that a tolerance needs and lacks."""
    prediction = check.prediction.value
    if isinstance(check, Exact):
        allowed = check.allowance
        if allowed.of == Allowance.of and allowed.size > _ROUNDING * max(1.0, abs(prediction)):
            return (
                f"its allowance is {allowed.size:g}, which is more than rounding; make it smaller, or say "
                'for what it is: of="…"'
            )
        return ""
    tolerance = check.tolerance
    misnamed = tolerance.of == Tolerance.of and tolerance.scale != abs(prediction)
    if tolerance.scale is not None and (misnamed or not tolerance.of.strip()):
        return f'its tolerance is a share of {tolerance.scale:g}; say of what: of="…"'
    # Of the prediction or, where that is 0, of the scale.
    times = tolerance.width(prediction, 1.0) / abs(prediction) if prediction else tolerance.factor
    if times > WIDE * (1 + 1e-9) and not tolerance.because.strip():
        return (
            f"its tolerance is {times:.3g} times the run's, of "
            f"{'the prediction' if prediction else tolerance.of}; make it at most twice, or say why it is so "
            'wide: because="…"'
        )
    return ""
