"""The command line: parse, call, print; heavy imports only inside the command that needs them."""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from verify.errors import VerifyError
from verify.version import __version__

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from verify.evidence import RunRecord

PROFILES = ("quick", "standard", "deep")
INTERRUPTED = 130
"""Exit status after Ctrl-C, as shells have it."""

_PATH = click.Path(path_type=Path)


def _run_options(command: Callable[..., None]) -> Callable[..., None]:
    options = (
        click.argument("claims", nargs=-1, metavar="[CLAIM]..."),
        click.option("--seed", type=int, default=20170612, show_default=True, help="Root seed of all draws."),
        click.option(
            "--profile",
            default="standard",
            show_default=True,
            metavar="|".join(PROFILES),
            help="Tolerance 5%, 1% or 0.2%.",
        ),
        click.option("--tolerance", type=float, help="Relative tolerance, in place of the profile's."),
        click.option(
            "--false-alarm",
            type=float,
            default=1e-3,
            show_default=True,
            help="False-alarm rate of the whole run.",
        ),
        click.option(
            "--power",
            type=float,
            default=0.95,
            show_default=True,
            help="Chance that a check decides at its planned sample.",
        ),
        click.option(
            "--workers", type=int, help="Threads that draw; changes no result.  [default: processors]"
        ),
        click.option(
            "--claims",
            "claim_files",
            type=_PATH,
            multiple=True,
            metavar="FILE",
            help="A claim file of your own; may be given several times.",
        ),
        click.option(
            "--sources", type=_PATH, metavar="FILE", help="Statements to decide, in place of those shipped."
        ),
        click.option(
            "--out",
            type=_PATH,
            default=Path("reports"),
            show_default=True,
            metavar="DIR",
            help="Folder to write to.",
        ),
    )
    for option in reversed(options):
        command = option(command)
    return command


@click.group(context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(__version__, prog_name="sdpa-verify")
def cli() -> None:
    """Settle what is true about scaled dot-product attention: derive, measure, judge, report."""


@cli.command()
@_run_options
def report(out: Path, **options: Any) -> None:
    """Verify claims and write report.html, report.pdf and results.json."""
    record = _verified(out, options)
    _rendered(record, out)
    sys.exit(record.exit_status())


@cli.command()
@_run_options
@click.option("--junit", type=_PATH, metavar="FILE", help="Write the outcome as JUnit XML as well.")
def run(out: Path, junit: Path | None, **options: Any) -> None:
    """Verify claims and write results.json only."""
    from verify.files import write_together

    record = _verified(out, options)
    files = {out / "results.json": record.to_json().encode()}
    if junit is not None:
        from verify.junit import to_junit

        files[junit] = to_junit(record)
    write_together(files)
    for path in files:
        click.echo(path)
    sys.exit(record.exit_status())


@cli.command()
@click.argument("results", type=_PATH)
@click.option("--out", type=_PATH, metavar="DIR", help="Folder to write to.  [default: that of RESULTS]")
def render(results: Path, out: Path | None) -> None:
    """Rebuild the report from RESULTS (a results.json), without deriving or drawing anything."""
    from verify.results import load

    record = load(results)
    _rendered(record, out or results.parent)
    sys.exit(record.exit_status())


@cli.command(name="list")
@click.option(
    "--claims", "claim_files", type=_PATH, multiple=True, metavar="FILE", help="A claim file of your own."
)
def list_(claim_files: tuple[Path, ...]) -> None:
    """List the claims by chapter."""
    from verify.catalogue import catalogue
    from verify.explore import listing

    click.echo(listing(catalogue(claim_files)))


@cli.command()
@click.argument("claim")
@click.option(
    "--claims", "claim_files", type=_PATH, multiple=True, metavar="FILE", help="A claim file of your own."
)
def show(claim: str, claim_files: tuple[Path, ...]) -> None:
    """Show one claim with its derivation, every step checked now."""
    from verify.catalogue import catalogue, choose
    from verify.explore import shown

    ((chapter, chosen),) = choose(catalogue(claim_files), [claim]).values()
    text, proved = shown(chapter, chosen)
    click.echo(text)
    sys.exit(0 if proved else 1)


def _verified(out: Path, options: dict[str, Any]) -> RunRecord:
    """Run the verification with its progress on standard error and its verdicts on standard output."""
    from verify.files import check_writable
    from verify.terminal import following, verdict_line

    check_writable(out)
    begun = time.perf_counter()
    from verify import api

    imports = time.perf_counter() - begun
    with following(len(options["claims"]) or None) as progress:
        record = api.run(progress=progress, **options)
    for claim in record.claims:
        click.echo(verdict_line(claim))
    phases = {"imports": round(imports, 3), **record.run.phases_s}
    return record.model_copy(update={"run": record.run.model_copy(update={"phases_s": phases})})


def _rendered(record: RunRecord, out: Path) -> None:
    """Write the report; if a rendering step could not be done, say so and end with its exit status."""
    from verify import api
    from verify.terminal import phases_line, rendering

    with rendering() as announce:
        written = api.render(record, out, announce)
    for path in written.paths:
        click.echo(path)
    click.echo(phases_line({**record.run.phases_s, **written.phases_s}), err=True)
    if written.problem is not None:
        raise written.problem


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line and end the process with its exit status; errors are one line each."""
    try:
        sys.exit(cli.main(args=arguments, standalone_mode=False) or 0)
    except VerifyError as error:
        _complain(str(error))
        sys.exit(error.exit_status)
    except click.UsageError as error:
        where = f"; see `{error.ctx.command_path} --help`" if error.ctx else ""
        _complain(f"{error.format_message().rstrip('.')}{where}")
        sys.exit(error.exit_code)
    except (click.Abort, KeyboardInterrupt):
        _complain("interrupted; nothing was written")
        sys.exit(INTERRUPTED)
    except BrokenPipeError:
        # The reader of a pipe went away; there is nobody left to tell.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(1)


def _complain(text: str) -> None:
    click.echo(f"sdpa-verify: {' '.join(text.split())}", err=True)
