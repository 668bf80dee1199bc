"""Attention calls for the tests, made by plain NumPy in the open, and what audits find of them."""

from pathlib import Path
from typing import Any

import numpy as np

import verify
from verify.auditing.record import FolderWriter
from verify.auditing.recording import Call, Intended, Layer, Recording, in_memory
from verify.evidence.audits import AuditRecord, Finding

D = 64
SCALE = D**-0.5


def arrays(
    seed: int = 0,
    *,
    sequences: int = 2,
    heads: int = 1,
    key_heads: int | None = None,
    queries: int = 24,
    keys: int = 24,
    d: int = D,
    deviation: float = 1.0,
) -> tuple[Any, Any, Any]:
    """Return standard normal queries, keys and values; scaled scores have this standard deviation."""
    rng = np.random.default_rng(seed)
    size = deviation**0.5
    return (
        size * rng.standard_normal((sequences, heads, queries, d)),
        size * rng.standard_normal((sequences, key_heads or heads, keys, d)),
        rng.standard_normal((sequences, key_heads or heads, keys, d)),
    )


def attention(q: Any, k: Any, v: Any, *, scale: float = SCALE, **declared: Any) -> Any:
    """Return what correct attention gives, rows without a key zeros; ``declared`` as the fields of `Call`."""
    group = q.shape[1] // k.shape[1]
    k, v = np.repeat(k, group, axis=1), np.repeat(v, group, axis=1)
    scores = scale * (q @ np.swapaxes(k, -1, -2))
    if (cap := declared.get("softcap")) is not None:
        scores = cap * np.tanh(scores / cap)
    scores = scores + declared.get("bias", 0)
    if (mask := declared.get("mask")) is not None:
        scores = np.where(mask, scores, -np.inf)
    if declared.get("causal"):
        scores = np.where(np.tri(*scores.shape[-2:]) > 0, scores, -np.inf)
    sinks = declared.get("sink")
    if sinks is not None:
        column = np.broadcast_to(np.reshape(sinks, (1, -1, 1, 1)), (*scores.shape[:3], 1))
        scores = np.concatenate([scores, column], axis=-1)
    top = scores.max(axis=-1, keepdims=True)
    weights = np.exp(scores - np.where(np.isfinite(top), top, 0))
    weights = weights / np.maximum(weights.sum(axis=-1, keepdims=True), 1e-30)
    return weights[..., : k.shape[2]] @ v


def call(
    dtype: Any = np.float32, *, scale: float = SCALE, applied: float | None = None, **options: Any
) -> Call:
    """Return a call that declares ``scale`` and applied ``applied``; the rest as `arrays` and `attention`."""
    declared = {
        key: options.pop(key) for key in ("mask", "bias", "causal", "softcap", "sink") if key in options
    }
    q, k, v = (array.astype(dtype) for array in arrays(**options))
    exact = (array.astype(np.float64) for array in (q, k, v))
    out = attention(*exact, scale=scale if applied is None else applied, **declared).astype(dtype)
    return Call(q, k, v, out, scale=scale, **declared)


def write(recording: Recording, folder: Path) -> None:
    """Write a recording that was made here, as a program's is written call by call."""
    writer = FolderWriter(folder)
    for layer in recording.layers:
        for made in layer.calls:
            writer.add(layer.name, made)
    writer.finish(recording)


def only(recording: Recording) -> Call:
    """Return the one call of the one layer."""
    (layer,) = recording.layers
    (call,) = layer.calls
    return call


def deviation(call: Call) -> float:
    """Return by how much the recorded output differs from the one that follows, over rows that see a key."""
    given = in_memory(call)
    declared = {name: getattr(given, name) for name in ("mask", "bias", "softcap", "sink")}
    declared = {name: value for name, value in declared.items() if value is not None}
    scale = given.query.shape[-1] ** -0.5 if call.scale is None else call.scale
    arrays = (np.asarray(array).astype(np.float64) for array in (given.query, given.key, given.value))
    wanted = attention(*arrays, scale=scale, causal=call.causal, **declared)
    seen = np.any(wanted != 0, axis=-1)
    assert seen.any()
    error = np.asarray(given.output).astype(np.float64) - wanted
    return float(np.linalg.norm(error[seen]) / np.linalg.norm(wanted[seen]))


def audited(*calls: Call, intended: Intended | None = None, **options: Any) -> AuditRecord:
    """Return the audit of a layer with these calls."""
    return verify.audit(Recording("tests", [Layer("a", calls, intended)]), **options)


def finding(record: AuditRecord, kind: str) -> Finding:
    """Return the only finding of this kind."""
    (judged,) = (part for part in record.findings if part.kind == kind)
    return judged


def of_calls(*calls: Call, intended: str = "1/sqrt(d)") -> dict[str, Finding]:
    """Return what an audit finds of a middle head of these calls, by the finding's kind."""
    return of_layer(Layer("a", calls, Intended(intended, "given")))


def of_layer(layer: Layer) -> dict[str, Finding]:
    """Return what an audit finds of a middle head of a layer, by the finding's kind."""
    record = verify.audit(Recording("tests", (layer,)))
    head = record.layers[0].heads // 2
    return {part.kind: part for part in record.findings if head in (part.heads or (head,))}
