"""Whether the code of this tool is still that which this process has loaded."""

from __future__ import annotations

from pathlib import Path

PACKAGE = Path(__file__).resolve().parents[1]
"""The folder of this package."""


def _state() -> dict[str, tuple[int, int]]:
    """Return when each file of the code was changed, and its size."""
    states = ((str(path), path.stat()) for path in PACKAGE.rglob("*.py"))
    return {name: (state.st_mtime_ns, state.st_size) for name, state in states}


_LOADED = _state()


def is_as_loaded() -> bool:
    """Return whether no file of the code was changed since this module was imported.

    Otherwise what is computed here, or in a process begun later, may be the work of other code than the files
    now hold.
    """
    try:
        return _state() == _LOADED
    except OSError:
        # A file went while its folder was read.
        return False
