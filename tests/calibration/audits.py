"""How often an audit's intervals miss: for dependent tokens, mixtures of sequences, rare ones, duplicates.

Run by hand: ``python -m tests.calibration.audits``. Sequences are drawn from laws whose median and mean are
known from a large number of them, and audits draw theirs with replacement. Tokens that follow an
autoregression with coefficient 0.99 show that treating tokens as independent fails.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from verify.auditing.recording import Call
from verify.auditing.rows import RowMeans, look
from verify.auditing.statistical import HeadQuantity, dependence, share_interval
from verify.montecarlo import intervals

Floats = NDArray[np.float64]

D, TOKENS = 16, 48
DEPENDENCE = 0.99
SEQUENCES = (48, 200, 1000)
LEVELS = (0.05, 7e-6)
LAWS = ("independent", "autocorrelated", "two clusters", "3% with 5 times", "duplicates")
BAND = 2.0
"""Upper end of the gate, in medians of the law."""
_SEED = 20170612


@dataclass(frozen=True)
class Missed:
    """How many of the ``trials`` had an interval, and how many of these excluded the true value."""

    trials: int
    given: int
    misses: int

    def compatible_with(self, alpha: float, confidence: float = 0.9999) -> bool:
        """Return whether this many misses are no surprise where each trial misses at ``alpha`` at most."""
        return bool(stats.binom.sf(self.misses - 1, self.trials, alpha) > 1 - confidence)


def sequences(rng: np.random.Generator, count: int) -> Call:
    """Return queries and keys of a number of sequences of one head."""
    noise = rng.standard_normal((2, count, TOKENS, D))
    tokens = np.empty_like(noise)
    tokens[:, :, 0] = noise[:, :, 0]
    for place in range(1, TOKENS):
        step = np.sqrt(1 - DEPENDENCE**2) * noise[:, :, place]
        tokens[:, :, place] = DEPENDENCE * tokens[:, :, place - 1] + step
    length = np.exp(0.2 * rng.standard_normal((2, count, 1, 1)))
    query, key = 2 * length * tokens + 0.5 * rng.standard_normal((2, count, 1, D))
    return Call(query[:, None].astype(np.float32), key[:, None].astype(np.float32))


@cache
def population(law: str, size: int = 8_000) -> RowMeans:
    """Return what rows of a number of sequences of a law are like."""
    rng = np.random.default_rng([_SEED, LAWS.index(law)])
    if law == "autocorrelated":
        call = sequences(rng, size)
    else:
        made = rng.standard_normal((2, size, 1, TOKENS, D))
        if law == "two clusters":
            made[0] *= np.where(rng.random((size, 1, 1, 1)) < 0.4, 3.0, 1.0)
        elif law == "3% with 5 times":
            made[0] *= np.where(rng.random((size, 1, 1, 1)) < 0.03, 5.0, 1.0)
        call = Call(made[0].astype(np.float32), made[1].astype(np.float32))
    return look(call, np.arange(size), np.full(size, D**-0.5), 2.0**-24)[0]


QUANTITIES: dict[str, tuple[HeadQuantity, Callable[[RowMeans], Floats]]] = {
    "row-variance": (HeadQuantity("v", "$v$", None, lambda rows: rows.variance), lambda rows: rows.variance),
    "entropy": (
        HeadQuantity("h", "$h$", None, lambda rows: rows.entropy, are_bounded=True),
        lambda rows: rows.entropy,
    ),
}


def drawn(rng: np.random.Generator, values: Floats, count: int, law: str) -> tuple[Floats, NDArray[np.bool_]]:
    """Return a number of values of a population, and which are not the same sequence as an earlier one.

    Duplicates come from a source that repeats half of its sequences.
    """
    places = rng.integers(len(values), size=count)
    if law == "duplicates":
        places = np.where(rng.random(count) < 0.5, rng.choice(places[: max(1, count // 4)], count), places)
    distinct = np.zeros(count, dtype=bool)
    distinct[np.unique(places, return_index=True)[1]] = True
    return values[places], distinct


def coverage(name: str, law: str, count: int, alpha: float, trials: int) -> Missed:
    """Return how often the interval of a quantity misses the true median, or mean if it is bounded."""
    quantity, of = QUANTITIES[name]
    values = of(population(law))
    truth = float(values.mean() if quantity.are_bounded else np.median(values))
    rng, given, misses = np.random.default_rng([_SEED, count]), 0, 0
    for _ in range(trials):
        low, high = quantity.measure(*_second(drawn(rng, values, count, law), alpha))[0].interval
        given += bool(np.isfinite(low))
        misses += not low <= truth <= high
    return Missed(trials, given, misses)


def _second(some: tuple[Floats, Any], alpha: float) -> tuple[Floats, float, Any]:
    return some[0][:, None], alpha, some[1]


def share_coverage(law: str, count: int, alpha: float, trials: int) -> Missed:
    """Return how often the interval of the share of sequences inside a band misses the true share."""
    values = population(law).variance
    inside = (values <= BAND * np.median(values)).astype(float)
    truth, rng, misses = float(inside.mean()), np.random.default_rng([_SEED, count]), 0
    for _ in range(trials):
        some, distinct = drawn(rng, inside, count, law)
        low, high = intervals.hull(
            share_interval(int(some.sum()), count, alpha),
            share_interval(int(some[distinct].sum()), int(distinct.sum()), alpha),
        )
        misses += not low <= truth <= high
    return Missed(trials, trials, misses)


def warnings(alike: int, count: int, trials: int) -> int:
    """Return how many samples are warned of where ``alike`` sequences in a row share a factor."""
    rng, found = np.random.default_rng([_SEED, alike]), 0
    for _ in range(trials):
        shared = np.repeat(rng.standard_normal(-(-count // alike)), alike)[:count] if alike > 1 else 0.0
        found += dependence(np.exp(shared + 0.5 * rng.standard_normal(count))[:, None])[0] > 4
    return found


def row_variances(call: Call) -> Floats:
    """Return the variance of each row's scores, shape [sequence, row]."""
    scores = call.query[:, 0] @ call.key[:, 0].transpose(0, 2, 1) / np.sqrt(D)
    variances: Floats = scores.astype(np.float64).var(axis=2, ddof=1)
    return variances


def tokens_as_independent(known: Floats, count: int, alpha: float, trials: int) -> Missed:
    """Return how often Student's interval misses the mean row variance if every row counts as a block.

    ``known`` are the rows' variances in the population, shape [sequence, row].
    """
    truth, rng, misses = float(known.mean()), np.random.default_rng([_SEED, count]), 0
    for _ in range(trials):
        rows = known[rng.integers(len(known), size=count)].ravel()
        width = intervals.student_quantile(alpha, rows.size) * float(rows.std(ddof=1)) / rows.size**0.5
        misses += abs(float(rows.mean()) - truth) > width
    return Missed(trials, trials, misses)


def main() -> None:
    """Print the tables of coverage, of warnings, and of what treating tokens as independent does."""
    trials = 500
    print(f"{'law':<18} {'quantity':<14} {'level':>8} " + " ".join(f"{count:>8}" for count in SEQUENCES))
    for law in LAWS:
        for alpha in LEVELS:
            for name in (*QUANTITIES, "share inside"):
                found = [
                    share_coverage(law, count, alpha, trials)
                    if name not in QUANTITIES
                    else coverage(name, law, count, alpha, trials)
                    for count in SEQUENCES
                ]
                cells = " ".join(
                    f"{one.misses:>4}/{one.given}{'' if one.compatible_with(alpha) else ' HIGH'}"
                    for one in found
                )
                print(f"{law:<18} {name:<14} {alpha:>8g} {cells}", flush=True)
    for alike in (1, 2, 8):
        print(f"{alike} alike in a row: {warnings(alike, 200, 2000)} of 2000 samples are warned of")
    rows = row_variances(sequences(np.random.default_rng(1), 5000))
    for count in SEQUENCES:
        naive = tokens_as_independent(rows, count, 0.05, trials)
        print(f"tokens as independent, {count} sequences: {naive.misses / trials:.0%} miss at 95%")


if __name__ == "__main__":
    main()
