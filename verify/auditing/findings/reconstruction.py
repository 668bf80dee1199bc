"""How far the output is from the attention that the call declares; if too far, which other one it is."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from verify.auditing.exact import Examined, examine, looked_at, why_nothing
from verify.auditing.kinds import OWN_RULE, Single
from verify.evidence.audits import Finding, Judgement

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from verify.auditing.block import Block
    from verify.auditing.kinds import Subject
    from verify.auditing.reconstruction import Explanation

_NAME = "reconstruction"
_MOST_NAMED = 3
_NEAR = 1e-4
"""As near as a scale is known that reproduces an output, of relative size."""

_LARGEST = 2000
"""Whole numbers up to here differ by more than that."""


class _Reconstruction(Single):
    def look(self, block: Block) -> Examined | None:
        """Keep what was found of some rows of the block."""
        return block.once(examine)

    def find(self, looks: Sequence[Examined | None], subject: Subject) -> Iterator[Finding]:
        """Yield the finding on the residual, of the sequence where it most exceeds what rounding leaves."""
        examined = [look for look in looks if look is not None]
        if any(look.lost for look in examined):
            yield _lost(len(examined), subject)
            return
        tried = [look for look in examined if look.implied is not None]
        if tried:
            yield _judged(max(tried, key=_excess), tried, looked_at(examined, len(looks)), subject)
            return
        decides = bool(examined) or _NAME in subject.gates
        reason = "no call was recorded with its values and output"
        if any(look.broken for look in examined):
            reason = "NaN or infinities leave nothing to compare; see the finding on overflow"
        elif examined:
            reason = why_nothing(examined)
        yield Finding(
            **_common(subject, len(examined)),
            estimate=None,
            judgement=Judgement.UNDECIDED if decides else Judgement.REPORTED,
            decides=decides,
            reason=reason,
        )


def _lost(sequences: int, subject: Subject) -> Finding:
    """Return the finding where the output is 0 and attention is not; there is no norm to divide by."""
    return Finding(
        **_common(subject, sequences),
        estimate=None,
        judgement=Judgement.REFUTED,
        decides=True,
        cause="the output is 0 throughout, and the attention of what was recorded is not",
        fix="look whether the output is written, and recorded after it is",
    )


def _excess(look: Examined) -> float:
    implied = look.implied
    return -1.0 if implied is None else implied.residual / implied.rounding


def _judged(worst: Examined, tried: Sequence[Examined], seen: str, subject: Subject) -> Finding:
    implied, gate = worst.implied, subject.gates.get(_NAME, OWN_RULE)
    assert implied is not None  # noqa: S101 - those without one were left out
    band = (None, implied.rounding) if gate == OWN_RULE else gate
    is_inside = band[1] is None or implied.residual <= band[1]
    judgement, reason, cause, fix = Judgement.CONFIRMED, "", "", ""
    if not is_inside:
        named = next((look.explanations for look in tried if look.explanations), ())
        judgement, reason, cause, fix = _explained(worst, named)
        off = sum(look.implied is not None and not look.implied.fits for look in tried)
        if 0 < off < len(tried):
            seen = f"it is so in {off:,} of {len(tried):,} sequences; {seen}"
    return Finding(
        **_common(subject, len(tried)),
        estimate=implied.residual,
        band=band,
        judgement=judgement,
        decides=True,
        reason="; ".join(filter(None, [reason, seen])),
        cause=cause,
        fix=fix,
    )


def _explained(worst: Examined, named: Sequence[Explanation]) -> tuple[Judgement, str, str, str]:
    """Return judgement, reason, cause and fix of an output that is not the declared attention."""
    if named:
        causes = " or ".join(_cause(one, worst.intended) for one in named[:_MOST_NAMED])
        return Judgement.REFUTED, "", causes, named[0].fix
    if worst.precision:
        reason = (
            f"the output agrees to {worst.precision} only: the program computes more coarsely than it stores"
        )
        return Judgement.WARNED, reason, "", ""
    reason = (
        "the output is not the attention of the queries, keys and values recorded, whatever the scale, and "
        "no known mistake gives it; dropout, or vectors changed after they were recorded, would do this"
    )
    return Judgement.REFUTED, reason, "", ""


def _cause(found: Explanation, intended: float) -> str:
    """Return the cause with its scale where that is not the intended one."""
    if found.is_factor:
        return f"{found.cause} (by {_number(found.scale)})"
    if math.isclose(found.scale, intended, rel_tol=0.01):
        return found.cause
    return f"{found.cause} (and the scale is {_number(found.scale)})"


def _number(scale: float) -> str:
    """Return a scale as the fraction that it nearly is, else to three digits.

    Heads of one scale are to say the same: rounding makes 0.0312 of 1/32 as often as 0.0313.
    """
    below = 1 / abs(scale) if scale else 0.0
    for size, form in ((below, "{}1/{}"), (below**2, "{}1/√{}")):
        if 1.5 < size < _LARGEST and math.isclose(size, round(size), rel_tol=_NEAR):
            return form.format("-" if scale < 0 else "", round(size))
    return f"{scale:.3g}"


def _common(subject: Subject, sequences: int) -> dict[str, object]:
    return {
        "id": subject.id_of(_NAME),
        "kind": _NAME,
        "head": subject.head,
        "quantity": r"$\lVert O-\operatorname{softmax}(\hat{c}QK^\top+B)V\rVert/\lVert O\rVert$",
        "exact": True,
        "sequences": sequences,
    }


KIND = _Reconstruction(_NAME)
