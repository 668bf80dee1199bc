"""How time and memory grow: with the dimension, the tolerance, the number of checks, the workers.

Run by hand: ``python -m tests.benchmarks.growth``. Ratios within one run on one machine are what counts.
"""

import os
import subprocess
import sys
import time
from collections.abc import Callable
from functools import partial
from statistics import median

from verify.executors.machine import thread_map
from tests.montecarlo.samples import draw
from verify.montecarlo.distributions import NORMAL
from verify.montecarlo.estimands import Goal
from verify.montecarlo.quantities import measurement
from verify.symbolic import vocabulary
from verify.symbolic.vocabulary import Var, k, q, score


def certificate(d: int, tolerance: float, alpha: float = 6e-7, workers: int = 1) -> float:
    """Return the seconds that the planned sample of one check of the variance takes."""
    laws, at = {q: NORMAL, k: NORMAL}, {vocabulary.d: d}
    cell, estimands = measurement("growth", {"variance": Var(score)}, laws, at, tolerance=tolerance)
    blocks = estimands["variance"].blocks_needed(Goal(alpha, 0.05, d, tolerance * d), None) or 0
    with thread_map(workers) as mapper:
        begun = time.perf_counter()
        draw(cell, "growth", 1, blocks, None, mapper)
        return time.perf_counter() - begun


def middle(task: Callable[[], float], times: int = 5) -> float:
    """Return the median of several timings."""
    return median(task() for _ in range(times))


def peak_megabytes(scores: int) -> float:
    """Return the peak memory of a process that draws this number of scores at d = 64."""
    code = (
        "import resource\n"
        "from tests.montecarlo.samples import draw, score_variance\n"
        "from verify.montecarlo.distributions import NORMAL\n"
        "cell, _ = score_variance(64, 256, NORMAL)\n"
        f"draw(cell, 'peak', 1, {scores} // 256**2, None, map)\n"
        "print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    return int(done.stdout) / 1024


DIMENSIONS = (1, 4, 16, 64, 256, 1024, 4096)
TOLERANCES = (0.02, 0.01, 0.005, 0.0025, 0.00125)
PLACES = (10, 100, 1000, 10_000)


Points = list[tuple[float, float]]


def against_dimension(base: float) -> Points:
    """Return the time of a certificate to 1% over ``base``, by dimension."""
    return [(d, middle(partial(certificate, d, 0.01), 3) / base) for d in DIMENSIONS]


def against_tolerance(base: float) -> Points:
    """Return the time of a certificate at d = 64 over ``base``, by the inverse square of the tolerance."""
    return [((0.01 / one) ** 2, middle(partial(certificate, 64, one), 3) / base) for one in TOLERANCES]


def against_places() -> Points:
    """Return the planned draws over those of 10 places of the error budget, by places."""
    needed = [Goal(1e-3 / places * 0.6, 0.05, 64, 0.64).deviations() ** 2 for places in PLACES]
    return [(places, one / needed[0]) for places, one in zip(PLACES, needed, strict=True)]


def main() -> None:
    """Print the tables."""
    certificate(4, 0.05)
    base = middle(partial(certificate, 64, 0.01))
    for label, points in {
        "time to ±1% by dimension": against_dimension(base),
        "time at d = 64 by (1%/tolerance)²": against_tolerance(base),
        "draws by places of the error budget": against_places(),
    }.items():
        print(label)
        for x, y in points:
            print(f"  {x:10.4g}  {y:8.2f}")
    one, two = (middle(partial(certificate, 1024, 0.002, workers=w), 5) for w in (1, 2))
    print(f"two workers are {one / two:.2f} times as fast as one ({os.cpu_count()} processors)")
    print("peak memory of a process by the scores it draws at d = 64")
    for scores in (10**7, 10**8, 10**9):
        print(f"  {scores:.0e}  {peak_megabytes(scores):6.0f} MB")


if __name__ == "__main__":
    main()
