"""What audits find of a few calls, for the tests of the kinds of findings."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

import verify
from tests.auditing.calls import arrays
from verify.auditing.audit import audit
from verify.auditing.gates import audit_settings
from verify.auditing.recording import Call, Intended, Layer, Recording

if TYPE_CHECKING:
    from verify.evidence.audits import Finding

D, KEYS = 16, 64


def of_calls(*calls: Call, intended: str = "1/sqrt(d)", **options: Any) -> dict[str, Finding]:
    """Return what an audit finds of the first head of these calls, by kind."""
    recording = Recording("tests", (Layer("attention", calls, Intended(intended, "given")),))
    record = verify.audit(recording, workers=1, **options)
    return {one.kind: one for one in record.findings if one.head == 0}


def of_vectors(q: Any, k: Any, **options: Any) -> dict[str, Finding]:
    """Return what an audit finds of the first head of these vectors, by the finding's name."""
    gate, alarm = options.pop("gate", ()), options.pop("false_alarm", 0.5)
    recording = Recording("test", [Layer("one", [Call(q, k, **options)])])
    record = audit(recording, audit_settings(gate=gate, false_alarm=alarm), workers=1)
    return {one.id.removesuffix("-head-0"): one for one in record.findings if one.head == 0}


def normal(sequences: int = 60, **more: Any) -> tuple[Any, Any]:
    """Return standard normal queries and keys of one head."""
    q, k, _ = arrays(21, sequences=sequences, heads=1, queries=48, keys=KEYS, d=D, **more)
    return q.astype(np.float32), k.astype(np.float32)
