"""Where the libraries that draw, and this package, keep their caches: with the user, or not for long."""

from __future__ import annotations

import os
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING

from platformdirs import user_cache_path

from verify.files.writing import environment, temporary_folder

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

_VARIABLES = ("XDG_CACHE_HOME", "MPLCONFIGDIR")
"""What Fontconfig and Matplotlib look for."""


def user_cache() -> Path | None:
    """Return the user's cache folder for this tool, or None where nobody has one or it cannot be written.

    Users without a name have no home, and containers often a read-only one.
    """
    try:
        # Without a home, newer versions of the library raise, older ones return a path that begins with ~.
        folder = user_cache_path("sdpa-verify", appauthor=False)
        if not folder.is_absolute():
            return None
        folder.mkdir(parents=True, exist_ok=True)
    except (OSError, RuntimeError):
        return None
    return folder if os.access(folder, os.W_OK | os.X_OK) else None


@contextmanager
def usable_caches() -> Iterator[None]:
    """Let the libraries that draw use a temporary folder where the user has none for them."""
    if user_cache() is not None:
        yield
        return
    with ExitStack() as stack:
        try:
            folder = stack.enter_context(temporary_folder())
        except OSError:
            # There is no place for temporary files either: each library does what it can.
            yield
            return
        stack.enter_context(environment(**dict.fromkeys(_VARIABLES, str(folder))))
        yield
