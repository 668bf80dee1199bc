"""Writes what a run or an audit found and its report, whole or not at all."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Executor
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from verify.errors import (
    FormulaError,
    OutputError,
    RenderError,
    SettingsError,
    VerifyError,
    unforeseen,
)
from verify.evidence import RunRecord
from verify.evidence.load import Reported, names
from verify.executors.workers import Workers, using, worker_errors
from verify.files.names import EDITIONS
from verify.files.writing import write_together, write_whole
from verify.report.cache import usable_caches

if TYPE_CHECKING:
    from verify.report.parts import Parts


@dataclass(frozen=True, slots=True)
class Written:
    """What was written, how long each phase took (seconds), and what could not be rendered, if anything."""

    paths: tuple[Path, ...]
    phases_s: dict[str, float]
    problem: RenderError | None


def write_report(
    record: Reported,
    out: Path,
    announce: Callable[[str], None],
    workers: Workers | int | None = None,
    edition: str = EDITIONS[0],
) -> Written:
    """Write ``results.json`` into a folder, then make and write ``report.html`` and ``report.pdf``.

    Of an audit, these are ``audit.json`` and ``audit.html``, of a comparison the same with ``comparison`` in
    their names: they have no PDF. ``edition`` is that of a run's PDF, one of `EDITIONS`; those other than the
    first have its name in theirs.

    ``announce`` is called with each phase's name as it starts: figures, formulas, html, pdf, write.
    ``workers`` processes draw what is not kept from an earlier report, None meaning one for each processor;
    page and PDF are made at the same time, so the time of the PDF is what it takes beyond the page's.
    What cannot be rendered is left out and named in ``problem``; the results are written all the same, and
    older pages stay as they were. Pages are moved to their places together, when they are complete.

    Raises:
        OutputError: the results cannot be written; what was there before is untouched.
        SettingsError: there is no such edition, or the record is an audit's, which has no PDF.
    """
    _refuse_other_editions(record, edition)
    phases: dict[str, float] = {}

    @contextlib.contextmanager
    def phase(name: str) -> Iterator[None]:
        announce(name)
        start = time.perf_counter()
        try:
            yield
        finally:
            phases[name] = time.perf_counter() - start

    called = names(record)
    results = out / called.evidence
    write_whole(results, record.to_json().encode())
    pages: dict[Path, bytes] = {}
    problem: RenderError | None = None
    try:
        with unforeseen(), usable_caches(), using(workers) as some, worker_errors():
            printer = prepare_for_pdf(some) if isinstance(record, RunRecord) else None
            parts, problem = _drawn(record, some, edition, phase)
            with phase("html"):
                from verify.report.html import render_html  # noqa: PLC0415 - libraries that may fail to load
                from verify.report.pdf import render_pdf  # noqa: PLC0415

                printed = None
                if printer is not None and isinstance(record, RunRecord):
                    printed = printer.submit(render_pdf, record, parts, edition)
                pages[out / called.page] = render_html(record, parts).encode()
            if isinstance(record, RunRecord):
                with phase("pdf"):
                    sheet = printed.result() if printed else render_pdf(record, parts, edition)
                    pages[out / called.sheet_of(edition)] = sheet
    except (VerifyError, OSError) as error:
        problem = _as_render_error(error, next(reversed(phases), "caches"))
    try:
        with phase("write"):
            write_together(pages)
    except OutputError as error:
        problem = RenderError(f"{error}; the results are written")
        pages.clear()
    return Written((results, *pages), phases, problem)


def _drawn(
    record: Reported,
    workers: Workers,
    edition: str,
    phase: Callable[[str], AbstractContextManager[None]],
) -> tuple[Parts, RenderError | None]:
    """Return what page and print share, and why its formulas are plain text, if they are."""
    with phase("figures"):
        from verify.report.parts import draw_figures  # noqa: PLC0415 - libraries that may fail to load

        figures = draw_figures(record, workers, edition)
    with phase("formulas"):
        from verify.report.formulas import Formulas  # noqa: PLC0415
        from verify.report.parts import Parts, draw_formulas, report_on  # noqa: PLC0415

        report = report_on(record)
        try:
            return Parts(report, draw_formulas(report, workers), figures), None
        except FormulaError as error:
            return Parts(report, Formulas(as_text=True), figures), error


def _refuse_other_editions(record: Reported, edition: str) -> None:
    if edition not in EDITIONS:
        raise SettingsError(f"edition {edition!r}: give one of {', '.join(EDITIONS)}")
    if not isinstance(record, RunRecord) and edition != EDITIONS[0]:
        raise SettingsError(f"edition {edition!r}: an audit or a comparison has no PDF; leave it out")


def prepare_for_pdf(workers: Workers) -> Executor | None:
    """Return the executor that makes the PDF, once it has started to get ready for that.

    It is a process of its own, as drawing fills others with libraries; None where this process does all.

    Raises:
        VerifyError: the system allows no more processes.
    """
    return None if workers.count == 1 else workers.helper(_get_ready)


def _get_ready() -> None:
    from verify.report.pdf import get_ready  # noqa: PLC0415 - libraries that may fail to load

    get_ready()


def _as_render_error(error: VerifyError | OSError, phase: str) -> RenderError:
    """Return the error as one line; libraries that render keep temporary files, and a disk can be full."""
    if isinstance(error, RenderError):
        return error
    what = str(error)
    if isinstance(error, OSError):
        what = f"{error.filename or 'a file'}: {error.strerror or error}"
    return RenderError(
        f"rendering, {phase}: {what}; the results are written; correct that, then `sdpa-verify render` them"
    )
