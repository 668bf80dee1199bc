"""An audit: is the attention of a recording what it was meant to be, in every row of every call?

`audit` runs through the layers and returns the record of it; each layer's findings are its mask, scale,
formula, overflow, and rows that see no key.
"""

import datetime as dt
import math
import re
import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import chain, count
from pathlib import Path
from typing import Any, SupportsFloat

import numpy as np
from scipy import special
from threadpoolctl import threadpool_limits

from verify.auditing.formula import LEVEL
from verify.auditing.layers import NEAR, LayerRun
from verify.auditing.record import load
from verify.auditing.recording import ARRAYS, Array, Call, Intended, Layer, Recording
from verify.auditing.scales import ROUNDING, diagnose, in_known_digits, scale_expression
from verify.errors import RecordingError, SettingsError
from verify.evidence.audits import (
    AuditRecord,
    Finding,
    Intention,
    Judgement,
    LayerRecord,
    ScoreSummary,
    together,
)
from verify.evidence.runs import Tool
from verify.executors.workers import environment
from verify.text.escapes import as_prose, one_line
from verify.version import __version__

_TOLERANCE = 0.01  # how far the interval of an implied scale may reach from the intended scale, relatively
_BFLOAT16 = 2.0**-8
_WIDER = "scale the queries before the product, or keep scores in float32"
_MOST_NAMED = 3
_JUDGED: dict[str, tuple[str, Any]] = {
    "mask": ("the number of rows that see other keys than were meant", (None, 0.0)),
    "scale": ("the scale over the intended scale", (1 - _TOLERANCE, 1 + _TOLERANCE)),
    "formula": ("the largest error of a row over what rounding may do", (None, 1.0)),
    "overflow": ("the largest |q·k| over the largest number of the type", (None, 1.0)),
    "rows-without-keys": ("the number of rows that see no key and are not 0", (None, 0.0)),
}


def audit(
    q: Recording | Path | str | Array,
    k: Array | None = None,
    *,
    v: Array | None = None,
    out: Array | None = None,
    mask: Array | None = None,
    bias: Array | None = None,
    sink: Array | None = None,
    scale: float | None = None,
    softcap: float | None = None,
    causal: bool = False,
    intended: str | float | None = None,
    intended_mask: str = "",
) -> AuditRecord:
    """Judge what a program's attention does: a recording, or the arrays of one layer.

    ``q`` is a ``Recording``, its path, or queries of shape [sequence, head, token, d] beside keys
    ``k``. Arrays may be NumPy's, PyTorch's, JAX's or any that NumPy can convert.
    Keys and values ``v`` may have fewer heads, a divisor of the queries'. ``out`` is what attention gave back
    and ``scale`` the factor that it was given; ``mask`` is True where a key may be seen and ``bias`` is added
    to the scaled scores, both broadcast to [sequence, head, query, key]. ``causal`` stands for the mask of
    PyTorch's ``is_causal``; ``softcap`` c turns a scaled score s into c·tanh(s/c), before bias and mask;
    ``sink`` has one score a head, which takes part in the softmax's sum alone.

    ``intended`` is the scale that was meant, a number or an expression in d, h, D and n; None leaves it to
    the recording, else to 1/√d. ``intended_mask`` is the mask that was meant: ``none``, ``causal``,
    ``window=W`` or ``chunk=W``.

    Returns:
        The record of the audit. Its ``exit_status`` is 1 if a finding that decides is refuted, else 3 if
        such a finding is undecided or something was not seen that could differ, else 0.

    Raises:
        VerifyError: bad input; one line says what, where and how to correct it.
    """
    begun = time.perf_counter()
    meant = None if intended is None else Intended(scale_expression(str(intended)).text, "given")
    arrays = {"q": q, "k": k, "v": v, "out": out, "mask": mask, "bias": bias, "sink": sink}
    numbers = {"scale": scale, "softcap": softcap}
    if not isinstance(q, Recording | Path | str):
        recording = Recording("arrays", [Layer("attention", [_call(arrays, numbers, causal=causal)])])
    elif given := [name for name, value in (arrays | numbers).items() if value is not None and name != "q"]:
        raise SettingsError(f"{given[0]}: a recording has its own; leave it out")
    else:
        recording = q if isinstance(q, Recording) else load(Path(q))
    if not recording.layers:
        raise RecordingError(
            f"{recording.source}: no attention call was recorded; record a program that calls attention"
        )
    layers: list[LayerRecord] = []
    with threadpool_limits(limits=1, user_api="blas"):
        for layer in recording.layers:
            asked = replace(layer, intended=meant or layer.intended, mask=intended_mask or layer.mask)
            layers.append(_record(LayerRun(asked), {record.id for record in layers}))
    # What was not seen and could differ: its reason in a word, and a line.
    left_out = [("unrecorded", _plain(text)) for text in recording.left_out]
    warned = [x.name for x in layers for f in x.findings if (f.kind, f.judgement) == ("formula", "warned")]
    if warned:
        where = _plain(together(list(dict.fromkeys(warned))))
        left_out.append(("precision", f"faults in {where} below the precision that outputs agree to"))
    if silent := [x.name for x in layers if x.rows_compared + x.rows_without_key < x.rows]:
        where = _plain(together(silent))
        left_out.append(("output", f"outputs of {where}, in whole or in part: give v and out"))
    return AuditRecord(
        tool=Tool(version=__version__),
        source=one_line(recording.source),
        layers=tuple(layers),
        left_out=tuple(text for _, text in left_out),
        unseen=tuple(sorted({reason for reason, _ in left_out})),
        environment=environment(1, ("numpy", "scipy")),
        created=dt.datetime.now(dt.UTC).isoformat(timespec="seconds"),
        elapsed_s=round(time.perf_counter() - begun, 3),
    ).sealed()


def _call(arrays: dict[str, Array], numbers: dict[str, Any], *, causal: bool) -> Call:
    for name, array in arrays.items():
        is_array = hasattr(array, "shape") and hasattr(array, "dtype")
        if not is_array and (name in ("q", "k") or array is not None):
            raise SettingsError(f"{name}: is {type(array).__name__}; give an array of NumPy, PyTorch or JAX")
    for name, number in numbers.items():
        if number is not None and not (isinstance(number, SupportsFloat) and math.isfinite(float(number))):
            raise SettingsError(f"{name} {number!r}: give a finite number")
    plain: dict[str, Any] = {name: x if x is None else float(x) for name, x in numbers.items()}
    return Call(causal=causal, **plain | {ARRAYS[name]: array for name, array in arrays.items()})


def _record(run: LayerRun, taken: set[str]) -> LayerRecord:
    """Return the record of a layer that was run through, with an id different from those ``taken``."""
    slug = re.sub(r"[^a-z0-9]+", "-", run.layer.name.lower()).strip("-")[:100].strip("-") or "layer"
    slug = "layer-audit" if slug == "audit" else slug  # which keys of the whole audit start with
    slugs = chain([slug], (f"{slug}-{number}" for number in count(2)))
    layer, sums, intended = run.layer, run.sums, run.intended
    value, where = run.intended_scale(run.keys), _plain(intended.where)
    declared = {"mask": " or ".join(run.masks), "intended mask": layer.mask}
    return LayerRecord(
        id=next(slug for slug in slugs if slug not in taken),
        name=one_line(layer.name),
        heads=run.heads,
        key_heads=run.key_heads,
        d_k=run.d_k,
        d_v=run.d_v,
        calls=run.calls,
        sequences=run.sequences,
        tokens=(min(run.tokens), max(run.tokens)),
        rows=int(sums.rows.sum()),
        rows_compared=int(sums.compared.sum()),
        rows_without_key=run.blind,
        dtype=run.dtype,
        backend=one_line(layer.backend),
        declared={what: one_line(value)[:200] for what, value in declared.items() if value},
        intention=Intention(expression=intended.expression, value=value, origin=intended.origin, where=where),
        findings=tuple(_findings(run)),
        scores=tuple(_score_summaries(run.per_sequence)),
        notes=tuple(map(_plain, layer.notes)),
    )


def _plain(text: str) -> str:
    """Return a recording's text as one line of prose."""
    return as_prose(one_line(text))


def _findings(run: LayerRun) -> Iterator[Finding]:
    """Yield the findings of a layer."""

    def finding(kind: str, judged: dict[str, Any], number: int = 1) -> Finding:
        quantity, band = _JUDGED[kind]
        known = {"quantity": quantity, "band": band, "sequences": run.sequences} | judged
        return Finding(id=f"{kind}-{number}" if number > 1 else kind, kind=kind, **known)

    if mask := _mask(run):
        yield finding("mask", mask)
    for kind, judge in (("scale", _scale), ("formula", _formula)):
        by_head = [judge(run, head) for head in range(run.heads)]
        badness = [judged.pop("badness") for judged in by_head]
        # Heads that are judged alike are one finding, with the numbers of the worst of them.
        groups: dict[tuple[Any, ...], list[int]] = {}
        for head, judged in enumerate(by_head):
            key = judged["judgement"], judged.get("cause"), judged.get("fix")
            groups.setdefault(key, []).append(head)
        for number, heads in enumerate(groups.values(), 1):
            worst = by_head[max(heads, key=badness.__getitem__)]
            yield finding(kind, worst | {"heads": () if len(heads) == run.heads else tuple(heads)}, number)
    yield finding("overflow", _overflow(run))
    if run.blind:
        judged = {"judgement": Judgement.CONFIRMED, "estimate": 0.0}
        if odd := run.odd_rows:
            hold, such = "{:,} rows that see no key hold {}", "such as row {} of sequence {}"
            causes = [f"{hold.format(n, what)}, {such.format(row, s)}" for what, (n, s, row) in odd.items()]
            judged = {"judgement": Judgement.REFUTED, "fix": "write zeros where a row sees no key"}
            judged |= {"cause": "; ".join(causes), "estimate": sum(number for number, *_ in odd.values())}
        yield finding("rows-without-keys", judged)


def _mask(run: LayerRun) -> dict[str, Any]:
    """Judge what queries see by the mask that was meant; empty where nobody said it and nothing is odd."""
    wrong, meant = run.wrong_mask, run.meant
    if wrong is None:
        return {} if meant is None else {"judgement": Judgement.CONFIRMED, "estimate": 0.0}
    cause, fix = wrong.text, f"give the call the mask that was meant, {run.layer.mask}"
    if wrong.is_cut:
        cause += ": the causal mask is aligned at the first key"
        fix = "align the mask at the last key: with a cache the last query is that of the last key"
    elif meant and meant.kind in ("window", "chunk") and set(run.masks) == {"causal"}:
        cause = f"a {meant.kind} of {meant.number} is meant, and the layer does not keep to it: {cause}"
    return {"judgement": Judgement.REFUTED, "estimate": float(wrong.rows), "cause": cause, "fix": fix}


def _scale(run: LayerRun, head: int) -> dict[str, Any]:
    """Judge the factor that calls were given, and the scale that a head's output implies."""
    applied, meant = max(run.given, key=lambda pair: abs(pair[0] / pair[1] - 1), default=(1.0, 1.0))
    base, origin, sums = applied / meant, run.intended.origin, run.sums
    step, half, error, beside, *_ = (float(array[head]) for array in sums.shared)
    # Over the intended scale: that of the formula, and where the rows lead from there.
    ratio = base * float(run.ratio[head])
    value, room = ratio * (1 + step), abs(ratio) * half
    judged: dict[str, Any] = {"estimate": base if run.given else None, "badness": abs(base - 1)}
    # An interval that holds the intended scale, and 0 or twice as much beside, tells nothing.
    is_known = room < max(1.0, abs(value - 1)) and 2 * sums.bad[head] <= sums.compared[head]
    if is_known:
        judged |= {"estimate": value, "badness": abs(value - 1), "level": LEVEL}
        judged["interval"] = value - room, value + room
        judged |= {"standard_error": abs(ratio) * error} if math.isfinite(error) else {}
    is_off = bool(run.given) and abs(base - 1) > ROUNDING
    # A wrong factor of the output looks like another scale: beside it, the scale has to be off as well.
    off = min(abs(value - 1), abs(ratio * (1 + beside) - 1))
    is_far = is_known and off > max(_TOLERANCE + room, 2 * room)
    if origin == "unknown":
        where = f" ({_plain(run.intended.where)})" if run.intended.where else ""
        reason = f"cannot tell whether queries were scaled before the call; give --intended{where}"
        return judged | {"judgement": Judgement.UNDECIDED, "reason": reason}
    if is_far or (is_off and abs(base - 1) > _BFLOAT16):
        # The factor that was given is known exactly, and names the mistake where it is off by itself.
        intended = run.intended_scale(run.keys)
        scale, wanted = (applied, meant) if is_off else (value * intended, intended)
        uncertainty = 0.0 if is_off else max(room, sums.unit * abs(value)) * abs(intended)
        cause, fix = diagnose(scale, wanted, run.widths, uncertainty=uncertainty)
        if origin == "default" and uncertainty < abs(scale):
            fix += f"; if this is meant, say so with --intended {in_known_digits(scale, uncertainty)}"
        return judged | {"judgement": Judgement.REFUTED, "cause": cause, "fix": fix}
    if is_off:
        return judged | {"judgement": Judgement.WARNED, "reason": "the factor given is rounded to bfloat16"}
    is_within = is_known and abs(value - 1) + room <= _TOLERANCE
    return judged | _unrefuted_scale(run, head, room if is_known else math.inf, is_within=is_within)


def _unrefuted_scale(run: LayerRun, head: int, room: float, *, is_within: bool) -> dict[str, Any]:
    """Judge a scale that is not refuted: is it confirmed, and if not by outputs, why?"""
    compared = run.sums.compared[head]
    if is_within or (run.given and not compared):
        if run.intended.origin != "default" or not run.has_unit_lengths:
            reason = "" if compared else "by the factor given; no output was compared"
            return {"judgement": Judgement.CONFIRMED, "reason": reason}
        # Nobody said that this was meant, and such attention is all but even.
        reason = f"queries and keys have length 1: scores are cosines, which 1/√{run.d_k} makes hardly vary"
        fix = f"multiply cosines by about √{run.d_k}; if this is meant, give --intended"
        return {"judgement": Judgement.WARNED, "reason": reason, "fix": fix}
    if run.sums.bad[head] or any(cause.does for cause in run.causes.get(head, ())[:1]):
        return {"judgement": Judgement.REPORTED, "reason": "the output is not that of the formula"}
    if compared:
        reason = "the output does not depend on the scale beyond rounding"
        if math.isfinite(room):
            reason = f"rounding leaves the scale uncertain by {room:.1%}; record more tokens"
        return {"judgement": Judgement.UNDECIDED, "reason": f"cannot tell: {reason}"}
    # Of a program the scale itself was to be judged; arrays without an output are judged in part.
    judgement = Judgement.UNDECIDED if run.layer.backend else Judgement.REPORTED
    reasons = ["no scale was given, and no output was compared", *map(_plain, run.layer.notes)]
    return {"judgement": judgement, "reason": "; ".join(reasons)}


def _formula(run: LayerRun, head: int) -> dict[str, Any]:
    """Judge the worst row of a head, and what its rows share."""
    sums, worst, bad = run.sums, float(run.sums.worst[head]), int(run.sums.bad[head])
    factor, hidden = (float(array[head]) for array in sums.shared[-2:])
    causes = [cause for cause in run.causes.get(head, ()) if cause.does]
    exact = [cause for cause in causes if not cause.is_coarse]
    judged: dict[str, Any] = {"judgement": Judgement.CONFIRMED, "badness": worst}
    if sums.compared[head]:
        judged["estimate"] = worst if math.isfinite(worst) else None
    elif not bad:
        reason = "no call was recorded with its values and output, of finite numbers"
        return judged | {"judgement": Judgement.REPORTED, "band": None, "reason": reason}
    if not (bad or factor or hidden):
        return judged
    # Coarser arithmetic explains nothing that an exact mistake does, and is no mistake.
    if causes and not exact:
        reason = f"{causes[0].does}: the output agrees to that only, and is stored more finely"
        return judged | {"judgement": Judgement.WARNED, "reason": reason}
    cause, fix = "", "no known mistake gives this output: compare with another kernel, audit --against"
    if exact:
        cause, fix = " or ".join([*dict.fromkeys(known.does for known in exact)][:_MOST_NAMED]), exact[0].fix
    elif hidden:
        cause = f"keys that the mask hides have weight, as if it added about {math.log(hidden):.2g}"
        fix = "add -inf where a key is hidden"
    elif factor:
        cause = f"outputs are {abs(factor):.2g} of their size too {'large' if factor > 0 else 'small'}"
        fix = "leave the output as the weighted mean of the values"
    sequence, row = sums.place[head]
    off = f"{bad:,} of {sums.rows[head]:,} rows are off; the worst is row {row} of sequence {sequence}"
    return judged | {
        "judgement": Judgement.REFUTED,
        "cause": cause,
        "fix": fix,
        "reason": off if bad else "",
    }


def _overflow(run: LayerRun) -> dict[str, Any]:
    """Judge how near products come to the largest number of the type, and what is not finite."""
    largest, limit = f"the largest product is {run.bound * run.limit:,.0f}", f"{run.dtype}'s {run.limit:,.0f}"
    judged: dict[str, Any] = {"estimate": run.bound if math.isfinite(run.bound) else None}
    if run.broken:
        first = next(iter(run.broken))
        numbers = ", ".join(f"{count:,} of {name}" for name, count in run.broken.items())
        cause, fix = f"{first} hold NaN or infinities", f"look where {first} are computed"
        if run.bound >= 1:
            cause, fix = f"{largest}, beyond {limit}", _WIDER
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


def _score_summaries(per_sequence: Sequence[Any]) -> Iterator[ScoreSummary]:
    """Yield medians over sequences of what describes scores, with intervals between order statistics."""
    whole = np.concatenate(per_sequence, axis=1) if per_sequence else np.zeros((3, 0))
    names = ("row variance", "entropy over ln n", "largest weight")
    for name, values in zip(names, np.sort(whole, axis=1), strict=True):
        count = len(values)
        if not count or not np.isfinite(values).all():
            continue
        # The interval from the k-th smallest to the k-th largest misses with probability 2·P(Bin(n, ½) < k).
        places = np.arange(count // 2)
        below = places[2 * special.bdtr(places, count, 0.5) <= 0.05]
        ends = (float(values[below[-1]]), float(values[-1 - below[-1]])) if len(below) else (None, None)
        yield ScoreSummary(name=name, median=float(np.median(values)), low=ends[0], high=ends[1])
