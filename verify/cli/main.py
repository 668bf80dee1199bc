"""The command line: parse, call, print; heavy imports only inside the command that needs them."""

import io
import sys
import traceback
from collections.abc import Sequence
from pathlib import Path

import click

from verify.cli import asking, auditing, citing, verifying
from verify.cli.console import claims_option, columns, complain, end, say, silence
from verify.cli.interrupts import INTERRUPTED, interruptible, status_after
from verify.errors import VerifyError, described
from verify.version import __version__


@click.group(
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100}, no_args_is_help=False
)
@click.version_option(__version__, prog_name="sdpa-verify")
def cli() -> None:
    """Verify claims about scaled dot-product attention: derive, measure, judge, report."""


@cli.command(name="list")
@claims_option("A claim file of your own.")
def list_(claim_files: tuple[Path, ...]) -> None:
    """List the claims by chapter."""
    from verify.cli.listing import listing

    say(listing(claim_files, columns(sys.stdout)))
    end(0)


@cli.command()
@click.argument("claim")
@claims_option("A claim file of your own.")
def show(claim: str, claim_files: tuple[Path, ...]) -> None:
    """Show one claim with its derivation, checking every step."""
    from verify.cli.explore import shown
    from verify.engine.catalogue import choose, look_up

    known, _ = look_up(claim_files)
    (chosen,) = choose(known, [claim]).values()
    text, derived = shown(chosen, columns(sys.stdout) or 80)
    say(text)
    end(0 if derived else 1)


for command in (*verifying.COMMANDS, *asking.COMMANDS, *citing.COMMANDS, *auditing.COMMANDS):
    cli.add_command(command)


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line and end the process with its exit status; errors are one line each."""
    if isinstance(sys.stdout, io.TextIOWrapper):
        # A terminal that lacks a character shows another; it is no reason to stop.
        sys.stdout.reconfigure(errors="replace")
    try:
        with interruptible():
            status = cli.main(args=arguments, standalone_mode=False)
        sys.exit(status or 0)
    except VerifyError as error:
        complain(str(error))
        sys.exit(error.exit_status)
    except click.UsageError as error:
        where = f"; see `{error.ctx.command_path} --help`" if error.ctx else ""
        complain(f"{error.format_message().rstrip('.')}{where}")
        sys.exit(VerifyError.exit_status)
    except (click.Abort, KeyboardInterrupt):
        complain(INTERRUPTED)
        sys.exit(status_after())
    except OSError as error:
        # Not foreseen where it happened: help that cannot be printed, a full folder for temporary files.
        silence(sys.stdout)
        complain(f"{error.filename or 'output'}: {error.strerror or error}; free space or allow access")
        sys.exit(VerifyError.exit_status)
    except Exception as error:  # noqa: BLE001 - Python would end with 1, which means that a claim is refuted
        if sys.flags.dev_mode:
            traceback.print_exc()
        last = traceback.extract_tb(error.__traceback__)[-1]
        place = f"{Path(last.filename).name}, line {last.lineno}"
        complain(
            f"not foreseen: {described(error)} ({place}); please report it, "
            "with what the same command prints after `python -X dev -m verify`"
        )
        sys.exit(VerifyError.exit_status)
