"""Exact findings: the factor given, the scale implied, the reconstruction of the output, and overflow.

Each is judged by a rule of its own, and one sequence is enough. ``EXACT`` has their kinds.
"""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from array_api_compat import array_namespace

from verify.auditing.arrays import LARGEST, dtype_of, to_numpy
from verify.auditing.blocks import HIDDEN, OWN_RULE, added_to, is_inside, is_outside
from verify.auditing.implied_scale import student_interval
from verify.auditing.reconstruction import TOLERANCE, examine
from verify.auditing.scales import ROUNDING, Widths, diagnose
from verify.evidence.audits import Judgement
from verify.text.escapes import as_prose, one_line

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from verify.auditing.blocks import Block, Floats, Subject
    from verify.auditing.implied_scale import Implied
    from verify.auditing.reconstruction import Examined, Explanation
    from verify.auditing.recording import Array
    from verify.evidence.audits import Finding
    from verify.evidence.claims import Band

NEAR = 0.25
"""Share of the largest number beyond which products are warned of."""

_BFLOAT16 = 2.0**-8
_RECONSTRUCTION = r"$\lVert O-\operatorname{softmax}(\hat{c}QK^\top+B)V\rVert/\lVert O\rVert$"
_MOST_NAMED = 3
_RECOVERED = 1e-4
"""As near as a scale is known that reproduces an output, of relative size."""
_WHOLE = 2000
"""Whole numbers up to here differ by more than that."""
_STRIP = 2**20
_WIDER = "scale the queries before the product, or keep scores in float32"


@dataclass(frozen=True)
class Exact:
    """A kind of finding that makes at most one of a head, and judges it by a rule of its own.

    ``reduce`` returns what is kept of one block, no array of the call, and is called from several threads;
    ``find`` makes findings of what was kept of all blocks of a head, in their order. ``places`` counts its
    intervals that take a share of the false-alarm rate.
    """

    name: str
    reduce: Callable[[Block], Any]
    find: Callable[[Sequence[Any], Subject], Iterable[Finding]]
    places: int = 0
    has_rule: bool = True

    @property
    def names(self) -> tuple[str, ...]:
        """The name of the one finding, which is the kind's."""
        return (self.name,)


def _factor_given(block: Block) -> tuple[float | None, float, int]:
    """Return the factor that the call was given, the intended one, and the number of keys."""
    return block.call.scale, block.intended, int(block.call.key.shape[2])


def _scale_applied(kept: Sequence[tuple[float | None, float, int]], subject: Subject) -> list[Finding]:
    """Judge the factor that is farthest off; none where no call was given one."""
    given = [(scale, intended, keys) for scale, intended, keys in kept if scale is not None]
    if not given:
        return []
    scale, intended, keys = max(given, key=lambda one: abs(one[0] / one[1] - 1))
    ratio, gate = scale / intended, subject.gates.get("scale-applied", OWN_RULE)
    band = (1 - ROUNDING, 1 + ROUNDING) if gate == OWN_RULE else gate
    found: dict[str, Any] = {"judgement": Judgement.CONFIRMED}
    if not is_inside((ratio, ratio), band):
        if gate == OWN_RULE and math.isclose(ratio, 1, rel_tol=_BFLOAT16):
            reason = "the factor differs by no more than a rounding to bfloat16"
            found = {"judgement": Judgement.WARNED, "reason": reason}
        else:
            diagnosis = diagnose(scale, intended, widths_of(subject, keys))
            found = {"judgement": Judgement.REFUTED, "cause": diagnosis.cause, "fix": diagnosis.fix}
    quantity = "the factor given over the intended scale"
    one = subject.finding(
        "scale-applied", quantity=quantity, estimate=ratio, exact=True, band=band, decides=True,
        sequences=len(given), **found,
    )  # fmt: skip
    return [one]


@dataclass(frozen=True)
class _Ratio:
    """The implied scale over the intended one: value, standard error, degrees of freedom, possible bias."""

    value: float
    error: float
    df: float
    bias: float

    @classmethod
    def of(cls, implied: Implied, intended: float) -> _Ratio:
        size = abs(intended)
        return cls(implied.scale / intended, implied.standard_error / size, implied.df, implied.bias / size)

    @classmethod
    def together(cls, ratios: Sequence[_Ratio]) -> _Ratio:
        """Return the mean of ratios weighted by their accuracy."""
        known = [ratio for ratio in ratios if math.isfinite(ratio.error)]
        if not known:
            return ratios[0]
        weights = [ratio.error**-2 for ratio in known]
        value = sum(weight * ratio.value for weight, ratio in zip(weights, known, strict=True)) / sum(weights)
        # Weights are estimates, too: the degrees of freedom are those of the least.
        bias = max(ratio.bias for ratio in known)
        return cls(value, sum(weights) ** -0.5, min(ratio.df for ratio in known), bias)

    def interval(self, alpha: float) -> tuple[float, float]:
        return student_interval(self.value, self.error, self.df, 1 - alpha, self.bias)


def _scale_implied(kept: Sequence[Examined | None], subject: Subject) -> list[Finding]:
    """Judge the scale that outputs imply, sequence by sequence and all together."""
    examined = [one for one in kept if one is not None]
    fitted = [(one, one.implied) for one in examined if one.implied is not None and one.implied.fits]
    common: dict[str, Any] = {"quantity": r"$\hat{c}$ over the intended scale", "exact": True}
    if not fitted:
        asked = "scale-implied" in subject.gates or subject.only_output_tells
        found = _undecided(examined, _why_no_scale(examined, subject), asked=asked)
        return [subject.finding("scale-implied", **common, **found)]
    gate = subject.gates.get("scale-implied", OWN_RULE)
    band = (1 - TOLERANCE, 1 + TOLERANCE) if gate == OWN_RULE else gate
    ratios = [_Ratio.of(implied, one.intended) for one, implied in fitted]
    # One interval for each sequence and one for all together share the place's rate.
    alpha = subject.alpha / (len(ratios) + 1)
    off = [place for place, ratio in enumerate(ratios) if is_outside(ratio.interval(alpha), band)]
    ratio, one = (ratios[off[0]], fitted[off[0]][0]) if off else (_Ratio.together(ratios), fitted[0][0])
    reason = _rows_seen(examined, len(kept), len(off), len(ratios))
    found = _verdict(ratio, one, alpha, band, subject)
    found["reason"] = "; ".join(filter(None, [found.get("reason", ""), reason]))
    common |= {"level": 1 - alpha, "band": band, "decides": True, "sequences": len(ratios)}
    return [subject.finding("scale-implied", **common, **found)]


def _why_no_scale(examined: Sequence[Examined], subject: Subject) -> str:
    """Return why no output is explained by any scale."""
    if any(one.broken for one in examined):
        return "outputs with NaN or infinities tell no scale; see the finding on overflow"
    if any(one.implied is not None or one.lost for one in examined):
        return "no scale reproduces the output; see the finding on reconstruction"
    if not examined and subject.only_output_tells:
        notes = (as_prose(one_line(note)) for note in subject.layer.notes)
        return "; ".join(("calls were given no scale, and no output that would tell it was kept", *notes))
    return _why_nothing(examined)


def _verdict(ratio: _Ratio, one: Examined, alpha: float, band: Band, subject: Subject) -> dict[str, Any]:
    """Return the estimate, and what it makes of the finding."""
    known, interval = math.isfinite(ratio.error), ratio.interval(alpha)
    found: dict[str, Any] = {"judgement": Judgement.UNDECIDED}
    if is_inside(interval, band):
        found["judgement"] = Judgement.CONFIRMED
    elif is_outside(interval, band):
        half = (interval[1] - interval[0]) / 2 * abs(one.intended)
        widths = widths_of(subject, one.keys, one.d_v)
        diagnosis = diagnose(ratio.value * one.intended, one.intended, widths, uncertainty=half)
        found = {"judgement": Judgement.REFUTED, "cause": diagnosis.cause, "fix": diagnosis.fix}
    else:
        found["reason"] = _doubt(one.implied.spread if one.implied else 0.0, interval)
    return found | {
        "estimate": ratio.value if known else None,
        "standard_error": ratio.error if known else None,
        "interval": interval if known else (None, None),
    }


def _doubt(spread: float, interval: tuple[float, float]) -> str:
    """Return why the scale is undecided."""
    half = (interval[1] - interval[0]) / 2
    if not math.isfinite(half) and spread <= 1:
        return "the output does not depend on the scale: all scores of a row, or all values, are equal"
    if half > 1:
        return "the output does not tell the scale: what it changes is lost in rounding"
    return (
        f"rounding leaves the scale uncertain by {half:.1%}, where scores differ by a standard deviation of "
        f"{spread:.2g} inside a row; record in single precision, or more tokens"
    )


def _reconstruction(kept: Sequence[Examined | None], subject: Subject) -> list[Finding]:
    """Judge the residual of the sequence where it most exceeds what rounding leaves."""
    examined = [one for one in kept if one is not None]
    tried = [(one, one.implied) for one in examined if one.implied is not None]
    if any(one.lost for one in examined):
        # There is no norm to divide by.
        found: dict[str, Any] = {
            "estimate": None,
            "judgement": Judgement.REFUTED,
            "decides": True,
            "cause": "the output is 0 throughout, and the attention of what was recorded is not",
            "fix": "look whether the output is written, and recorded after it is",
            "sequences": len(examined),
        }
    elif tried:
        worst, implied = max(tried, key=lambda one: one[1].residual / one[1].rounding)
        gate = subject.gates.get("reconstruction", OWN_RULE)
        band = (None, implied.rounding) if gate == OWN_RULE else gate
        off, found = 0, {"judgement": Judgement.CONFIRMED}
        if not is_inside((math.inf, implied.residual), band):
            off = sum(not one.fits for _, one in tried)
            found = _explained(worst, next((one.explanations for one, _ in tried if one.explanations), ()))
        seen = _rows_seen(examined, len(kept), off, len(tried))
        found["reason"] = "; ".join(filter(None, [found.get("reason", ""), seen]))
        found |= {"estimate": implied.residual, "band": band, "decides": True, "sequences": len(tried)}
    else:
        broken = any(one.broken for one in examined)
        reason = "NaN or infinities leave nothing to compare; see the finding on overflow"
        reason = reason if broken else _why_nothing(examined)
        found = _undecided(examined, reason, asked="reconstruction" in subject.gates)
    return [subject.finding("reconstruction", quantity=_RECONSTRUCTION, exact=True, **found)]


def _explained(worst: Examined, named: Sequence[Explanation]) -> dict[str, Any]:
    """Return the judgement of an output that is not the declared attention, with reason or cause."""
    if named:
        causes = " or ".join(_cause(one, worst.intended) for one in named[:_MOST_NAMED])
        return {"judgement": Judgement.REFUTED, "cause": causes, "fix": named[0].fix}
    if worst.precision:
        reason = (
            f"the output agrees to {worst.precision} only: the program computes more coarsely than it stores"
        )
        return {"judgement": Judgement.WARNED, "reason": reason}
    reason = (
        "the output is not the attention of the queries, keys and values recorded, whatever the scale, and "
        "no known mistake gives it; dropout, or vectors changed after they were recorded, would do this"
    )
    return {"judgement": Judgement.REFUTED, "reason": reason}


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
    return f"{scale:.3g}"


def widths_of(subject: Subject, keys: int, d_v: int | None = None) -> Widths:
    """Return the sizes that a head's scale may have been made of."""
    padded = dict(subject.layer.padded)
    if d_v is not None and d_v != subject.d_k:
        padded.setdefault("width of the values", d_v)
    return Widths(subject.d_k, subject.heads, subject.layer.width, keys, padded)


def _undecided(examined: Sequence[Examined], reason: str, *, asked: bool) -> dict[str, Any]:
    """Return what is left to say where nothing could be compared."""
    decides = bool(examined) or asked
    judgement = Judgement.UNDECIDED if decides else Judgement.REPORTED
    found = {"estimate": None, "judgement": judgement, "decides": decides}
    return found | {"reason": reason, "sequences": len(examined)}


def _why_nothing(examined: Sequence[Examined]) -> str:
    """Return why blocks without a broken output say nothing of the scale."""
    if not examined:
        return "no call was recorded with its values and output"
    if any(one.zero for one in examined):
        return "the output is 0 throughout, as it should be, and tells no scale"
    if all(one.blind for one in examined):
        return "every key is hidden from every query, so that nothing reaches the output"
    return "no query sees two keys, and with one key every scale gives the same output"


def _rows_seen(examined: Sequence[Examined], sequences: int, off: int, of: int) -> str:
    """Return in words how many rows were looked at, and that ``off`` of sequences are wrong, if not all."""
    rows, queries = sum(one.rows for one in examined), sum(one.queries for one in examined)
    of_rows = f"all {rows:,} rows" if rows == queries else f"{rows:,} of {queries:,} rows, drawn,"
    some = f"{len(examined):,} of " if len(examined) < sequences else ""
    seen = f"looked at {of_rows} of {some}{sequences:,} sequence{'' if sequences == 1 else 's'}"
    return f"it is so in {off:,} of {of:,} sequences; {seen}" if 0 < off < of else seen


@dataclass(frozen=True)
class Margin:
    """The largest |q·k| of a block, before any scale, over the largest number of its dtype.

    ``share`` is the largest seen and ``bound`` what none can exceed; they are equal where ``share`` had to be
    computed from all pairs. ``broken`` counts numbers that are NaN or infinite, by the name of their array,
    and ``blind`` rows of the output that are so for want of a key.
    """

    share: float
    bound: float
    dtype: str
    has_output: bool
    broken: Counter[str]
    blind: int


def margin(block: Block) -> Margin:
    """Return the margin of a block.

    |q·k| is at most d times the largest components of both, and at most |q||k|: this settles all but half
    precision. Only near its limit all pairs are computed, strip by strip.
    """
    call, dtype = block.call, dtype_of(block.call)
    limit = LARGEST.get(dtype, LARGEST["float64"])
    arrays = {"queries": block.query, "keys": block.key}
    if call.value is not None:
        arrays["values"] = call.value[block.sequence, block.key_head]
    sizes = {name: _largest(array) for name, array in arrays.items()}
    broken = Counter(
        {
            name: int(np.sum(~np.isfinite(to_numpy(arrays[name]))))
            for name, size in sizes.items()
            if not math.isfinite(size)
        }
    )
    blind = 0
    if call.output is not None:
        lost, blind = _lost(block, call.output[block.sequence, block.head])
        broken += Counter({"outputs": lost})
    bound = int(call.query.shape[3]) * sizes["queries"] * sizes["keys"] / limit
    share, bound = _largest_products(block, limit, bound)
    return Margin(share, bound, dtype, call.output is not None, broken, blind)


def _largest_products(block: Block, limit: float, bound: float) -> tuple[float, float]:
    """Return the largest |q·k| seen, and what none exceeds, over ``limit``; one ``bound`` is known."""
    if bound <= NEAR:
        one = to_numpy(block.query[:1]) @ to_numpy(block.key[:1]).T
        return abs(float(one[0, 0])) / limit, bound
    query, key = (np.nan_to_num(to_numpy(one), posinf=0, neginf=0) for one in (block.query, block.key))
    bound = math.prod(float(np.linalg.norm(one, axis=1).max()) for one in (query, key)) / limit
    if bound > NEAR:
        bound = _largest_product(query, key) / limit
        return bound, bound
    return abs(float(query[0] @ key[0])) / limit, bound


def _lost(block: Block, output: Array) -> tuple[int, int]:
    """Return how many numbers of an output are none, and in how many rows besides that see no key."""
    if math.isfinite(_largest(output)):
        return 0, 0
    wrong = ~np.isfinite(to_numpy(output))
    rows = np.flatnonzero(wrong.any(axis=1))
    sees = (added_to(block.call, block.sequence, block.head, rows) > HIDDEN).any(axis=1)
    return int(wrong[rows[sees]].sum()), int((~sees).sum())


def _largest(array: Array) -> float:
    """Return the largest size of an array's numbers, where the array is; NaN or infinite if one is."""
    xp = array_namespace(array)
    return float(xp.max(xp.abs(array)))


def _largest_product(query: Floats, key: Floats) -> float:
    strip = max(1, _STRIP // len(key))
    parts = (query[start : start + strip] @ key.T for start in range(0, len(query), strip))
    return max((float(np.abs(part).max()) for part in parts), default=-math.inf)


def _overflow(kept: Sequence[Margin], subject: Subject) -> list[Finding]:
    """Judge the margins of all blocks together."""
    share, worst = max(one.share for one in kept), max(kept, key=lambda one: one.bound)
    gate = subject.gates.get("overflow", OWN_RULE)
    quantity = r"largest $|q\cdot k|$ before scaling over the largest number of the dtype"
    one = subject.finding(
        "overflow", quantity=quantity, estimate=share, interval=(share, max(share, worst.bound)), exact=True,
        band=(None, 1.0) if gate == OWN_RULE else gate, decides=True, sequences=len(kept),
        **_judged_margins(kept, share, worst, 1.0 if gate[1] is None else gate[1]),
    )  # fmt: skip
    return [one]


def _judged_margins(kept: Sequence[Margin], share: float, worst: Margin, limit: float) -> dict[str, Any]:
    """Return the judgement, with reason, cause and fix."""
    dtype, blind = worst.dtype, sum(one.blind for one in kept)
    broken: Counter[str] = sum((one.broken for one in kept), Counter())
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
    if worst.bound < limit and worst.bound <= NEAR:
        reason = f"{blind:,} rows of the output are no numbers, for they see no key" if blind else ""
        return {"judgement": Judgement.CONFIRMED, "reason": reason}
    if worst.bound < limit:
        judgement, reason = Judgement.WARNED, f"{largest}, more than a quarter of {dtype}'s range"
    elif all(one.has_output for one in kept):
        judgement = Judgement.WARNED
        reason = f"{largest}, yet the output is finite: scores are kept in a wider type, or scaled first"
    else:
        judgement = Judgement.UNDECIDED
        reason = (
            f"{beyond}, and there is no output that would show whether scores are kept in a wider type or "
            "scaled first"
        )
    return {"judgement": judgement, "reason": reason, "fix": _WIDER}


def _examined(block: Block) -> Examined | None:
    return block.once(examine)


EXACT = (
    Exact("scale-applied", _factor_given, _scale_applied),
    Exact("scale-implied", _examined, _scale_implied, places=1),
    Exact("reconstruction", _examined, _reconstruction),
    Exact("overflow", margin, _overflow),
)
"""The kinds of exact findings, in the order in which they are shown."""
