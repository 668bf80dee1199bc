"""What a result was computed on and with."""

from __future__ import annotations

import importlib.metadata
import os
import platform
from typing import TYPE_CHECKING

from threadpoolctl import threadpool_info

if TYPE_CHECKING:
    from collections.abc import Sequence


def environment(workers: int, packages: Sequence[str]) -> dict[str, str]:
    """Return the system, the versions of Python and of ``packages``, and the linear algebra, for a record."""
    versions = {name: importlib.metadata.version(name) for name in packages}
    libraries = {
        f"{one['internal_api']} {one['version']} {one.get('architecture', '')}".strip()
        for one in threadpool_info()
        if one["user_api"] == "blas"
    }
    return {
        "python": platform.python_version(),
        "system": platform.platform(),
        "processors": str(os.cpu_count()),
        "workers": str(workers),
        # Which instructions sum decides how the last digits of an estimate are rounded.
        "linear algebra": ", ".join(sorted(libraries)),
        **versions,
    }
