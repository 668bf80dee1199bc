"""What the command line's commands share: how they print results, complain, and end."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from verify.errors import OutputError
from verify.text.escapes import for_terminal, one_line

PATH = click.Path(path_type=Path)

_UNSAID = "verify.unsaid"
"""Where a command's context keeps why standard output could not be written."""


def say(text: object) -> None:
    """Print a result; if nobody can receive it any more, what is written to files must not suffer."""
    try:
        click.echo(for_terminal(str(text)))
    except OSError as error:
        from verify.cli.progress import silence

        silence(sys.stdout)
        if not isinstance(error, BrokenPipeError):
            click.get_current_context().meta[_UNSAID] = error.strerror


def end(status: int) -> None:
    """End with ``status``, unless results could not be printed."""
    reason = click.get_current_context().meta.get(_UNSAID)
    if reason:
        raise OutputError(f"standard output: cannot be written ({reason}); free space or send it elsewhere")
    sys.exit(status)


def complain(text: str) -> None:
    """Print one line on standard error."""
    try:
        click.echo(f"sdpa-verify: {one_line(' '.join(text.split()))}", err=True)
    except OSError:
        from verify.cli.progress import silence

        silence(sys.stderr)
