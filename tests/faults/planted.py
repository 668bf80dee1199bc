"""Faults planted in the array code and in the draws, and the claims run under them.

    python -m tests.faults.planted [CLAIM ... | all]

prints which fault is the first to refute each check; a check that none refutes cannot fail. Without claims,
every eighth is tried, which takes minutes.
"""

import sys
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from multiprocessing import get_context
from typing import Any

import numpy as np
import pytest

from tests.montecarlo.samples import CellSampler, drawn_by
from tests.catalogue import CATALOGUE, derivation, experiment
from verify.engine import measure as engine
from verify.engine.runner import settings
from verify.errors import ClaimError
from verify.evidence import PROFILES, Verdict
from verify.montecarlo.blocks import Cell
from verify.montecarlo.distributions import Array, Distribution
from verify.montecarlo.experiment import Exact, Experiment
from verify.montecarlo.operations import softmax
from verify.spec import arrays
from verify.symbolic.vocabulary import d

QUICK = settings(profile="quick", power=0.5)
"""Faults are far outside the tolerance, so that small samples tell."""
LOOKS = 2
"""Interim analyses, for what a fault leaves undecided another fault refutes."""
OFF = 1 + 3 * PROFILES["quick"]
"""By how much a statistic is spoiled: well outside the quick profile's tolerance."""

Plant = Callable[[pytest.MonkeyPatch], None]
"""What plants a fault until the patch is undone."""


def everywhere(patch: pytest.MonkeyPatch, right: Any, wrong: Any) -> None:
    """Put ``wrong`` in place of ``right`` under every name that a module of the tool has for it."""
    for name, module in list(sys.modules.items()):
        if name.partition(".")[0] == "verify":
            for key, value in list(vars(module).items()):
                if value is right:
                    patch.setattr(module, key, wrong)
    # What a search has found is kept, and would hide the fault.
    arrays.largest_ratio.cache_clear()


def _softmax(wrong: Callable[[Array], Array]) -> Plant:
    return lambda patch: everywhere(patch, softmax, wrong)


ROUNDED, SPECTRAL_NORMS = arrays.rounded, arrays.spectral_norms
"""The right functions, by names that no fault is planted under."""


def _over_queries(scores: Array) -> Array:
    axis = -2 if scores.ndim > 1 else -1
    exponentials = np.exp(scores - scores.max(axis=axis, keepdims=True))
    return np.asarray(exponentials / exponentials.sum(axis=axis, keepdims=True))


def _coarser_above_1(values: Array, bits: int) -> Array:
    return np.asarray(np.where(np.abs(values) > 1, ROUNDED(values, bits - 2), ROUNDED(values, bits)))


def _statistics(change: Callable[[Array, Cell], Array]) -> Plant:
    """Plant samplers that return spoiled statistics."""
    right = Cell.sample
    return lambda patch: patch.setattr(
        Cell, "sample", lambda self, rng, count: change(right(self, rng, count), self)
    )


def _drawing(change: Callable[[Cell], dict[str, Any]]) -> Plant:
    """Plant blocks that are drawn with other sizes or values than they say."""
    right = Cell.sample
    return lambda patch: patch.setattr(
        Cell, "sample", lambda self, rng, count: right(replace(self, **change(self)), rng, count)
    )


def _components(change: Callable[[Array, float, np.random.Generator], Array]) -> Plant:
    """Plant laws whose draws are changed, by a function of the draws, their deviation and the generator."""
    right = Distribution.draw

    def wrong(
        self: Distribution, rng: np.random.Generator, shape: tuple[int, ...], *, single: bool = False
    ) -> Array:
        deviation = float(self.central_moments(2)[2]) ** 0.5 if len(self.base_moments) > 2 else 1.0
        mean = float(self.mean) if len(self.base_moments) > 1 else 0.0
        return mean + change(right(self, rng, shape, single=single) - mean, deviation, rng)

    return lambda patch: patch.setattr(Distribution, "draw", wrong)


def _correlated(x: Array, deviation: float, rng: np.random.Generator) -> Array:
    shared = rng.normal(size=(len(x), *(1 for _ in x.shape[1:])))
    correlated: Array = 0.9**0.5 * x + 0.1**0.5 * deviation * shared
    return correlated


FAULTS: dict[str, Plant] = {
    "components 10% larger": _components(lambda x, _, __: 1.1 * x),
    "components 10% smaller": _components(lambda x, _, __: x / 1.1),
    "components moved by half a deviation": _components(lambda x, deviation, _: x + 0.5 * deviation),
    "components of twice the kurtosis": _components(
        lambda x, _, rng: 2**0.5 * x * rng.integers(0, 2, x.shape)
    ),
    "statistics 15% larger": _statistics(lambda values, _: OFF * values),
    "statistics 15% smaller": _statistics(lambda values, _: values / OFF),
    "statistics 2 larger": _statistics(lambda values, _: values + 2),
    "statistics ten times as large": _statistics(lambda values, _: 10 * values),
    "statistics ten times as small": _statistics(lambda values, _: values / 10),
    "statistics in each other's place": _statistics(lambda values, _: np.roll(values, 1, axis=1)),
    "statistics times a power of the dimension": _statistics(
        lambda values, blocks: values * dict(blocks.sizes).get(d, 1) ** 0.1
    ),
    "one component more": _drawing(
        lambda cell: {"sizes": tuple((size, length + (size == d)) for size, length in cell.sizes)}
    ),
    "values of symbols 15% larger": _drawing(
        lambda cell: {"values": tuple((symbol, OFF * value) for symbol, value in cell.values)}
    ),
    "softmax at temperature 1.3": _softmax(lambda scores: softmax(scores / 1.3)),
    "softmax at temperature 1/1.3": _softmax(lambda scores: softmax(1.3 * scores)),
    "softmax over the queries": _softmax(_over_queries),
    "softmax divided by 1.1 times the sum": _softmax(lambda scores: softmax(scores) / 1.1),
    "numbers above 1 of two bits less": lambda patch: everywhere(patch, ROUNDED, _coarser_above_1),
    "spectral norms 5% larger": lambda patch: everywhere(
        patch, SPECTRAL_NORMS, lambda weights: 1.05 * SPECTRAL_NORMS(weights)
    ),
    "spectral norms 5% smaller": lambda patch: everywhere(
        patch, SPECTRAL_NORMS, lambda weights: SPECTRAL_NORMS(weights) / 1.05
    ),
    # Under this fault samples are planned large.
    "components with a tenth of their variance in common": _components(_correlated),
}
OTHER_RESULTS: dict[str, Callable[[float], float]] = {
    "results larger": lambda value: OFF * value + 0.2,
    "results smaller": lambda value: (value - 0.2) / OFF,
    "results negated": lambda value: -value,
}
"""The last faults tried: what the code of exact checks computes is another number."""


def refuted(
    name: str, wanted: Sequence[str], change: Callable[[float], float] = lambda value: value
) -> set[str]:
    """Return which of the ``wanted`` checks of a claim are refuted, with whatever is planted now.

    What exact checks have computed gets the ``change``.

    What cannot be drawn or judged, such as what is not finite, ends a run with an error and is no refutation;
    then each check is tried by itself.
    """
    # A claim of its own, for what is computed once is remembered with the claim, without the fault.
    planted = replace(CATALOGUE[name]).measured_by(derivation(name), QUICK.tolerance)
    checks = tuple(
        replace(check, computed=change(check.computed)) if isinstance(check, Exact) else check
        for check in planted.checks
        if check.id in wanted
    )
    measuring = engine.measure(Experiment(checks, ()), name, QUICK)
    try:
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(engine, "MAX_LOOKS", LOOKS)
            findings, _ = drawn_by(CellSampler(name, QUICK.seed), measuring)
    except (ClaimError, ValueError):
        alone = [refuted(name, [check], change) for check in wanted] if len(wanted) > 1 else []
        return set().union(*alone)
    return {check.id for check in findings.checks.values() if check.verdict is Verdict.REFUTED}


def refuted_under(fault: str, name: str, wanted: Sequence[str]) -> set[str]:
    """Return which of the ``wanted`` checks of a claim are refuted under a fault."""
    if fault in OTHER_RESULTS:
        return refuted(name, wanted, OTHER_RESULTS[fault])
    with pytest.MonkeyPatch.context() as patch, np.errstate(all="ignore"):
        FAULTS[fault](patch)
        names = refuted(name, wanted)
    arrays.largest_ratio.cache_clear()
    return names


def first_faults(name: str) -> dict[str, str | None]:
    """Return for each check of a claim the first of the faults that refutes it, or None."""
    first: dict[str, str | None] = {check.id: None for check in experiment(name).checks}
    for fault in (*FAULTS, *OTHER_RESULTS):
        left = [check for check, refuting in first.items() if refuting is None]
        if left:
            first |= dict.fromkeys(refuted_under(fault, name, left), fault)
    return first


def main() -> None:
    """Print the first fault that refutes each check of the claims named."""
    names = sys.argv[1:] or list(CATALOGUE)[::8]
    names = list(CATALOGUE) if names == ["all"] else names
    with ProcessPoolExecutor(mp_context=get_context("forkserver")) as pool:
        for name, faults in zip(names, pool.map(first_faults, names), strict=True):
            for check, fault in faults.items():
                print(f"{name:32} {check:32} {fault or 'NONE'}", flush=True)


if __name__ == "__main__":
    main()
