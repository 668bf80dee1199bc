"""Statistical findings: statistics of blocks averaged over sequences, with simultaneous intervals.

``STATISTICAL`` has their kinds, an entry each. What is estimated is measured by the estimands of
`verify.montecarlo`, or by those of raw blocks below.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from verify.auditing.block_statistics import (
    crossed_variance,
    entropy_share,
    jacobian,
    key_spread,
    largest_weight,
    over_rows,
    query_spread,
    row_means,
    squares,
)
from verify.auditing.blocks import OWN_RULE, is_inside, is_outside
from verify.evidence.audits import Judgement, Reference
from verify.montecarlo import groups, intervals
from verify.montecarlo.blocks import Outputs, sample_of
from verify.montecarlo.estimands import Measured, Smooth, component, ratio
from verify.montecarlo.groups import Linearised
from verify.montecarlo.intervals import betting_mean

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from numpy.typing import NDArray

    from verify.auditing.block_statistics import OfKeys, RowMeans, Spread
    from verify.auditing.blocks import Block, Subject
    from verify.evidence.audits import Finding
    from verify.evidence.claims import Band

    Floats = NDArray[np.float64]

FEWEST_BLOCKS = 8
"""Of fewer blocks neither variance nor skewness is known well enough for an interval."""

_WHOLE_LINE = (-math.inf, math.inf)
_FOUR_IN_FIVE = intervals.normal_quantile(0.4)
"""Standard errors that an estimate is above in one of five cases."""
_STEP = 1e-6
"""Relative step of the slope that a standard error is taken through."""
_AT_EDGE = "the estimate is too near the edge of the band to say how many sequences would decide"
_WARNED, _FATAL = (100, 1000), 10_000
"""Scores beyond which training diverges, and those that large runs clip at.

Logits grow past 1e4 in runs that diverge: M. Wortsman et al., Small-scale proxies for large-scale Transformer
training instabilities, arXiv 2309.14322. Past 1e3 large runs are clipped, to 1e2: Kimi K2, arXiv 2507.20534.
"""


class BlockEstimand(Protocol):
    """A quantity that is estimated from block vectors."""

    def measure(self, blocks: Floats, alpha: float) -> Measured:
        """Return the estimate from ``blocks``, shape (blocks, statistics); it misses at ``alpha``.

        Without an interval that holds it is the whole line, and ``doubt`` says why. A value or a standard
        error that does not exist is NaN.
        """


@dataclass(frozen=True)
class BoundedMean:
    """The mean of one block statistic between 0 and 1, or a monotone function of it.

    The interval, by betting, holds for every law and any number of blocks.
    """

    position: int
    function: Callable[[float], float] = float

    def measure(self, blocks: Floats, alpha: float) -> Measured:
        """Return the estimate with its interval."""
        values = np.clip(blocks[:, self.position], 0.0, 1.0)
        mean = float(np.mean(values))
        low, high = sorted(self.function(end) for end in betting_mean(values, alpha))
        step = _STEP * mean
        slope = abs(self.function(mean + step) - self.function(mean)) / step if step else 0.0
        return _measured(self.function(mean), slope * values, (low, high))


@dataclass(frozen=True)
class ShareOfBlocks:
    """The share of blocks that have something: the mean of one statistic that is 0 or 1."""

    position: int

    def measure(self, blocks: Floats, alpha: float) -> Measured:
        """Return the share with its interval for 0-1 variables, whatever the number of blocks."""
        values = blocks[:, self.position]
        mean = float(np.mean(values))
        return _measured(mean, values, intervals.bounded_mean(mean, alpha, len(values)))


def _measured(value: float, values: Floats, interval: tuple[float, float]) -> Measured:
    """Return an estimate with the standard error of the mean of ``values``."""
    count = len(values)
    error = float(np.std(values, ddof=1) / math.sqrt(count)) if count > 1 else math.nan
    return Measured(value, error, interval, count, 0)


@dataclass(frozen=True)
class MeanFunction:
    """A smooth function of the blocks' mean vector, whose statistics have these names and no bounds."""

    smooth: Smooth
    names: tuple[str, ...]

    def measure(self, blocks: Floats, alpha: float) -> Measured:
        """Return the estimate with Student's interval, where the blocks are enough and not too skewed."""
        count = len(blocks)
        with np.errstate(all="ignore"):
            value = self.smooth.value(Outputs(zip(self.names, blocks.mean(axis=0), strict=True)))
        open_yet = partial(Measured, interval=_WHOLE_LINE, blocks=count, coordinates=0)
        if not math.isfinite(value):
            return open_yet(math.nan, math.nan, doubt="it has no value, for all of it is 0")
        if count < FEWEST_BLOCKS:
            doubt = f"{count} {'sequence is' if count == 1 else 'sequences are'} too few for an interval"
            return open_yet(value, math.nan, doubt=doubt, needed=FEWEST_BLOCKS)
        sample = sample_of(blocks, self.names)
        measured = self.smooth.measure(sample, alpha)
        value, error = measured.value, measured.error
        if measured.reliable:
            # Corrected for skewness alone, the interval misses too often with some dozens of blocks.
            quantile = intervals.student_quantile(alpha, count)
            plain = intervals.studentised(value, error, quantile, positive=False)
            return Measured(value, error, intervals.hull(measured.interval, plain), count, 0)
        if not error:
            return open_yet(value, 0.0, doubt="all sequences agree, so nothing tells how others do")
        linear = Linearised(sample, self.smooth.gradient(sample.outputs))
        needed = min(intervals.least_blocks(linear.skewness, alpha), groups.blocks_needed(linear, alpha))
        doubt = "too skewed over so few sequences for an interval at this level"
        return open_yet(value, error, doubt=doubt, needed=max(needed, count + 1))


def blocks_needed(estimate: Measured, band: Band) -> int | None:
    """Return about how many blocks would decide, None where the estimate is too near an edge to say.

    Without an interval it is the number from which on there may be one, which is the least it takes. The
    half-width falls at least with the root of the number of blocks. The estimate of that many differs from
    this one by both their standard errors: in four of five cases they decide.
    """
    if not estimate.reliable:
        return estimate.needed
    edges = [edge for edge in band if edge is not None]
    distance = min((abs(edge - estimate.value) for edge in edges), default=math.inf)
    low, high = estimate.interval
    width = max(high - estimate.value, estimate.value - low)
    error = _FOUR_IN_FIVE * (width if math.isnan(estimate.error) else estimate.error)
    if not distance > error:
        return None
    # Errors e of n blocks and of N: the width is w √(n/N), and √(1 + n/N) < 1 + √(n/N).
    factor = (width + error) / (distance - error)
    return max(estimate.blocks + 1, math.ceil(estimate.blocks * factor**2))


@dataclass(frozen=True)
class BlockStatistics:
    """What is kept of one block: its statistics, and the reference values of its rows.

    ``statistics`` are None where the block gives none, ``broken`` says that this is for scores that are NaN
    or infinite. ``left_out`` counts rows that were not used, ``blind`` those of them that see no key.
    ``implied`` is the scale of the scores where the output says that it is not the declared one.
    """

    statistics: tuple[float, ...] | None
    references: tuple[float, ...] = ()
    left_out: int = 0
    blind: int = 0
    broken: bool = False
    implied: float | None = None


def of_rows(
    statistics: Callable[[RowMeans], tuple[float, ...]], *references: OfKeys
) -> Callable[[Block], BlockStatistics]:
    """Return what reduces the rows of a block; ``references`` are averaged over as many keys as rows see."""

    def reduce(block: Block) -> BlockStatistics:
        rows = block.once(row_means)
        if not rows.finite or not rows.used:
            return BlockStatistics(None, left_out=rows.few, blind=rows.blind, broken=not rows.finite)
        values = tuple(over_rows(one, rows.keys, rows.rows) for one in references)
        return BlockStatistics(statistics(rows), values, rows.few, rows.blind, implied=block.implied)

    return reduce


def of_pairs(statistics: Callable[[Block, Block], tuple[float, ...]]) -> Callable[[Block], BlockStatistics]:
    """Return what reduces a block with its partner; blocks without one have no statistics."""

    def reduce(block: Block) -> BlockStatistics:
        if block.partner is None:
            return BlockStatistics(None)
        with np.errstate(all="ignore"):
            found = statistics(block, block.partner)
        if all(map(math.isfinite, found)):
            return BlockStatistics(found)
        # Of a single vector, or of none, there are no such numbers either.
        is_finite = all(one.once(row_means).finite for one in (block, block.partner))
        return BlockStatistics(None, broken=not is_finite)

    return reduce


@dataclass(frozen=True)
class AtUnitVariance:
    """What a claim says of rows of unit variance, a function of the means of the blocks' references."""

    claim: str
    value: Callable[[Floats], float]


@dataclass(frozen=True)
class Quantity:
    """One thing that a statistical kind estimates of a head.

    ``label`` is its LaTeX, and ``claim`` the claim of the catalogue that derives its formula, None where
    something is only counted. ``rule`` judges where there is no band, and is given whether it decides;
    ``remark`` says more about an estimate.
    """

    name: str
    label: str
    claim: str | None
    estimand: BlockEstimand
    reference: AtUnitVariance | None = None
    rule: Callable[[Measured, bool], tuple[Judgement, str]] | None = None
    remark: Callable[[Measured, Floats], str] | None = None


@dataclass(frozen=True)
class Statistical:
    """A kind of finding that averages what ``reduce`` keeps of each block.

    A block is ``sequences`` of them. ``reduce`` is called from several threads, and keeps no array of a call.
    """

    name: str
    quantities: tuple[Quantity, ...]
    reduce: Callable[[Block], BlockStatistics]
    sequences: int = 1

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the quantities."""
        return tuple(one.name for one in self.quantities)

    @property
    def places(self) -> int:
        """Intervals on one head that take a share of the false-alarm rate: one a quantity."""
        return len(self.quantities)

    @property
    def has_rule(self) -> bool:
        """Whether a finding can decide without a band: there is a rule for each quantity."""
        return all(one.rule is not None for one in self.quantities)

    def find(self, kept: Sequence[BlockStatistics], subject: Subject) -> Iterator[Finding]:
        """Yield the finding on each quantity, from what was kept of all blocks of a head."""
        blocks = np.array([one.statistics for one in kept if one.statistics is not None], dtype=np.float64)
        for quantity in self.quantities:
            yield self._finding(quantity, kept, blocks, subject)

    def _finding(
        self, quantity: Quantity, kept: Sequence[BlockStatistics], blocks: Floats, subject: Subject
    ) -> Finding:
        gate = subject.gates.get(quantity.name)
        found: dict[str, Any] = {
            "quantity": quantity.label,
            "claim": quantity.claim,
            "exact": False,
            "band": None if gate == OWN_RULE else gate,
            "decides": gate is not None,
            "level": 1 - subject.alpha,
            "sequences": self.sequences * len(blocks),
            "rows_left_out": sum(one.left_out for one in kept),
            "estimate": None,
            "judgement": Judgement.REPORTED if gate is None else Judgement.UNDECIDED,
        }
        reasons = list(_absence(kept))
        if len(blocks):
            estimate = quantity.estimand.measure(blocks, subject.alpha)
            broken = any(one.broken for one in kept)
            judgement, why = _judged(estimate, gate, quantity, broken=broken)
            open_yet = judgement is Judgement.UNDECIDED and not broken
            needed = blocks_needed(estimate, gate or OWN_RULE) if open_yet else None
            at_edge = _AT_EDGE if open_yet and not needed and estimate.reliable else ""
            remark = quantity.remark(estimate, blocks) if quantity.remark else ""
            reasons = [why, estimate.doubt, at_edge, remark, *_scale_of(kept), *reasons]
            low, high = (end if math.isfinite(end) else None for end in estimate.interval)
            found |= {
                "estimate": estimate.value if math.isfinite(estimate.value) else None,
                "standard_error": None if math.isnan(estimate.error) else estimate.error,
                "interval": (low, high),
                "reference": _reference(quantity, kept),
                "judgement": judgement,
                "sequences_needed": None if needed is None else needed * self.sequences,
            }
        return subject.finding(quantity.name, self.name, **found, reason="; ".join(filter(None, reasons)))


def _judged(
    estimate: Measured, gate: Band | None, quantity: Quantity, *, broken: bool
) -> tuple[Judgement, str]:
    """Return the judgement with its reason: by the band, else by the quantity's own rule, if it has one."""
    if gate is None or gate == OWN_RULE:
        return quantity.rule(estimate, gate is not None) if quantity.rule else (Judgement.REPORTED, "")
    if broken:
        return Judgement.UNDECIDED, "with NaN or infinite scores there is no mean over all sequences"
    return judge(estimate, gate), ""


def judge(estimate: Measured, band: Band) -> Judgement:
    """Return confirmed where the interval lies inside the band, refuted where outside, else undecided."""
    if is_inside(estimate.interval, band):
        return Judgement.CONFIRMED
    return Judgement.REFUTED if is_outside(estimate.interval, band) else Judgement.UNDECIDED


def _scale_of(kept: Sequence[BlockStatistics]) -> Iterator[str]:
    """Yield in words the scale of the scores, where it is not the declared one."""
    implied = [one.implied for one in kept if one.implied is not None]
    if implied:
        ends = dict.fromkeys(f"{end:.4g}" for end in (min(implied), max(implied)))
        some = "" if len(implied) == len(kept) else f" for {_of(len(implied), 'sequence')}"
        yield f"scores have the scale that the output implies, {' to '.join(ends)}{some}"


def _absence(kept: Sequence[BlockStatistics]) -> Iterator[str]:
    """Yield what was not used, and why."""
    broken = sum(one.broken for one in kept)
    empty = sum(one.statistics is None for one in kept) - broken
    blind = sum(one.blind for one in kept)
    if broken:
        yield f"{_of(broken, 'sequence')} left out for NaN or infinite scores"
    if empty and len(kept) == empty:
        yield "no sequence has what this finding needs"
    if blind:
        yield f"{_of(blind, 'row')} left out that see no key at all"


def _of(number: int, what: str) -> str:
    return f"{number:,} {what}{'' if number == 1 else 's'}"


def _reference(quantity: Quantity, kept: Sequence[BlockStatistics]) -> Reference | None:
    if quantity.reference is None:
        return None
    known = np.array([one.references for one in kept if one.statistics is not None])
    value = quantity.reference.value(known.mean(axis=0))
    return Reference(value=value, claim=quantity.reference.claim) if math.isfinite(value) else None


def _largest_score(block: Block) -> BlockStatistics:
    """Keep which limits the largest score passes, and the score itself where it is finite."""
    rows = block.once(row_means)
    largest = rows.largest_score
    if math.isnan(largest):
        return BlockStatistics(None, broken=True)
    passed = (float(largest > limit) for limit in (*_WARNED, _FATAL))
    size = largest if math.isfinite(largest) else math.copysign(_FATAL, largest)
    return BlockStatistics((*passed, size), blind=rows.blind, implied=block.implied)


def _no_score_beyond(limit: int, estimate: Measured, decides: bool) -> tuple[Judgement, str]:
    if estimate.value > 0:
        judgement = Judgement.REFUTED if limit == _FATAL else Judgement.WARNED
        return judgement, f"scores beyond {limit:,} were seen"
    return (Judgement.CONFIRMED if decides else Judgement.REPORTED), f"no score beyond {limit:,} was seen"


def _unit_scale(_: Measured, blocks: Floats) -> str:
    unscaled = float(blocks[:, 1].mean())
    return f"a scale of {1 / math.sqrt(unscaled):.4g} would make it 1" if unscaled > 0 else "all scores agree"


def _shift_share(rows: RowMeans) -> tuple[float]:
    total = rows.variance + rows.between
    return (rows.between / total if total > 0 else 0.0,)


def _variances(block: Block, partner: Block) -> tuple[float, float]:
    """Return the row variance, and what it would be if queries knew nothing of their sequence's keys."""
    own = (block.once(row_means).variance + partner.once(row_means).variance) / 2
    return own, crossed_variance(block, partner)


_OF_TWO = ("square", "squared-mean", "squared-trace", "trace-of-square")
_MOMENTS = tuple(f"{side}-{what}" for side in ("query", "key") for what in _OF_TWO)


def _moments(block: Block, partner: Block) -> tuple[float, ...]:
    pairs = ((block.once(spread), partner.once(spread)) for spread in (query_spread, key_spread))
    return tuple(number for pair in pairs for number in _of_two(*pair))


def _of_two(one: Spread, other: Spread) -> tuple[float, ...]:
    """Return E x², |μ|²/d, (tr Σ)² and d·tr Σ² of the components, unbiased for independent sequences."""
    return (
        (one.mean_square + other.mean_square) / 2,
        float(one.mean @ other.mean) / len(one.mean),
        float(np.trace(one.covariance) * np.trace(other.covariance)),
        float(len(one.mean) * np.sum(one.covariance * other.covariance)),
    )


def _unless(value: float, broken: str) -> Callable[[Measured, Floats], str]:
    """Return what remarks that an interval excludes the ``value`` that a claim needs."""
    return lambda estimate, _: "" if estimate.interval[0] <= value <= estimate.interval[1] else broken


def _components(side: str, sign: str) -> tuple[Quantity, ...]:
    square, squared_mean, squared_trace, trace_of_square = (f"{side}-{what}" for what in _OF_TWO)
    return (
        Quantity(
            f"components-{side}-mean",
            rf"$|\mu_{sign}|^2/d_k$",
            "score-variance-general",
            MeanFunction(component(squared_mean), _MOMENTS),
            remark=_unless(0.0, "score-variance asks for mean 0; score-variance-general does not"),
        ),
        Quantity(
            f"components-{side}-variance",
            rf"$\operatorname{{tr}}\Sigma_{sign}/d_k$ over all tokens",
            "score-variance-general",
            MeanFunction(Smooth(lambda mean: mean[square] - mean[squared_mean], positive=True), _MOMENTS),
            remark=_unless(1.0, "score-variance asks for variance 1; scaled-variance-general does not"),
        ),
        Quantity(
            f"components-{side}-dimension",
            rf"$(\operatorname{{tr}}\Sigma_{sign})^2/(d_k\operatorname{{tr}}\Sigma_{sign}^2)$ in sequences",
            "correlated-components",
            MeanFunction(ratio(squared_trace, trace_of_square), _MOMENTS),
            remark=_unless(
                1.0,
                "score-variance asks for uncorrelated components of one variance; see correlated-components",
            ),
        ),
    )


def _inverse(mean_square: float) -> float:
    return 1 / mean_square if mean_square > 0 else math.inf


def _first(known: Floats) -> float:
    return float(known[0])


def _of_one(
    quantity: Quantity, statistics: Callable[[RowMeans], tuple[float, ...]], *references: OfKeys
) -> Statistical:
    """Return the kind that has one quantity of rows, and its name."""
    return Statistical(quantity.name, (quantity,), of_rows(statistics, *references))


_ROW_VARIANCE = Quantity(
    "row-variance",
    r"$c^2\,\mathbb{E}\operatorname{Var}_j(q\cdot k_j)$",
    "variance-split",
    MeanFunction(component("scaled", positive=True), ("scaled", "unscaled")),
    remark=_unit_scale,
)
_SHIFT_SHARE = Quantity(
    "shift-share",
    r"share of $\operatorname{Var}(q\cdot k)$ between rows: $\mu_k^{\mathsf T}\Sigma_q\mu_k$",
    "variance-split",
    BoundedMean(0),
)
_INDEPENDENCE = Quantity(
    "independence",
    r"$c^2\,\mathbb{E}\operatorname{Var}_j(q\cdot k_j)$ over "
    r"$c^2(\operatorname{tr}\Sigma_q\Sigma_k + \mu_q^{\mathsf T}\Sigma_k\mu_q)$",
    "variance-split",
    MeanFunction(ratio("own", "crossed"), ("own", "crossed")),
)
_ENTROPY = Quantity(
    "entropy",
    r"$\mathbb{E}H/\ln n$",
    "attention-entropy",
    BoundedMean(0),
    AtUnitVariance("attention-entropy", _first),
)
_EFFECTIVE_KEYS = Quantity(
    "effective-keys",
    r"$1/\mathbb{E}\sum p_j^2$",
    "effective-keys",
    BoundedMean(0, _inverse),
    AtUnitVariance("effective-keys", lambda known: _inverse(float(known[0]))),
)
_LARGEST_PROBABILITY = Quantity(
    "largest-probability",
    r"$\mathbb{E}\max_j p_j$",
    "softmax-saturation",
    BoundedMean(0),
    AtUnitVariance("softmax-saturation", _first),
)
_GRADIENT_PASS = (
    Quantity(
        "gradient-pass-trace",
        r"$\operatorname{tr}J = 1 - \mathbb{E}\sum p_j^2$",
        "softmax-jacobian",
        BoundedMean(0),
        AtUnitVariance("attention-concentration", lambda known: 1 - float(known[0])),
    ),
    Quantity(
        "gradient-pass-norm",
        r"$\sqrt{\mathbb{E}\|J\|_F^2}$",
        "softmax-jacobian",
        BoundedMean(1, math.sqrt),
        AtUnitVariance("jacobian-saturation", lambda known: math.sqrt(float(known[1]))),
    ),
)
_LARGEST_SCORE = tuple(
    Quantity(
        f"largest-score-{limit}",
        rf"share of sequences with a score beyond {limit:,}",
        None,
        ShareOfBlocks(place),
        rule=partial(_no_score_beyond, limit),
        remark=lambda _, blocks: (
            f"the largest seen is {blocks[:, -1].max():.4g}, and larger ones may not have been seen"
        ),
    )
    for place, limit in enumerate((*_WARNED, _FATAL))
)

STATISTICAL = (
    Statistical("largest-score", _LARGEST_SCORE, _largest_score),
    _of_one(_ROW_VARIANCE, lambda rows: (rows.variance, rows.unscaled_variance)),
    _of_one(_SHIFT_SHARE, _shift_share),
    Statistical("independence", (_INDEPENDENCE,), of_pairs(_variances), sequences=2),
    Statistical(
        "components", (*_components("query", "q"), *_components("key", "k")), of_pairs(_moments), sequences=2
    ),
    _of_one(_ENTROPY, lambda rows: (rows.entropy,), entropy_share),
    _of_one(_EFFECTIVE_KEYS, lambda rows: (rows.squares,), squares),
    _of_one(_LARGEST_PROBABILITY, lambda rows: (rows.largest_weight,), largest_weight),
    Statistical(
        "gradient-pass",
        _GRADIENT_PASS,
        of_rows(lambda rows: (1 - rows.squares, rows.jacobian), squares, jacobian),
    ),
)
"""The kinds of statistical findings, in the order in which they are shown."""
