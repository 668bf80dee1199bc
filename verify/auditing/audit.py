"""An audit: is the attention of a recording what it was meant to be, in every row of every call?"""

import datetime as dt
import math
import re
import time
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import array_api_compat
from threadpoolctl import threadpool_limits

from verify.auditing.files import load
from verify.auditing.findings import findings, score_summaries
from verify.auditing.layers import LayerRun
from verify.auditing.masks import intended_mask
from verify.auditing.recording import ARRAYS, Array, Call, Layer, Recording
from verify.auditing.scales import scale_expression
from verify.errors import RecordingError, SettingsError, unknown
from verify.evidence.audits import (
    RESERVED,
    UNSEEN,
    AuditRecord,
    AuditSettings,
    Intention,
    Judgement,
    LayerRecord,
    together,
)
from verify.evidence.runs import Tool
from verify.executors.machine import environment, processors, thread_map
from verify.text.escapes import as_prose, one_line
from verify.version import __version__

_PACKAGES = ("numpy", "scipy", "array-api-compat")


def audit_settings(
    intended: str | float | None = None, *, mask: str = "", allow_unseen: Iterable[str] = ()
) -> AuditSettings:
    """Return the settings of an audit after checking them.

    Raises:
        SettingsError: the intended scale is no expression, the mask none of `INTENDED_MASKS`, or what may be
            unseen is no reason.
    """
    allowed = (allow_unseen,) if isinstance(allow_unseen, str) else tuple(allow_unseen)
    for reason in allowed:
        if reason not in UNSEEN:
            raise SettingsError(
                "--allow-unseen: " + unknown("reason", reason, UNSEEN, f"there are {', '.join(UNSEEN)}")
            )
    if mask:
        intended_mask(mask)
    if intended is not None:
        intended = scale_expression(str(intended)).text
    return AuditSettings(intended=intended, mask=mask, allow_unseen=allowed)


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
    documents: Array | None = None,
    allow_unseen: Iterable[str] = (),
    workers: int | None = None,
) -> AuditRecord:
    """Judge what a program's attention does: a recording, or the arrays of one layer.

    ``q`` is a ``Recording``, the path of one, or queries of shape [sequence, head, token, d] beside keys
    ``k``. Arrays may be NumPy's, PyTorch's, JAX's or of any library that keeps to the array API standard.
    Keys and values ``v`` may have fewer heads, a divisor of the queries'. ``out`` is what attention gave back
    and ``scale`` the factor that it was given; ``mask`` is True where a key may be seen and ``bias`` is added
    to the scaled scores, both broadcast to [sequence, head, query, key]. ``causal`` stands for the mask of
    PyTorch's ``is_causal``; ``softcap`` c turns a scaled score s into c·tanh(s/c), before bias and mask;
    ``sink`` has one score a head, which takes part in the softmax's sum alone.

    ``intended`` is the scale that was meant, a number or an expression in d, h, D and n; None leaves it to
    the recording, else to 1/√d. ``intended_mask`` is the mask that was meant: ``none``, ``causal``,
    ``window=W``, ``chunk=W``, ``prefix=N`` or ``documents``; the last one takes the number of each token's
    document, ``documents`` of shape [sequence, token]. What was not seen and could differ makes it one in
    part, unless ``allow_unseen`` has the reason: ``calls`` that were left out, values or ``output`` that were
    not given, the ``precision`` that outputs agree to where it is coarser than they are stored in, or what is
    ``unrecorded``. ``workers`` None means one for each processor and changes no result.

    Returns:
        The record of the audit. Its ``exit_status`` is 1 if a finding that decides is refuted, else 3 if
        one is undecided or the audit is one in part, else 0.

    Raises:
        VerifyError: bad input; one line says what, where and how to correct it.
    """
    settings = audit_settings(intended, mask=intended_mask, allow_unseen=allow_unseen)
    arrays = {
        "q": q,
        "k": k,
        "v": v,
        "out": out,
        "mask": mask,
        "bias": bias,
        "sink": sink,
        "documents": documents,
    }
    numbers = {"scale": scale, "softcap": softcap}
    if not isinstance(q, Recording | Path | str):
        call = _call(arrays, numbers, causal=causal)
        recording = Recording("arrays", [Layer("attention", [call])])
    elif given := [name for name, one in {**arrays, **numbers}.items() if one is not None][1:]:
        raise SettingsError(f"{given[0]}: a recording has its own; leave it out")
    else:
        recording = q if isinstance(q, Recording) else load(Path(q))
    return audit_recording(recording, settings, workers=workers)


def _call(arrays: dict[str, Array], numbers: dict[str, float | None], *, causal: bool) -> Call:
    for name, array in arrays.items():
        if (name in {"q", "k"} or array is not None) and not array_api_compat.is_array_api_obj(array):
            raise SettingsError(f"{name}: is {type(array).__name__}; give an array of NumPy, PyTorch or JAX")
    scale, softcap = (None if one is None else _number(name, one) for name, one in numbers.items())
    fields = {ARRAYS[name]: array for name, array in arrays.items()}
    return Call(**fields, causal=causal, scale=scale, softcap=softcap)


def _number(name: str, given: Any) -> float:
    """Return a number of Python, or of any library's type for one."""
    try:
        value = float(given)
    except (TypeError, ValueError):
        value = math.nan
    if not math.isfinite(value):
        raise SettingsError(f"{name} {given!r}: give a finite number")
    return value


def audit_recording(
    recording: Recording, settings: AuditSettings, *, workers: int | None = None
) -> AuditRecord:
    """Return everything that is found of a recording.

    ``workers`` threads share out the heads of a layer, None meaning one for each processor; they change no
    result.

    Raises:
        RecordingError: there is no attention call, or arrays do not fit each other.
        SettingsError: an intended scale cannot be computed.
    """
    begun, threads = time.perf_counter(), processors(workers)
    if not recording.layers:
        raise RecordingError(
            f"{recording.source}: no attention call was seen; record a program that makes one"
        )
    names: set[str] = set()
    with threadpool_limits(limits=1, user_api="blas"), thread_map(threads) as mapper:
        layers = []
        for layer in recording.layers:
            run = LayerRun(layer, settings, mapper)
            run.settle()
            layers.append(_record(run, _slug(layer.name, names)))
    left_out = list(_left_out(recording, layers))
    return AuditRecord(
        tool=Tool(version=__version__),
        settings=settings,
        source=one_line(recording.source),
        layers=tuple(layers),
        left_out=tuple(text for _, text in left_out),
        unseen=tuple(sorted({reason for reason, _ in left_out} - set(settings.allow_unseen))),
        environment=environment(threads, _PACKAGES),
        created=dt.datetime.now(dt.UTC).isoformat(timespec="seconds"),
        elapsed_s=round(time.perf_counter() - begun, 3),
    ).sealed()


def _left_out(recording: Recording, layers: Sequence[LayerRecord]) -> Iterator[tuple[str, str]]:
    """Yield what was not seen and could differ: its reason, one of `UNSEEN`, and a line."""
    yield from (("unrecorded", _plain(text)) for text in recording.left_out)
    for layer in recording.layers:
        yield from (("calls", f"{_plain(layer.name)}: calls {_plain(text)}") for text in layer.left_out)
    warned = [
        layer.name
        for layer in layers
        if any(one.kind == "formula" and one.judgement is Judgement.WARNED for one in layer.findings)
    ]
    if warned:
        yield "precision", f"faults in {_plain(together(warned))} below the precision that outputs agree to"
    silent = [layer.name for layer in layers if layer.rows_compared + layer.rows_without_key < layer.rows]
    if silent:
        yield "output", f"outputs of {_plain(together(silent))}, in whole or in part: give v and out"


def _plain(text: str) -> str:
    """Return a recording's plain text as one line of prose."""
    return as_prose(one_line(text))


def _slug(name: str, taken: set[str]) -> str:
    """Return an id for a layer of this name, different from those ``taken``, which it joins."""
    plain = re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-")[:100].strip("-") or "layer"
    plain = f"layer-{plain}" if plain in RESERVED else plain
    number, slug = 1, plain
    while slug in taken:
        number += 1
        slug = f"{plain}-{number}"
    taken.add(slug)
    return slug


def _record(run: LayerRun, name: str) -> LayerRecord:
    """Return the record of a layer that was run through."""
    layer, sums = run.layer, run.sums
    intention = Intention(
        expression=run.expression.text,
        latex=run.expression.latex,
        value=run.intended_scale(run.keys),
        origin=run.intended.origin,
        where=_plain(run.intended.where),
    )
    declared = {"mask": " or ".join(run.masks), "intended mask": run.mask}
    return LayerRecord(
        id=name,
        name=one_line(layer.name),
        heads=run.heads,
        key_heads=run.key_heads,
        d_k=run.d_k,
        d_v=run.d_v,
        calls=run.calls,
        sequences=run.sequences,
        tokens=(int(run.tokens[0]), int(run.tokens[1])),
        rows=int(sums.rows.sum()),
        rows_compared=int(sums.compared.sum()),
        rows_without_key=run.blind,
        dtype=run.dtype,
        backend=one_line(layer.backend),
        declared={what: one_line(value)[:200] for what, value in declared.items() if value},
        intention=intention,
        findings=tuple(findings(run)),
        scores=tuple(score_summaries(run.per_sequence)),
        notes=tuple(map(_plain, layer.notes)),
    )
