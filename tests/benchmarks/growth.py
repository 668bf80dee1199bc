"""How time and memory grow: with the dimension, the tolerance, the number of checks, the workers.

Run by hand: ``python -m tests.benchmarks.growth``. Ratios within one run on one machine are what counts.
"""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from statistics import median
from typing import TYPE_CHECKING

from verify.designs import score_cell
from verify.montecarlo.blocks import draw
from verify.montecarlo.components import NORMAL
from verify.montecarlo.estimands import Goal

if TYPE_CHECKING:
    from collections.abc import Callable


def certificate(d: int, tolerance: float, alpha: float = 6e-7, workers: int = 1) -> float:
    """Return the seconds that the planned sample of one check of the variance takes."""
    cell = score_cell(d, NORMAL, NORMAL, tolerance)
    blocks = cell.variance.blocks_needed(Goal(alpha, 0.05, d, tolerance * d), None) or 0
    with ThreadPoolExecutor(workers) as pool:
        begun = time.perf_counter()
        draw(cell.cell, "growth", 1, blocks, None, pool.map if workers > 1 else map)
        return time.perf_counter() - begun


def middle(task: Callable[[], float], times: int = 5) -> float:
    """Return the median of several timings."""
    return median(task() for _ in range(times))


def peak_megabytes(scores: int) -> float:
    """Return the peak memory of a process that draws so many scores at d = 64."""
    code = (
        "import resource\n"
        "from verify.montecarlo.blocks import Cell, draw\n"
        "from verify.montecarlo.components import NORMAL\n"
        "from verify.montecarlo.scores import ScoreMatrices\n"
        "cell = Cell('peak', (), ScoreMatrices(64, 256, NORMAL, NORMAL))\n"
        f"draw(cell, 'peak', 1, {scores} // 256**2, None, map)\n"
        "print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    return int(done.stdout) / 1024


def main() -> None:
    """Print the tables."""
    certificate(4, 0.05)
    base = middle(lambda: certificate(64, 0.01))
    print("time against the dimension, tolerance 1%, over that at d = 64")
    for d in (1, 4, 16, 64, 256, 1024, 4096):
        print(f"  d = {d:5d}  {middle(lambda d=d: certificate(d, 0.01), 3) / base:7.2f}")  # type: ignore[misc]
    print("time against the tolerance at d = 64, over that at 1%  (1/tolerance² would be the second figure)")
    for tolerance in (0.02, 0.01, 0.005, 0.0025, 0.00125):
        took = middle(lambda t=tolerance: certificate(64, t), 3) / base  # type: ignore[misc]
        print(f"  {tolerance:7.3%}  {took:7.2f}  {(0.01 / tolerance) ** 2:7.2f}")
    print("planned draws against the places of the error budget, over those of 10 places")
    goals = [Goal(1e-3 / places * 0.6, 0.05, 64, 0.64) for places in (10, 100, 1000, 10_000)]
    needed = [goal.deviations() ** 2 for goal in goals]
    for places, one in zip((10, 100, 1000, 10_000), needed, strict=True):
        print(f"  {places:6d}  {one / needed[0]:5.2f}")
    one, two = (middle(lambda w=w: certificate(1024, 0.003, workers=w), 3) for w in (1, 2))  # type: ignore[misc]
    print(f"two workers: {one / two:.2f} times one ({os.cpu_count()} processors)")
    print("peak memory against the scores drawn at d = 64")
    for scores in (10**7, 10**8, 10**9):
        print(f"  {scores:.0e}  {peak_megabytes(scores):6.0f} MB")
    print(f"this process: {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024:.0f} MB")


if __name__ == "__main__":
    main()
