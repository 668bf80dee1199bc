"""The figures of a run, each drawn once in two widths, and where drawings stay between reports."""

import contextlib
import hashlib
import json
import os
import tempfile
from collections.abc import Iterator
from importlib.metadata import version
from pathlib import Path
from typing import Any

from platformdirs import user_cache_path

from verify.errors import OutputError
from verify.evidence import Figure, RunRecord
from verify.executors.workers import Workers, using
from verify.files import environment, write_together
from verify.report.front import FEW, PLAN, is_led, ratios

SMALL = "small."
"""What the keys of drawings at half the width of the text start with."""
_WORTH_A_PROCESS = 10  # this many drawings take longer than to start a process for them
_VARIABLES = ("XDG_CACHE_HOME", "MPLCONFIGDIR")  # what Fontconfig and Matplotlib look for
_LARGEST = 50_000_000  # bytes of a file of drawings; a larger file has grown over many runs


def draw_figures(record: RunRecord, workers: Workers | int | None = None) -> dict[str, str]:
    """Return every figure of a run as SVG, by ``claim.figure`` id, unless it is remembered.

    Raises:
        RenderError: a figure cannot be drawn.
    """
    claims = {claim.id: claim for claim in record.claims}
    figures = {f"{name}.{figure.id}": figure for name, claim in claims.items() for figure in claim.series}
    # A report of a few claims has the ratios of all, a report of many those that open it.
    of = PLAN["opening"] if not is_led(record) else claims if len(claims) <= FEW else ()
    small = figures | ratios({name: claims[name] for name in of if name in claims})
    drawings = figures | {SMALL + key: figure for key, figure in small.items()}
    wanted = {key: f"{key}.\n{figure.model_dump_json()}" for key, figure in drawings.items()}
    cached = DrawingCache("figures", "matplotlib", "font-source-sans-pro")
    missing = [request for request in wanted.values() if request not in cached]
    with using(workers if len(missing) >= 2 * _WORTH_A_PROCESS else 1) as processes:
        cached.update(zip(missing, processes.map(_drawn, missing), strict=True))
    cached.save()
    return {key: cached[request] for key, request in wanted.items()}


def _drawn(request: str) -> str:
    from verify.report.figures import HALF, WHOLE, draw  # noqa: PLC0415 - matplotlib takes half a second to import

    prefix, figure = request.split("\n", 1)
    return draw(Figure.model_validate_json(figure), prefix, HALF if prefix.startswith(SMALL) else WHOLE)


def _user_cache() -> Path | None:
    """Return the user's cache folder for this tool, or None where there is none or it cannot be written.

    Users without a name have no home, and that of containers is often read-only.
    """
    try:
        # Without a home, newer versions of the library raise; older versions return a path from ~ on.
        folder = user_cache_path("sdpa-verify", appauthor=False)
        if not folder.is_absolute():
            return None
        folder.mkdir(parents=True, exist_ok=True)
    except (OSError, RuntimeError):
        return None
    return folder if os.access(folder, os.W_OK | os.X_OK) else None


@contextlib.contextmanager
def usable_caches() -> Iterator[None]:
    """Let the libraries that draw use a temporary folder where the user has none for them."""
    with contextlib.ExitStack() as stack:
        # Where there is no place for temporary files either, each library does what it can.
        with contextlib.suppress(OSError):
            if _user_cache() is None:
                folder = stack.enter_context(tempfile.TemporaryDirectory(ignore_cleanup_errors=True))
                stack.enter_context(environment(**dict.fromkeys(_VARIABLES, folder)))
        yield


class DrawingCache(dict[str, Any]):
    """Drawings by what they were drawn of, from earlier reports too.

    They lie in one file, and start empty where it was written by other versions of these ``packages``, which
    draw them, or of this package. A file that cannot be read or written counts as empty.
    """

    def __init__(self, name: str, *packages: str) -> None:
        super().__init__()
        code = b"\0".join(path.read_bytes() for path in sorted(Path(__file__).parent.glob("*.[jp][sy]")))
        self._made_by = [hashlib.sha256(code).hexdigest(), *map(version, packages)]
        folder = _user_cache()
        self._path = folder / f"{name}.json" if folder else None
        with contextlib.suppress(OSError, ValueError):
            if self._path and self._path.stat().st_size < _LARGEST:
                made_by, drawings = json.loads(self._path.read_bytes())
                self.update(drawings if made_by == self._made_by else {})
        self._known = len(self)

    def save(self) -> None:
        """Write down what has come to it."""
        if self._path and len(self) > self._known:
            content = json.dumps([self._made_by, self], ensure_ascii=False)
            with contextlib.suppress(OutputError):
                write_together({self._path: content.encode()}, durably=False)
            self._known = len(self)
