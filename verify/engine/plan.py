"""What a verification will take, before it is run: blocks, draws, memory and time of each claim."""

import time
from collections.abc import Iterator, Sequence

from threadpoolctl import threadpool_limits

from verify.engine.measure import Samples, drawn_by
from verify.engine.validation import validate
from verify.evidence import Record, Setting, Settings
from verify.evidence.judging import ErrorBudget
from verify.evidence.texts import Count, Line, Many, Named, Positive
from verify.executors.machine import peak_memory
from verify.montecarlo.blocks import Cell, CellSampler
from verify.montecarlo.distributions import stream
from verify.montecarlo.experiment import cells_of, every_comparison
from verify.spec.claim import Claim, several
from verify.spec.words import Words


class PlannedCell(Record):
    """What one cell will take at its first look; later looks enlarge by half what is still undecided.

    ``settings`` say what is drawn, as the record of a check says it. ``draws`` are random components;
    ``memory`` is in bytes for one worker and does not grow with the draws; ``seconds`` is the time of one
    worker, from timing one batch on this machine, and ``chunk_s`` that of the longest chunk, the work that
    is never shared.
    """

    id: Line
    settings: Named[Setting]
    blocks: Count
    scores: Count
    draws: Count
    memory: Count
    seconds: Positive
    chunk_s: Positive = 0.0


class Planned(Record):
    """What one claim will take at its first look: its checks and controls counted, and its cells.

    ``blocks``, ``scores``, ``draws`` and ``seconds`` are sums over the cells; ``memory``, in bytes, is that
    of the largest, for they are drawn one after another.
    """

    claim: Line
    checks: Count
    controls: Count
    cells: Many[PlannedCell]

    @property
    def blocks(self) -> int:
        """Blocks to be drawn."""
        return sum(cell.blocks for cell in self.cells)

    @property
    def scores(self) -> int:
        """Scores that these blocks hold."""
        return sum(cell.scores for cell in self.cells)

    @property
    def draws(self) -> int:
        """Random components to be drawn."""
        return sum(cell.draws for cell in self.cells)

    @property
    def memory(self) -> int:
        """Bytes that one worker needs."""
        return max((cell.memory for cell in self.cells), default=0)

    @property
    def seconds(self) -> float:
        """Time of one worker on this machine."""
        return sum(cell.seconds for cell in self.cells)

    def wall_s(self, workers: int) -> float:
        """Return the seconds within which ``workers`` like those of this machine draw everything.

        A free worker takes the next chunk, so all are at work until the last ones are begun (Graham 1966).
        """
        longest = max((cell.chunk_s for cell in self.cells), default=0.0)
        return self.seconds if workers == 1 else self.seconds / workers + longest


def plan(claim: Claim, settings: Settings) -> Planned:
    """Return what ``claim`` takes for the wanted tolerance, false-alarm rate and power.

    Where a block's variance is not derived, a pilot sample is drawn to estimate it.

    Raises:
        SettingsError: the plan is out of reach; the message says which cell and what to change.
        ClaimError: the claim's words type a formula, or name something unknown.
    """
    derivation = claim.derived()
    experiment = claim.measured_by(derivation, settings.tolerance)
    validate(experiment, claim.id)
    words = Words(claim, derivation, several(claim.facts(derivation)), experiment)
    words.said()
    words.spoken(experiment)
    samples = Samples(claim.id, settings, ErrorBudget(settings.false_alarm))
    drawn_by(CellSampler(claim.id, settings.seed), samples.plan(experiment))
    cells = cells_of(every_comparison(experiment))
    return Planned(
        claim=claim.id,
        checks=len(experiment.checks),
        controls=len(experiment.controls),
        cells=tuple(_planned_cell(cell, samples.planned[cell.id]) for cell in cells),
    )


def _planned_cell(cell: Cell, wanted: int) -> PlannedCell:
    """Return what it takes to draw the ``wanted`` blocks, which come in whole batches."""
    batches = -(-wanted // cell.batch_blocks)
    blocks = batches * cell.batch_blocks
    seconds = _batch_seconds(cell)
    return PlannedCell(
        id=cell.id,
        settings=dict(cell.settings),
        blocks=blocks,
        scores=blocks * cell.sampler.scores,
        draws=blocks * cell.sampler.coordinates,
        memory=cell.batch_bytes,
        seconds=batches * seconds,
        chunk_s=min(batches, cell.chunk_batches) * seconds,
    )


_DISPENSABLE = ("scores", "cells", "controls", "blocks", "checks", "memory", "draws")
"""Columns of a plan that a narrow terminal does without, in this order."""


def table(rows: Sequence[Planned], settings: Settings, workers: int = 1, columns: int | None = None) -> str:
    """Return the plans as text, a line a claim and one of totals, under the settings they are for.

    Within a number of ``columns``, the table leaves out what does not fit, counts of cells and scores first.

    The memory of whole processes is what this one has taken, which has derived the claims as a worker does.
    """
    taken = peak_memory()
    in_all = f"\na worker's whole process takes about {taken / 1e6:.0f} MB, as this one did" if taken else ""
    whose = "per worker" if workers == 1 else f"for {workers} workers like those of this machine"
    head = (
        f"tolerance {settings.tolerance:g}, false alarms {settings.false_alarm:g} for the whole run, "
        f"power {settings.power:g}; memory and time {whose}{in_all}"
    )
    names = ("claim", "checks", "controls", "cells", "blocks", "scores", "draws", "memory", "time")
    lines = [names, *(_cells(row, workers) for row in (*rows, together(rows)))]
    for name in (*_DISPENSABLE, ""):
        drawn = list(_columns(lines))
        if columns is None or max(map(len, drawn)) <= columns or not name:
            break
        place = lines[0].index(name)
        lines = [(*line[:place], *line[place + 1 :]) for line in lines]
    return "\n".join([head, "", *drawn])


def together(rows: Sequence[Planned]) -> Planned:
    """Return the plans of several claims as one."""
    return Planned(
        claim="together",
        checks=sum(row.checks for row in rows),
        controls=sum(row.controls for row in rows),
        cells=tuple(cell for row in rows for cell in row.cells),
    )


def _columns(lines: Sequence[tuple[str, ...]]) -> Iterator[str]:
    widths = [max(len(line[column]) for line in lines) for column in range(len(lines[0]))]
    for line in lines:
        yield "  ".join(
            cell.ljust(w) if not n else cell.rjust(w)
            for n, (cell, w) in enumerate(zip(line, widths, strict=True))
        ).rstrip()


def _cells(row: Planned, workers: int) -> tuple[str, ...]:
    counts = (row.checks, row.controls, len(row.cells), row.blocks)
    large = (f"{number:.1e}" if number >= 100_000 else str(number) for number in (row.scores, row.draws))
    return (
        row.claim,
        *map(str, counts),
        *large,
        f"{workers * row.memory / 1e6:.0f} MB",
        f"{row.wall_s(workers):.2f} s",
    )


def _batch_seconds(cell: Cell) -> float:
    """Return the shortest of three timings of one batch; the first also warms the caches."""
    durations = []
    with threadpool_limits(limits=1):
        for attempt in range(3):
            begun = time.perf_counter()
            cell.sampler.sample(stream(attempt, "plan", cell.id, 0), cell.batch_blocks)
            durations.append(time.perf_counter() - begun)
    return min(durations)
