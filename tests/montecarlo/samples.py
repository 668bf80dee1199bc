"""Samplers and samples that several tests share, and the bound that counts are held to."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

import numpy as np
from scipy import stats
from threadpoolctl import threadpool_limits

from tests.strategies import FALSE_ALARM
from verify.engine.measure import Sampling
from verify.montecarlo.blocks import (
    GROUPS, SHARE, Cell, Chunk, Drawn, Outputs, Request, Sample, Sums, draw_chunk, numbered,
)  # fmt: skip
from verify.montecarlo.distributions import NORMAL, Array, Distribution
from verify.montecarlo.inputs import Simulated, bartlett_vectors
from verify.montecarlo.statistics import PairShares, Reduced, ScoreMoments

T = TypeVar("T")

GRID = tuple(float(x) for x in np.geomspace(0.05, 20, 121))
"""Points of a grid for quantiles."""


NAMES = ("mean", "square", "fourth")
"""What the outputs of the samples made here are called, as many as they have."""


SINGLE = 1e-5
"""So far, relative to what is added up, single precision may be off in a statistic of few scores."""


@dataclass
class Spy:
    """A distribution that keeps what it draws."""

    distribution: Distribution = NORMAL
    drawn: list[Array] = field(default_factory=list)

    def draw(self, rng: np.random.Generator, shape: tuple[int, ...], *, single: bool = False) -> Array:
        """Draw from the distribution and keep a copy in double precision."""
        values = self.distribution.draw(rng, shape, single=single)
        return self._kept(values)

    def vectors(self, *arguments: Any) -> Array:
        """Draw vectors in the axes that they span and keep a copy in double precision."""
        return self._kept(bartlett_vectors(*arguments))

    def _kept(self, values: Array) -> Array:
        self.drawn.append(values.astype(np.float64))
        return values


def generator(seed: int = 0) -> np.random.Generator:
    """Return a generator with a fixed seed."""
    return np.random.default_rng([20170612, seed])


def score_matrices(
    d: int, side: int, query: Distribution, key: Distribution, scale: float = 1.0, correlation: float = 0.0
) -> Reduced:
    """Return the sampler of the moments of side×side scores."""
    return Reduced(Simulated(query, key, side, side, d, correlation), ScoreMoments(scale))


def score_pairs(
    d: int, pairs: int, query: Distribution, key: Distribution, grid: tuple[float, ...]
) -> Reduced:
    """Return the sampler of the shares of independent scores at or below the points of a grid."""
    return Reduced(Simulated(query, key, pairs, pairs, d), PairShares(grid))


def named(values: Array) -> Outputs:
    """Return these values by the names of the samplers made here."""
    return Outputs(zip(NAMES, values, strict=False))


def sample_of(values: Array, scores: int = 1) -> Sample:
    """Return the sample that holds these block vectors, its moments computed directly."""
    mean = values.mean(axis=0)
    centred = values - mean
    third = np.einsum("bi,bj,bk->ijk", centred, centred, centred) / len(values)
    covariance = np.atleast_2d(np.cov(values.T))
    counted = (len(values), 2 * len(values), scores * len(values))
    return Sample(*counted, mean, covariance, third, groups_of(values), NAMES[: len(mean)])


def groups_of(values: Array) -> Array:
    """Return the means of the groups that these block vectors are dealt to in turn."""
    if len(values) < GROUPS:
        return np.zeros((0, 0))
    return np.array([values[first::GROUPS].mean(axis=0) for first in range(GROUPS)])


def at_least(successes: int, trials: int, promised: float) -> bool:
    """Return whether this many successes agree with a rate of at least ``promised``, by the exact bound."""
    return bool(successes >= stats.binom.ppf(FALSE_ALARM, trials, promised))


def shares_of(values: Array) -> Sample:
    """Return the sample whose statistics are shares of each block's values at or below the grid's points."""
    shares = (values[:, :, None] <= np.asarray(GRID)).mean(axis=1)
    return Sample(
        len(values),
        values.size,
        values.size,
        shares.mean(axis=0),
        np.cov(shares.T),
        np.zeros((0, 0, 0)),
        names=numbered(SHARE, len(GRID)),
    )


def draw(
    cell: Cell,
    claim: str,
    seed: int,
    blocks: int,
    so_far: Drawn | None,
    mapper: Callable[[Callable[[Chunk], Sums], Iterable[Chunk]], Iterable[Sums]],
) -> Drawn:
    """Return at least ``blocks`` blocks drawn, in whole batches, going on from ``so_far``.

    ``mapper`` applies a function to chunks and yields results in their order; threads come in there.

    Raises:
        ValueError: the sampler names more or fewer outputs than it gives.
    """
    drawn, per_chunk = so_far or Drawn(), cell.chunk_batches
    chunks = list(drawn.missing(claim, seed, -(-blocks // cell.batch_blocks), per_chunk))
    with threadpool_limits(limits=1):
        for chunk, sums in zip(chunks, mapper(lambda one: draw_chunk(cell, one), chunks), strict=True):
            drawn = drawn.then(chunk, sums, per_chunk)
    return drawn


class CellSampler:
    """Draws the cells of one claim here, and keeps what is drawn of each."""

    def __init__(
        self,
        claim: str,
        seed: int,
        mapper: Callable[[Callable[[Chunk], Sums], Iterable[Chunk]], Iterable[Sums]] = map,
    ) -> None:
        self._claim, self._seed, self._mapper = claim, seed, mapper
        self._drawn: dict[str, Drawn] = {}

    def __call__(self, requests: Sequence[Request]) -> tuple[Sums, ...]:
        """Return the sums of each cell requested."""
        for cell, blocks in requests:
            so_far = self._drawn.get(cell.id)
            self._drawn[cell.id] = draw(cell, self._claim, self._seed, blocks, so_far, self._mapper)
        return tuple(self._drawn[request.cell.id].total for request in requests)


def drawn_by(source: Callable[[Sequence[Request]], Sequence[Sums]], sampling: Sampling[T]) -> T:
    """Return the result of a generator whose requests ``source`` answers."""
    try:
        requests = next(sampling)
        while True:
            requests = sampling.send(source(requests))
    except StopIteration as end:
        result: T = end.value
        return result
