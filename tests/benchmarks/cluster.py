"""How a run spreads over a cluster: simulated from one worker to 10,000, and measured with Dask.

``python -m tests.benchmarks.cluster`` prints efficiency by workers. The simulation hands the chunks of a run
to workers as the tool does: whoever is free gets the next one, in order. It assumes:

- a task is one chunk up to 512 workers, and longer in proportion beyond;
- ``--chunks`` chunks whose times are lognormal about ``--chunk-s`` seconds, as far apart as measured here;
- one coordinator that spends ``--handling-s`` seconds on each task (sending, adding, storing), one after
  another: at many workers that is what limits; measured here 0.2 ms with a store, to which Dask adds;
- of all chunks, 1% run on a slow moment and take five times as long;
- each worker is lost once in ``--hours`` hours on average; what it was at is drawn again by another after
  ten seconds, and it comes back after a minute;
- derivations are in the store, and memory and network are not what limits: a chunk's sums are kilobytes.

``python -m tests.benchmarks.cluster --measure 4`` runs it by two processes and by that many Dask workers
of this machine, twice each, with new stores, and prints how much longer Dask takes, with starting and ending
all processes; at the default tolerance two processes are at work for about a minute.
"""

import argparse
import contextlib
import ctypes
import heapq
import math
import os
import random
import resource
import subprocess
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

from tests.tool import begin
from verify.evidence.load import load

CLAIMS = ("score-variance", "over-scaling", "sqrt-scaling", "attention-entropy")
_SUBREAPER = 36
"""Linux's name for it."""
WORKERS = (1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024, 2048, 4096, 10_000)


@dataclass(frozen=True)
class Assumptions:
    """What the simulated cluster is like; times are in seconds."""

    chunks: int = 1_000_000
    chunk_s: float = 0.25
    spread: float = 0.6
    handling_s: float = 0.0006
    slow: float = 0.01
    slowness: float = 5.0
    lost_every_s: float = 4 * 3600
    noticed_s: float = 10.0
    back_s: float = 60.0


@dataclass(frozen=True)
class Simulated:
    """What a run took: seconds, seconds of useful work, and tasks done again."""

    wall_s: float
    work_s: float
    lost: int

    def efficiency(self, workers: int) -> float:
        """Return the useful share of the workers' time."""
        return self.work_s / (workers * self.wall_s)


def simulate(workers: int, given: Assumptions, seed: int = 1) -> Simulated:
    """Return what a run takes with a number of workers: each free one gets the coordinator's next task."""
    source = random.Random(seed)  # noqa: S311 - nothing is secret
    centre = math.log(given.chunk_s) - given.spread**2 / 2
    chunks = [
        source.lognormvariate(centre, given.spread)
        * (given.slowness if source.random() < given.slow else 1.0)
        for _ in range(given.chunks)
    ]
    at_once = -(-workers // 512)
    durations = [math.fsum(chunks[start : start + at_once]) for start in range(0, len(chunks), at_once)]
    work = math.fsum(durations)
    free = [(0.0, worker) for worker in range(workers)]
    again: list[tuple[float, float]] = []
    coordinator = end = 0.0
    lost = place = 0
    while place < len(durations) or again:
        ready, worker = heapq.heappop(free)
        if again and (place == len(durations) or again[0][0] <= ready):
            known, duration = heapq.heappop(again)
            ready = max(ready, known)
        else:
            duration = durations[place]
            place += 1
        begun = coordinator = max(ready, coordinator) + given.handling_s
        if source.random() < 1 - math.exp(-duration / given.lost_every_s):
            lost += 1
            at = begun + source.random() * duration
            heapq.heappush(again, (at + given.noticed_s, duration))
            heapq.heappush(free, (at + given.back_s, worker))
            continue
        end = max(end, begun + duration)
        heapq.heappush(free, (begun + duration, worker))
    return Simulated(end, work, lost)


def table(given: Assumptions) -> str:
    """Return efficiency by number of workers as text."""
    lines = [f"{'workers':>8} {'wall':>10} {'efficiency':>11} {'done again':>12}"]
    for workers in WORKERS:
        found = simulate(workers, given)
        share = found.efficiency(workers)
        lines.append(f"{workers:>8} {found.wall_s:>8.1f} s {share:>11.1%} {found.lost:>12}")
    return "\n".join(lines)


@dataclass(frozen=True)
class Measured:
    """Seconds of a command, those of the processor for all its processes, and the digests of its claims."""

    wall_s: float
    processor_s: float
    digests: tuple[str, ...]


def measure(folder: Path, tolerance: float, *workers: object) -> Measured:
    """Return what a run takes with these ``workers``, which keeps what it has drawn in a store of its own."""
    begun, before = time.perf_counter(), _processor_s()
    store = ("--store", folder / "store.sqlite")
    process = begin(
        "run", *CLAIMS, "--tolerance", tolerance, "--out", folder, *store, *workers,
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    if process.wait():
        raise SystemExit(f"the run with {workers} has ended with status {process.returncode}")
    seconds = time.perf_counter() - begun
    with contextlib.suppress(ChildProcessError):
        while True:
            os.wait()
    digests = tuple(claim.digest for claim in load(folder / "results.json").claims)
    return Measured(seconds, _processor_s() - before, digests)


def _processor_s() -> float:
    """Return the processor's seconds of all processes that this one has waited for."""
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def comparison(workers: int, tolerance: float) -> str:
    """Return what two processes and as many Dask workers of this machine take for the same run, as text.

    Each does it twice, in an order that a machine which grows slower or faster is fair to both.
    """
    # Processes that outlive their parent are this one's to wait for, so that their seconds count.
    ctypes.CDLL(None).prctl(_SUBREAPER, 1)
    choices = {"2 processes": ("--workers", 2), f"{workers} Dask workers": ("--cluster", f"local:{workers}")}
    found: dict[str, list[Measured]] = {name: [] for name in choices}
    for name in (*choices, *reversed(choices)):
        with tempfile.TemporaryDirectory() as folder:
            found[name].append(measure(Path(folder), tolerance, *choices[name]))
    few, many = (sum(one.wall_s for one in measured) for measured in found.values())
    least, most = (sum(one.processor_s for one in measured) for measured in found.values())
    digests = {one.digests for measured in found.values() for one in measured}
    lines = [
        *(
            f"{name:16} {one.wall_s:7.1f} s, {again.wall_s:.1f} s; "
            f"of the processor {one.processor_s:.1f} s, {again.processor_s:.1f} s"
            for name, (one, again) in found.items()
        ),
        f"{'overhead':16} {many / few - 1:>+9.1%}, of the processor {most / least - 1:+.1%}",
        f"digests {'equal' if len(digests) == 1 else 'DIFFERENT'}",
    ]
    return "\n".join(lines)


def main() -> None:
    """Print the table, or the measurement."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--measure", type=int, metavar="WORKERS")
    parser.add_argument("--tolerance", type=float, default=0.001)
    parser.add_argument("--chunks", type=int, default=Assumptions.chunks)
    parser.add_argument("--chunk-s", type=float, default=Assumptions.chunk_s)
    parser.add_argument("--handling-s", type=float, default=Assumptions.handling_s)
    parser.add_argument("--hours", type=float, default=Assumptions.lost_every_s / 3600)
    options = parser.parse_args()
    if options.measure:
        print(comparison(options.measure, options.tolerance))
        return
    given = Assumptions(
        options.chunks, options.chunk_s, handling_s=options.handling_s, lost_every_s=3600 * options.hours
    )
    print(given)
    print(table(given))


if __name__ == "__main__":
    main()
