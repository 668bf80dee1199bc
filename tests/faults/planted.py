"""Faults planted in the array code and in the draws, and the claims run under them.

``python -m tests.faults.planted [CLAIM]...`` prints which fault is the first to refute each check.
"""

import sys
from collections.abc import Callable, Sequence
from copy import copy
from dataclasses import dataclass, fields, is_dataclass, replace
from functools import partial
from typing import Any

import numpy as np
import pytest

from tests.catalogue import CATALOGUE, derivation
from verify.claims.gradients.shared import samplers
from verify.claims.newer.shared import rounding
from verify.engine.measure import Samples, drawn_by, judged
from verify.engine.runner import settings
from verify.errors import ClaimError
from verify.evidence import PROFILES, Verdict
from verify.evidence.judging import ErrorBudget
from verify.montecarlo import attention, reference_loops, rows
from verify.montecarlo.blocks import Cell, CellSampler, Request
from verify.montecarlo.distributions import Array, Distribution
from verify.montecarlo.experiment import Comparison, Exact, Experiment, cells_of
from verify.montecarlo.statistics import Reduced

QUICK = settings(profile="quick")
LOOKS = 4
"""Looks at a sample that is too skewed to judge."""
OFF = 1 + 3 * PROFILES["quick"]
"""By how much a statistic is spoiled: well outside the quick profile's tolerance."""


@dataclass(frozen=True)
class Fault:
    """One fault: what is wrong, and the function that plants it until ``patch`` is undone."""

    what: str
    plant: Callable[[pytest.MonkeyPatch], None]


def everywhere(patch: pytest.MonkeyPatch, right: Any, wrong: Any) -> None:
    """Put ``wrong`` in place of ``right`` under every name that a module of the tool has for it."""
    for name, module in list(sys.modules.items()):
        if name.partition(".")[0] == "verify":
            for key, value in list(vars(module).items()):
                if value is right:
                    patch.setattr(module, key, wrong)
    # What a search has found is kept, and would hide the fault.
    reference_loops.worst_row.cache_clear()


# --- the softmax and its statistics -------------------------------------------------------------------


def _softmax(wrong: Callable[[Array], Array]) -> Callable[[pytest.MonkeyPatch], None]:
    return lambda patch: everywhere(patch, attention.softmax, wrong)


def _over_queries(scores: Array) -> Array:
    axis = -2 if scores.ndim > 1 else -1
    exponentials = np.exp(scores - scores.max(axis=axis, keepdims=True))
    weights: Array = exponentials / exponentials.sum(axis=axis, keepdims=True)
    return weights


def _at_temperature(temperature: float, right: Callable[[Array], Array] = attention.softmax) -> Any:
    return lambda scores: right(scores / temperature)


def _without_subtraction(scores: Array) -> Array:
    weights: Array = np.exp(scores) / np.exp(scores).sum(axis=-1, keepdims=True)
    return weights


def _not_normalised(scores: Array) -> Array:
    weights: Array = np.exp(scores - scores.max(axis=-1, keepdims=True)) / scores.shape[-1]
    return weights


def _one_key_more(scores: Array) -> Array:
    top = scores.max(axis=-1, keepdims=True)
    weights: Array = np.exp(scores - top) / (np.exp(-top) + np.exp(scores - top).sum(axis=-1, keepdims=True))
    return weights


def _sum_too_large(scores: Array, right: Callable[[Array], Array] = attention.softmax) -> Array:
    return right(scores) / 1.1


def _least_for_largest(patch: pytest.MonkeyPatch) -> None:
    right = rows.of_rows

    def wrong(scores: Array, wanted: tuple[str, ...]) -> Array:
        found = right(scores, wanted)  # type: ignore[arg-type]
        if "largest" in wanted:
            found[..., wanted.index("largest")] = attention.softmax(scores).min(axis=-1)
        return found

    everywhere(patch, right, wrong)


def _relative(scores: Array, right: Callable[[Array], Array] = attention.softmax) -> Array:
    return right(scores / np.abs(scores).max(axis=-1, keepdims=True))


def _norms(factor: float) -> Callable[[pytest.MonkeyPatch], None]:
    right = reference_loops.spectral_norms
    return lambda patch: everywhere(patch, right, lambda weights: factor * right(weights))


def _output(factor: float) -> Callable[[pytest.MonkeyPatch], None]:
    right = attention.attention
    return lambda patch: everywhere(patch, right, lambda *given: factor * right(*given))


def _rounding(wrong: Callable[[Array, int], Array]) -> Callable[[pytest.MonkeyPatch], None]:
    return lambda patch: everywhere(patch, rounding.rounded, wrong)


def _in_equal_steps(values: Array, bits: int) -> Array:
    step = np.abs(values).max() / 2**bits
    nearest: Array = step * np.rint(values / step)
    return nearest


def _coarser_above_one(values: Array, bits: int, right: Any = rounding.rounded) -> Array:
    coarse: Array = np.where(np.abs(values) > 1, right(values, bits - 2), right(values, bits))
    return coarse


def _own_code(
    patch: pytest.MonkeyPatch, compared: Sequence[Comparison], change: Callable[[Any], Any]
) -> None:
    """Spoil the functions that exact comparisons name as theirs."""
    for code in {one.code for one in compared if isinstance(one, Exact) and one.code is not None}:
        everywhere(patch, code, spoiled(code, change))


def spoiled(code: Callable[..., Any], change: Callable[[Any], Any]) -> Callable[..., Any]:
    """Return ``code`` with all numbers of its result changed."""

    def changed(found: Any) -> Any:
        if isinstance(found, tuple | list):
            return type(found)(changed(one) for one in found)
        if isinstance(found, dict):
            return {key: changed(one) for key, one in found.items()}
        return change(found)

    return lambda *args, **kwargs: changed(code(*args, **kwargs))


def _larger(found: Any) -> Any:
    # Unevenly, for what is even in all entries a rank or a softmax does not see.
    shape = getattr(found, "shape", ())
    return OFF * found + np.linspace(0.2, 0.4, int(np.prod(shape))).reshape(shape)


def _smaller(found: Any) -> Any:
    return (found - 0.2) / OFF


# --- gradients, masks, scales -------------------------------------------------------------------------


def _probabilities(
    scale: Callable[[Any], Any] = lambda scale: scale,
    mask: Callable[[Array], Array | None] = lambda mask: mask,
) -> Callable[[pytest.MonkeyPatch], None]:
    right = attention.probabilities

    def wrong(queries: Array, keys: Array, of: Any, hidden: Array | None = None) -> Array:
        return right(queries, keys, scale(of), hidden if hidden is None else mask(hidden))

    return lambda patch: everywhere(patch, right, wrong)


def _with(found: attention.Gradients, **others: Array) -> attention.Gradients:
    """Return the gradients with some of them replaced, as if they had been computed so."""
    spoiled_ones = copy(found)
    vars(spoiled_ones).update(others)
    return spoiled_ones


def _gradients(**spoil: Callable[[Array], Array]) -> Callable[[pytest.MonkeyPatch], None]:
    right = attention.gradients

    def wrong(*arguments: Any) -> attention.Gradients:
        found = right(*arguments)
        return _with(found, **{name: change(getattr(found, name)) for name, change in spoil.items()})

    return lambda patch: everywhere(patch, right, wrong)


def _unscaled_gradients(patch: pytest.MonkeyPatch) -> None:
    right = attention.gradients

    def wrong(*arguments: Any) -> attention.Gradients:
        found, scale = right(*arguments), arguments[-1]
        return _with(found, queries=found.queries / scale, keys=found.keys / scale)

    everywhere(patch, right, wrong)


def _over_scale(patch: pytest.MonkeyPatch) -> None:
    right = attention.gradients

    def wrong(*arguments: Any) -> attention.Gradients:
        found, scale = right(*arguments), arguments[-1]
        return _with(found, queries=found.queries / scale**2, keys=found.keys / scale**2)

    everywhere(patch, right, wrong)


def _without_inner_product(patch: pytest.MonkeyPatch) -> None:
    everywhere(patch, attention.score_gradients, lambda weights, of_probabilities: weights * of_probabilities)


def _through_normalisation_unchanged(patch: pytest.MonkeyPatch) -> None:
    everywhere(patch, samplers._through_normalisation, lambda upstream, *_: upstream)


def _samplers() -> list[type]:
    """Return every class of the tool that draws blocks."""
    found = {
        value
        for name, module in sys.modules.items()
        if name.startswith("verify.")
        for value in vars(module).values()
        if isinstance(value, type)
        and is_dataclass(value)
        and hasattr(value, "sample")
        and hasattr(value, "held")
    }
    return sorted(found, key=lambda one: one.__name__)


def _sampling(field: str, change: Callable[[Any, Any], Any]) -> Callable[[pytest.MonkeyPatch], None]:
    """Plant samplers that draw with another value of ``field`` than they say they do."""

    def plant(patch: pytest.MonkeyPatch) -> None:
        for sampler in _samplers():
            right = sampler.sample  # type: ignore[attr-defined]

            def wrong(self: Any, rng: Any, count: int, right: Any = right) -> Array:
                result: Array = right(changed(self, field, partial(change, self)), rng, count)
                return result

            patch.setattr(sampler, "sample", wrong)

    return plant


def changed(part: Any, field: str, change: Callable[[Any], Any]) -> Any:
    """Return a sampler with another value of ``field``, its own or that of its input or statistic."""
    if isinstance(part, Reduced):
        return Reduced(changed(part.input, field, change), changed(part.statistic, field, change))
    if field not in {one.name for one in fields(part)}:
        return part
    return replace(part, **{field: change(getattr(part, field))})


def _size(sampler: Any) -> int:
    """Return a sampler's dimension."""
    return int(sampler.input.shape.d if isinstance(sampler, Reduced) else sampler.d)


def _statistics(change: Callable[[Array], Array]) -> Callable[[pytest.MonkeyPatch], None]:
    """Plant samplers that return spoiled statistics."""

    def plant(patch: pytest.MonkeyPatch) -> None:
        for sampler in _samplers():
            right = sampler.sample  # type: ignore[attr-defined]
            patch.setattr(
                sampler, "sample", lambda self, rng, count, right=right: change(right(self, rng, count))
            )

    return plant


# --- components ---------------------------------------------------------------------------------------


def _components(change: Callable[[Distribution, np.random.Generator, Array], Array]) -> Any:
    """Plant distributions whose draws are changed by ``change`` of distribution, generator and draws."""
    right = Distribution.draw

    def wrong(
        self: Distribution, rng: np.random.Generator, shape: tuple[int, ...], *, single: bool = False
    ) -> Array:
        return change(self, rng, right(self, rng, shape, single=single))

    return lambda patch: patch.setattr(Distribution, "draw", wrong)


def _location(distribution: Distribution) -> float:
    return float(distribution.mean) if len(distribution.base_moments) > 1 else 0.0


def _deviation(distribution: Distribution) -> float:
    return float(distribution.variance) ** 0.5 if len(distribution.base_moments) > 2 else 1.0


def _correlated(distribution: Distribution, rng: np.random.Generator, x: Array) -> Array:
    shared = rng.normal(size=(len(x), *(1 for _ in x.shape[1:])))
    centre = _location(distribution)
    correlated: Array = centre + 0.9**0.5 * (x - centre) + 0.1**0.5 * _deviation(distribution) * shared
    return correlated


def _heavier(distribution: Distribution, rng: np.random.Generator, x: Array) -> Array:
    """Keep mean and variance and double the kurtosis: half of the components are 0, the others √2 larger."""
    centre = _location(distribution)
    heavier: Array = centre + 2**0.5 * (x - centre) * rng.integers(0, 2, size=x.shape)
    return heavier


def _per_side(right: Any) -> Callable[[Any, np.random.Generator, int], Array]:
    def wrong(self: Any, rng: np.random.Generator, count: int) -> Array:
        found: Array = right(self, rng, count)
        side = self.input.shape.m if isinstance(self, Reduced) else getattr(self, "side", 1)
        return found * (side / (side - 1) if side > 1 else 1.0)

    return wrong


def _divided_by_one_less(patch: pytest.MonkeyPatch) -> None:
    for sampler in _samplers():
        patch.setattr(sampler, "sample", _per_side(sampler.sample))  # type: ignore[attr-defined]


def _rolled(array: Array) -> Array:
    return np.roll(array, 1, axis=1)


FAULTS = {
    "components-larger": Fault("components are 10% larger", _components(lambda _, __, x: 1.1 * x)),
    "components-smaller": Fault("components are 10% smaller", _components(lambda _, __, x: x / 1.1)),
    "correlated": Fault(
        "all components of a block share a tenth of their variance", _components(_correlated)
    ),
    "heavier": Fault("components have twice their kurtosis", _components(_heavier)),
    "shifted": Fault(
        "components have a mean of half a deviation",
        _components(lambda distribution, _, x: x + 0.5 * _deviation(distribution)),
    ),
    "statistic-larger": Fault("all statistics are too large", _statistics(lambda found: OFF * found)),
    "statistic-smaller": Fault("all statistics are too small", _statistics(lambda found: found / OFF)),
    "statistic-moved": Fault("all statistics are 2 too large", _statistics(lambda found: found + 2)),
    "scale-with-dimension": Fault(
        "the scale has a wrong power of the dimension",
        _sampling("scale", lambda self, scale: scale * _size(self) ** 0.1),
    ),
    "index-shifted": Fault("each statistic stands in the place of the next", _statistics(_rolled)),
    "one-dimension-more": Fault("vectors have one component more", _sampling("d", lambda _, d: d + 1)),
    "divided-by-one-less": Fault("means over rows divide by one too few", _divided_by_one_less),
    "warm": Fault("the softmax has temperature 1.3", _softmax(_at_temperature(1.3))),
    "cold": Fault("the softmax has temperature 1/1.3", _softmax(_at_temperature(1 / 1.3))),
    "larger-scale": Fault(
        "the scale is 1.3 times as large", _sampling("scale", lambda _, scale: 1.3 * scale)
    ),
    "squared-scale": Fault("the scale is squared", _sampling("scale", lambda _, scale: scale**2)),
    "no-scale": Fault("the scale is left out", _sampling("scale", lambda _, __: 1.0)),
    "scales-exchanged": Fault("scales are in reverse order", _sampling("scales", lambda _, s: s[::-1])),
    "one-scale": Fault("all scales are the last", _sampling("scales", lambda _, s: s[-1:] * len(s))),
    "weights-scaled": Fault("attention uses 1.3 times its scale", _probabilities(lambda scale: 1.3 * scale)),
    "weights-squared": Fault(
        "attention uses the square of its scale", _probabilities(lambda scale: scale**2)
    ),
    "mask-shifted": Fault(
        "a mask is shifted by one key", _probabilities(mask=lambda m: np.roll(m, 1, axis=-1))
    ),
    "mask-ignored": Fault("a mask is ignored", _probabilities(mask=lambda _: None)),
    "positions-shifted": Fault(
        "a causal row sees one key more", _sampling("positions", lambda _, p: tuple(one + 1 for one in p))
    ),
    "over-queries": Fault("the softmax runs over the queries", _softmax(_over_queries)),
    "divided-by-n": Fault("the softmax divides by the number of keys", _softmax(_not_normalised)),
    "sum-too-large": Fault("the softmax divides by 1.1 times the sum", _softmax(_sum_too_large)),
    "one-key-more": Fault("the softmax counts a key of score 0 that is not there", _softmax(_one_key_more)),
    "not-moved": Fault("the softmax subtracts no largest score", _softmax(_without_subtraction)),
    "least": Fault("the least probability is taken for the largest", _least_for_largest),
    "gradient-factor": Fault(
        "gradients of queries and keys are 1.3 times too large",
        _gradients(queries=lambda x: 1.3 * x, keys=lambda x: 1.3 * x),
    ),
    "gradient-sign": Fault(
        "gradients of queries and keys have the wrong sign", _gradients(queries=np.negative, keys=np.negative)
    ),
    "gradient-without-scale": Fault("gradients lack the scale", _unscaled_gradients),
    "gradient-over-scale": Fault("gradients are divided by the square of the scale", _over_scale),
    "gradient-without-sum": Fault("gradients of scores lack the row's sum", _without_inner_product),
    "score-gradient": Fault(
        "gradients of scores are 1.1 times too large", _gradients(scores=lambda x: 1.1 * x)
    ),
    "value-gradient": Fault(
        "gradients of values are 1.1 times too large", _gradients(values=lambda x: 1.1 * x)
    ),
    "probability-gradient": Fault(
        "gradients of probabilities are 1.1 times too large", _gradients(probabilities=lambda x: 1.1 * x)
    ),
    "relative-scores": Fault("the softmax divides by the largest score", _softmax(_relative)),
    "norms-larger": Fault("spectral norms are 5% too large", _norms(1.05)),
    "norms-smaller": Fault("spectral norms are 5% too small", _norms(1 / 1.05)),
    "output-larger": Fault("attention's output is 10% too large", _output(1.1)),
    "normalisation-skipped": Fault(
        "gradients pass a normalisation unchanged", _through_normalisation_unchanged
    ),
    "statistic-tenfold": Fault(
        "all statistics are ten times too large", _statistics(lambda found: 10 * found)
    ),
    "equal-steps": Fault("numbers of few bits have equal steps", _rounding(_in_equal_steps)),
    "coarser": Fault("numbers above 1 have two bits less", _rounding(_coarser_above_one)),
    "statistic-tenth": Fault("all statistics are ten times too small", _statistics(lambda found: found / 10)),
}
OWN_CODE = {"own-code-larger": _larger, "own-code-smaller": _smaller, "own-code-negated": lambda x: -x}
"""The last faults tried: what exact checks name as their own functions returns other numbers."""


@dataclass
class Bench:
    """One claim, its derivation and the blocks that it plans without a fault."""

    name: str

    def __post_init__(self) -> None:
        """Derive once, and plan as the tool does."""
        self.claim = CATALOGUE[self.name]
        self.derivation = derivation(self.name)
        experiment = self.experiment()
        samples = self._samples()
        drawn_by(CellSampler(self.name, QUICK.seed), samples.plan(experiment))
        self.planned = samples.planned
        self.checks = [check.id for check in experiment.checks]

    def experiment(self) -> Experiment:
        """Return the claim's experiment, with whatever is planted now."""
        return self.claim.experiment(self.derivation, QUICK.tolerance)

    def _samples(self) -> Samples:
        return Samples(self.name, QUICK, ErrorBudget(QUICK.false_alarm))

    def refuted(self, wanted: Sequence[str]) -> set[str]:
        """Return which of the ``wanted`` checks are refuted, with whatever is planted now.

        A check has the blocks that it plans without a fault; where these are too skewed, some more.
        """
        samples, drawing = self._samples(), CellSampler(self.name, QUICK.seed)
        checks = [check for check in self.experiment().checks if check.id in wanted]
        found: set[str] = set()
        for look in range(1, LOOKS + 1):
            looks = 2 ** (look - 1)
            drawn = {
                cell.id
                for cell in cells_of(checks)
                if _is_drawn(samples, drawing, cell, self.planned[cell.id] * looks)
            }
            checks = [one for one in checks if drawn.issuperset(cell.id for cell in cells_of([one]))]
            judged = {one.id: _judged(samples, one, look) for one in checks}
            found |= {name for name, (refuted, _) in judged.items() if refuted}
            checks = [one for one in checks if not judged[one.id][1]]
        return found

    def under(self, fault: str, wanted: Sequence[str]) -> set[str]:
        """Return which of the ``wanted`` checks are refuted under ``fault``."""
        with pytest.MonkeyPatch.context() as patch, np.errstate(all="ignore"):
            if fault in OWN_CODE:
                _own_code(patch, self.experiment().checks, OWN_CODE[fault])
            else:
                FAULTS[fault].plant(patch)
            found = self.refuted(wanted)
        reference_loops.worst_row.cache_clear()
        return found


def _is_drawn(samples: Samples, drawing: CellSampler, cell: Cell, blocks: int) -> bool:
    """Draw blocks of a cell; return whether all it gives is finite.

    What is not ends a run with an error, and refutes nothing.
    """
    try:
        drawn_by(drawing, samples.extend([Request(cell, blocks)]))
    except ValueError as error:
        if "is not finite in some block" not in str(error):
            raise
        return False
    return True


def _judged(samples: Samples, check: Comparison, look: int) -> tuple[bool, bool]:
    """Return whether a check is refuted, and whether its interval can be trusted.

    A power law through what is not positive is an error of the claim, and no verdict.
    """
    try:
        found = samples.measured(check, samples.budget.share(look))
    except ClaimError:
        return False, True
    if isinstance(check, Exact) and not np.isfinite(found.value):
        return True, True  # a run refuses it before it judges
    decided = judged(check, found, samples.settings.tolerance, look, samples.budget.share(look))
    return decided.verdict is Verdict.REFUTED, found.reliable


def first_faults(bench: Bench, chosen: Sequence[str] = (*FAULTS, *OWN_CODE)) -> dict[str, str | None]:
    """Return for each check of a claim the first of the ``chosen`` faults that refutes it, or None."""
    first: dict[str, str | None] = dict.fromkeys(bench.checks)
    for name in chosen:
        left = [check for check, fault in first.items() if fault is None]
        if not left:
            break
        first |= dict.fromkeys(bench.under(name, left), name)
    return first


def main() -> None:
    """Print the first fault that refutes each check of the claims named, or of all."""
    for name in sys.argv[1:] or CATALOGUE:
        for check, fault in first_faults(Bench(name)).items():
            print(f"{name:32} {check:32} {fault or 'NONE'}", flush=True)


if __name__ == "__main__":
    main()
