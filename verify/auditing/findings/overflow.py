"""Whether products, scores or outputs leave the range of the dtype, or come near its end."""

from __future__ import annotations

from typing import TYPE_CHECKING

from verify.auditing.kinds import OWN_RULE, Single
from verify.auditing.overflow import LARGEST, NEAR, Margin, combined, margin
from verify.evidence.audits import Finding, Judgement

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from verify.auditing.block import Block
    from verify.auditing.kinds import Subject

_NAME = "overflow"
_FIX = "scale the queries before the product, or keep scores in float32"


class _Overflow(Single):
    def look(self, block: Block) -> Margin:
        """Keep how near the block comes to the end of the range."""
        return margin(block)

    def find(self, looks: Sequence[Margin], subject: Subject) -> Iterator[Finding]:
        """Yield the finding on all blocks together."""
        whole = combined(looks)
        gate = subject.gates.get(_NAME, OWN_RULE)
        judgement, reason, cause, fix = _judged(whole, 1.0 if gate[1] is None else gate[1])
        yield Finding(
            id=subject.id_of(_NAME),
            kind=_NAME,
            head=subject.head,
            quantity=r"largest $|q\cdot k|$ before scaling over the largest number of the dtype",
            estimate=whole.share,
            interval=(whole.share, max(whole.share, whole.bound)),
            exact=True,
            band=(None, 1.0) if gate == OWN_RULE else gate,
            judgement=judgement,
            decides=True,
            reason=reason,
            cause=cause,
            fix=fix,
            sequences=len(looks),
        )


def _judged(whole: Margin, limit: float) -> tuple[Judgement, str, str, str]:
    """Return judgement, reason, cause and fix."""
    blind = f"{whole.blind:,} rows of the output are no numbers, for they see no key" if whole.blind else ""
    largest = f"the largest product is {whole.share * LARGEST.get(whole.dtype, 1.0):,.0f}"
    if whole.broken:
        found = ", ".join(f"{count:,} of {name}" for name, count in whole.broken)
        if whole.share >= 1:
            cause = f"{largest}, beyond {whole.dtype}'s {LARGEST[whole.dtype]:,.0f}"
            return Judgement.REFUTED, f"NaN or infinite numbers: {found}", cause, _FIX
        first = whole.broken[0][0]
        return (
            Judgement.REFUTED,
            f"NaN or infinite numbers: {found}",
            f"{first} hold NaN or infinities, and no product is beyond {whole.dtype}",
            f"look where {first} are computed",
        )
    if whole.bound >= limit:
        if whole.has_output:
            why = f"{largest}, yet the output is finite: scores are kept in a wider type, or scaled first"
            return Judgement.WARNED, why, "", _FIX
        why = (
            f"{largest}, beyond {whole.dtype}'s {LARGEST.get(whole.dtype, 1.0):,.0f}, and there is no output "
            "that would show whether scores are kept in a wider type or scaled first"
        )
        return Judgement.UNDECIDED, why, "", _FIX
    if whole.bound > NEAR:
        return Judgement.WARNED, f"{largest}, more than a quarter of {whole.dtype}'s range", "", _FIX
    return Judgement.CONFIRMED, blind, "", ""


KIND = _Overflow(_NAME)
