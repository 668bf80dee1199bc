"""What is refused of an experiment before anything is drawn: what could not fail or is unclear."""

import math
import re
from collections.abc import Iterable, Iterator
from dataclasses import fields, is_dataclass
from typing import Any

from verify.errors import ClaimError
from verify.evidence import SLUG
from verify.evidence.judging import WIDE
from verify.montecarlo.blocks import Cell
from verify.montecarlo.distributions import Distribution, moments_contradiction
from verify.montecarlo.experiment import (
    Allowance,
    Comparison,
    Exact,
    Experiment,
    Tolerance,
    every_comparison,
    quantities_of,
    route_of,
)
from verify.text.numbers import is_figure, rounds_to

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
    """Refuse an experiment that could not fail, or whose names are unclear.

    Raises:
        ClaimError: no check or no control; an id is no slug or used twice; two cells share an id; a block
            that takes more memory than a machine has to spare; a setting that is not the sampler's; a
            distribution whose draws contradict its moments; a check without a word on why its tolerance is
            wide, or why it has no control.
    """
    if not experiment.checks or not experiment.controls:
        raise ClaimError(f"claim {claim}: needs at least one check and one control, or it could not fail")
    comparisons = every_comparison(experiment)
    names = [one.id for one in comparisons]
    for name in names:
        if not re.fullmatch(SLUG, name):
            raise ClaimError(f"claim {claim}: check id {name!r}: use lower-case words joined by hyphens")
        if names.count(name) > 1:
            raise ClaimError(f"claim {claim}: the check id {name!r} is used twice; rename one")
    cells: dict[str, Cell] = {}
    for one in quantities_of(comparisons):
        if cells.setdefault(one.cell.id, one.cell) != one.cell:
            raise ClaimError(f"claim {claim}: two different cells are called {one.cell.id!r}; rename one")
    _refuse_other_settings(cells.values(), claim)
    for comparison in comparisons:
        _refuse_nonsense(comparison, claim)
    _refuse_silent_width(experiment, claim)
    _refuse_uncontrolled(experiment, claim)
    _refuse_giants(cells.values(), claim)
    _refuse_misstated_distributions(cells.values(), claim)


def _refuse_other_settings(cells: Iterable[Cell], claim: str) -> None:
    """Refuse cells that say something else of their samplers; dimension and scale may be the claim's."""
    for cell, (name, value) in ((one, stated) for one in cells for stated in one.sampler.settings):
        said = dict(cell.settings).get(name, value)
        if name not in {"scale", "d_k"} and said != value:
            raise ClaimError(
                f"claim {claim}, cell {cell.id}: its setting {name!r} is {said!r}, and its sampler has "
                f"{value!r}; leave it to the sampler"
            )


def _refuse_nonsense(one: Comparison, claim: str) -> None:
    """Refuse numbers of which no band of agreement can be made."""
    given: dict[str, tuple[float | None, bool]] = {"prediction": (one.prediction.value, False)}
    if isinstance(one, Exact):
        given["computed value"] = (one.computed, False)
    else:
        tolerance = one.tolerance
        given |= {
            "tolerance's factor": (tolerance.factor, True),
            "tolerance's scale": (tolerance.scale, True),
        }
    for what, (value, positive) in given.items():
        if value is not None and (not math.isfinite(value) or (positive and value <= 0)):
            wanted = "a positive number" if positive else "a finite number"
            raise ClaimError(f"claim {claim}, check {one.id}: its {what} is {value:g}; give {wanted}")
    written = one.prediction.latex
    if is_figure(written) and not rounds_to(one.prediction.value, written):
        raise ClaimError(
            f"claim {claim}, check {one.id}: its prediction is written ${written}$, and is "
            f"{one.prediction.value:g}; make it of an expression"
        )


def _refuse_silent_width(experiment: Experiment, claim: str) -> None:
    """Refuse a tolerance whose scale has no name, or that is wide for a reason that is not given."""
    for check in experiment.checks:
        if isinstance(check, Exact):
            _refuse_silent_allowance(check, claim)
            continue
        tolerance, prediction = check.tolerance, check.prediction.value
        where = f"claim {claim}, check {check.id}: its tolerance"
        misnamed = tolerance.of == Tolerance.of and tolerance.scale != abs(prediction)
        if tolerance.scale is not None and (misnamed or not tolerance.of.strip()):
            raise ClaimError(f'{where} is a share of {tolerance.scale:g}; say of what: of="…"')
        times = tolerance.times(prediction)
        if times > WIDE * (1 + 1e-9) and not tolerance.because.strip():
            of = "the prediction" if prediction else tolerance.of
            raise ClaimError(
                f"{where} is {times:.3g} times the run's, of {of}; make it at most twice, or say why it is "
                'so wide: because="…"'
            )


def _refuse_silent_allowance(check: Exact, claim: str) -> None:
    """Refuse what is too much for rounding, and is called that."""
    allowed = check.allowance
    if allowed.of == Allowance.of and allowed.size > _ROUNDING * max(1.0, abs(check.prediction.value)):
        raise ClaimError(
            f"claim {claim}, check {check.id}: its allowance is {allowed.size:g}, which is more than "
            'rounding; make it smaller, or say for what it is: of="…"'
        )


def _refuse_uncontrolled(experiment: Experiment, claim: str) -> None:
    """Refuse a check without a control through the same code that does not say why, or with both."""
    controls = {route_of(control.comparison): control.comparison.id for control in experiment.controls}
    for check in experiment.checks:
        route, word = route_of(check), check.uncontrolled.strip()
        where = f"claim {claim}, check {check.id}"
        if word and route in controls:
            raise ClaimError(
                f"{where}: it says why no control goes through its code, but {controls[route]} does; leave "
                "out uncontrolled"
            )
        if not word and route not in controls:
            raise ClaimError(
                f"{where}: no control goes through its code ({_SAME_CODE[route[0]]}); add a wrong "
                'version of it, or say why there is none: uncontrolled="…"'
            )


def _refuse_giants(cells: Iterable[Cell], claim: str) -> None:
    for cell in cells:
        if cell.batch_bytes > MAX_BATCH_BYTES:
            size = f"{cell.batch_bytes / 2**30:.0f} GB"
            raise ClaimError(f"claim {claim}: a block of cell {cell.id!r} takes {size}; make it smaller")


def _refuse_misstated_distributions(cells: Iterable[Cell], claim: str) -> None:
    """Refuse draws that contradict their stated moments, for predictions and plans rest on them."""
    for cell in cells:
        for distribution in _distributions(cell.sampler):
            if fault := moments_contradiction(distribution):
                raise ClaimError(
                    f"claim {claim}, cell {cell.id}: the distribution {distribution.name!r} {fault}; "
                    "correct its moments or the function that fills"
                )


def _distributions(value: Any) -> Iterator[Distribution]:
    """Yield the distributions that a sampler draws from, those of its parts included."""
    if isinstance(value, Distribution):
        yield value
    elif is_dataclass(value):
        for field in fields(value):
            yield from _distributions(getattr(value, field.name))
    elif isinstance(value, tuple):
        for part in value:
            yield from _distributions(part)
