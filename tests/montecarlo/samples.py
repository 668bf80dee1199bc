"""Samplers and samples that several tests share, and the bound that counts are held to."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from typing import TypeVar

import numpy as np
from scipy import stats
from sympy import Symbol

from tests.strategies import FALSE_ALARM
from verify.engine.measure import Sampling
from verify.montecarlo.blocks import GROUPS, Cell, Chunk, Drawn, Request, Sample, Sums, draw_chunk
from verify.montecarlo.distributions import Array, Distribution
from verify.montecarlo.estimands import Estimand, Smooth
from verify.montecarlo.quantities import measurement
from verify.symbolic.vocabulary import Var, d, k, m, n, q, score

T = TypeVar("T")
Mapper = Callable[[Callable[[Chunk], Sums], Iterable[Chunk]], Iterable[Sums]]

NOTHING = Drawn()
NAMES = ("mean", "square", "fourth")
"""What the outputs of the samples made here are called, as many as they have."""


def generator(seed: int = 0) -> np.random.Generator:
    """Return a generator with a fixed seed."""
    return np.random.default_rng([20170612, seed])


def score_variance(
    dimension: int, side: int, query: Distribution, key: Distribution | None = None, name: str = "matrices"
) -> tuple[Cell, Estimand]:
    """Return a cell of side×side scores of independent components, and the estimand of their variance."""
    laws, at = {q: query, k: key or query}, {d: dimension}
    cell, estimands = measurement(
        name, {"variance": Var(score)}, laws, at, tolerance=0.01, shape={m: side, n: side}
    )
    return cell, estimands["variance"]


def component(name: str, block_variance: float | None = None) -> Smooth:
    """Return the estimand of one output's mean."""
    symbol = Symbol(name)
    return Smooth(symbol, ((symbol, name),), positive=False, block_variance=block_variance)


def sample_of(values: Array, scores: int = 1, names: tuple[str, ...] = NAMES) -> Sample:
    """Return the sample that holds these block vectors, its moments computed directly."""
    mean = values.mean(axis=0)
    centred = values - mean
    products = np.einsum("bi,bj->bij", centred, centred)
    third = np.einsum("bij,bk->ijk", products, centred) / len(values)
    covariance = products.sum(axis=0) / (len(values) - 1)
    counted = (len(values), 2 * len(values), scores * len(values))
    # Blocks are dealt to the groups in turn.
    groups = [values[first::GROUPS].mean(axis=0) for first in range(GROUPS) if len(values) >= GROUPS]
    dealt = np.array(groups).reshape(-1, values.shape[1])
    return Sample(*counted, mean, covariance, third, dealt, names[: len(mean)])


def samples(cell: Cell, count: int, blocks: int, rng: np.random.Generator) -> Iterator[Sample]:
    """Yield ``count`` independent samples of ``blocks`` blocks each."""
    at_once = max(1, (1 << 17) // (blocks * cell.coordinates))
    for first in range(0, count, at_once):
        values = cell.sample(rng, at_once * blocks).reshape(at_once, blocks, -1)
        for of_sample in values[: count - first]:
            yield sample_of(of_sample, names=cell.names)


def truth_of(d: int, distribution: Distribution) -> float:
    """Return the variance of a score of independent components of one law."""
    second = distribution.moments(2)[2]
    return float(d * (second**2 - distribution.mean**4))


def at_least(successes: int, trials: int, promised: float) -> bool:
    """Return whether this many successes agree with a rate of at least ``promised``, by the exact bound."""
    return bool(successes >= stats.binom.ppf(FALSE_ALARM, trials, promised))


def draw(
    cell: Cell, claim: str, seed: int, blocks: int, drawn: Drawn = NOTHING, mapper: Mapper = map
) -> Drawn:
    """Return at least ``blocks`` blocks drawn, in whole batches, going on from those ``drawn``.

    ``mapper`` applies a function to chunks and yields results in their order; threads come in there.
    """
    chunks = list(drawn.missing(claim, seed, -(-blocks // cell.batch_blocks), cell.chunk_batches))
    for chunk, sums in zip(chunks, mapper(partial(draw_chunk, cell), chunks), strict=True):
        drawn = drawn.then(chunk, sums, cell.chunk_batches)
    return drawn


class CellSampler:
    """Draws the cells of one claim here, and keeps what is drawn of each."""

    def __init__(self, claim: str, seed: int) -> None:
        self._claim, self._seed = claim, seed
        self._drawn: dict[str, Drawn] = {}

    def __call__(self, requests: Sequence[Request]) -> tuple[Sums, ...]:
        """Return the sums of each cell requested."""
        for cell, blocks in requests:
            drawn = self._drawn.get(cell.id, NOTHING)
            self._drawn[cell.id] = draw(cell, self._claim, self._seed, blocks, drawn)
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
