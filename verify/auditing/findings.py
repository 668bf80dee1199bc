"""The findings of a layer that was run through: mask, scale, formula, overflow, rows without keys."""

import math
import re
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from scipy import special

from verify.auditing.formula import SCALE
from verify.auditing.heads import LEVEL
from verify.auditing.layers import NEAR, LayerRun
from verify.auditing.recording import LARGEST
from verify.auditing.scales import ROUNDING, diagnose, short
from verify.evidence.audits import Finding, Judgement, ScoreSummary
from verify.text.escapes import as_prose, one_line

TOLERANCE = 0.01
"""The interval of the scale that the output implies has to lie within 1% of the intended scale."""

_BFLOAT16 = 2.0**-8
_MOST_NAMED = 3
_WIDER = "scale the queries before the product, or keep scores in float32"
_SCORES = ("row variance", "entropy over ln n", "largest weight")


def plain(text: str) -> str:
    """Return a recording's plain text as one line of prose."""
    return as_prose(one_line(text))


def findings(run: LayerRun) -> Iterator[Finding]:
    """Yield the findings of a layer."""
    of_layer: dict[str, Any] = {"sequences": run.sequences}
    if (mask := _mask(run)) is not None:
        yield Finding(id="mask", kind="mask", **of_layer, **mask)
    for kind, judge in (("scale", _scale), ("formula", _formula)):
        by_head = [judge(run, head) for head in range(run.heads)]
        # Heads that are judged alike are one finding, with the numbers of the worst of them.
        groups: dict[tuple[Any, ...], list[int]] = {}
        for head, judged in enumerate(by_head):
            key = judged["judgement"], judged.get("cause"), judged.get("fix"), judged.pop("alike", "")
            groups.setdefault(key, []).append(head)
        badness = [judged.pop("badness") for judged in by_head]
        for number, heads in enumerate(groups.values(), 1):
            worst = by_head[max(heads, key=badness.__getitem__)]
            worst["heads"] = () if len(heads) == run.heads else tuple(heads)
            yield Finding(id=f"{kind}-{number}" if number > 1 else kind, kind=kind, **of_layer, **worst)
    yield Finding(id="overflow", kind="overflow", **of_layer, **_overflow(run))
    if run.blind:
        odd = [
            f"{count:,} rows that see no key hold {what}, such as row {row} of sequence {sequence}"
            for what, (count, sequence, row) in run.odd_rows.items()
        ]
        yield Finding(
            id="rows-without-keys",
            kind="rows-without-keys",
            quantity="the number of rows that see no key and are not 0",
            estimate=float(sum(count for count, *_ in run.odd_rows.values())),
            band=(None, 0.0),
            judgement=Judgement.REFUTED if odd else Judgement.CONFIRMED,
            cause="; ".join(odd),
            fix="write zeros where a row sees no key" if odd else "",
            **of_layer,
        )


def _mask(run: LayerRun) -> dict[str, Any] | None:
    wrong, meant = run.wrong_mask, run.meant
    judged: dict[str, Any] = {
        "quantity": "the number of rows that see other keys than were meant",
        "band": (None, 0.0),
    }
    if wrong is not None:
        cause, fix = wrong.text, f"give the call the mask that was meant, {run.layer.mask}"
        if wrong.is_cut:
            cause += ": the causal mask is aligned at the first key"
            fix = "align the mask at the last key: with a cache the last query is that of the last key"
        elif meant and meant.kind in ("window", "chunk") and set(run.masks) == {"causal"}:
            cause = f"a {meant.kind} of {meant.number} is meant, and the layer does not keep to it: {cause}"
        refuted = {"judgement": Judgement.REFUTED, "estimate": float(wrong.rows), "cause": cause, "fix": fix}
        return judged | refuted
    return None if meant is None else judged | {"judgement": Judgement.CONFIRMED, "estimate": 0.0}


def _scale(run: LayerRun, head: int) -> dict[str, Any]:
    """Judge the factor that calls were given, and the scale that a head's output implies."""
    applied, meant = max(run.given, key=lambda pair: abs(pair[0] / pair[1] - 1), default=(1.0, 1.0))
    base, sums = applied / meant, run.sums
    step, half, error = (float(array[head]) for array in sums.scale())
    ratio = base * float(run.ratio[head])
    value, room = ratio * (1 + step), abs(ratio) * half
    # An interval that holds the intended scale, and 0 or twice as much beside, tells nothing.
    is_known = room < max(1.0, abs(value - 1)) and 2 * sums.bad[head] <= sums.compared[head]
    if not is_known:
        value, room = base, math.inf
    judged: dict[str, Any] = {
        "quantity": "the scale over the intended scale",
        "estimate": value if is_known or run.given else None,
        "band": (1 - TOLERANCE, 1 + TOLERANCE),
        "badness": abs(value - 1),
    }
    if is_known:
        judged |= {"interval": (value - room, value + room), "level": LEVEL}
        judged |= {"standard_error": abs(ratio) * error} if math.isfinite(error) else {}
    # A wrong factor of the output looks like another scale: beside it, the scale has to be off as well.
    off = min(abs(value - 1), abs(ratio * (1 + float(sums.beside(SCALE)[head])) - 1))
    is_far = is_known and off > max(TOLERANCE + room, 2 * room)
    is_off = bool(run.given) and abs(base - 1) > ROUNDING
    if run.intended.origin != "unknown" and (is_far or (is_off and abs(base - 1) > _BFLOAT16)):
        intended = run.intended_scale(run.keys)
        scale, wanted = (applied, meant) if is_off else (value * intended, intended)
        uncertainty = 0.0 if is_off else max(room, run.unit * abs(value)) * abs(intended)
        cause, fix = diagnose(scale, wanted, run.widths, uncertainty=uncertainty)
        if run.intended.origin == "default" and uncertainty < abs(scale):
            fraction = re.sub("√([0-9]+)", r"sqrt(\1)", short(scale))
            written = fraction if "/" in fraction else f"{scale:.9g}"
            fix += f"; if this is meant, say so with --intended {written}"
        return judged | {"judgement": Judgement.REFUTED, "cause": cause, "fix": fix}
    is_within = is_known and abs(value - 1) + room <= TOLERANCE
    judgement, reason, alike = _undecided_scale(run, head, room, is_off=is_off, is_within=is_within)
    if judgement is Judgement.CONFIRMED and run.intended.origin == "default" and run.has_unit_lengths:
        # Nobody said that this was meant, and such attention is all but even.
        reason = (
            f"queries and keys have length 1: scores are cosines, and 1/√{run.d_k} makes them hardly vary"
        )
        fix = (
            f"multiply cosines by about √{run.d_k}, or by a learnt factor; if this is meant, give --intended"
        )
        return judged | {"judgement": Judgement.WARNED, "reason": reason, "fix": fix, "alike": "cosines"}
    return judged | {"judgement": judgement, "reason": reason, "alike": alike}


def _undecided_scale(
    run: LayerRun, head: int, room: float, *, is_off: bool, is_within: bool
) -> tuple[Judgement, str, str]:
    """Return the judgement of a scale that is not refuted, why it is not confirmed, and what heads share."""
    compared = bool(run.sums.compared[head])
    if run.intended.origin == "unknown":
        where = plain(run.intended.where)
        reason = "cannot tell whether queries were scaled before the call; give --intended"
        return Judgement.UNDECIDED, reason + (f" ({where})" if where else ""), "unknown"
    if is_off:
        return Judgement.WARNED, "the factor given is rounded to bfloat16", "rounded"
    if is_within or (run.given and not compared):
        return Judgement.CONFIRMED, "" if compared else "by the factor given; no output was compared", ""
    if run.sums.bad[head] or any(known.cause.does for known in run.explained.get(head, ())[:1]):
        return Judgement.REPORTED, "the output is not that of the formula", "output"
    if compared:
        reason = "the output does not depend on the scale beyond rounding"
        if math.isfinite(room):
            reason = f"rounding leaves the scale uncertain by {room:.1%}; record more tokens"
        return Judgement.UNDECIDED, f"cannot tell: {reason}", "cannot tell"
    # Of a program the scale itself was to be judged; arrays without an output are judged in part.
    judgement = Judgement.UNDECIDED if run.layer.backend else Judgement.REPORTED
    reason = "; ".join(("no scale was given, and no output was compared", *map(plain, run.layer.notes)))
    return judgement, reason, "silent"


def _formula(run: LayerRun, head: int) -> dict[str, Any]:
    """Judge the worst row of a head, and what its rows share."""
    sums, worst = run.sums, float(run.sums.worst[head])
    bad, compared = int(sums.bad[head]), int(sums.compared[head])
    factor, hidden = float(sums.factor(run.unit)[head]), float(sums.hidden_weight()[head])
    causes = [known.cause for known in run.explained.get(head, ()) if known.cause.does]
    exact = [cause for cause in causes if not cause.is_coarse]
    judged: dict[str, Any] = {
        "quantity": "the largest error of a row over what rounding may do",
        "judgement": Judgement.CONFIRMED,
        "badness": worst,
    }
    if compared:
        judged |= {"estimate": worst if math.isfinite(worst) else None, "band": (None, 1.0)}
    if not compared and not bad:
        reason = "no call was recorded with its values and output, of finite numbers"
        return judged | {"judgement": Judgement.REPORTED, "reason": reason}
    if not (bad or factor or hidden):
        return judged
    if causes and not exact:
        reason = f"{causes[0].does}: the output agrees to that only, and is stored more finely"
        return judged | {"judgement": Judgement.WARNED, "reason": reason, "alike": reason}
    cause, fix = "", "no known mistake gives this output: compare with another kernel, audit --against"
    if exact:
        fix = exact[0].fix
        cause = " or ".join(list(dict.fromkeys(known.does for known in exact))[:_MOST_NAMED])
    elif hidden:
        cause = f"keys that the mask hides have weight, as if it added about {math.log(hidden):.2g}"
        fix = "add -inf where a key is hidden"
    elif factor:
        cause = f"outputs are {abs(factor):.2g} of their size too {'large' if factor > 0 else 'small'}"
        fix = "leave the output as the weighted mean of the values"
    sequence, row = sums.place[head]
    off = f"{bad:,} of {sums.rows[head]:,} rows are off; the worst is row {row} of sequence {sequence}"
    judged |= {"judgement": Judgement.REFUTED, "cause": cause, "fix": fix, "reason": off if bad else ""}
    return judged


def _overflow(run: LayerRun) -> dict[str, Any]:
    limit = LARGEST.get(run.dtype, LARGEST["float64"])
    largest = f"the largest product is {run.bound * limit:,.0f}"
    judged: dict[str, Any] = {
        "quantity": "the largest |q·k| over the largest number of the type",
        "estimate": run.bound if math.isfinite(run.bound) else None,
        "band": (None, 1.0),
    }
    if run.broken:
        first = next(iter(run.broken))
        numbers = ", ".join(f"{count:,} of {name}" for name, count in run.broken.items())
        cause, fix = f"{first} hold NaN or infinities", f"look where {first} are computed"
        if run.bound >= 1:
            cause, fix = f"{largest}, beyond {run.dtype}'s {limit:,.0f}", _WIDER
        reason = f"NaN or infinite numbers: {numbers}"
        return judged | {"judgement": Judgement.REFUTED, "cause": cause, "fix": fix, "reason": reason}
    if run.bound <= NEAR:
        return judged | {"judgement": Judgement.CONFIRMED}
    judgement, reason = Judgement.WARNED, f"{largest}, more than a quarter of {run.dtype}'s range"
    if run.bound >= 1 and run.sums.compared.any():
        reason = f"{largest}, beyond {run.dtype}, yet outputs are finite: scores are computed in a wider type"
    elif run.bound >= 1:
        judgement = Judgement.UNDECIDED
        reason = f"{largest}, beyond {run.dtype}; no output shows whether scores are computed in a wider type"
    return judged | {"judgement": judgement, "fix": _WIDER, "reason": reason}


def score_summaries(per_sequence: Sequence[Any]) -> Iterator[ScoreSummary]:
    """Yield medians over sequences of what describes scores, with intervals between order statistics."""
    whole = np.concatenate(per_sequence, axis=1) if per_sequence else np.zeros((3, 0))
    for name, values in zip(_SCORES, np.sort(whole, axis=1), strict=True):
        count = len(values)
        if not count or not np.isfinite(values).all():
            continue
        # The interval from the k-th smallest to the k-th largest misses with probability 2·P(Bin(n, ½) < k).
        places = np.arange(count // 2)
        below = places[2 * special.bdtr(places, count, 0.5) <= 0.05] if count > 1 else places[:0]
        ends = (float(values[below[-1]]), float(values[-1 - below[-1]])) if len(below) else (None, None)
        yield ScoreSummary(name=name, median=float(np.median(values)), low=ends[0], high=ends[1])
