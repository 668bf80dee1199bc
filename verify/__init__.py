"""Statistical verification of what is said about scaled dot-product attention."""

import ast
import importlib
from pathlib import Path
from typing import Any

# The stub has each public name once, for type checkers, editors and what follows.
_STUB = ast.parse(Path(__file__).with_suffix(".pyi").read_text(encoding="utf-8"))
_IMPORTS = [node for node in _STUB.body if isinstance(node, ast.ImportFrom)]
_HOME = {alias.name: str(node.module) for node in _IMPORTS for alias in node.names}
__all__ = list(_HOME)


def __dir__() -> list[str]:
    """Return the public names, for completion."""
    return __all__


def __getattr__(name: str) -> Any:
    """Return a public name, imported when it is first asked for: SymPy and SciPy take their time."""
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(_HOME[name]), name)
