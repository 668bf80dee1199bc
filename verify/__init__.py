"""Statistical verification of what is said about scaled dot-product attention."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from verify.version import __version__

if TYPE_CHECKING:
    from verify.api import list_claims, render, run
    from verify.errors import VerifyError
    from verify.evidence import RunRecord
    from verify.evidence.load import json_schema, load

__all__ = ["RunRecord", "VerifyError", "__version__", "json_schema", "list_claims", "load", "render", "run"]

_HOME = {
    "list_claims": "verify.api",
    "render": "verify.api",
    "run": "verify.api",
    "VerifyError": "verify.errors",
    "RunRecord": "verify.evidence",
    "json_schema": "verify.evidence.load",
    "load": "verify.evidence.load",
}


def __getattr__(name: str) -> Any:
    """Return a public name, imported when it is first asked for: SymPy and SciPy take their time."""
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(_HOME[name]), name)
