"""The command line: parse, call, print; heavy imports only inside the command that needs them."""

import errno
import io
import sys
import traceback
from collections.abc import Sequence
from pathlib import Path

import click

from verify.cli import auditing, citing, showing, verifying
from verify.cli.console import complain, silence
from verify.cli.interrupts import is_interrupted
from verify.errors import VerifyError, described
from verify.version import __version__


@click.group(
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100, "show_default": True},
    no_args_is_help=False,
)
@click.version_option(__version__, prog_name="sdpa-verify")
def cli() -> None:
    """Verify claims about scaled dot-product attention: derive, measure, judge, report.

    Begin with `list`, then `show score-variance` and `report score-variance`.
    """


for family in (verifying, showing, citing, auditing):
    for command in family.COMMANDS:
        cli.add_command(command)


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line and end the process with its exit status; errors are one line each.

    Raises:
        KeyboardInterrupt: a signal has ended the command.
    """
    if isinstance(sys.stdout, io.TextIOWrapper):
        # A terminal that lacks a character shows another; it is no reason to stop.
        sys.stdout.reconfigure(errors="replace")
    try:
        sys.exit(cli.main(args=arguments, standalone_mode=False) or 0)
    except Exception as error:  # noqa: BLE001 - Python would end with 1, which means that a claim is refuted
        # Compiled modules, and Click, make an error of their own of an interruption.
        if is_interrupted():
            raise KeyboardInterrupt from None
        complain(_explained(error))
        sys.exit(error.exit_status if isinstance(error, VerifyError) else VerifyError.exit_status)


def _explained(error: Exception) -> str:
    """Return what is wrong and what to do about it."""
    if isinstance(error, VerifyError):
        return str(error)
    if isinstance(error, click.UsageError):
        says = error.format_message().rstrip(".")
        if error.ctx is None or "Did you mean" in says:
            return says
        if says == "Missing command":
            click.echo(f"{error.ctx.get_help()}\n", err=True)
        return f"{says}; see `{error.ctx.command_path} --help`"
    if isinstance(error, OSError):
        # Not foreseen where it happened: help that cannot be printed, a full folder for temporary files.
        silence(sys.stdout)
        remedy = "free space" if error.errno == errno.ENOSPC else "allow access, or choose another place"
        return f"{error.filename or 'output'}: {error.strerror or error}; {remedy}"
    if sys.flags.dev_mode:
        traceback.print_exception(error)
    last = traceback.extract_tb(error.__traceback__)[-1]
    return (
        f"not foreseen: {described(error)} ({Path(last.filename).name}, line {last.lineno}); please report "
        "it, with what the same command prints after `python -X dev -m verify`"
    )
