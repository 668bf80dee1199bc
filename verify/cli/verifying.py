"""The commands that verify, report, report again, and reproduce."""

from __future__ import annotations

import time
import warnings
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from verify.cli import console
from verify.cli.console import PATH
from verify.errors import ClaimError, OutputError, SourcesError
from verify.files import EDITIONS, RUN, check_writable, write_together, write_whole

if TYPE_CHECKING:
    from verify.evidence import RunRecord
    from verify.executors.workers import Workers

edition_option = click.option(
    "--edition",
    type=click.Choice(EDITIONS),
    default=EDITIONS[0],
    help="Which PDF: report.pdf with at most 14 pages; report-brief.pdf, a hand-out of up to three; or "
    "report-full.pdf with all the evidence.",
)
run_options = console.together(
    console.settings_options,
    click.option("--title", metavar="TEXT", help="Title of the report; formulas between dollar signs."),
    click.option("--question", metavar="TEXT", help="The question that its first page answers."),
    click.option("--author", metavar="NAME", help="Author of the report."),
    console.workers_option,
    click.option(
        "--cluster", metavar="HOST:PORT", help="Use the workers of the Dask cluster with this scheduler."
    ),
    click.option(
        "--store",
        type=PATH,
        metavar="FILE",
        help="The cache, from which later runs continue, on a disk of this machine. It may be deleted.  "
        "[default: in the user's cache folder]",
    ),
    click.option("--fresh", is_flag=True, help="Use no cache: derive and draw everything now."),
    click.option(
        "--sources",
        type=PATH,
        metavar="FILE|PACK",
        help="Statements to decide instead of those of the five documents: a TOML file of at most 1 MB, - "
        "for standard input, or introductions, the pack that ships with the tool. Without CLAIM, only the "
        "claims that they need are verified. An empty file means no statements.",
    ),
    console.out_option("reports"),
    click.option("--force", is_flag=True, help="Replace results in DIR even if they have other claims."),
)
"""Which claims to verify and how well, the words of the report, and where to write."""


@click.command()
@run_options
@edition_option
def report(out: Path, edition: str, **options: Any) -> int:
    """Verify claims and write a report.

    It is written to report.html, report.pdf and results.json. Without CLAIM, all claims of the catalogue are
    verified, which `sdpa-verify list` names. The exit status is that of `run`, or 4 if a page could not be
    made.
    """
    from verify.executors.workers import using
    from verify.report.drawings import usable_caches

    with usable_caches(), using(options.pop("workers")) as workers:
        names = RUN.evidence, RUN.page, RUN.sheet(edition)
        record = _verified(out, names, workers, **options)
        console.rendered(record, out, workers, edition)
    return record.exit_status


@click.command()
@run_options
@console.junit_option
@click.option(
    "--summary", type=PATH, metavar="FILE", help="Also write the outcome as Markdown, for a CI job's page."
)
def run(out: Path, junit: Path | None, summary: Path | None, **options: Any) -> int:
    """Verify claims and write results.json only.

    Without CLAIM, all claims of the catalogue are verified. The exit status is 0 if all are confirmed, or
    hold within the tolerance; 1 if something is refuted or a derivation fails; 3 if something is undecided.
    """
    from verify.citing.exports import refused_junit, to_junit, to_markdown
    from verify.executors.workers import using

    forms = {path: form for path, form in ((junit, to_junit), (summary, to_markdown)) if path is not None}
    # Before the work: a long run must not end in vain.
    check_writable(*forms)
    try:
        with using(options.pop("workers")) as workers:
            record = _verified(out, (RUN.evidence,), workers, **options)
    except (ClaimError, SourcesError) as error:
        # A CI system shows a job without its XML as a job that tested nothing.
        if junit is not None:
            write_whole(junit, refused_junit(str(error)))
        raise
    results = out / RUN.evidence
    write_whole(results, record.to_json().encode())
    write_together({path: form(record) for path, form in forms.items()})
    for path in (results, *forms):
        console.say(path)
    return record.exit_status


@click.command()
@click.argument("results", type=PATH)
@click.option("--out", type=PATH, metavar="DIR", help="Folder to write to.  [default: that of RESULTS]")
@edition_option
def render(results: Path, out: Path | None, edition: str) -> int:
    """Make the report again from RESULTS.

    Nothing is derived or drawn. RESULTS is a results.json or audit.json of at most 128 MB, or - for standard
    input.
    """
    from verify.evidence.load import load_either

    record = load_either(results)
    console.rendered(record, out or results.parent, edition=edition)
    return record.exit_status


@click.command()
@click.argument("results", type=PATH)
@click.option("--claim", "names", multiple=True, metavar="ID", help="Run only this claim again. Repeatable.")
@console.claims_option("The file of a claim of your own that is in RESULTS.")
@console.workers_option
def reproduce(
    results: Path, names: tuple[str, ...], claim_files: tuple[Path, ...], workers: int | None
) -> int:
    """Run the claims of RESULTS again and compare.

    Seed, profile, tolerance and claims are those of RESULTS, a results.json or - for standard input. The
    exit status is 0 if everything is identical. It is 1 if a value differs, which is then named, with
    whether it lies outside both intervals. It is 3 if the cause may be another version, or a file that is
    missing here.
    """
    from verify.evidence.load import load
    from verify.executors.workers import using

    record = load(results)
    with using(workers) as pool:
        from verify import api

        with console.following() as callbacks:
            made = api.reproduce(record, names, own=claim_files, workers=pool, callbacks=callbacks)
    console.tell(made)
    return made.exit_status


def _verified(
    out: Path,
    files: Sequence[str],
    workers: Workers,
    *,
    claims: tuple[str, ...],
    claim_files: tuple[Path, ...],
    cluster: str | None,
    store: Path | None,
    fresh: bool,
    force: bool,
    **options: Any,
) -> RunRecord:
    """Run the verification with its progress on standard error and its verdicts on standard output.

    Whether ``files`` can be written to ``out`` is tried first.
    """
    from verify.executors.workers import connected

    begun = time.perf_counter()
    from verify import api
    from verify.engine.catalogue import catalogue

    wanted: list[str | Path] = [*claims, *claim_files]
    own_sources = options["sources"] is not None

    if len(wanted) != 1 and cluster is None:
        # As copies of this process with all claims loaded, before there are other threads.
        catalogue()
        workers.start()
    imports = round(time.perf_counter() - begun, 3)
    with (
        connected(cluster) as executor,
        # The folder is tried once it is known which claims are run: a mistyped name leaves none behind.
        console.following(
            partial(check_folder, out, files, is_whole=not wanted and not own_sources, force=force)
        ) as callbacks,
        # A cache that cannot be used is no reason to stop.
        warnings.catch_warnings(action="always", category=UserWarning),
    ):
        warnings.showwarning = lambda message, *_, **__: console.log(str(message))
        place = False if fresh else store or True
        record = api.run(
            wanted, workers=workers, store=place, executor=executor, callbacks=callbacks, **options
        )
    console.say_outcomes(record, own_sources=own_sources)
    # A run does not know how long its libraries took, which `plan` wants of the reference.
    phases = {"imports": imports, **record.run.phases_s}
    return record.model_copy(update={"run": record.run.model_copy(update={"phases_s": phases})}).sealed()


def check_folder(
    out: Path, files: Sequence[str], wanted: tuple[str, ...], *, is_whole: bool = False, force: bool
) -> None:
    """Refuse a folder whose files cannot be written or, without ``force``, have results of other claims.

    A run of the whole catalogue may replace them, but for claims of the user's own.

    Raises:
        OutputError: they would be lost, or cannot be written.
    """
    from verify.evidence import USER
    from verify.evidence.load import claims_in

    known = {} if force else claims_in(out / RUN.evidence)
    lost = [name for name, of in known.items() if name not in wanted and (of == USER or not is_whole)]
    if lost:
        which = lost[0] if len(lost) == 1 else f"{lost[0]} and {len(lost) - 1} more"
        raise OutputError(
            f"{out / RUN.evidence}: has results of {which}, which this run leaves out; give another folder "
            "with --out, or --force to replace them"
        )
    check_writable(*(out / file for file in files))


COMMANDS = (report, run, render, reproduce)
