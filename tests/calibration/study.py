"""Calibration of the judge: how often its intervals miss, its verdicts alarm, its plans hold.

Run ``python -m tests.calibration.study`` to print the table, with ``--write`` to store it where the report
finds it. Every row counts events in independent repetitions and bounds their probability exactly.
"""

import argparse
import math
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from functools import partial
from itertools import pairwise, product
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np
from scipy import stats
from threadpoolctl import threadpool_limits

from tests.montecarlo.samples import CellSampler, drawn_by, sample_of, samples, score_variance, truth_of
from tests.strategies import DISTRIBUTIONS
from verify.engine.measure import measure
from verify.evidence import Calibration, Counted, Settings, Verdict
from verify.evidence.judging import MAX_LOOKS, PLACES, PLANNED_LOOK
from verify.montecarlo import intervals
from verify.montecarlo.blocks import Cell, Sample
from verify.montecarlo.distributions import EXPONENTIAL, NORMAL, Distribution, stream
from verify.montecarlo.estimands import MIN_BLOCKS, Estimand, Smooth
from verify.montecarlo.experiment import Experiment, Prediction, Quantity, Tolerance, WeightedFit
from verify.montecarlo.intervals import Linearised, least_blocks
from verify.montecarlo.quantities import measurement
from verify.symbolic import vocabulary
from verify.symbolic.vocabulary import Var, k, q, score
from verify.version import __version__

SEED = 20170612
CONFIDENCE = 0.9999
"""Confidence of each printed bound; there are about 180, so that all hold at once with 98%."""

LEVELS = (1e-2, 1e-3, 1e-4, 6e-7)
"""False-exclusion rates tried; the last is what a check gets at its first look in a run of rate 1e-3."""

FIT_LEVELS = LEVELS[:3]

COARSE = 0.25
"""Samples are sized as for this tolerance: 25 times smaller than the coarsest profile's, so harder."""

RUN_CHECKS, RUN_RATE = 300, 0.9
"""A whole run's checks and its rate, so large that false alarms would show in a few hundred runs."""

GRID = (1, 2, 8, 64, 512, 1024)


def counted(what: str, trials: int, events: int, allowed: float, setting: str = "", **more: Any) -> Counted:
    """Return a row with the exact (Clopper-Pearson) bounds of the events' probability."""
    bounds = stats.binomtest(events, trials).proportion_ci(CONFIDENCE, method="exact")
    # Six digits: the last ones of all depend on SciPy's version.
    low, high = (float(f"{end:.6g}") for end in (bounds.low, bounds.high))
    return Counted(
        what=what, setting=setting, trials=trials, events=events, allowed=allowed, low=low, high=high, **more
    )


def together(rows: Sequence[Counted]) -> tuple[Counted, ...]:
    """Return all cells of the same event and level counted as one, levels from large to small.

    Coefficients of one fit depend on each other: each is counted for itself.
    """
    cells: dict[tuple[str, str, float], list[Counted]] = {}
    for row in rows:
        if row.level is not None:
            coefficient = row.setting.partition(",")[0] if "coefficient" in row.what else ""
            cells.setdefault((row.what, coefficient, row.level), []).append(row)
    events = list(dict.fromkeys(key[:2] for key in cells))
    whole = []
    for key in sorted(cells, key=lambda key: (events.index(key[:2]), -key[2])):
        what, coefficient, level = key
        trials, missed = (sum(getattr(row, name) for row in cells[key]) for name in ("trials", "events"))
        whole.append(counted(what, trials, missed, level, coefficient, level=level))
    return tuple(whole)


def repetitions(cell: Cell, count: int, blocks: int) -> Iterator[Sample]:
    """Yield ``count`` independent samples of ``blocks`` blocks each."""
    return samples(cell, count, blocks, stream(SEED, "calibration", cell.id, 0))


def _small_cell(distribution: Distribution, dimension: int, side: int) -> tuple[Cell, Smooth, int]:
    """Return a cell of small blocks, its estimand, and the few blocks that a coarse plan gives it."""
    name = f"{distribution.name}-d{dimension}-m{side}"
    cell, estimand = score_variance(dimension, side, distribution, name=name)
    assert isinstance(estimand, Smooth)
    assert estimand.block_variance is not None
    blocks = max(MIN_BLOCKS, math.ceil(estimand.block_variance * (7 / COARSE) ** 2))
    return cell, estimand, blocks


def coverage(job: tuple[Distribution, int, int, int]) -> list[Counted]:
    """Return how often the variance's interval misses at each level, for one distribution and dimension."""
    distribution, d, side, count = job
    cell, estimand, blocks = _small_cell(distribution, d, side)
    truth = truth_of(d, distribution)
    missed = dict.fromkeys(LEVELS, 0)
    for sample in repetitions(cell, count, blocks):
        for level in LEVELS:
            low, high = estimand.measure(sample, level).interval
            if low <= truth <= high:
                break  # intervals grow as the level shrinks
            missed[level] += 1
    setting = f"{distribution.name}, d = {d}, {blocks} blocks of {side}×{side}"
    what = "the interval of the variance misses it"
    return [counted(what, count, missed[level], level, setting, level=level) for level in LEVELS]


def corrected(job: tuple[Distribution, int]) -> Counted:
    """Return how often the skewness-corrected interval misses, with as few blocks as it deems reliable.

    An interval that does not count as reliable decides nothing, so it cannot miss.
    """
    distribution, count = job
    level = 1e-3
    cell, derived, _ = _small_cell(distribution, 16, 8)
    estimand = replace(derived, block_variance=None)
    (pilot,) = repetitions(cell, 1, 1 << 16)
    skewness = Linearised(pilot, estimand.at(pilot.outputs)[1]).skewness
    blocks = max(MIN_BLOCKS, 2 * least_blocks(skewness, level))
    truth = truth_of(16, distribution)
    judged = [estimand.measure(sample, level) for sample in repetitions(cell, count, blocks)]
    reliable = [m.interval for m in judged if not m.doubt]
    missed = sum(not low <= truth <= high for low, high in reliable)
    setting = f"{distribution.name}, d = 16, {blocks} blocks of 8×8"
    what = "a skewness-corrected interval that counts as reliable misses"
    return counted(what, count, missed, level, setting)


def grouped(job: tuple[Distribution, int]) -> Counted:
    """Return how often the interval of group means misses, with twice the blocks it asks for.

    The blocks are single scores in one dimension, whose squares are the most skewed that are measured.
    """
    distribution, count = job
    level = 1e-3
    cell, estimand, _ = _small_cell(distribution, 1, 1)
    (pilot,) = repetitions(cell, 1, 1 << 16)
    blocks = 2 * intervals.blocks_for_groups(Linearised(pilot, estimand.at(pilot.outputs)[1]), level)
    truth = truth_of(1, distribution)
    given = missed = 0
    for sample in repetitions(cell, count, blocks):
        value, slope = estimand.at(sample.outputs)
        ends = intervals.of_groups(Linearised(sample, slope), level)
        if ends is not None:
            given += 1
            missed += not ends[0] <= truth - value <= ends[1]
    setting = f"{distribution.name}, d = 1, {blocks} blocks of 1×1"
    what = "an interval of group means, which needs no skewness, misses"
    return counted(what, given, missed, level, setting)


def peeking(count: int) -> Counted:
    """Return how often any of the looks, each at its share, excludes a true value."""
    rate = 0.05
    shares = [rate * 6 / (math.pi * analysis) ** 2 for analysis in range(1, MAX_LOOKS + 1)]
    cell, estimand, least = _small_cell(NORMAL, 4, 4)
    events = 0
    for batch in range(count):
        blocks = least << (MAX_LOOKS - 1)
        values = cell.sample(stream(SEED, "peeking", cell.id, batch), blocks)
        looks = (sample_of(values[: least << k], names=cell.names) for k in range(MAX_LOOKS))
        intervals = (estimand.measure(s, a).interval for s, a in zip(looks, shares, strict=True))
        events += any(not low <= 4.0 <= high for low, high in intervals)
    return counted(f"a true value is excluded at any of {MAX_LOOKS} looks", count, events, rate)


def fits(job: tuple[Distribution, int]) -> list[Counted]:
    """Return how often intervals of fitted coefficients miss them, on the grid 1…1024, at three levels."""
    distribution, count = job
    cells = [_small_cell(distribution, d, 4) for d in GRID]
    sources = [repetitions(cell, count, blocks) for cell, _, blocks in cells]
    x = tuple(map(float, GRID))
    relative = tuple(v**-2.0 for v in x)
    line, parabola = WeightedFit("line", x, relative), WeightedFit("parabola", x, relative)
    power = WeightedFit("power", x, (1.0,) * len(x))
    judged: dict[str, tuple[Any, float]] = {
        "slope": (partial(line.measure, "slope"), 1.0),
        "intercept": (partial(line.measure, "constant"), 0.0),
        "quadratic term": (partial(parabola.measure, "square"), 0.0),
        "log–log exponent": (partial(power.measure, "slope"), 1.0),
        "lack of fit": (partial(line.measure, "misfit"), 0.0),
    }
    missed = dict.fromkeys(product(judged, FIT_LEVELS), 0)
    for drawn in zip(*sources, strict=True):
        for level in FIT_LEVELS:
            points = [e.measure(s, level) for (_, e, _), s in zip(cells, drawn, strict=True)]
            for what, (estimate, truth) in judged.items():
                low, high = estimate(points, level).interval
                missed[what, level] += not low <= truth <= high
    event = "the interval of a fitted coefficient on d = 1…1024 misses it"
    return [
        counted(event, count, events, level, f"{what}, {distribution.name}", level=level)
        for (what, level), events in missed.items()
    ]


def _planned_cell(law: Distribution, dimension: int, tolerance: float, name: str) -> tuple[Cell, Estimand]:
    """Return a cell as a check of the variance of scores has it, and its estimand."""
    laws, at = {q: law, k: law}, {vocabulary.d: dimension}
    cell, estimands = measurement(name, {"variance": Var(score)}, laws, at, tolerance=tolerance)
    return cell, estimands["variance"]


def runs(job: tuple[int, int]) -> tuple[int, int, int, int]:
    """Return checks, false alarms, decisions as planned, and missed refutations over a range of seeds."""
    first, last = job
    rate, tolerance, power = 0.5, 0.05, 0.9
    checks = alarms = decided = missed = 0
    cells = {d: _planned_cell(NORMAL, d, tolerance, f"d{d}") for d in (1, 4, 16)}
    for seed in range(first, last):
        settings = Settings(seed=seed, profile="quick", tolerance=tolerance, false_alarm=rate, power=power)
        for predicted in (1.0, 1 + 2 * tolerance):
            true_or_wrong = (
                Quantity(f"variance-d{d}", "Var", *planned, Prediction(predicted * d, "v"), Tolerance())
                for d, planned in cells.items()
            )
            made = Experiment(tuple(true_or_wrong), ())
            findings, _ = drawn_by(CellSampler("calibration", seed), measure(made, "calibration", settings))
            for check in findings.checks.values():
                if predicted == 1.0:
                    checks += 1
                    alarms += check.verdict in {Verdict.REFUTED, Verdict.APPROXIMATE}
                    decided += check.looks <= PLANNED_LOOK and check.verdict is Verdict.CONFIRMED
                else:
                    missed += check.verdict is not Verdict.REFUTED
    return checks, alarms, decided, missed


def whole_runs(job: tuple[int, int]) -> int:
    """Return in how many of a range of seeds a run of 300 true checks raises any false alarm at all."""
    settings = {"profile": "quick", "tolerance": COARSE, "false_alarm": RUN_RATE, "power": 0.5}
    checks = []
    for place in range(RUN_CHECKS):
        distribution, d = DISTRIBUTIONS[place % len(DISTRIBUTIONS)], place // len(DISTRIBUTIONS) % 4 + 1
        cell, estimand = _planned_cell(distribution, d, COARSE, f"place-{place}-d{d}")
        truth = Prediction(truth_of(d, distribution), "v")
        checks.append(Quantity(f"place-{place}", "Var", cell, estimand, truth))
    events = 0
    for seed in range(*job):
        chosen = Settings.model_validate(settings | {"seed": seed})
        made = Experiment(tuple(checks), ())
        findings, _ = drawn_by(CellSampler("whole-run", seed), measure(made, "whole-run", chosen))
        events += any(c.verdict in {Verdict.REFUTED, Verdict.APPROXIMATE} for c in findings.checks.values())
    return events


def study(scale: float) -> list[Counted]:
    """Return the whole table; ``scale`` 1, as stored, takes about twenty minutes on two cores."""
    many, few = round(20_000 * scale), round(2_000 * scale)
    seeds = [(int(a), int(b)) for a, b in pairwise(np.linspace(0, round(600 * scale), 9, dtype=int))]
    # No copies of this process: a library that it has loaded may run threads of its own.
    fresh = get_context("forkserver")
    with ProcessPoolExecutor(mp_context=fresh, initializer=threadpool_limits, initargs=(1,)) as pool:
        laws = (NORMAL, EXPONENTIAL)
        shapes = [
            (law, d, m, many if d < 64 else few * 2)
            for law, d, m in product(DISTRIBUTIONS, (1, 4, 64), (1, 8))
        ]
        covered, fitted = pool.map(coverage, shapes), pool.map(fits, [(law, few * 4) for law in laws])
        whole, judged = pool.map(whole_runs, seeds), pool.map(runs, seeds)
        skewed = pool.map(corrected, [(law, many // 4) for law in laws])
        spread = pool.map(grouped, [(law, max(few // 8, 40)) for law in laws])
        looked = pool.submit(peeking, few)
        rows = [row for rows in (*covered, *fitted) for row in rows]
        rows += [*skewed, *spread, looked.result()]
        alarmed = sum(whole)
        checks, alarms, decided, missed = (sum(column) for column in zip(*judged, strict=True))
    share, spent, at_least = 0.5 / PLACES, RUN_RATE * RUN_CHECKS / PLACES, partial(counted, at_least=True)
    what = f"a whole run of {RUN_CHECKS} true checks, which spends {spent:g}, raises any false alarm"
    rows.append(counted(what, seeds[-1][1], alarmed, spent))
    what = f"a true check is refuted or approximate in a whole run, share {share:g} a check"
    rows.append(counted(what, checks, alarms, share))
    rows.append(at_least("a true check is confirmed at its planned sample, power 0.9", checks, decided, 0.9))
    rows.append(at_least("a check off by twice the tolerance ends refuted", checks, checks - missed, 0.9))
    return rows


def main() -> None:
    """Print the table; with ``--write``, store it with its seed and command."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--scale", type=float, default=0.4, help="1 is the table that is stored.")
    parser.add_argument("--write", type=Path, metavar="FILE")
    options = parser.parse_args()
    rows = study(options.scale)
    for row in rows:
        mark = "ok " if row.in_order else "BAD"
        bounds = f"[{row.low:.2g}, {row.high:.2g}] of {row.allowed:g}"
        print(f"{mark} {row.events:7d}/{row.trials:<7d} {bounds:34} {row.what} {row.setting}")
    if options.write:
        command = f"python -m tests.calibration.study --scale {options.scale:g} --write {options.write}"
        run = {"seed": SEED, "command": command, "version": __version__, "confidence": CONFIDENCE}
        table = Calibration(rows=tuple(rows), together=together(rows), **run)
        options.write.write_text(table.model_dump_json(indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
