"""What a verification will take, before it is run: blocks, draws, memory and time of each claim."""

from __future__ import annotations

import time
from dataclasses import astuple, dataclass
from typing import TYPE_CHECKING

from threadpoolctl import threadpool_limits

from verify.engine.catalogue import ClaimFile, broken, load
from verify.engine.samples import Samples, cells_of, every_comparison, refuse_malformed
from verify.engine.verdict import FalseAlarms
from verify.errors import WorkerError, own_code_of
from verify.executors.workers import Task, Workers
from verify.montecarlo.streams import stream

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from verify.evidence import Settings
    from verify.montecarlo.blocks import Cell
    from verify.spec.claim import Claim


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


def plan_with(workers: Workers, claim: Claim | ClaimFile, settings: Settings) -> Planned:
    """Return what ``plan`` does, for a claim file of the user's own as well, which is run by ``workers``.

    Raises:
        VerifyError: the plan is out of reach, or the claim is broken.
    """
    if not isinstance(claim, ClaimFile):
        return plan(claim, settings)
    try:
        numbers = workers.call(Task(_plan_file, (claim.path, claim.id, settings), isolate=str(claim.path)))
    except WorkerError as error:
        raise broken(claim, error) from error
    return Planned(claim.id, *numbers)


def _plan_file(path: Path, name: str, settings: Settings) -> tuple[int | float, ...]:
    """Return the numbers of a file's plan."""
    with own_code_of(name, path):
        _, *counts, seconds = astuple(plan(load(path), settings))
        return (*map(int, counts), float(seconds))


def plan(claim: Claim, settings: Settings) -> Planned:
    """Return what ``claim`` takes for the wanted tolerance, false-alarm rate and power.

    Where a block's variance is not derived, a pilot sample is drawn to tell it.

    Raises:
        SettingsError: the plan is out of reach; the message says which cell and what to change.
    """
    experiment = claim.experiment(claim.derive(), settings.tolerance)
    refuse_malformed(experiment, claim.id)
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
        memory=max((cell.batch_bytes for cell in cells), default=0),
        seconds=sum(batches[cell.id] * _batch_seconds(cell) for cell in cells),
    )


def table(rows: Sequence[Planned], settings: Settings) -> str:
    """Return the plans as text, a line a claim and one of totals, under the settings they are for."""
    head = (
        f"tolerance {settings.tolerance:g}, false alarms {settings.false_alarm:g} for the whole run, "
        f"power {settings.power:g}; memory and time are those of one worker"
    )
    names = ("claim", "checks", "controls", "cells", "blocks", "scores", "draws", "memory", "time")
    total = Planned(
        claim="together",
        checks=sum(row.checks for row in rows),
        controls=sum(row.controls for row in rows),
        cells=sum(row.cells for row in rows),
        blocks=sum(row.blocks for row in rows),
        scores=sum(row.scores for row in rows),
        draws=sum(row.draws for row in rows),
        memory=max((row.memory for row in rows), default=0),
        seconds=sum(row.seconds for row in rows),
    )
    lines = [names, *(_cells(row) for row in (*rows, total))]
    widths = [max(len(line[column]) for line in lines) for column in range(len(names))]
    body = (
        "  ".join(
            cell.ljust(w) if not n else cell.rjust(w)
            for n, (cell, w) in enumerate(zip(line, widths, strict=True))
        )
        for line in lines
    )
    return "\n".join([head, "", *body])


def _cells(row: Planned) -> tuple[str, ...]:
    counts = (row.checks, row.controls, row.cells, row.blocks)
    large = (f"{number:.1e}" if number >= 100_000 else str(number) for number in (row.scores, row.draws))
    return (row.claim, *map(str, counts), *large, f"{row.memory / 1e6:.0f} MB", f"{row.seconds:.2f} s")


def _batch_seconds(cell: Cell) -> float:
    """Return the shortest of three timings of one batch; the first also warms the caches."""
    durations = []
    with threadpool_limits(limits=1):
        for attempt in range(3):
            begun = time.perf_counter()
            cell.sampler.sample(stream(attempt, "plan", cell.id, 0), cell.batch_blocks)
            durations.append(time.perf_counter() - begun)
    return min(durations)
