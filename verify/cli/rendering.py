"""How the commands that make pages write them, and say what they wrote and how long it took."""

from __future__ import annotations

from typing import TYPE_CHECKING

from verify.cli.console import say
from verify.report.editions import EDITIONS

if TYPE_CHECKING:
    from collections.abc import Mapping
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
    from verify.report.write import write_report

    with temporary_files_together(), rendering() as announce:
        written = write_report(record, out, announce, workers, edition, earlier)
    for path in written.paths:
        say(path)
    log(phases_line({**(phases_s or {}), **written.phases_s}))
    if written.problem is not None:
        raise written.problem
