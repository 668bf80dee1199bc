"""What a verification will take, before it is run: blocks, draws, memory and time of each claim."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

from threadpoolctl import threadpool_limits

from verify.montecarlo.streams import stream
from verify.sampling import Samples, cells_of, every_comparison
from verify.verdict import FalseAlarms

if TYPE_CHECKING:
    from verify.claim import Claim
    from verify.evidence import Settings
    from verify.montecarlo.blocks import Cell

_SPARE = 2
"""Memory in the making beside what a sampler holds: single-precision uniforms and their functions."""


@dataclass(frozen=True)
class Planned:
    """What one claim will take at its first look; later looks double what is still undecided.

    ``draws`` are random components; ``memory`` is in bytes for one worker and does not grow with the
    draws; ``seconds`` is the time of one worker, from timing one batch of every cell on this machine.
    """

    claim: str
    checks: int
    controls: int
    cells: int
    blocks: int
    scores: int
    draws: int
    memory: int
    seconds: float


def plan(claim: Claim, settings: Settings) -> Planned:
    """Return what ``claim`` takes for the wanted tolerance, false-alarm rate and power.

    Where a block's variance is not derived, a pilot sample is drawn to tell it.

    Raises:
        SettingsError: the plan is out of reach; the message says which cell and what to change.
    """
    experiment = claim.experiment(claim.derive(), settings.tolerance)
    samples = Samples(claim.id, settings, FalseAlarms(settings.false_alarm), map)
    samples.plan(experiment)
    cells = cells_of(every_comparison(experiment))
    batches = {cell.id: -(-samples.planned[cell.id] // cell.batch_blocks) for cell in cells}
    blocks = {cell.id: batches[cell.id] * cell.batch_blocks for cell in cells}
    return Planned(
        claim=claim.id,
        checks=len(experiment.checks),
        controls=len(experiment.controls),
        cells=len(cells),
        blocks=sum(blocks.values()),
        scores=sum(blocks[cell.id] * cell.sampler.scores for cell in cells),
        draws=sum(blocks[cell.id] * cell.sampler.coordinates for cell in cells),
        memory=max((_batch_bytes(cell) for cell in cells), default=0),
        seconds=sum(batches[cell.id] * _batch_seconds(cell) for cell in cells),
    )


def _batch_bytes(cell: Cell) -> int:
    return _SPARE * 8 * cell.batch_blocks * cell.sampler.held


def _batch_seconds(cell: Cell) -> float:
    """Return the shortest of three timings of one batch; the first also warms the caches."""
    durations = []
    with threadpool_limits(limits=1):
        for attempt in range(3):
            begun = time.perf_counter()
            cell.sampler.sample(stream(attempt, "plan", cell.id, 0), cell.batch_blocks)
            durations.append(time.perf_counter() - begun)
    return min(durations)
