"""Statistical verification of what is said about scaled dot-product attention."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from verify.version import __version__

if TYPE_CHECKING:
    from verify.api import list_claims, reproduce, run
    from verify.auditing.audit import audit
    from verify.auditing.comparing import compare_recordings
    from verify.auditing.probe import Probe, parametrize_probes, probe
    from verify.auditing.record import record
    from verify.citing.lookup import values
    from verify.citing.reproducing import Reproduction
    from verify.engine.asking import Answer, ask
    from verify.errors import VerifyError
    from verify.evidence import Check, ClaimRecord, ControlRecord, RunRecord
    from verify.evidence.audits import AuditRecord
    from verify.evidence.comparisons import ComparisonRecord
    from verify.evidence.load import json_schema, load, load_audit
    from verify.report.write import render
    from verify.spec.claim import Claim

__all__ = [
    "Answer",
    "AuditRecord",
    "Check",
    "Claim",
    "ClaimRecord",
    "ComparisonRecord",
    "ControlRecord",
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
    "probe",
    "record",
    "render",
    "reproduce",
    "run",
    "values",
]

_NAMES = {
    "verify.engine.asking": "Answer ask",
    "verify.evidence.audits": "AuditRecord",
    "verify.evidence": "Check ClaimRecord ControlRecord RunRecord",
    "verify.spec.claim": "Claim",
    "verify.evidence.comparisons": "ComparisonRecord",
    "verify.citing.reproducing": "Reproduction",
    "verify.errors": "VerifyError",
    "verify.auditing.audit": "audit",
    "verify.auditing.comparing": "compare_recordings",
    "verify.evidence.load": "json_schema load load_audit",
    "verify.api": "list_claims reproduce run",
    "verify.auditing.probe": "Probe parametrize_probes probe",
    "verify.auditing.record": "record",
    "verify.citing.lookup": "values",
    "verify.report.write": "render",
}
_HOME = {name: module for module, names in _NAMES.items() for name in names.split()}


def __dir__() -> list[str]:
    """Return the public names, for completion."""
    return __all__


def __getattr__(name: str) -> Any:
    """Return a public name, imported when it is first asked for: SymPy and SciPy take their time."""
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(_HOME[name]), name)
