"""Statistical verification of what is said about scaled dot-product attention."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from verify.version import __version__ as __version__

if TYPE_CHECKING:
    from verify.api import list_claims as list_claims
    from verify.api import reproduce as reproduce
    from verify.api import run as run
    from verify.auditing.audit import audit as audit
    from verify.auditing.comparing import compare_recordings as compare_recordings
    from verify.auditing.probe import Probe as Probe
    from verify.auditing.probe import parametrize_probes as parametrize_probes
    from verify.auditing.probe import probe as probe
    from verify.auditing.record import record as record
    from verify.citing.compare import Reproduction as Reproduction
    from verify.citing.values import values as values
    from verify.engine.asking import Answer as Answer
    from verify.engine.asking import ask as ask
    from verify.errors import VerifyError as VerifyError
    from verify.evidence import Check as Check
    from verify.evidence import ClaimRecord as ClaimRecord
    from verify.evidence import ControlRecord as ControlRecord
    from verify.evidence import RunRecord as RunRecord
    from verify.evidence.audits import AuditRecord as AuditRecord
    from verify.evidence.comparisons import ComparisonRecord as ComparisonRecord
    from verify.evidence.load import json_schema as json_schema
    from verify.evidence.load import load as load
    from verify.evidence.load import load_audit as load_audit
    from verify.report.write import render as render
    from verify.spec.claim import Claim as Claim

_NAMES = {
    "verify.engine.asking": "Answer ask",
    "verify.evidence.audits": "AuditRecord",
    "verify.evidence": "Check ClaimRecord ControlRecord RunRecord",
    "verify.spec.claim": "Claim",
    "verify.evidence.comparisons": "ComparisonRecord",
    "verify.citing.compare": "Reproduction",
    "verify.errors": "VerifyError",
    "verify.auditing.audit": "audit",
    "verify.auditing.comparing": "compare_recordings",
    "verify.evidence.load": "json_schema load load_audit",
    "verify.api": "list_claims reproduce run",
    "verify.auditing.probe": "Probe parametrize_probes probe",
    "verify.auditing.record": "record",
    "verify.citing.values": "values",
    "verify.report.write": "render",
}
_HOME = {name: module for module, names in _NAMES.items() for name in names.split()}
__all__ = list(_HOME)


def __dir__() -> list[str]:
    """Return the public names, for completion."""
    return __all__


def __getattr__(name: str) -> Any:
    """Return a public name, imported when it is first asked for: SymPy and SciPy take their time."""
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(_HOME[name]), name)
