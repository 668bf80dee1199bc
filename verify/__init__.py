"""Statistical verification of what is said about scaled dot-product attention."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from verify.version import __version__

if TYPE_CHECKING:
    from verify.api import list_claims, plan, render, reproduce, run
    from verify.auditing.audit import audit
    from verify.auditing.comparing import compare_recordings
    from verify.auditing.probe import Probe, parametrize_probes, probe
    from verify.auditing.record import record
    from verify.citing.lookup import values
    from verify.engine.asking import Answer, ask
    from verify.engine.plan import Plan, Planned
    from verify.engine.reproducing import Reproduction
    from verify.errors import VerifyError
    from verify.evidence import Check, ClaimRecord, ControlRecord, RunRecord
    from verify.evidence.audits import AuditRecord
    from verify.evidence.comparisons import ComparisonRecord
    from verify.evidence.load import json_schema, load, load_audit
    from verify.spec.claim import Claim

__all__ = [
    "Answer",
    "AuditRecord",
    "Check",
    "Claim",
    "ClaimRecord",
    "ComparisonRecord",
    "ControlRecord",
    "Plan",
    "Planned",
    "Probe",
    "Reproduction",
    "RunRecord",
    "VerifyError",
    "__version__",
    "ask",
    "audit",
    "compare_recordings",
    "json_schema",
    "list_claims",
    "load",
    "load_audit",
    "parametrize_probes",
    "plan",
    "probe",
    "record",
    "render",
    "reproduce",
    "run",
    "values",
]

_HOME = {
    "Answer": "verify.engine.asking",
    "AuditRecord": "verify.evidence.audits",
    "Check": "verify.evidence",
    "Claim": "verify.spec.claim",
    "ClaimRecord": "verify.evidence",
    "ComparisonRecord": "verify.evidence.comparisons",
    "ControlRecord": "verify.evidence",
    "Plan": "verify.engine.plan",
    "Planned": "verify.engine.plan",
    "Reproduction": "verify.engine.reproducing",
    "RunRecord": "verify.evidence",
    "VerifyError": "verify.errors",
    "ask": "verify.engine.asking",
    "audit": "verify.auditing.audit",
    "compare_recordings": "verify.auditing.comparing",
    "json_schema": "verify.evidence.load",
    "list_claims": "verify.api",
    "load": "verify.evidence.load",
    "load_audit": "verify.evidence.load",
    "plan": "verify.api",
    "Probe": "verify.auditing.probe",
    "parametrize_probes": "verify.auditing.probe",
    "probe": "verify.auditing.probe",
    "record": "verify.auditing.record",
    "render": "verify.api",
    "reproduce": "verify.api",
    "run": "verify.api",
    "values": "verify.citing.lookup",
}


def __dir__() -> list[str]:
    """Return the public names, for completion."""
    return __all__


def __getattr__(name: str) -> Any:
    """Return a public name, imported when it is first asked for: SymPy and SciPy take their time."""
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(_HOME[name]), name)
