"""How the commands that make pages write them, and say what they wrote and how long it took."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING

from verify.cli.console import say
from verify.files.names import EDITIONS

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from pathlib import Path

    from verify.evidence import RunRecord
    from verify.evidence.audits import AuditRecord
    from verify.executors.workers import Workers

_CREATED = ("%Y-%m-%dT%H:%M:%S", "D:%Y%m%d%H%M%S")
"""How a page, and a PDF, say when the findings were made that they show."""


def rendered(
    record: RunRecord | AuditRecord,
    out: Path,
    workers: Workers | int | None = None,
    phases_s: Mapping[str, float] | None = None,
    edition: str = EDITIONS[0],
    earlier: RunRecord | None = None,
) -> None:
    """Write the report, compared with an ``earlier`` run, and log the times after those of phases before it.

    If a rendering step could not be done, say so and end with its exit status.
    """
    from verify.cli.progress import log, phases_line, rendering
    from verify.evidence.provenance import names
    from verify.files.writing import temporary_files_together
    from verify.report.write import write_report

    with temporary_files_together(), rendering() as announce:
        written = write_report(record, out, announce, workers, edition, earlier)
    for path in written.paths:
        say(path)
    called = names(record)
    say_outdated(record, out, (called.page, called.sheet_of(edition)))
    log(phases_line({**(phases_s or {}), **written.phases_s}))
    if written.problem is not None:
        raise written.problem


def say_outdated(record: RunRecord | AuditRecord, out: Path, besides: Iterable[str] = ()) -> None:
    """Say which pages in a folder are not of the record whose evidence lies there, ``besides`` some."""
    from verify.cli.progress import log
    from verify.evidence.provenance import names

    pages = [
        name for name in names(record).pages if name not in besides and _is_of_another(out / name, record)
    ]
    if pages:
        are, them = ("is", "it") if len(pages) == 1 else ("are", "them")
        log(f"{', '.join(pages)} in {out} {are} from an earlier run; remove {them}, or render {them} again")


def _is_of_another(page: Path, record: RunRecord | AuditRecord) -> bool:
    """Return whether a page was made of another record: each says when the findings were made."""
    from verify import evidence

    text = record.run.created if isinstance(record, evidence.RunRecord) else record.created
    created = datetime.fromisoformat(text)
    try:
        content = page.read_bytes()
    except OSError:
        return False
    return not any(f"{created:{form}}".encode() in content for form in _CREATED)
