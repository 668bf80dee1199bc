"""The factor that a call was given, over the intended one."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from verify.auditing.candidates import ROUNDING, diagnose
from verify.auditing.exact import widths_of
from verify.auditing.kinds import OWN_RULE, Single
from verify.evidence.audits import Finding, Judgement

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from verify.auditing.block import Block
    from verify.auditing.kinds import Subject

_NAME = "scale-applied"
_HALF = 2.0**-8


@dataclass(frozen=True)
class _Look:
    given: float | None
    intended: float
    keys: int


class _ScaleApplied(Single):
    def look(self, block: Block) -> _Look:
        """Keep the factor that the call was given, and the intended one."""
        return _Look(block.call.scale, block.intended, int(block.call.key.shape[2]))

    def find(self, looks: Sequence[_Look], subject: Subject) -> Iterator[Finding]:
        """Yield the finding on the factor that is farthest off; none where no call was given one."""
        given = [look for look in looks if look.given is not None]
        if given:
            yield _finding(max(given, key=_off), len(given), subject)


def _ratio(look: _Look) -> float:
    return (look.given or 0.0) / look.intended


def _off(look: _Look) -> float:
    return abs(_ratio(look) - 1)


def _finding(worst: _Look, sequences: int, subject: Subject) -> Finding:
    ratio, gate = _ratio(worst), subject.gates.get(_NAME, OWN_RULE)
    low, high = (1 - ROUNDING, 1 + ROUNDING) if gate == OWN_RULE else gate
    is_inside = (low is None or low <= ratio) and (high is None or ratio <= high)
    judgement, reason, cause, fix = Judgement.CONFIRMED, "", "", ""
    if not is_inside and gate == OWN_RULE and math.isclose(ratio, 1, rel_tol=_HALF):
        judgement, reason = Judgement.WARNED, "the factor differs by no more than a rounding to bfloat16"
    elif not is_inside:
        diagnosis = diagnose(worst.given or 0.0, worst.intended, widths_of(subject, worst.keys))
        judgement, cause, fix = Judgement.REFUTED, diagnosis.cause, diagnosis.fix
    return Finding(
        id=subject.id_of(_NAME),
        kind=_NAME,
        head=subject.head,
        quantity="the factor given over the intended scale",
        estimate=ratio,
        exact=True,
        band=(low, high),
        judgement=judgement,
        decides=True,
        reason=reason,
        cause=cause,
        fix=fix,
        sequences=sequences,
    )


KIND = _ScaleApplied(_NAME)
