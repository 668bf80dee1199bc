"""How the commands that make pages write them, and say what they wrote and how long it took."""

from __future__ import annotations

import contextlib
import os
from typing import TYPE_CHECKING

from verify.cli.console import say
from verify.report.editions import EDITIONS

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from pathlib import Path

    from verify.evidence import RunRecord
    from verify.evidence.audits import AuditRecord
    from verify.executors.workers import Workers


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
    from verify.files.writing import temporary_files_together
    from verify.report.names import names
    from verify.report.write import write_report

    called = names(record)
    old = outdated(record, out, (called.page, called.sheet_of(edition)))
    with temporary_files_together(), rendering() as announce:
        written = write_report(record, out, announce, workers, edition, earlier)
    for path in written.paths:
        say(path)
    say_outdated(old, out)
    log(phases_line({**(phases_s or {}), **written.phases_s}))
    if written.problem is not None:
        raise written.problem


def outdated(record: RunRecord | AuditRecord, out: Path, written: Iterable[str] = ()) -> list[str]:
    """Return which pages in a folder will be of an earlier record, once this one's evidence is there.

    ``written`` are those that this record gets as well.
    """
    from verify.report.names import names

    called = names(record)
    with contextlib.suppress(OSError):
        if (out / called.evidence).read_bytes() == record.to_json().encode():
            return []
    return [name for name in called.pages if name not in written and os.path.lexists(out / name)]


def say_outdated(pages: Sequence[str], out: Path) -> None:
    """Say which pages are not of the evidence that lies beside them now."""
    from verify.cli.progress import log

    if pages:
        are, them = ("is", "it") if len(pages) == 1 else ("are", "them")
        log(
            f"{', '.join(pages)} in {out} {are} from an earlier run; remove {them}, "
            f"or make {them} again with `sdpa-verify render`"
        )
