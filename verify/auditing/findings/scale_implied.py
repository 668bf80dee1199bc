"""The scale that the output implies, over the intended one, and by name where it is wrong."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from verify.auditing.candidates import diagnose
from verify.auditing.exact import TOLERANCE, Examined, examine, looked_at, why_nothing, widths_of
from verify.auditing.kinds import OWN_RULE, Single
from verify.auditing.scale import student_interval
from verify.evidence.audits import Finding, Judgement
from verify.text.escapes import as_prose, one_line

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from verify.auditing.block import Block
    from verify.auditing.kinds import Subject
    from verify.evidence.claims import Band

_NAME = "scale-implied"
_OPEN = (None, None)


@dataclass(frozen=True)
class _Ratio:
    """The implied scale over the intended one: value, standard error, degrees of freedom, possible bias."""

    value: float
    error: float
    df: float
    bias: float

    def interval(self, alpha: float) -> tuple[float, float]:
        return student_interval(self.value, self.error, self.df, 1 - alpha, self.bias)


class _ScaleImplied(Single):
    def look(self, block: Block) -> Examined | None:
        """Keep what was found of some rows of the block."""
        return block.once(examine)

    def find(self, looks: Sequence[Examined | None], subject: Subject) -> Iterator[Finding]:
        """Yield the finding on the scale, from all sequences that were looked at."""
        examined = [look for look in looks if look is not None]
        fitted = [look for look in examined if look.implied is not None and look.implied.fits]
        if fitted:
            yield _judged(fitted, looked_at(examined, len(looks)), subject)
        else:
            yield _without(examined, subject)


def _without(examined: Sequence[Examined], subject: Subject) -> Finding:
    """Return the finding where no output is explained by any scale."""
    reason = "no call was recorded with its values and output"
    if any(look.broken for look in examined):
        reason = "outputs with NaN or infinities tell no scale; see the finding on overflow"
    elif any(look.implied is not None or look.lost for look in examined):
        reason = "no scale reproduces the output; see the finding on reconstruction"
    elif examined:
        reason = why_nothing(examined)
    elif subject.only_output_tells:
        notes = (as_prose(one_line(note)) for note in subject.layer.notes)
        reason = "; ".join(("calls were given no scale, and no output that would tell it was kept", *notes))
    decides = bool(examined) or _NAME in subject.gates or subject.only_output_tells
    return Finding(
        **_common(subject),
        estimate=None,
        band=None,
        judgement=Judgement.UNDECIDED if decides else Judgement.REPORTED,
        decides=decides,
        reason=reason,
        sequences=len(examined),
    )


def _judged(fitted: Sequence[Examined], seen: str, subject: Subject) -> Finding:
    gate = subject.gates.get(_NAME, OWN_RULE)
    band = (1 - TOLERANCE, 1 + TOLERANCE) if gate == OWN_RULE else gate
    ratios = [_ratio(look) for look in fitted]
    # One interval for each sequence and one for all together share the place's rate.
    alpha = subject.alpha / (len(ratios) + 1)
    off = [place for place, ratio in enumerate(ratios) if _outside(ratio.interval(alpha), band)]
    ratio, look = (ratios[off[0]], fitted[off[0]]) if off else (_together(ratios), fitted[0])
    if 0 < len(off) < len(ratios):
        seen = f"it is so in {len(off):,} of {len(ratios):,} sequences; {seen}"
    found = Finding(
        **_common(subject),
        **_verdict(ratio, look, alpha, band, subject),
        level=1 - alpha,
        band=band,
        decides=True,
        sequences=len(ratios),
    )
    return found.model_copy(update={"reason": "; ".join(filter(None, [found.reason, seen]))})


def _verdict(ratio: _Ratio, look: Examined, alpha: float, band: Band, subject: Subject) -> dict[str, object]:
    """Return the estimate, and what it makes of the finding."""
    known, interval = math.isfinite(ratio.error), ratio.interval(alpha)
    found: dict[str, object] = {"judgement": Judgement.UNDECIDED}
    if _inside(interval, band):
        found["judgement"] = Judgement.CONFIRMED
    elif _outside(interval, band):
        half = (interval[1] - interval[0]) / 2 * abs(look.intended)
        widths = widths_of(subject, look.keys, look.d_v)
        diagnosis = diagnose(ratio.value * look.intended, look.intended, widths, uncertainty=half)
        found = {"judgement": Judgement.REFUTED, "cause": diagnosis.cause, "fix": diagnosis.fix}
    else:
        found["reason"] = _doubt(look, interval)
    return found | {
        "estimate": ratio.value if known else None,
        "standard_error": ratio.error if known else None,
        "interval": interval if known else _OPEN,
    }


def _doubt(look: Examined, interval: tuple[float, float]) -> str:
    """Return why the scale is undecided."""
    half, spread = (interval[1] - interval[0]) / 2, look.implied.spread if look.implied else 0.0
    if not math.isfinite(half) and spread <= 1:
        return "the output does not depend on the scale: all scores of a row, or all values, are equal"
    if half > 1:
        return "the output does not tell the scale: what it changes is lost in rounding"
    return (
        f"rounding leaves the scale uncertain by {half:.1%}, where scores differ by a standard deviation of "
        f"{spread:.2g} inside a row; record in single precision, or more tokens"
    )


def _ratio(look: Examined) -> _Ratio:
    implied, intended = look.implied, look.intended
    assert implied is not None  # noqa: S101 - those without one were left out
    size = abs(intended)
    return _Ratio(implied.scale / intended, implied.standard_error / size, implied.df, implied.bias / size)


def _together(ratios: Sequence[_Ratio]) -> _Ratio:
    """Return the mean of ratios weighted by their accuracy."""
    weights = [ratio.error**-2 for ratio in ratios if math.isfinite(ratio.error)]
    if not weights:
        return ratios[0]
    known = [ratio for ratio in ratios if math.isfinite(ratio.error)]
    value = sum(weight * ratio.value for weight, ratio in zip(weights, known, strict=True)) / sum(weights)
    # Weights are estimates, too: the degrees of freedom are those of the least.
    bias = max(ratio.bias for ratio in known)
    return _Ratio(value, sum(weights) ** -0.5, min(ratio.df for ratio in known), bias)


def _inside(interval: tuple[float, float], band: Band) -> bool:
    return (band[0] is None or band[0] <= interval[0]) and (band[1] is None or interval[1] <= band[1])


def _outside(interval: tuple[float, float], band: Band) -> bool:
    return (band[0] is not None and interval[1] < band[0]) or (band[1] is not None and band[1] < interval[0])


def _common(subject: Subject) -> dict[str, object]:
    return {
        "id": subject.id_of(_NAME),
        "kind": _NAME,
        "head": subject.head,
        "quantity": r"$\hat{c}$ over the intended scale",
        "exact": True,
    }


KIND = _ScaleImplied(_NAME, places=1)
