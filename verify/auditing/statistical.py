"""Statistical findings: one number of each sequence, the median over sequences, and gates by their share.

``STATISTICAL`` has their kinds, an entry each. Sequences are what is independent; intervals hold for every
law of theirs and any number of them.
"""

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import special

from verify.auditing.blocks import OWN_RULE, Subject
from verify.auditing.layers import Pairs, Seen
from verify.auditing.references import OfKeys, entropy_share, jacobian, largest_weight, over_rows, squares
from verify.auditing.rows import RowMeans
from verify.evidence.audits import DerivedValue, Finding, Judgement, counted
from verify.evidence.claims import Band
from verify.montecarlo.intervals import betting_mean, hull

Floats = NDArray[np.float64]
Interval = tuple[float, float]


DEPENDENT = 4.0
"""Standard errors of the rank correlation of neighbouring sequences from which on it is warned of."""

_WHOLE_LINE = (-math.inf, math.inf)
_MOST_NEEDED = 10**7
_AT_ONCE = 1 << 18  # numbers of sequences and heads that are looked at together
_AT_EDGE = "about half of the sequences lie inside the band, so that no number of them is sure to decide"
_WARNED, _FATAL = (100, 1000), 10_000
"""Scores beyond which training diverges, and those that large runs clip at.

Logits grow past 1e4 in runs that diverge: M. Wortsman et al., Small-scale proxies for large-scale Transformer
training instabilities, arXiv 2309.14322. Past 1e3 large runs are clipped, to 1e2: Kimi K2, arXiv 2507.20534.
"""


def median_interval(values: Floats, alpha: float) -> Interval:
    """Return the interval of the median between two order statistics, the whole line of too few ``values``.

    It misses at ``alpha`` at most for every law: fewer than r of n values lie below the median with the
    probability that fewer than r of n coins show heads. Source: H. A. David and H. N. Nagaraja, Order
    Statistics, 3rd edition, Wiley 2003, section 7.1.
    """
    below = special.bdtr(np.arange(len(values) // 2 + 1), len(values), 0.5)
    rank = int(np.searchsorted(below, alpha / 2, side="right")) - 1
    if rank < 0:
        return _WHOLE_LINE
    ordered = np.sort(values)
    return float(ordered[rank]), float(ordered[len(values) - 1 - rank])


def share_interval(count: int, number: int, alpha: float) -> Interval:
    """Return the exact interval of a share of which ``count`` of ``number`` were seen.

    Source: C. J. Clopper and E. S. Pearson, The use of confidence or fiducial limits illustrated in the case
    of the binomial, Biometrika 26 (1934), 404-413.
    """
    low = float(special.betaincinv(count, number - count + 1, alpha / 2)) if count else 0.0
    high = float(special.betaincinv(count + 1, number - count, 1 - alpha / 2)) if count < number else 1.0
    return low, high


def fewest_sequences(alpha: float) -> int:
    """Return from how many sequences on a median has an interval that misses at ``alpha``."""
    return math.ceil(math.log2(2 / alpha))


def dependence(values: Floats) -> Floats:
    """Return the rank correlation of rows of values that follow each other, in standard errors, by column.

    Those are the errors of independent values. Source: A. Wald and J. Wolfowitz, An exact test for randomness
    in the non-parametric case based on serial correlation, Annals of Mathematical Statistics 14 (1943),
    378-388, on ranks.
    """
    number, columns = values.shape
    if number < 3:
        return np.zeros(columns)
    order = np.argsort(values, axis=0)
    ordered = np.take_along_axis(values, order, axis=0)
    place = np.arange(number)[:, None]
    is_new = np.concatenate([np.ones((1, columns), dtype=bool), ordered[1:] != ordered[:-1]])
    is_last = np.concatenate([is_new[1:], is_new[:1]])
    first = np.maximum.accumulate(np.where(is_new, place, 0), axis=0)
    last = np.minimum.accumulate(np.where(is_last, place, number)[::-1], axis=0)[::-1]
    # Equal values share the mean of their ranks.
    ranks = np.empty(values.shape)
    np.put_along_axis(ranks, order, (first + last) / 2, axis=0)
    moved = ranks - ranks.mean(axis=0)
    size = (moved**2).mean(axis=0)
    inner = (moved[:-1] * moved[1:]).sum(axis=0)
    found: Floats = np.divide(inner, size, out=np.zeros(columns), where=size > 0) / math.sqrt(number - 1)
    return found


class Estimate(NamedTuple):
    """An estimate with its interval, and the ``values`` of sequences or pairs that it is of.

    ``dependence`` is that of distinct ones.
    """

    value: float
    interval: Interval
    values: Floats
    dependence: float

    @property
    def sequences(self) -> int:
        """How many values there are."""
        return len(self.values)


@dataclass(frozen=True)
class AtUnitVariance:
    """What a claim says of rows of unit variance: a function of the mean over rows of ``of_keys``."""

    claim: str
    of_keys: OfKeys
    function: Callable[[float], float] = float


@dataclass(frozen=True)
class HeadQuantity:
    """One thing that a statistical kind estimates of a head: a number of each sequence, or of each pair.

    ``label`` is its LaTeX, and ``claim`` the claim of the catalogue that derives its formula, None where
    something is only counted. ``of`` takes what is kept of the rows (`RowMeans`), or of pairs (`Pairs`), and
    returns the numbers. They are estimated by their median; where they ``are_bounded``, between 0 and 1, by
    their mean; ``function``, which is monotone, is applied to what is estimated. ``rule`` judges where there
    is no band, and is given whether it decides; ``remark`` says more about an estimate, from what is kept and
    a function that takes the head's part of an array.
    """

    name: str
    label: str
    claim: str | None
    of: Callable[[Any], Floats]
    are_bounded: bool = False
    function: Callable[[float], float] = float
    reference: AtUnitVariance | None = None
    rule: Callable[[Estimate, bool], tuple[Judgement, str]] | None = None
    remark: Callable[[Estimate, Any, Callable[[Floats], Floats]], str] | None = None

    def measure(
        self, values: Floats, alpha: float, distinct: NDArray[np.bool_] | None = None
    ) -> list[Estimate]:
        """Return the estimates of several heads; ``values`` has the shape (sequences, heads).

        ``distinct`` are the first ones of those that occur more than once. Intervals hold whether equal
        sequences count as many or as one: they are the hull of both.
        """
        intervals = self._intervals(values, alpha)
        if distinct is not None and not distinct.all():
            intervals = list(map(hull, intervals, self._intervals(values[distinct], alpha)))
        middle = np.mean(values, axis=0) if self.are_bounded else np.median(values, axis=0)
        alike = dependence(values if distinct is None else values[distinct])
        found = []
        for one, value, interval, z in zip(values.T, middle, intervals, alike, strict=True):
            low, high = sorted(self.function(end) if math.isfinite(end) else end for end in interval)
            of_each = one if self.function is float else np.array([self.function(each) for each in one])
            found.append(Estimate(self.function(float(value)), (low, high), of_each, float(z)))
        return found

    def _intervals(self, values: Floats, alpha: float) -> list[Interval]:
        if self.rule is not None:
            return [share_interval(int(count), len(values), alpha) for count in values.sum(axis=0)]
        if not self.are_bounded:
            return [median_interval(one, alpha) for one in values.T]
        step = max(1, _AT_ONCE // len(values))
        parts = (np.clip(values.T[at : at + step], 0.0, 1.0) for at in range(0, values.shape[1], step))
        ends = [zip(*betting_mean(part, alpha), strict=True) for part in parts]
        return [(float(low), float(high)) for some in ends for low, high in some]


@dataclass(frozen=True)
class Statistical:
    """A kind of finding with quantities of the rows of sequences, or where ``of_pairs`` of pairs of them."""

    name: str
    quantities: tuple[HeadQuantity, ...]
    of_pairs: bool = False

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the quantities."""
        return tuple(one.name for one in self.quantities)

    @property
    def places(self) -> int:
        """Intervals on one head that take a share of the false-alarm rate: of the quantity, and in a band."""
        return 2 * len(self.quantities)

    @property
    def has_rule(self) -> bool:
        """Whether a finding can decide without a band: there is a rule for each quantity."""
        return all(one.rule is not None for one in self.quantities)

    def find(self, seen: Seen, subjects: Sequence[Subject]) -> Iterator[Finding]:
        """Yield the finding on each quantity of each head, from what is kept of a layer."""
        kept = seen.new_pairs if self.of_pairs else seen.new_rows
        for quantity in self.quantities:
            values = np.zeros((0, seen.heads)) if kept is None else quantity.of(kept)
            usable = np.isfinite(values)
            distinct = seen.distinct[:: 2 if self.of_pairs else 1][: len(values)]
            estimates: dict[int, Estimate] = {}
            alike: dict[bytes, list[int]] = {}
            for head, known in enumerate(usable.T):
                alike.setdefault(known.tobytes(), []).append(head)
            for heads in alike.values():
                known = usable[:, heads[0]]
                if known.any():
                    some = values[known][:, heads]
                    found = quantity.measure(some, subjects[0].alpha, distinct[known])
                    estimates |= dict(zip(heads, found, strict=True))
            for subject in subjects:
                estimate, known = estimates.get(subject.head), usable[:, subject.head]
                yield self._finding(quantity, kept, seen, subject, known, distinct[known], estimate)

    def _finding(
        self,
        quantity: HeadQuantity,
        kept: RowMeans | Pairs | None,
        seen: Seen,
        subject: Subject,
        usable: NDArray[np.bool_],
        distinct: NDArray[np.bool_],
        estimate: Estimate | None,
    ) -> Finding:
        gate, head, per = subject.gates.get(quantity.name), subject.head, 2 if self.of_pairs else 1
        found: dict[str, Any] = {
            "quantity": quantity.label,
            "claim": quantity.claim,
            "exact": False,
            "band": None if gate == OWN_RULE else gate,
            "decides": gate is not None,
            "level": 1 - subject.alpha,
            "sequences": per * int(usable.sum()),
            "estimate": None,
            "judgement": Judgement.REPORTED if gate is None else Judgement.UNDECIDED,
        }
        reasons, broken = [], 0
        if not self.of_pairs and seen.new_rows is not None:
            rows = seen.new_rows
            found["rows_left_out"] = int(rows.few[:, head].sum() + rows.padding[:, head].sum())
            broken = int((~rows.finite[:, head] & ~usable).sum())
            reasons = list(_left_out(rows, head, broken, usable))
        if estimate is not None:
            judgement, why = _judged(quantity, estimate, gate, distinct, subject.alpha, broken=broken)
            needed = None
            if judgement is Judgement.UNDECIDED and not broken and gate not in (None, OWN_RULE):
                needed = needed_to_decide(_inside(estimate.values, gate), len(estimate.values), subject.alpha)
                why += "" if needed else f"; {_AT_EDGE}"
            elif estimate.interval == _WHOLE_LINE:
                why = _too_few(estimate.sequences, per, subject.alpha)
            part = lambda array: array[usable, head]  # noqa: E731 - it is given on
            remark = quantity.remark(estimate, kept, part) if quantity.remark else ""
            reasons = [why, remark, *_dependent(estimate, distinct), *_scale_of(seen, head), *reasons]
            low, high = (end if math.isfinite(end) else None for end in estimate.interval)
            found |= {
                "estimate": estimate.value if math.isfinite(estimate.value) else None,
                "interval": (low, high) if math.isfinite(estimate.value) else (None, None),
                "reference": _reference(quantity, seen, head, usable),
                "judgement": judgement,
                "sequences_needed": None if needed is None else needed * per,
            }
        return subject.finding(quantity.name, self.name, **found, reason="; ".join(filter(None, reasons)))


def _too_few(number: int, per: int, alpha: float) -> str:
    what = (
        ("pair of sequences is", "pairs of sequences are") if per == 2 else ("sequence is", "sequences are")
    )
    return f"{number:,} {what[number != 1]} too few for an interval, which takes {fewest_sequences(alpha)}"


def _inside(values: Floats, band: Band) -> int:
    low, high = band
    low, high = (-math.inf if low is None else low), (math.inf if high is None else high)
    return int(((values >= low) & (values <= high)).sum())


def _judged(
    quantity: HeadQuantity, estimate: Estimate, gate: Band | None, distinct: Any, alpha: float, *, broken: int
) -> tuple[Judgement, str]:
    """Return the judgement with its reason: by the share inside the band, else by the quantity's own rule."""
    if gate is None or gate == OWN_RULE:
        return quantity.rule(estimate, gate is not None) if quantity.rule else (Judgement.REPORTED, "")
    count, number = _inside(estimate.values, gate), estimate.sequences
    once = estimate.values[distinct]
    low, high = hull(
        share_interval(count, number, alpha), share_interval(_inside(once, gate), len(once), alpha)
    )
    said = f"{count:,} of {number:,} lie inside the band, which proves {low:.0%} to {high:.0%} of all"
    if broken:
        return Judgement.UNDECIDED, f"{said}; those with NaN or infinite scores lie nowhere"
    if _dependent(estimate, distinct):
        return Judgement.UNDECIDED, said
    if low > 0.5:
        return Judgement.CONFIRMED, said
    return (Judgement.REFUTED if high < 0.5 else Judgement.UNDECIDED), said


def needed_to_decide(count: int, number: int, alpha: float) -> int | None:
    """Return about how many sequences show that most lie inside a band, or outside; None where about half do.

    That many of ``number`` lie inside. The share of that many differs from this one by both their errors.
    """
    share = count / number
    error = 1 / (2 * math.sqrt(number))
    distance = abs(share - 0.5) - (error if 0 < count < number else 0.0)
    if distance <= 0:
        return None
    share = 0.5 + distance
    wanted = max(number + 1, fewest_sequences(alpha))
    while share_interval(math.floor(share * wanted), wanted, alpha)[0] <= 0.5:
        wanted = math.ceil(1.05 * wanted)
        if wanted > _MOST_NEEDED:
            return None
    return wanted


def _dependent(estimate: Estimate, distinct: NDArray[np.bool_]) -> tuple[str, ...]:
    """Return the warning that sequences that follow each other are alike, if they are."""
    if estimate.dependence <= DEPENDENT:
        return ()
    alike = f"a rank correlation of {estimate.dependence / math.sqrt(distinct.sum()):.2f}"
    return (f"sequences that follow each other are alike ({alike}), and intervals take them for independent",)


def _scale_of(seen: Seen, head: int) -> Iterator[str]:
    """Yield in words the scale of the scores, where it is not the declared one."""
    implied = seen.implied[:, head]
    known = implied[np.isfinite(implied)]
    if known.size:
        ends = dict.fromkeys(f"{end:.4g}" for end in (known.min(), known.max()))
        some = "" if known.size == implied.size else f" for {counted(known.size, 'sequence')}"
        yield f"scores have the scale that the output implies, {' to '.join(ends)}{some}"


def _left_out(rows: RowMeans, head: int, broken: int, usable: NDArray[np.bool_]) -> Iterator[str]:
    """Yield what was not used, and why."""
    if broken:
        yield f"{counted(broken, 'sequence')} left out for NaN or infinite scores"
    if not usable.any() and not broken:
        yield "no sequence has what this finding needs"
    for number, what in ((rows.blind, "that see no key at all"), (rows.padding, "of padding")):
        if count := int(number[:, head].sum()):
            yield f"{counted(count, 'row')} left out {what}"


def _reference(
    quantity: HeadQuantity, seen: Seen, head: int, usable: NDArray[np.bool_]
) -> DerivedValue | None:
    if quantity.reference is None or seen.new_rows is None:
        return None
    of_keys = quantity.reference.of_keys
    patterns = seen.new_rows.patterns[:, head][usable]
    value = quantity.reference.function(float(np.mean([over_rows(of_keys, *one) for one in patterns])))
    return DerivedValue(value=value, claim=quantity.reference.claim) if math.isfinite(value) else None


def _beyond(limit: int, rows: RowMeans) -> Floats:
    """Return whether the largest score of each sequence is beyond a limit, NaN where that is not known."""
    return np.where(np.isnan(rows.largest_score), np.nan, (rows.largest_score > limit).astype(float))


def _no_score_beyond(limit: int, estimate: Estimate, decides: bool) -> tuple[Judgement, str]:
    if estimate.value > 0:
        judgement = Judgement.REFUTED if limit == _FATAL else Judgement.WARNED
        return judgement, f"scores beyond {limit:,} were seen"
    return (Judgement.CONFIRMED if decides else Judgement.REPORTED), f"no score beyond {limit:,} was seen"


def _largest(_: Estimate, rows: RowMeans, part: Callable[[Floats], Floats]) -> str:
    return f"the largest seen is {part(rows.largest_score).max():.4g}, and larger ones may not have been seen"


def _unit_scale(_: Estimate, rows: RowMeans, part: Callable[[Floats], Floats]) -> str:
    scale = part(rows.scale)
    of_each = np.divide(part(rows.variance), scale**2, out=np.zeros(len(scale)), where=scale != 0)
    unscaled = float(np.median(of_each))
    return f"a scale of {1 / math.sqrt(unscaled):.4g} would make it 1" if unscaled > 0 else "all scores agree"


def _shift_share(rows: RowMeans) -> Floats:
    total = rows.variance + rows.between
    return np.where(
        total > 0, rows.between / np.where(total > 0, total, 1.0), np.where(np.isnan(total), np.nan, 0.0)
    )


def _unless(value: float, broken: str) -> Callable[[Estimate, Any, Any], str]:
    """Return what remarks that an interval excludes the ``value`` that a claim needs."""
    return lambda estimate, *_: "" if estimate.interval[0] <= value <= estimate.interval[1] else broken


def _components(side: str, sign: str) -> tuple[HeadQuantity, ...]:
    return (
        HeadQuantity(
            f"components-{side}-mean",
            rf"$|\mu_{sign}|^2/d_k$, unbiased",
            "score-variance-general",
            lambda pairs: getattr(pairs, f"{side}_mean"),
            remark=_unless(0.0, "score-variance asks for mean 0; score-variance-general does not"),
        ),
        HeadQuantity(
            f"components-{side}-variance",
            rf"$\operatorname{{tr}}\Sigma_{sign}/d_k$ over all tokens",
            "score-variance-general",
            lambda pairs: getattr(pairs, f"{side}_variance"),
            remark=_unless(1.0, "score-variance asks for variance 1; scaled-variance-general does not"),
        ),
        HeadQuantity(
            f"components-{side}-dimension",
            rf"$(\operatorname{{tr}}\Sigma_{sign})^2/(d_k\operatorname{{tr}}\Sigma_{sign}^2)$ in sequences",
            "correlated-components",
            lambda pairs: getattr(pairs, f"{side}_dimension"),
            remark=_unless(
                1.0,
                "score-variance asks for uncorrelated components of one variance; see correlated-components",
            ),
        ),
    )


def _inverse(number: float) -> float:
    return 1 / number if number > 0 else math.inf


def _root(number: float) -> float:
    return math.sqrt(max(number, 0.0))


_MEDIAN = r"\operatorname{med}"

STATISTICAL = (
    Statistical(
        "largest-score",
        tuple(
            HeadQuantity(
                f"largest-score-{limit}", rf"share of sequences with a score beyond {limit:,}", None,
                partial(_beyond, limit), are_bounded=True, rule=partial(_no_score_beyond, limit),
                remark=_largest,
            )
            for limit in (*_WARNED, _FATAL)
        ),
    ),
    Statistical(
        "row-variance",
        (
            HeadQuantity(
                "row-variance", rf"${_MEDIAN}\,c^2\operatorname{{Var}}_j(q\cdot k_j)$", "variance-split",
                lambda rows: rows.variance, remark=_unit_scale,
            ),
        ),
    ),
    Statistical(
        "shift-share",
        (
            HeadQuantity(
                "shift-share",
                r"share of $\operatorname{Var}(q\cdot k)$ between rows: $\mu_k^{\mathsf T}\Sigma_q\mu_k$",
                "variance-split", _shift_share, are_bounded=True,
            ),
        ),
    ),
    Statistical(
        "independence",
        (
            HeadQuantity(
                "independence",
                rf"${_MEDIAN}$ of $c^2\operatorname{{Var}}_j(q\cdot k_j)$ over "
                r"$c^2(\operatorname{tr}\Sigma_q\Sigma_k + \mu_q^{\mathsf T}\Sigma_k\mu_q)$",
                "variance-split", lambda pairs: pairs.independence,
            ),
        ),
        of_pairs=True,
    ),
    Statistical("components", (*_components("query", "q"), *_components("key", "k")), of_pairs=True),
    Statistical(
        "entropy",
        (
            HeadQuantity(
                "entropy", r"$\mathbb{E}H/\ln n$", "attention-entropy", lambda rows: rows.entropy,
                are_bounded=True, reference=AtUnitVariance("attention-entropy", entropy_share),
            ),
        ),
    ),
    Statistical(
        "effective-keys",
        (
            HeadQuantity(
                "effective-keys", r"$1/\mathbb{E}\sum p_j^2$", "effective-keys", lambda rows: rows.squares,
                are_bounded=True, function=_inverse,
                reference=AtUnitVariance("effective-keys", squares, _inverse),
            ),
        ),
    ),
    Statistical(
        "largest-probability",
        (
            HeadQuantity(
                "largest-probability", r"$\mathbb{E}\max_j p_j$", "softmax-saturation",
                lambda rows: rows.largest_weight, are_bounded=True,
                reference=AtUnitVariance("softmax-saturation", largest_weight),
            ),
        ),
    ),
    Statistical(
        "gradient-pass",
        (
            HeadQuantity(
                "gradient-pass-trace", r"$\operatorname{tr}J = 1 - \mathbb{E}\sum p_j^2$", "softmax-jacobian",
                lambda rows: 1 - rows.squares, are_bounded=True,
                reference=AtUnitVariance("attention-concentration", squares, lambda known: 1 - known),
            ),
            HeadQuantity(
                "gradient-pass-norm", r"$\sqrt{\mathbb{E}\|J\|_F^2}$", "softmax-jacobian",
                lambda rows: rows.jacobian, are_bounded=True, function=_root,
                reference=AtUnitVariance("jacobian-saturation", jacobian, _root),
            ),
        ),
    ),
)  # fmt: skip
"""The kinds of statistical findings, in the order in which they are shown."""
