"""Every estimand of the catalogue, of checks and of controls: its slope and its derived block variance.

Slopes are taken by complex steps, which are wrong without a word where a function is not analytic. One that
is too small makes intervals too narrow and confirms what it should not; so does a block variance that is.
Both are compared with what they claim to be, on blocks drawn for this test.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache

import numpy as np
from scipy import stats

from tests.catalogue import EACH_QUICKLY_MADE, experiment
from verify.montecarlo.blocks import Cell, Outputs
from verify.montecarlo.distributions import Array, stream
from verify.montecarlo.estimands import Smooth
from verify.montecarlo.experiment import every_comparison, quantities_of

FALSE_ALARM = 1e-6
"""How often one comparison of variances may fail for a right block variance."""
FACTOR = 2.0
"""A block variance that is off by this factor must be seen."""
BLOCKS, COORDINATES = 4096, 1 << 22
"""Drawn of a cell: this many blocks, or as many as take this many components, but at least 160."""


@dataclass(frozen=True)
class Drawn:
    """A smooth estimand of the catalogue with blocks of its cell, shape (blocks, statistics)."""

    where: str
    estimand: Smooth
    values: Array
    names: tuple[str, ...]

    @property
    def mean(self) -> Outputs:
        """The blocks' mean by the outputs' names."""
        return dict(zip(self.names, self.values.mean(axis=0), strict=True))


def drawn(name: str) -> Iterator[Drawn]:
    """Yield every smooth estimand of a claim; members of fits included."""
    for one in quantities_of(every_comparison(experiment(name))):
        if isinstance(one.estimand, Smooth):
            where, names = f"{one.id} in {one.cell.id}", one.cell.sampler.names
            yield Drawn(where, one.estimand, _blocks(name, one.cell), names)


@cache
def _blocks(name: str, cell: Cell) -> Array:
    wanted = max(160, min(BLOCKS, COORDINATES // cell.sampler.coordinates))
    size = cell.batch_blocks
    batches = [
        cell.sampler.sample(stream(7, f"estimands of {name}", cell.id, batch), size)
        for batch in range(-(-wanted // size))
    ]
    blocks: Array = np.concatenate(batches)[:wanted].astype(np.float64)
    return blocks


def slope_by_differences(estimand: Smooth, mean: Outputs, spread: Array) -> Array:
    """Return the gradient of the estimand's value at ``mean``, by central differences."""

    def value(moved: Array) -> float:
        return estimand.function(dict(zip(mean, moved, strict=True)))

    at: Array = np.array([*mean.values()])
    steps = 1e-5 * np.maximum(np.abs(at), spread) + 1e-12
    moved = [(value(at + one) - value(at - one)) / 2 for one in np.diag(steps)]
    return np.array(moved) / steps


def wrong_slopes(ones: Iterator[Drawn]) -> list[str]:
    """Return where a gradient is not the derivative of the value, in units of the estimate's spread."""
    wrong = []
    for one in ones:
        spread = one.values.std(axis=0)
        stated, found = (
            one.estimand.function.gradient(one.mean),
            slope_by_differences(one.estimand, one.mean, spread),
        )
        size = float(np.linalg.norm(found * spread))
        if not np.linalg.norm((stated - found) * spread) <= 1e-4 * size + 1e-12 * abs(
            one.estimand.function(one.mean)
        ):
            wrong.append(f"{one.where}: {stated}, by differences {found}")
    return wrong


def wrong_variances(ones: Iterator[Drawn]) -> list[str]:
    """Return where a derived block variance and the sampled one differ by more than chance allows."""
    wrong = []
    for one in ones:
        derived = one.estimand.block_variance
        if derived is None:
            continue
        linear = (one.values - one.values.mean(axis=0)) @ one.estimand.function.gradient(one.mean)
        unit = one.estimand.function(one.mean) ** 2 if one.estimand.positive else 1.0
        sampled, limit = float(linear.var(ddof=1)) / unit, _limit(linear)
        if derived == 0:
            # Nothing of first order is left: what remains is of the order of the mean's own variance.
            right = sampled <= 100 / len(linear)
        else:
            right = abs(math.log(sampled / derived)) <= limit <= math.log(FACTOR)
        if not right:
            wrong.append(f"{one.where}: sampled {sampled:.3g}, derived {derived:.3g}, by chance {limit:.3g}")
    return wrong


def _limit(linear: Array) -> float:
    """Return how far the logarithm of a sampled variance may lie from that of the true one by chance."""
    kurtosis = float(stats.kurtosis(linear, fisher=False))
    return float(stats.norm.isf(FALSE_ALARM / 2)) * math.sqrt((kurtosis - 1) / len(linear))


@EACH_QUICKLY_MADE
def test_slopes_are_derivatives_and_block_variances_those_of_the_blocks(name: str) -> None:
    """The error of every estimate is that of its statistic, and a derived variance the blocks' own."""
    ones = list(drawn(name))
    assert wrong_slopes(iter(ones)) == []
    assert wrong_variances(iter(ones)) == []
