"""An audit as a function: of a recording, or of the arrays of one layer as somebody has them."""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING, Any

import array_api_compat

from verify.auditing import audit as auditing
from verify.auditing.files import load as load_recording
from verify.auditing.gates import FALSE_ALARM, audit_settings
from verify.auditing.recording import Call, Layer, Recording
from verify.auditing.shapes import ARRAYS
from verify.errors import SettingsError

if TYPE_CHECKING:
    from verify.auditing.gates import Gates
    from verify.auditing.recording import Array
    from verify.evidence.audits import AuditRecord


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
    gate: Gates = (),
    false_alarm: float = FALSE_ALARM,
    workers: int | None = None,
) -> AuditRecord:
    """Judge what somebody's attention does: a recording, or the arrays of one layer.

    ``q`` is a ``Recording``, the path of one, or queries of shape [sequence, head, token, d] beside keys
    ``k``. Arrays may be NumPy's, PyTorch's, JAX's or of any library that keeps to the array API standard;
    statistics are computed where they are. Keys and values ``v`` may have fewer heads, a divisor of the
    queries'. ``out`` is what attention gave back and ``scale`` the factor that it was given; ``mask`` is True
    where a key may be seen and ``bias`` is added to the scaled scores, both broadcast to
    [sequence, head, query, key]. ``causal`` stands for the mask of PyTorch's ``is_causal``; ``softcap`` c
    turns a scaled score s into c·tanh(s/c), before bias and mask; ``sink`` has one score a head, which takes
    part in the softmax's sum alone.

    ``intended`` is the scale that was meant, a number or an expression in d, h, D and n; None leaves it to
    the recording, else to 1/√d. Each ``gate`` is FINDING or FINDING:LOW..HIGH, and lets that finding decide.
    ``false_alarm`` is the rate of the whole audit. ``workers`` None means one for each processor and changes
    no result.

    Returns:
        The record of the audit. Its ``exit_status`` is 1 if a finding that decides is refuted, else 3 if one
        is undecided, else 0.

    Raises:
        VerifyError: bad input; one line says what, where and how to correct it.
    """
    settings = audit_settings(intended, gate, false_alarm)
    arrays = {"q": q, "k": k, "v": v, "out": out, "mask": mask, "bias": bias, "sink": sink}
    numbers = {"scale": scale, "softcap": softcap}
    if not isinstance(q, Recording | Path | str):
        recording = Recording("arrays", [Layer("attention", [_call(arrays, numbers, causal=causal)])])
    elif given := [name for name, one in {**arrays, **numbers}.items() if one is not None][1:]:
        raise SettingsError(f"{given[0]}: a recording has its own; leave it out")
    else:
        recording = q if isinstance(q, Recording) else load_recording(Path(q))
    return auditing.audit(recording, settings, workers=workers)


def _call(arrays: dict[str, Array], numbers: dict[str, float | None], *, causal: bool) -> Call:
    for name, array in arrays.items():
        if (name in {"q", "k"} or array is not None) and not array_api_compat.is_array_api_obj(array):
            raise SettingsError(f"{name}: is {type(array).__name__}; give an array of NumPy, PyTorch or JAX")
    scale, softcap = (None if one is None else _number(name, one) for name, one in numbers.items())
    if softcap is not None and softcap <= 0:
        raise SettingsError(f"softcap {softcap!r}: give a number above 0, or none")
    fields = {ARRAYS[name]: array for name, array in arrays.items()}
    return Call(**fields, causal=causal, scale=scale, softcap=softcap)


def _number(name: str, given: Any) -> float:
    """Return a number of Python, or of any library's type for one."""
    try:
        is_one = not isinstance(given, str | bytes | bool) and getattr(given, "ndim", 0) == 0
        value = float(given) if is_one else math.nan
    except (TypeError, ValueError):
        value = math.nan
    if not math.isfinite(value):
        raise SettingsError(f"{name} {given!r}: give a finite number")
    return value
