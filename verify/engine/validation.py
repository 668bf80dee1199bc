"""What is refused of an experiment before anything is drawn: what could not fail or is unclear."""

import math
import re
from collections.abc import Collection, Iterator

from verify.errors import ClaimError
from verify.evidence import SLUG
from verify.evidence.judging import WIDE
from verify.montecarlo.blocks import Cell
from verify.montecarlo.distributions import moments_contradiction
from verify.montecarlo.experiment import (
    Allowance,
    Comparison,
    Exact,
    Experiment,
    Route,
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
"""What the code is that a check and its control share, by the kind of comparison."""

_ROUNDING = 1e-6  # of the prediction or of 1: what single precision loses, and more

MAX_BATCH_BYTES = 4 * 2**30
"""More memory than this is not asked for."""


def validate(experiment: Experiment, claim: str) -> None:
    """Refuse an experiment that could not fail, or in which something is unclear.

    Raises:
        ClaimError: no check or no control; an id that is no slug; numbers of which no band can be made; a
            check without a word on why its tolerance is wide, or without a control; a block that takes more
            memory than a machine has to spare; a law whose draws contradict its moments.
    """
    if not experiment.checks or not experiment.controls:
        raise ClaimError(f"claim {claim}: needs at least one check and one control, or it could not fail")
    routes = {route_of(control.comparison) for control in experiment.controls}
    comparisons = every_comparison(experiment)
    mistakes = (
        *((f"check {each.id}", _wrong_numbers(each)) for each in comparisons),
        *((f"check {each.id}", _silent(each, routes)) for each in experiment.checks),
        *((f"cell {cell.id}", _wrong_cell(cell)) for cell in cells_of(comparisons)),
    )
    for place, of_place in mistakes:
        for mistake in of_place:
            raise ClaimError(f"claim {claim}, {place}: {mistake}")


def _wrong_numbers(comparison: Comparison) -> Iterator[str]:
    """Yield what is wrong with an id, and with numbers of which no band of agreement can be made."""
    if not re.fullmatch(SLUG, comparison.id):
        yield "its id is not of lower-case words joined by hyphens; rename it"
    if not math.isfinite(value := comparison.prediction.value):
        yield f"its prediction is {value:g}; give a finite number"
    if isinstance(comparison, Exact):
        if not math.isfinite(comparison.computed):
            yield f"its computed value is {comparison.computed:g}; give a finite number"
        return
    for name in ("factor", "scale"):
        size = getattr(comparison.tolerance, name)
        if size is not None and not 0 < size < math.inf:
            yield f"its tolerance's {name} is {size:g}; give a positive number"


def _silent(check: Comparison, routes: Collection[Route]) -> Iterator[str]:
    """Yield what is not said of a tolerance, or that no control goes through a check's code."""
    prediction = check.prediction.value
    if isinstance(check, Exact):
        allowed = check.allowance
        if allowed.of == Allowance.of and allowed.size > _ROUNDING * max(1.0, abs(prediction)):
            yield (
                f"its allowance is {allowed.size:g}, which is more than rounding; make it smaller, or say "
                'for what it is: of="…"'
            )
    else:
        tolerance = check.tolerance
        misnamed = tolerance.of == Tolerance.of and tolerance.scale != abs(prediction)
        if tolerance.scale is not None and (misnamed or not tolerance.of.strip()):
            yield f'its tolerance is a share of {tolerance.scale:g}; say of what: of="…"'
        times = tolerance.times(prediction)
        if times > WIDE * (1 + 1e-9) and not tolerance.because.strip():
            of = "the prediction" if prediction else tolerance.of
            yield (
                f"its tolerance is {times:.3g} times the run's, of {of}; make it at most twice, or say why "
                'it is so wide: because="…"'
            )
    if (route := route_of(check)) not in routes:
        yield f"no control goes through its code ({_SAME_CODE[route[0]]}); add a wrong version of it"


def _wrong_cell(cell: Cell) -> Iterator[str]:
    """Yield that a cell's blocks are giants, and how the draws of its laws contradict their moments."""
    if cell.batch_bytes > MAX_BATCH_BYTES:
        yield f"a block takes {cell.batch_bytes / 2**30:.0f} GB; make it smaller"
    for _, law in getattr(cell.sampler, "laws", ()):
        if fault := moments_contradiction(law):
            yield f"the distribution {law.name!r} {fault}; correct its moments or the function that fills"
