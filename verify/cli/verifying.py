"""The commands that verify, report, report again, and plan what verifying would take."""

from __future__ import annotations

import contextlib
import sys
import time
import warnings
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from verify import defaults
from verify.cli.console import (
    PATH,
    claims_option,
    columns,
    end,
    fitted,
    log,
    out_option,
    rendered,
    say,
    tell,
    together,
)
from verify.errors import ClaimError, OutputError, SourcesError, unforeseen
from verify.files.names import EDITIONS

if TYPE_CHECKING:
    from verify.evidence import RunRecord
    from verify.executors.workers import Workers

plan_options = together(
    click.argument("claims", nargs=-1, metavar="[CLAIM]..."),
    click.option(
        "--seed", type=int, default=defaults.SEED, show_default=True, help="Root seed of all draws."
    ),
    click.option(
        "--profile",
        default=defaults.PROFILE,
        show_default=True,
        metavar="|".join(defaults.PROFILES),
        help="Tolerance 5%, 1% or 0.2%.",
    ),
    click.option("--tolerance", type=float, help="Relative tolerance, in place of the profile's."),
    click.option(
        "--false-alarm",
        type=float,
        default=defaults.FALSE_ALARM,
        show_default=True,
        help="Family-wise error rate: the probability that any interval of the run is wrong.",
    ),
    click.option(
        "--power",
        type=float,
        default=defaults.POWER,
        show_default=True,
        help="Probability that a check is decided by its second interim analysis.",
    ),
    claims_option("A claim file of your own, of at most 1 MB; repeatable."),
)
"""Which claims to verify, and how well."""

edition_option = click.option(
    "--edition",
    type=click.Choice(EDITIONS),
    default=EDITIONS[0],
    show_default=True,
    help="The PDF: report.pdf of at most 14 pages, report-brief.pdf, a hand-out of three, or "
    "report-full.pdf with all evidence.",
)
words_options = together(
    click.option("--title", metavar="TEXT", help="Title of the report; formulas between dollar signs."),
    click.option("--question", metavar="TEXT", help="The question that its first page answers."),
    click.option("--author", metavar="NAME", help="Author of the report."),
)
"""The words of the report that its user may choose."""

run_options = together(
    plan_options,
    words_options,
    click.option(
        "--workers", type=int, help="Number of worker processes; does not affect results.  [default: all]"
    ),
    click.option(
        "--cluster",
        metavar="HOST:PORT",
        help="Workers of a Dask cluster, by its scheduler's address.",
    ),
    click.option(
        "--store",
        type=PATH,
        metavar="FILE",
        help="The cache that later runs go on from, on a disk of this machine; it may be deleted.  "
        "[default: in the user's cache folder]",
    ),
    click.option("--fresh", is_flag=True, help="Use no cache: derive and draw everything now."),
    click.option(
        "--sources",
        type=PATH,
        metavar="FILE|PACK",
        help="Statements to decide in place of those of the five documents: a TOML file of at most 1 MB, - "
        "for standard input, or the shipped pack introductions. Without CLAIM, only the claims that "
        "the statements need are run. An empty file means no statements.",
    ),
    out_option("reports"),
    click.option(
        "--force",
        is_flag=True,
        help="Replace results in DIR even if they are of claims that are not run.",
    ),
)
"""All that, and by how many processors, for which statements and where to."""


@click.command()
@run_options
@edition_option
def report(out: Path, edition: str, **options: Any) -> None:
    """Verify claims and write report.html, report.pdf and results.json.

    Without CLAIM, all claims of the catalogue are verified. `sdpa-verify list` names them.
    """
    from verify.files.names import RUN
    from verify.report.cache import usable_caches

    with usable_caches(), processes(**options) as workers:
        names = RUN.evidence, RUN.page, RUN.sheet_of(edition)
        record = _verified(out, options, workers, names)
        rendered(record, out, workers, record.run.phases_s, edition)
    end(record.exit_status)


@click.command()
@run_options
@click.option("--junit", type=PATH, metavar="FILE", help="Write the outcome as JUnit XML as well.")
@click.option(
    "--summary",
    type=PATH,
    metavar="FILE",
    help="Write the outcome as Markdown as well, for the page of a CI job.",
)
def run(out: Path, junit: Path | None, summary: Path | None, **options: Any) -> None:
    """Verify claims and write results.json only.

    Without CLAIM, all claims of the catalogue are verified.
    """
    from verify.citing.summaries import refused_junit, to_junit, to_markdown
    from verify.files.writing import check_writable, write_together, write_whole

    forms = [(path, form) for path, form in ((junit, to_junit), (summary, to_markdown)) if path is not None]
    for path, _ in forms:
        check_writable(path.parent, path.name)
    own = [path.stem for path in options["claim_files"]]
    try:
        with processes(**options) as workers:
            record = _verified(out, options, workers)
    except (ClaimError, SourcesError) as error:
        # A CI system shows a job without its XML as a job that tested nothing.
        if junit is not None:
            write_whole(junit, refused_junit(next(iter(own), "sdpa-verify"), str(error)))
        raise
    files = {out / "results.json": record.to_json().encode()}
    write_together(files)
    with unforeseen():
        others = {path: form(record) for path, form in forms}
    write_together(others)
    for path in (*files, *others):
        say(path)
    end(record.exit_status)


@click.command()
@click.argument("results", type=PATH)
@click.option("--out", type=PATH, metavar="DIR", help="Folder to write to.  [default: that of RESULTS]")
@edition_option
@words_options
def render(results: Path, out: Path | None, edition: str, **words: str | None) -> None:
    """Rebuild the report from RESULTS.

    Nothing is derived or drawn. RESULTS is a results.json, audit.json or comparison.json of at most 128 MB,
    or - for standard input.
    """
    from verify.evidence.load import load_any

    record = load_any(results)
    if any(text is not None for text in words.values()):
        from verify.engine.runner import presentation
        from verify.evidence import RunRecord

        if not isinstance(record, RunRecord):
            raise click.UsageError("--title, --question and --author: only a run's report has them")
        record = record.presented(presentation(**words))
    rendered(record, out or results.parent, edition=edition)
    end(record.exit_status)


@click.command()
@plan_options
@click.option("--workers", type=int, help="Workers to plan for.  [default: all]")
def plan(claims: tuple[str, ...], claim_files: tuple[Path, ...], workers: int | None, **options: Any) -> None:
    """Estimate how long verifying claims takes, by the times of the reference run."""
    from verify.engine import plan as planning
    from verify.engine.catalogue import choose, look_up
    from verify.engine.runner import settings
    from verify.executors.machine import processors

    chosen = settings(**options)
    known, names = look_up([*claims, *claim_files])
    text = planning.plan(choose(known, names), chosen, processors(workers))
    say(fitted(text, columns(sys.stdout), hang=0))
    end(0)


@click.command()
@click.argument("results", type=PATH)
@click.option("--claim", "names", multiple=True, metavar="ID", help="A claim to run again; repeatable.")
@claims_option("The file of a claim of your own that the results have; repeatable.")
@click.option("--workers", type=int, help="Number of worker processes.  [default: all]")
def reproduce(
    results: Path, names: tuple[str, ...], claim_files: tuple[Path, ...], workers: int | None
) -> None:
    """Run the claims of RESULTS again and compare.

    Seed, profile, tolerance and claims are those of RESULTS, a results.json, or - for standard input. The
    exit status is 0 if everything is identical, 1 if a value differs, which is named with whether it lies
    beyond both intervals, and 3 if a version or a file that is missing here may be the cause.
    """
    from verify.evidence.load import load

    record = load(results)
    with processes(workers=workers) as pool:
        from verify import api
        from verify.cli.progress import following

        with following(lambda _claims: None) as callbacks:
            made = api.reproduce(record, names, own=claim_files, workers=pool, callbacks=callbacks)
    tell(made)
    end(made.exit_status)


def _verified(
    out: Path,
    options: dict[str, Any],
    workers: Workers,
    names: Sequence[str] = ("results.json",),
) -> RunRecord:
    """Run the verification with its progress on standard error and its verdicts on standard output.

    ``names`` are the files that are to be written to ``out``: whether they can be is tried first.
    """
    from verify.executors.cluster import connected

    begun = time.perf_counter()
    cluster = options.pop("cluster")
    from verify import api
    from verify.cli.progress import following
    from verify.engine.catalogue import catalogue
    from verify.files.writing import check_writable

    claims = [*options.pop("claims"), *options.pop("claim_files")]
    is_whole, force = not claims and options["sources"] is None, options.pop("force")

    def try_folder(wanted: tuple[str, ...]) -> None:
        if not force:
            refuse_loss(out / "results.json", wanted, is_whole=is_whole)
        for name in names:
            check_writable(out, name)

    if len(claims) != 1 and cluster is None:
        # As copies of this process with all claims loaded, before there are other threads.
        catalogue()
        workers.start()
    imports = time.perf_counter() - begun
    with (
        connected(cluster) as executor,
        # Not before what is asked for was looked at: a mistyped name must not leave a folder behind.
        following(try_folder) as callbacks,
        # A cache that cannot be used is no reason to stop.
        warnings.catch_warnings(action="always", category=UserWarning),
    ):
        warnings.showwarning = lambda message, *_, **__: log(str(message))
        store = not options.pop("fresh") and (options.pop("store") or True)
        given = {**options, "workers": workers, "store": store, "executor": executor}
        record = api.run(claims, callbacks=callbacks, **given)
    _say_outcomes(record, own_sources=options["sources"] is not None)
    phases = {"imports": round(imports, 3), **record.run.phases_s}
    return record.model_copy(update={"run": record.run.model_copy(update={"phases_s": phases})}).sealed()


def _say_outcomes(record: RunRecord, *, own_sources: bool) -> None:
    """Say what a bar has left unsaid, what became of statements, and how much the run rests on."""
    from verify.cli.progress import closing_lines, outcome_line, verdict_line

    if sys.stderr.isatty():
        width = max((len(claim.id) for claim in record.claims), default=0)
        for claim in record.claims:
            say(verdict_line(claim, width, columns=columns(sys.stdout)))
    for statement in record.statements if own_sources else ():
        tell(outcome_line(statement))
    for line in closing_lines(record):
        log(line)


def refuse_loss(results: Path, wanted: tuple[str, ...], *, is_whole: bool) -> None:
    """Refuse to replace results of claims that are not ``wanted``.

    A run of the whole catalogue may do so, but for claims of the user's own.

    Raises:
        OutputError: they would be lost.
    """
    from verify.evidence import USER
    from verify.evidence.load import claims_in

    lost = [
        name
        for name, chapter in claims_in(results).items()
        if name not in wanted and (chapter == USER or not is_whole)
    ]
    if lost:
        which = lost[0] if len(lost) == 1 else f"{lost[0]} and {len(lost) - 1} more"
        raise OutputError(
            f"{results}: has results of {which}, which this run leaves out; give another folder "
            "with --out, or --force to replace them"
        )


@contextlib.contextmanager
def processes(*, workers: int | None = None, **_: object) -> Iterator[Workers]:
    """Yield workers, which a run and its report share."""
    from verify.executors.machine import keep_freed, processors
    from verify.executors.workers import Workers

    # This process draws as well where it works alone.
    keep_freed()
    with Workers(processors(workers)) as pool:
        yield pool


COMMANDS = (report, run, render, reproduce, plan)
