"""Statistical findings: block statistics averaged over sequences, with simultaneous intervals."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from verify.auditing.estimates import blocks_needed
from verify.auditing.kinds import OWN_RULE
from verify.evidence.audits import Finding, Judgement, Reference

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from numpy.typing import NDArray

    from verify.auditing.block import Block
    from verify.auditing.estimates import Estimand, Estimate
    from verify.auditing.kinds import Subject
    from verify.evidence.claims import Band
    from verify.montecarlo.intervals import Interval

    Floats = NDArray[np.float64]


_NEAR = "the estimate is too near the edge of the band to say how many sequences would decide"


@dataclass(frozen=True)
class Look:
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


@dataclass(frozen=True)
class AtUnitVariance:
    """What a claim says of rows of unit variance, a function of the means of the looks' references."""

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
    estimand: Estimand
    reference: AtUnitVariance | None = None
    rule: Callable[[Estimate, bool], tuple[Judgement, str]] | None = None
    remark: Callable[[Estimate, Floats], str] | None = None


@dataclass(frozen=True)
class Statistical:
    """A kind of finding that averages what it keeps of each block; a block is ``sequences`` of them."""

    name: str
    quantities: tuple[Quantity, ...]
    look: Callable[[Block], Look]
    sequences: int = 1

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the quantities."""
        return tuple(one.name for one in self.quantities)

    @property
    def places(self) -> int:
        """One interval a quantity."""
        return len(self.quantities)

    @property
    def has_rule(self) -> bool:
        """Whether there is a rule for each quantity."""
        return all(one.rule is not None for one in self.quantities)

    def find(self, looks: Sequence[Look], subject: Subject) -> Iterator[Finding]:
        """Yield the finding on each quantity."""
        used = [look for look in looks if look.statistics is not None]
        blocks = np.array([look.statistics for look in used], dtype=np.float64)
        for quantity in self.quantities:
            yield _finding(self, quantity, looks, blocks, subject)


def _finding(
    kind: Statistical, quantity: Quantity, looks: Sequence[Look], blocks: Floats, subject: Subject
) -> Finding:
    gate = subject.gates.get(quantity.name)
    common = {
        "id": subject.id_of(quantity.name),
        "kind": kind.name,
        "head": subject.head,
        "quantity": quantity.label,
        "claim": quantity.claim,
        "exact": False,
        "band": None if gate == OWN_RULE else gate,
        "decides": gate is not None,
        "level": 1 - subject.alpha,
        "sequences": kind.sequences * len(blocks),
        "rows_left_out": sum(look.left_out for look in looks),
    }
    if not len(blocks):
        judgement = Judgement.REPORTED if gate is None else Judgement.UNDECIDED
        return Finding(**common, estimate=None, judgement=judgement, reason=_joined(*_absence(looks)))
    estimate = quantity.estimand.estimate(blocks, subject.alpha)
    judgement, why = _judged(estimate, gate, quantity, looks)
    remark = quantity.remark(estimate, blocks) if quantity.remark else ""
    open_yet = judgement is Judgement.UNDECIDED and not any(look.broken for look in looks)
    needed = blocks_needed(estimate, gate or OWN_RULE) if open_yet else None
    near = "" if needed or not open_yet or estimate.interval is None else _NEAR
    return Finding(
        **common,
        estimate=estimate.value if math.isfinite(estimate.value) else None,
        standard_error=estimate.error,
        interval=_finite(estimate.interval),
        reference=_reference(quantity, looks),
        judgement=judgement,
        reason=_joined(why, estimate.doubt, near, remark, *_scale_of(looks), *_absence(looks)),
        sequences_needed=None if needed is None else needed * kind.sequences,
    )


def _judged(
    estimate: Estimate, gate: Band | None, quantity: Quantity, looks: Sequence[Look]
) -> tuple[Judgement, str]:
    """Return the judgement with its reason: by the band, else by the quantity's own rule, if it has one."""
    if gate is None or gate == OWN_RULE:
        return quantity.rule(estimate, gate is not None) if quantity.rule else (Judgement.REPORTED, "")
    if any(look.broken for look in looks):
        return Judgement.UNDECIDED, "with NaN or infinite scores there is no mean over all sequences"
    return judge(estimate, gate), ""


def judge(estimate: Estimate, band: Band) -> Judgement:
    """Return confirmed where the interval lies inside the band, refuted where outside, else undecided."""
    if estimate.interval is None:
        return Judgement.UNDECIDED
    low, high = estimate.interval
    least = -math.inf if band[0] is None else band[0]
    most = math.inf if band[1] is None else band[1]
    if least <= low and high <= most:
        return Judgement.CONFIRMED
    return Judgement.REFUTED if high < least or low > most else Judgement.UNDECIDED


def _finite(interval: Interval | None) -> Band:
    """Return an interval with None for an end that is open."""
    if interval is None:
        return None, None
    low, high = interval
    return low if math.isfinite(low) else None, high if math.isfinite(high) else None


def _scale_of(looks: Sequence[Look]) -> Iterator[str]:
    """Yield in words the scale of the scores, where it is not the declared one."""
    implied = [look.implied for look in looks if look.implied is not None]
    if implied:
        ends = dict.fromkeys(f"{end:.4g}" for end in (min(implied), max(implied)))
        some = "" if len(implied) == len(looks) else f" for {_of(len(implied), 'sequence')}"
        yield f"scores have the scale that the output implies, {' to '.join(ends)}{some}"


def _absence(looks: Sequence[Look]) -> Iterator[str]:
    """Yield what was not used, and why."""
    broken = sum(look.broken for look in looks)
    empty = sum(look.statistics is None for look in looks) - broken
    blind = sum(look.blind for look in looks)
    if broken:
        yield f"{_of(broken, 'sequence')} left out for NaN or infinite scores"
    if empty and len(looks) == empty:
        yield "no sequence has what this finding needs"
    if blind:
        yield f"{_of(blind, 'row')} left out that see no key at all"


def _of(number: int, what: str) -> str:
    return f"{number:,} {what}{'' if number == 1 else 's'}"


def _joined(*parts: str) -> str:
    return "; ".join(part for part in parts if part)


def _reference(quantity: Quantity, looks: Sequence[Look]) -> Reference | None:
    if quantity.reference is None:
        return None
    known = np.array([look.references for look in looks if look.statistics is not None])
    value = quantity.reference.value(known.mean(axis=0))
    return Reference(value=value, claim=quantity.reference.claim) if math.isfinite(value) else None
