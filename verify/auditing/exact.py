"""What is found of each head: its mask, the scale given and implied, the output, and how near overflow is.

One sequence is enough. ``FINDINGS`` has a function for each kind.
"""

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from verify.auditing.arrays import LARGEST
from verify.auditing.blocks import Subject, is_inside
from verify.auditing.layers import NEAR, Seen
from verify.auditing.reconstruction import COARSER, TOLERANCE, Explanation
from verify.auditing.rows import Residuals, Scales, each
from verify.auditing.scales import ROUNDING, Widths, diagnose
from verify.evidence.audits import Finding, Judgement
from verify.text.escapes import as_prose, one_line

Floats = NDArray[np.float64]


_BFLOAT16 = 2.0**-8
_RECONSTRUCTION = (
    r"largest $|o-\operatorname{softmax}(\hat{c}qK^\top+B)V|$ of a row over its bound for rounding"
)
_NOTHING_TOLD = "no output tells anything: it is 0 as it should be, not finite, or without a key"
_MOST_NAMED = 3
_RECOVERED = 1e-4  # as near as a scale is known that reproduces an output, of relative size
_WHOLE = 2000  # whole numbers up to here differ by more than that
_WIDER = "scale the queries before the product, or keep scores in float32"


def _scale_applied(seen: Seen, subject: Subject) -> list[Finding]:
    """Judge the factor that is farthest off; none where no call was given one."""
    given = [(one.given, one.intended) for one in seen.batches if one.given is not None]
    if not given:
        return []
    scale, intended = max(given, key=lambda one: abs(one[0] / one[1] - 1))
    ratio, band = scale / intended, (1 - ROUNDING, 1 + ROUNDING)
    found: dict[str, Any] = {"judgement": Judgement.CONFIRMED}
    if not is_inside((ratio, ratio), band):
        if math.isclose(ratio, 1, rel_tol=_BFLOAT16):
            reason = "the factor differs by no more than a rounding to bfloat16"
            found = {"judgement": Judgement.WARNED, "reason": reason}
        else:
            diagnosis = diagnose(scale, intended, widths_of(subject))
            found = {"judgement": Judgement.REFUTED, "cause": diagnosis.cause, "fix": diagnosis.fix}
    found = _open(subject) or found
    quantity = "the factor given over the intended scale"
    return [
        subject.finding(
            "scale-applied",
            quantity=quantity,
            estimate=ratio,
            band=band,
            sequences=sum(len(one.places) for one in seen.batches if one.given is not None),
            **found,
        )
    ]


def _open(subject: Subject) -> dict[str, Any]:
    """Return the judgement of a scale where what queries or keys were multiplied by before is not known."""
    if subject.intention.origin != "unknown":
        return {}
    reason = f"what scaling came before the call is not known: {subject.intention.where}"
    return {"judgement": Judgement.UNDECIDED, "reason": reason}


def _together(found: Residuals, scale: Floats, intended: Floats) -> tuple[Residuals, Floats, Floats]:
    """Return all sequences as one, by the ratio of the scale to the intended one: sums, the ratio, and 1."""
    by, size = intended[:, None], np.abs(intended)
    length, fourth, mixed = found.length * by**2, found.fourth * by**4, found.mixed * by**3
    weights, ratio = length[:, 0], scale / intended
    middle = float(np.average(ratio, weights=weights)) if weights.any() else 1.0
    shift = (ratio - middle)[:, None]
    sums = {
        "along": found.along * by + shift * length,
        "length": length,
        "fourth": fourth,
        "noise": found.noise * by**2 + 2 * shift * mixed + shift**2 * fourth,
        "mixed": mixed + shift * fourth,
        "room": found.room * size,
        "bias": found.bias * size,
        "least": found.least * by**2,
    }
    joined = {name: array.sum(axis=0, keepdims=True) for name, array in sums.items()}
    return found._replace(**joined, alike=np.array([found.alike.max()])), np.array([middle]), np.ones(1)


def _scale_implied(seen: Seen, subject: Subject) -> list[Finding]:
    """Judge the scale that outputs imply, sequence by sequence and all together."""
    head = subject.head
    quantity = r"$\hat{c}$ over the intended scale"
    found = seen.compared_by_head[head]
    tells = (
        np.zeros(0, dtype=bool)
        if found is None
        else (2 * found.bad <= found.rows) & (found.rows > 0) & (found.output > 0)
    )
    is_off = found is not None and bool(_summed(found).off_by_factor(seen.unit)[0])
    if found is None or not tells.any() or is_off:
        asked, why = subject.only_output_tells, _why_no_scale(seen, subject)
        return [
            subject.finding("scale-implied", quantity=quantity, **_undecided(seen, why, head, asked=asked))
        ]
    low, high = band = (1 - TOLERANCE, 1 + TOLERANCE)
    scale = seen.in_order(lambda one: one.scale)[tells, head]
    batches = [one for one in seen.batches if one.compared is not None]
    intended = seen.in_order(lambda one: np.full(len(one.places), one.intended))[tells]
    of_head = each(found, lambda array: array[tells])
    # One interval for each sequence and one for all together share the head's rate.
    alpha = subject.alpha / (len(scale) + 1)
    single = Scales(of_head, scale, intended, alpha)
    off = np.flatnonzero((single.value + single.half < low) | (single.value - single.half > high))
    place = int(off[0]) if len(off) else 0
    one = single if len(off) else Scales(*_together(of_head, scale, intended), alpha)
    at = place if len(off) else 0
    value, half, error = float(one.value[at]), float(one.half[at]), float(one.error[at])
    interval, known = (value - half, value + half), math.isfinite(half)
    verdict: dict[str, Any] = {"judgement": Judgement.UNDECIDED}
    if is_inside(interval, band):
        verdict["judgement"] = Judgement.CONFIRMED
    elif interval[1] < low or interval[0] > high:
        meant = float(intended[place])
        widths = widths_of(subject, batches[0].d_v)
        diagnosis = diagnose(value * meant, meant, widths, uncertainty=half * abs(meant))
        verdict = {"judgement": Judgement.REFUTED, "cause": diagnosis.cause, "fix": diagnosis.fix}
    else:
        verdict["reason"] = _doubt(_typical(of_head.spread), half)
    some = f"it is so in {len(off):,} of {len(scale):,} sequences" if 0 < len(off) < len(scale) else ""
    verdict = _open(subject) or verdict
    verdict["reason"] = "; ".join(filter(None, [verdict.get("reason", ""), some]))
    return [
        subject.finding(
            "scale-implied",
            quantity=quantity,
            **verdict,
            level=1 - alpha,
            band=band,
            sequences=len(scale),
            estimate=value if known else None,
            standard_error=error if known and math.isfinite(error) else None,
            interval=interval if known else (None, None),
        )
    ]


def _why_no_scale(seen: Seen, subject: Subject) -> str:
    """Return why no output is explained by any scale."""
    found = seen.compared_by_head[subject.head]
    if found is None and subject.only_output_tells:
        notes = (as_prose(one_line(note)) for note in subject.layer.notes)
        return "; ".join(("calls were given no scale, and no output that would tell it was kept", *notes))
    if found is None:
        return "no call was recorded with its values and output"
    if found.rows.any() and found.attention.any():
        return "no scale reproduces the output; see the finding on reconstruction"
    return _NOTHING_TOLD


def _typical(variances: Floats) -> float:
    """Return the root of the mean of those that are known, NaN where none is."""
    known = variances[np.isfinite(variances)]
    return math.sqrt(float(known.mean())) if known.size else math.nan


def _doubt(spread: float, half: float) -> str:
    """Return why the scale is undecided."""
    if math.isnan(spread):
        return "no query sees two keys, and with one key every scale gives the same output"
    if not math.isfinite(half) and spread <= 1:
        return "the output does not depend on the scale: all scores of a row, or all values, are equal"
    if not math.isfinite(half) or half > 1:
        return "the output does not tell the scale: what it changes is lost in rounding"
    return (
        f"rounding leaves the scale uncertain by {half:.1%}, where scores differ by a standard deviation of "
        f"{spread:.2g} inside a row; record in single precision, or more tokens"
    )


def _summed(found: Residuals) -> Residuals:
    """Return all sequences as one at their own scales."""
    summed = each(found, lambda array: array.sum(axis=0, keepdims=True))
    return summed._replace(alike=found.alike.max(keepdims=True))


def _reconstruction(seen: Seen, subject: Subject) -> list[Finding]:
    """Judge the row that most exceeds what rounding leaves, and the weight of hidden keys over all rows."""
    head, found = subject.head, seen.compared_by_head[subject.head]
    if found is None or not (found.attention.any() or found.output.any()):
        why = "no call was recorded with its values and output" if found is None else _NOTHING_TOLD
        nothing = _undecided(seen, why, head, asked=False)
        return [subject.finding("reconstruction", quantity=_RECONSTRUCTION, **nothing)]
    worst, bad, rows = float(found.worst.max()), int(found.bad.sum()), int(found.rows.sum())
    coarse = seen.in_order(lambda one: one.coarse)[:, head]
    verdict: dict[str, Any] = {"judgement": Judgement.CONFIRMED}
    whole = _summed(found)
    share = float(whole.hidden_weight[0])
    off = "" if coarse.any() else _off_by_factor(whole, seen.unit)
    weak: dict[str, Any] = {}
    if share:
        cause = (
            "keys that the mask hides have weight, as if it added about "
            f"{math.log(share):.2g} where it should hide"
        )
        weak = {"judgement": Judgement.REFUTED, "cause": cause, "fix": "add -inf where a key is hidden"}
    if worst > 1:
        verdict = _explained(seen, subject)
        sequences = int((found.bad > 0).sum())
        said = f"{bad:,} of {rows:,} rows are off, in {sequences:,} of {len(found.bad):,} sequences"
        verdict = weak or verdict if not verdict.get("cause") else verdict
        verdict["reason"] = "; ".join(filter(None, [verdict.get("reason", ""), said]))
    elif weak:
        verdict = weak
    elif off:
        verdict = _explained(seen, subject)
        verdict["reason"] = "; ".join(filter(None, [off, verdict.get("reason", "")]))
    elif coarse.any():
        name = list(COARSER)[int(coarse.max()) - 1]
        reason = f"the output agrees to {name} only: the program computes more coarsely than it stores"
        verdict = {"judgement": Judgement.WARNED, "reason": reason}
    return [
        subject.finding(
            "reconstruction",
            quantity=_RECONSTRUCTION,
            **verdict,
            estimate=worst if math.isfinite(worst) else None,
            band=(None, 1.0),
            sequences=int((found.rows > 0).sum()),
        )
    ]


def _off_by_factor(whole: Residuals, unit: float) -> str:
    """Return how rows are off together, where none is by itself; "" where they are not."""
    factor = float(whole.off_by_factor(unit)[0])
    way = "large" if factor > 0 else "small"
    return f"outputs are {abs(factor):.2g} of their size too {way}, over all rows" if factor else ""


def _explained(seen: Seen, subject: Subject) -> dict[str, Any]:
    """Return the judgement of an output that is not the declared attention, with reason or cause."""
    faults = seen.progress[subject.head].faults
    refuted: dict[str, Any] = {"judgement": Judgement.REFUTED}
    for fault in faults:
        if fault.is_lost:
            return refuted | {
                "cause": "the output is 0 throughout, and the attention of what was recorded is not",
                "fix": "look whether the output is written, and recorded after it is",
            }
        if fault.explanations:
            causes = dict.fromkeys(_cause(one, subject.intention.value) for one in fault.explanations)
            said = " or ".join(list(causes)[:_MOST_NAMED])
            return refuted | {"cause": said, "fix": fault.explanations[0].fix}
    worst = max(faults, key=lambda one: one.worst, default=None)
    where = (
        "" if worst is None else f" (row {worst.row} of sequence {worst.sequence}, the first row searched)"
    )
    reason = (
        f"the output is not the attention of the queries, keys and values recorded{where}, "
        "whatever the scale, and no known mistake gives it; dropout, or vectors changed after they were "
        "recorded, would do this"
    )
    if worst is not None and worst.one_sided:
        reason = f"it is no rounding, for {worst.one_sided}; {reason}"
    return refuted | {"reason": reason}


def _cause(found: Explanation, intended: float) -> str:
    """Return the cause with its scale where that is not the intended one."""
    if found.is_factor:
        return f"{found.cause} (by {short(found.scale)})"
    if math.isclose(found.scale, intended, rel_tol=0.01):
        return found.cause
    return f"{found.cause} (and the scale is {short(found.scale)})"


def short(scale: float) -> str:
    """Return a scale as the fraction that it nearly is, else to three digits.

    Heads of one scale are to say the same: rounding makes 0.0312 of 1/32 as often as 0.0313.
    """
    below = 1 / abs(scale) if scale else 0.0
    for size, form in ((below, "{}1/{}"), (below**2, "{}1/√{}")):
        if 1.5 < size < _WHOLE and math.isclose(size, round(size), rel_tol=_RECOVERED):
            return form.format("-" if scale < 0 else "", round(size))
    return f"{scale:.3g}" if abs(scale - 1) > 0.01 else f"{scale:.5g}"


def widths_of(subject: Subject, d_v: int | None = None) -> Widths:
    """Return the sizes that a head's scale may have been made of."""
    padded = dict(subject.layer.padded)
    if d_v is not None and d_v != subject.d_k:
        padded.setdefault("width of the values", d_v)
    return Widths(subject.d_k, subject.heads, subject.layer.width, padded)


def _undecided(seen: Seen, reason: str, head: int, *, asked: bool) -> dict[str, Any]:
    """Return what is left to say where nothing could be compared."""
    found = seen.compared_by_head[head]
    judgement = Judgement.UNDECIDED if found is not None or asked else Judgement.REPORTED
    sequences = 0 if found is None else len(found.rows)
    return {
        "estimate": None,
        "judgement": judgement,
        "reason": reason,
        "sequences": sequences,
    }


def _overflow(seen: Seen, subject: Subject) -> list[Finding]:
    """Judge the margins of all sequences together."""
    head = subject.head
    margins = [(one, one.margins) for one in seen.batches]
    share = max(float(each.share[:, head].max()) for _, each in margins)
    batch, worst = max(margins, key=lambda one: float(one[1].bound[:, head].max()))
    bound = float(worst.bound[:, head].max())
    return [
        subject.finding(
            "overflow",
            quantity=r"largest $|q\cdot k|$ before scaling over the largest number of the dtype",
            estimate=share,
            interval=(share, max(share, bound) if math.isfinite(bound) else None),
            band=(None, 1.0),
            sequences=seen.sequences,
            **_judged_margins(seen, head, share, bound, batch.dtype),
        )
    ]


def _judged_margins(seen: Seen, head: int, share: float, bound: float, dtype: str) -> dict[str, Any]:
    """Return the judgement, with reason, cause and fix."""
    margins = [one.margins for one in seen.batches]
    blind = sum(int(one.blind[:, head].sum()) for one in margins)
    counts = {
        name: sum(int(getattr(one, name)[:, head].sum()) for one in margins)
        for name in ("queries", "keys", "values", "outputs")
    }
    broken = {name: count for name, count in counts.items() if count}
    largest = f"the largest product is {share * LARGEST.get(dtype, 1.0):,.0f}"
    beyond = f"{largest}, beyond {dtype}'s {LARGEST.get(dtype, 1.0):,.0f}"
    if broken:
        found = ", ".join(f"{count:,} of {name}" for name, count in broken.items())
        first = next(iter(broken))
        cause, fix = (
            f"{first} hold NaN or infinities, and no product is beyond {dtype}",
            f"look where {first} are computed",
        )
        cause, fix = (beyond, _WIDER) if share >= 1 else (cause, fix)
        reason = f"NaN or infinite numbers: {found}"
        return {"judgement": Judgement.REFUTED, "reason": reason, "cause": cause, "fix": fix}
    if bound <= NEAR:
        reason = f"{blind:,} rows of the output are no numbers, for they see no key" if blind else ""
        return {"judgement": Judgement.CONFIRMED, "reason": reason}
    if bound < 1:
        judgement, reason = Judgement.WARNED, f"{largest}, more than a quarter of {dtype}'s range"
    elif all(one.has_output for one in seen.batches):
        judgement = Judgement.WARNED
        reason = f"{largest}, yet the output is finite: scores are kept in a wider type, or scaled first"
    else:
        judgement = Judgement.UNDECIDED
        reason = (
            f"{beyond}, and there is no output that would show whether scores are kept in a wider type or "
            "scaled first"
        )
    return {"judgement": judgement, "reason": reason, "fix": _WIDER}


def _mask(seen: Seen, subject: Subject) -> list[Finding]:
    """Judge whether rows see the keys that were meant; where nothing was, name a weak mask."""
    weak = next((one.weak_mask for one in seen.batches if one.weak_mask is not None), None)
    if seen.meant is None and weak is None:
        return []
    known = [one.misseen[subject.head] for one in seen.batches if one.misseen is not None]
    wrong = next((one for one in known if one is not None), None)
    found: dict[str, Any] = {"judgement": Judgement.CONFIRMED, "estimate": 0.0}
    if wrong is not None:
        does = "does not see" if wrong.is_missing else "sees"
        should = "although it should" if wrong.is_missing else "which it should not"
        place = f"row {wrong.row} of sequence {wrong.sequence} {does} key {wrong.key}, {should}"
        fix = f"give the call the mask that was meant, {subject.mask}"
        found = {"judgement": Judgement.REFUTED, "estimate": 1.0, "cause": place, "fix": fix}
    elif seen.meant is None:
        reason = (
            f"what is added to scores is 0 or {weak:g}, like a mask so weak that hidden keys keep weight; "
            "add -inf where a key is hidden, or say which mask is meant, such as none"
        )
        found = {"judgement": Judgement.UNDECIDED, "estimate": None, "reason": reason}
    elif len(known) < len(seen.batches):
        reason = "nothing tells which token is of which document; give documents, [sequence, token]"
        found = {"judgement": Judgement.UNDECIDED, "estimate": None, "reason": reason}
    return [
        subject.finding(
            "mask",
            quantity="1 where a row sees other keys than were meant",
            band=(None, 0.0),
            sequences=seen.sequences,
            **found,
        )
    ]


FINDINGS: tuple[Callable[[Seen, Subject], list[Finding]], ...] = (
    _mask,
    _scale_applied,
    _scale_implied,
    _reconstruction,
    _overflow,
)
"""What makes the findings of each kind, at most one of a head, in the order in which they are shown."""
