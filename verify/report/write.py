"""Writes the results of a run or an audit and their report, whole or not at all."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import BrokenExecutor
from pathlib import Path
from typing import NamedTuple

from verify.errors import OutputError, RenderError, SettingsError, VerifyError, what_is_wrong
from verify.evidence import RunRecord
from verify.evidence.load import Reported, names
from verify.executors.workers import Workers, using
from verify.files import EDITIONS, RUN, write_together, write_whole
from verify.report.drawings import usable_caches

# What draws is imported where it is used: its libraries may fail to load, and results are written first.


class Written(NamedTuple):
    """What was written, and what could not be rendered, if anything."""

    paths: tuple[Path, ...]
    problem: RenderError | None


def render(
    record: Reported,
    out: Path,
    announce: Callable[[str], None] = lambda _phase: None,
    workers: Workers | int | None = None,
    edition: str = EDITIONS[0],
) -> Written:
    """Write ``results.json`` into a folder, then make and write ``report.html`` and ``report.pdf``.

    Of an audit, these are ``audit.json`` and ``audit.html``: it has no PDF. ``edition`` is that of a run's
    PDF, one of `EDITIONS`; files of the others than the first have the edition in their names.

    ``announce`` is called with each phase's name as it starts: figures, html, pdf, write.
    ``workers`` processes draw figures that no earlier report had, None meaning one for each processor;
    page and PDF are made at the same time, so the time of the PDF is what it takes beyond the page's.
    What cannot be rendered is left out and named in ``problem``; the results are written all the same, and
    older pages stay as they were. Pages are moved to their places together, when they are complete.

    Raises:
        OutputError: the results cannot be written; what was there before is untouched.
        SettingsError: there is no such edition, or the record is an audit's, which has no PDF.
    """
    if edition not in EDITIONS:
        raise SettingsError(f"edition {edition!r}: give one of {', '.join(EDITIONS)}")
    if not isinstance(record, RunRecord) and edition != EDITIONS[0]:
        raise SettingsError(f"edition {edition!r}: an audit has no PDF; leave it out")
    phases = ["caches"]

    def begin(phase: str) -> None:
        phases.append(phase)
        announce(phase)

    called, out = names(record), Path(out)
    results = out / called.evidence
    write_whole(results, record.to_json().encode())
    pages: dict[str, bytes] = {}
    problem: RenderError | None = None
    try:
        with usable_caches(), using(workers) as processes:
            _render(record, edition, processes, begin, pages)
    except (KeyboardInterrupt, GeneratorExit):
        raise
    except BaseException as error:  # noqa: BLE001 - among them panics of compiled libraries
        problem = _problem(error, phases[-1])
    made = {out / name: page for name, page in pages.items()}
    try:
        begin("write")
        write_together(made)
    except OutputError as error:
        problem = RenderError(f"{error}; the results are written")
        made.clear()
    return Written((results, *made), problem)


def _problem(error: BaseException, part: str) -> RenderError:
    """Return why a part of the report could not be made."""
    if isinstance(error, RenderError):
        return error
    if isinstance(error, OSError):
        # Libraries that render keep temporary files, and a disk can be full.
        what = f"{error.filename or 'a file'}: {error.strerror or error}"
    elif isinstance(error, BrokenExecutor):
        what = "a process has ended, as the system may do when memory runs out"
    elif isinstance(error, VerifyError):
        what = str(error)
    else:
        what = f"not foreseen: {what_is_wrong(error)}"
        return RenderError(f"rendering: {what}; the results are written; please report it")
    fix = "correct that, then `sdpa-verify render` them"
    return RenderError(f"rendering, {part}: {what}; the results are written; {fix}")


def _render(
    record: Reported,
    edition: str,
    workers: Workers,
    begin: Callable[[str], None],
    pages: dict[str, bytes],
) -> None:
    """Add the pages of a record to ``pages``."""
    if not isinstance(record, RunRecord):
        begin("html")
        from verify.report.html import render_html  # noqa: PLC0415

        pages[names(record).page] = render_html(record).encode()
        return
    begin("figures")
    from verify.report.drawings import draw_figures  # noqa: PLC0415

    figures = draw_figures(record, workers)
    begin("html")
    from verify.report.html import render_html  # noqa: PLC0415
    from verify.report.pdf import render_pdf  # noqa: PLC0415

    printed = workers.submit(render_pdf, record, figures, edition) if workers.count > 1 else None
    pages[RUN.page] = render_html(record, figures).encode()
    begin("pdf")
    sheet = printed.result() if printed else render_pdf(record, figures, edition)
    pages[RUN.sheet(edition)] = sheet
