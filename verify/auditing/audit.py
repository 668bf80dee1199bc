"""An audit: is the attention of a recording what it was meant to be, in every row of every call?"""

import datetime as dt
import math
import re
import time
from dataclasses import replace
from itertools import chain, count
from pathlib import Path
from typing import Any, SupportsFloat

from threadpoolctl import threadpool_limits

from verify.auditing.files import load
from verify.auditing.findings import findings, plain, score_summaries
from verify.auditing.layers import LayerRun
from verify.auditing.masks import intended_mask as mask_of
from verify.auditing.recording import ARRAYS, Array, Call, Intended, Layer, Recording
from verify.auditing.scales import scale_expression
from verify.errors import RecordingError, SettingsError
from verify.evidence.audits import RESERVED, AuditRecord, Finding, Intention, Judgement, LayerRecord, together
from verify.evidence.runs import Tool
from verify.executors.machine import environment
from verify.text.escapes import one_line
from verify.version import __version__


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
    if intended_mask:
        mask_of(intended_mask)
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
    left_out = [("unrecorded", plain(text)) for text in recording.left_out]
    if warned := [layer.name for layer in layers if any(map(_is_coarse, layer.findings))]:
        where = plain(together(warned))
        left_out.append(("precision", f"faults in {where} below the precision that outputs agree to"))
    if silent := [x.name for x in layers if x.rows_compared + x.rows_without_key < x.rows]:
        where = plain(together(silent))
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


def _is_coarse(finding: Finding) -> bool:
    return finding.kind == "formula" and finding.judgement is Judgement.WARNED


def _call(arrays: dict[str, Array], numbers: dict[str, Any], *, causal: bool) -> Call:
    for name, array in arrays.items():
        is_array = hasattr(array, "shape") and hasattr(array, "dtype")
        if not is_array and (name in ("q", "k") or array is not None):
            raise SettingsError(f"{name}: is {type(array).__name__}; give an array of NumPy, PyTorch or JAX")
    for name, number in numbers.items():
        if number is not None and not (isinstance(number, SupportsFloat) and math.isfinite(float(number))):
            raise SettingsError(f"{name} {number!r}: give a finite number")
    plain: dict[str, Any] = {
        name: None if number is None else float(number) for name, number in numbers.items()
    }
    plain |= {ARRAYS[name]: array for name, array in arrays.items()}
    return Call(**plain, causal=causal)


def _record(run: LayerRun, taken: set[str]) -> LayerRecord:
    """Return the record of a layer that was run through, with an id different from those ``taken``."""
    slug = re.sub(r"[^a-z0-9]+", "-", run.layer.name.lower()).strip("-")[:100].strip("-") or "layer"
    slug = f"layer-{slug}" if slug in RESERVED else slug
    slugs = chain([slug], (f"{slug}-{number}" for number in count(2)))
    layer, sums = run.layer, run.sums
    intention = Intention(
        expression=run.expression.text,
        value=run.intended_scale(run.keys),
        origin=run.intended.origin,
        where=plain(run.intended.where),
    )
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
        intention=intention,
        findings=tuple(findings(run)),
        scores=tuple(score_summaries(run.per_sequence)),
        notes=tuple(map(plain, layer.notes)),
    )
