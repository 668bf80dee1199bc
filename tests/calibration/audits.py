"""How often an audit's intervals miss, for sequences whose tokens depend strongly on each other.

Run by hand: ``python -m tests.calibration.audits``. Tokens follow an autoregression with coefficient 0.99,
and each sequence has a length and a mean of its own. A large number of sequences is the whole population, so
that every true value is known; audits draw theirs from it with replacement.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import stats

from verify.auditing.audit import kinds
from verify.auditing.blocks import Block, Subject
from verify.auditing.recording import Call, Layer
from verify.auditing.statistical import Statistical
from verify.evidence.audits import Intention
from verify.montecarlo import intervals

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from verify.evidence.audits import Finding

    Floats = NDArray[np.float64]

D, TOKENS = 16, 48
DEPENDENCE = 0.99
SEQUENCES = (32, 128, 1000)
LEVELS = (0.05, 0.01)
_SEED = 20170612


@dataclass(frozen=True)
class Population:
    """All sequences there are: what each kind kept of each, and each row's variance, [sequence, row]."""

    kept: dict[str, tuple[Any, ...]]
    rows: Floats

    def truth(self, kind: Statistical) -> dict[str, float]:
        """Return the true value of each of a kind's quantities."""
        found = kind.find(self.kept[kind.name], subject(0.5))
        return {one.id: one.estimate for one in found if one.estimate is not None}

    def drawn(self, kind: Statistical, places: Floats) -> list[Any]:
        """Return what a kind kept of some blocks, places in [0, 1) of the population being given."""
        kept = self.kept[kind.name]
        return [kept[place] for place in (places * len(kept)).astype(int)]


def statistical() -> tuple[Statistical, ...]:
    """Return the kinds that have intervals."""
    return tuple(kind for kind in kinds() if isinstance(kind, Statistical))


def subject(alpha: float) -> Subject:
    """Return a head that intervals at level 1 - ``alpha`` are asked for."""
    intention = Intention(expression="1/sqrt(d)", latex="1", value=D**-0.5, origin="default")
    return Subject(Layer("layer", ()), 0, 1, 1, D, intention, alpha)


def sequences(rng: np.random.Generator, count: int) -> Call:
    """Return queries and keys of so many sequences of one head."""
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
def population(size: int) -> Population:
    """Return the population of so many sequences."""
    call = sequences(np.random.default_rng(_SEED), size)
    found: dict[str, list[Any]] = {kind.name: [] for kind in statistical()}
    waiting = None
    for place in range(size):
        block = Block(call, place, 0, D**-0.5, waiting)
        waiting = block if block.partner is None else None
        for kind in statistical():
            found[kind.name].append(kind.reduce(block))
    kept = {name: tuple(one for one in some if one.statistics is not None) for name, some in found.items()}
    return Population(kept, row_variances(call))


def row_variances(call: Call) -> Floats:
    """Return the variance of each row's scores, shape [sequence, row]."""
    scores = call.query[:, 0] @ call.key[:, 0].transpose(0, 2, 1) / np.sqrt(D)
    variances: Floats = scores.astype(np.float64).var(axis=2, ddof=1)
    return variances


@dataclass(frozen=True)
class Missed:
    """Of so many ``trials`` how many had an interval, and how many of these excluded the true value."""

    trials: int
    given: int
    misses: int

    def compatible_with(self, alpha: float, confidence: float = 0.9999) -> bool:
        """Return whether so many misses are no surprise where each trial misses at ``alpha`` at most."""
        return bool(stats.binom.sf(self.misses - 1, self.trials, alpha) > 1 - confidence)


def excludes(finding: Finding, truth: float) -> bool:
    """Return whether a finding has an interval, and the true value lies outside."""
    low, high = finding.interval
    return (low is not None and truth < low) or (high is not None and truth > high)


def coverage(
    kind: Statistical, known: Population, count: int, alpha: float, trials: int
) -> dict[str, Missed]:
    """Return how often each of a kind's intervals misses with so many sequences, by the finding's id."""
    truth, rng = known.truth(kind), np.random.default_rng([_SEED, count])
    given, misses = dict.fromkeys(truth, 0), dict.fromkeys(truth, 0)
    for _ in range(trials):
        kept = known.drawn(kind, rng.random(count // kind.sequences))
        for one in kind.find(kept, subject(alpha)):
            given[one.id] += one.interval != (None, None)
            misses[one.id] += excludes(one, truth[one.id])
    return {name: Missed(trials, given[name], misses[name]) for name in truth}


def false_alarms(known: Population, count: int, rate: float, heads: int, trials: int) -> Missed:
    """Return how many audits of so many heads have an interval that excludes the true value.

    That is what refutes a true finding where its gate's band ends at the true value, and nothing else does.
    """
    truths = {kind.name: known.truth(kind) for kind in statistical()}
    alpha = rate / (heads * sum(kind.places for kind in statistical()))
    rng, alarms = np.random.default_rng([_SEED, count, heads]), 0
    for _ in range(trials):
        alarms += any(
            excludes(one, truths[kind.name][one.id])
            for kind, places in _places(rng, count, heads)
            for one in kind.find(known.drawn(kind, places), subject(alpha))
        )
    return Missed(trials, trials, alarms)


def _places(rng: np.random.Generator, count: int, heads: int) -> Iterator[tuple[Statistical, Floats]]:
    """Yield each kind with the places of its blocks, head by head; a pair is a place of its own."""
    for _ in range(heads):
        single, pairs = rng.random(count), rng.random(count // 2)
        for kind in statistical():
            yield kind, single if kind.sequences == 1 else pairs


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
    """Print the tables of coverage, false alarms, and of what treating tokens as independent does."""
    known, trials = population(20_000), 1000
    print(f"{'finding':<30} {'level':>6} " + " ".join(f"{count:>16} sequences" for count in SEQUENCES))
    for kind in statistical():
        for alpha in LEVELS:
            found = [coverage(kind, known, count, alpha, trials) for count in SEQUENCES]
            for name in found[0]:
                cells = " ".join(
                    f"{one[name].misses / trials:8.2%} of {one[name].given / trials:7.1%}"
                    f" {'' if one[name].compatible_with(alpha) else 'HIGH':>6}"
                    for one in found
                )
                print(f"{name:<30} {1 - alpha:6.0%} {cells}", flush=True)
    for count in SEQUENCES[:2]:
        alarms = false_alarms(known, count, 0.05, 2, 2000)
        print(f"{alarms.misses} of {alarms.trials} audits of {count} sequences alarm at a rate of 5%")
    for count in SEQUENCES:
        naive = tokens_as_independent(known.rows, count, 0.05, trials)
        print(f"tokens as independent, {count} sequences: {naive.misses / trials:.0%} miss at 95%")


if __name__ == "__main__":
    main()
