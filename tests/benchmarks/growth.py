"""How time and memory grow: with the dimension, the tolerance, the number of checks, the workers.

Run by hand: ``python -m tests.benchmarks.growth``. Ratios within one run on one machine are what counts.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from pathlib import Path
from statistics import median

from verify.evidence import Axis, Figure, PlotLayer
from verify.executors.threads import thread_map
from verify.montecarlo.blocks import draw
from verify.montecarlo.distributions import NORMAL
from verify.montecarlo.estimands import Goal
from verify.report.figures import draw as draw_figure
from verify.spec.cells import score_cell


def certificate(d: int, tolerance: float, alpha: float = 6e-7, workers: int = 1) -> float:
    """Return the seconds that the planned sample of one check of the variance takes."""
    cell = score_cell(d, NORMAL, NORMAL, tolerance)
    blocks = cell.variance.blocks_needed(Goal(alpha, 0.05, d, tolerance * d), None) or 0
    with thread_map(workers) as mapper:
        begun = time.perf_counter()
        draw(cell.cell, "growth", 1, blocks, None, mapper)
        return time.perf_counter() - begun


def middle(task: Callable[[], float], times: int = 5) -> float:
    """Return the median of several timings."""
    return median(task() for _ in range(times))


def peak_megabytes(scores: int) -> float:
    """Return the peak memory of a process that draws this number of scores at d = 64."""
    code = (
        "import resource\n"
        "from verify.montecarlo.blocks import Cell, draw\n"
        "from verify.montecarlo.distributions import NORMAL\n"
        "from verify.montecarlo.inputs import Simulated\n"
        "from verify.montecarlo.statistics import Reduced, ScoreMoments\n"
        "cell = Cell('peak', (), Reduced(Simulated(NORMAL, NORMAL, 256, 256, 64), ScoreMoments()))\n"
        f"draw(cell, 'peak', 1, {scores} // 256**2, None, map)\n"
        "print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    return int(done.stdout) / 1024


DIMENSIONS = (1, 4, 16, 64, 256, 1024, 4096)
TOLERANCES = (0.02, 0.01, 0.005, 0.0025, 0.00125)
PLACES = (10, 100, 1000, 10_000)


def against_dimension(base: float) -> PlotLayer:
    """Return the time of a certificate to 1% over ``base``, by dimension."""
    times = [middle(partial(certificate, d, 0.01), 3) / base for d in DIMENSIONS]
    return _line("time to ±1% by dimension", DIMENSIONS, times)


def against_tolerance(base: float) -> PlotLayer:
    """Return the time of a certificate at d = 64 over ``base``, by the inverse square of the tolerance."""
    times = [middle(partial(certificate, 64, t), 3) / base for t in TOLERANCES]
    return _line("time at d = 64 by (1%/tolerance)²", [(0.01 / t) ** 2 for t in TOLERANCES], times)


def against_places() -> PlotLayer:
    """Return the planned draws over those of 10 places of the error budget, by places."""
    needed = [Goal(1e-3 / places * 0.6, 0.05, 64, 0.64).deviations() ** 2 for places in PLACES]
    return _line("draws by places of the error budget", PLACES, [one / needed[0] for one in needed])


def _line(label: str, x: Iterable[float], y: Iterable[float]) -> PlotLayer:
    return PlotLayer(kind="points", role="measured", label=label, x=tuple(map(float, x)), y=tuple(y))


def _figure(layers: Sequence[PlotLayer]) -> Figure:
    return Figure(
        id="growth",
        title="Time grows with the inverse square of the tolerance, hardly with the number of checks",
        alt="Ratios of time or draws against dimension, inverse squared tolerance, and places of the budget.",
        x=Axis(label="dimension, inverse squared tolerance, or places", scale="log"),
        y=Axis(label="ratio", scale="log"),
        layers=tuple(layers),
    )


def main() -> None:
    """Print the tables; with ``--figure FILE``, draw them as well."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--figure", type=Path, metavar="FILE")
    options = parser.parse_args()
    certificate(4, 0.05)
    base = middle(partial(certificate, 64, 0.01))
    layers = (against_dimension(base), against_tolerance(base), against_places())
    for layer in layers:
        print(layer.label)
        for x, y in zip(layer.x, layer.y, strict=True):
            print(f"  {x:10.4g}  {y:8.2f}")
    one, two = (middle(partial(certificate, 1024, 0.002, workers=w), 5) for w in (1, 2))
    print(f"two workers are {one / two:.2f} times as fast as one ({os.cpu_count()} processors)")
    print("peak memory of a process by the scores it draws at d = 64")
    for scores in (10**7, 10**8, 10**9):
        print(f"  {scores:.0e}  {peak_megabytes(scores):6.0f} MB")
    if options.figure:
        options.figure.write_text(draw_figure(_figure(layers), "growth"), encoding="utf-8")


if __name__ == "__main__":
    main()
