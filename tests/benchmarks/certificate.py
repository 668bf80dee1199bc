"""Time to certificate: the variance of a score to ±0.5%, at six dimensions with one error budget.

Run by hand: ``python -m tests.benchmarks.certificate``. Beside it is plain NumPy; both use one thread and end
at the same relative half-width.
"""

import math
import time

import numpy as np
from threadpoolctl import threadpool_limits

from tests.montecarlo.samples import draw
from verify.montecarlo.blocks import Drawn
from verify.montecarlo.distributions import NORMAL
from verify.montecarlo.estimands import MIN_BLOCKS
from verify.montecarlo.intervals import normal_quantile
from verify.montecarlo.quantities import measurement
from verify.symbolic import vocabulary as words
from verify.symbolic.vocabulary import Var, k, q, score

DIMENSIONS = (1, 2, 8, 64, 512, 1024)
WIDTH = 0.005
FALSE_ALARM = 1e-3
AT_ONCE = 2_000_000
"""Components that NumPy holds at once."""


def pairs_needed(d: int, z: float, width: float) -> int:
    """Return the independent pairs whose variance has relative half-width ``width``: (κ-1)(z/width)²."""
    return math.ceil((2 + 6 / d) * (z / width) ** 2)


def numpy_pairs(d: int, pairs: int) -> float:
    """Return the variance over independent pairs, drawn with NumPy's default generator in chunks."""
    rng = np.random.default_rng(1)
    total = squares = 0.0
    left = pairs
    while left:
        count = min(left, max(1, AT_ONCE // d))
        scores = np.einsum("ij,ij->i", *(rng.standard_normal((count, d)) for _ in "qk"))
        total += float(scores.sum())
        squares += float(scores @ scores)
        left -= count
    return squares / pairs - (total / pairs) ** 2


def engine(d: int, alpha: float) -> tuple[float, float]:
    """Return seconds and the reached half-width at one dimension."""
    begun = time.perf_counter()
    wanted = WIDTH * 7 / normal_quantile(alpha)
    cell, estimands = measurement(
        f"d{d}", {"variance": Var(score)}, {q: NORMAL, k: NORMAL}, {words.d: d}, tolerance=wanted
    )
    blocks, sums, reached = MIN_BLOCKS, Drawn(), math.inf
    while reached > WIDTH:
        sums = draw(cell, "certificate", 1, blocks, sums)
        measured = estimands["variance"].measure(sums.total.sample(cell), alpha)
        low, high = measured.interval
        reached = (high - low) / 2 / measured.value
        blocks = math.ceil(measured.blocks * (reached / WIDTH) ** 2) + 1
    return time.perf_counter() - begun, reached


def main() -> None:
    """Print the table of times and ratios."""
    alpha = FALSE_ALARM / len(DIMENSIONS)
    z = normal_quantile(alpha)
    engine(4, alpha)  # the first use derives the block variance
    print(f"{'d':>5} {'engine s':>9} {'width':>7} {'NumPy':>12}")
    totals = [0.0, 0.0]
    with threadpool_limits(limits=1):
        for d in DIMENSIONS:
            took, width = engine(d, alpha)
            begun = time.perf_counter()
            numpy_pairs(d, pairs_needed(d, z, WIDTH))
            plain = time.perf_counter() - begun
            totals = [totals[0] + took, totals[1] + plain]
            print(f"{d:5d} {took:9.3f} {width:7.3%} {plain:10.2f} s {plain / took:7.0f}×", flush=True)
    print(f"total {totals[0]:9.3f} s {totals[1]:18.2f} s {totals[1] / totals[0]:7.0f}×")


if __name__ == "__main__":
    main()
