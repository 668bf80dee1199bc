"""What commands share: options, how they print results, write pages, complain, and end."""

from __future__ import annotations

import os
import sys
import textwrap
from collections.abc import Callable, Sequence
from functools import partial, reduce
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn, TextIO

import click

from verify import defaults
from verify.errors import OutputError
from verify.files.names import EDITIONS
from verify.text.escapes import for_terminal, one_line

if TYPE_CHECKING:
    from verify.evidence.load import Reported
    from verify.executors.workers import Workers

PATH = click.Path(path_type=Path, readable=False)
"""A path; what cannot be read is said where it is read, with how to fix it."""

Decorator = Callable[[Callable[..., Any]], Callable[..., Any]]
"""Gives a command options; what it returns is its exit status, of which none is 0."""


def together(*options: Decorator) -> Decorator:
    """Return several options as one decorator."""
    # Reversed, as decorators are applied from the last to the first: help lists them in this order.
    return lambda command: reduce(lambda made, option: option(made), reversed(options), command)


def claims_option(text: str) -> Decorator:
    """Return the option of claim files, which may be repeated."""
    return click.option(
        "--claims", "claim_files", type=PATH, multiple=True, metavar="FILE", help=f"{text} Repeatable."
    )


def form_option(forms: Sequence[str], default: str = "text") -> Decorator:
    """Return the option of the format in which something is printed or written."""
    return click.option("--format", "form", type=click.Choice(forms), default=default, help="Output format.")


def out_option(folder: str, text: str = "Folder to write to.") -> Decorator:
    """Return the option of where to write, with a default."""
    return click.option("--out", type=PATH, default=Path(folder), metavar="DIR", help=text)


junit_option = click.option("--junit", type=PATH, metavar="FILE", help="Also write the outcome as JUnit XML.")
seed_option = click.option("--seed", default=defaults.SEED, help="Seed of all random draws.")
workers_option = click.option(
    "--workers", type=int, help="Number of worker processes; results do not depend on it.  [default: all]"
)
settings_options = together(
    click.argument("claims", nargs=-1, metavar="[CLAIM]..."),
    seed_option,
    click.option(
        "--profile",
        default=defaults.PROFILE,
        metavar="|".join(defaults.PROFILES),
        help="How closely to measure: to 5%, 1% or 0.2%.",
    ),
    click.option("--tolerance", type=float, help="Relative tolerance, in place of the profile's."),
    click.option(
        "--false-alarm",
        default=defaults.FALSE_ALARM,
        help="Family-wise error rate: the probability that any interval of the run is wrong.",
    ),
    click.option(
        "--power",
        default=defaults.POWER,
        help="Probability that a check is decided by its second interim analysis.",
    ),
    claims_option("A claim file of your own, of at most 1 MB."),
)
"""Which claims to verify, and how well."""

_LEAST = 80  # columns that are laid out for at least


def say(text: object) -> None:
    """Print a result; a closed or full standard output must not stop what is written to files."""
    try:
        click.echo(for_terminal(str(text)))
    except OSError as error:
        silence(sys.stdout)
        # A reader who went away has read enough. Else the command goes on, and ends with this error.
        if not isinstance(error, BrokenPipeError):
            what = f"standard output: cannot be written ({error.strerror}); free space or send it elsewhere"
            click.get_current_context().call_on_close(partial(_fail, OutputError(what)))


def _fail(error: OutputError) -> NoReturn:
    raise error


def tell(text: object, hang: int = 4) -> None:
    """Print a result for people: its lines fit the terminal, and are left whole in a pipe."""
    say(fitted(str(text), width_of(), hang))


def width_of(stream: TextIO | None = None) -> int | None:
    """Return how many columns a terminal has, at least 80, as it or the environment says; None of a pipe.

    The stream is standard output, unless another is given.
    """
    # As rich and Click have it, the environment comes first.
    if (given := os.environ.get("COLUMNS", "")).isdecimal() and int(given):
        return max(_LEAST, int(given))
    try:
        return max(_LEAST, os.get_terminal_size((stream or sys.stdout).fileno()).columns)
    except (OSError, ValueError):
        return None


def fitted(text: str, width: int | None, hang: int = 4) -> str:
    """Return text whose lines are broken between words; the rest of a line is set in by ``hang`` more.

    A longer word, such as a key, a path or a digest, is never broken, so that it can be copied.
    """
    if width is None:
        return text
    lines = []
    for line in text.split("\n"):
        indent = len(line) - len(line.lstrip())
        wrapper = textwrap.TextWrapper(width, " " * indent, " " * (indent + hang))
        wrapper.break_long_words = wrapper.break_on_hyphens = False
        lines.append(wrapper.fill(line.strip()) if len(line) > width else line)
    return "\n".join(lines)


def complain(text: str) -> None:
    """Print one line on standard error."""
    log(f"sdpa-verify: {one_line(' '.join(text.split()))}", hang=2)


def log(text: str, hang: int = 4) -> None:
    """Print a line on standard error; a closed or full standard error is no reason to stop."""
    try:
        click.echo(fitted(for_terminal(text), width_of(sys.stderr), hang), err=True)
    except OSError:
        silence(sys.stderr)


def silence(stream: TextIO) -> None:
    """Send whatever is still written to ``stream`` to nowhere; its reader is gone or its disk full."""
    # Python writes what is left in its buffer at the end, which would fail again.
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, stream.fileno())
    os.close(nowhere)


def rendered(
    record: Reported, out: Path, workers: Workers | int | None = None, edition: str = EDITIONS[0]
) -> None:
    """Write the report; if a rendering step could not be done, say so and end with its exit status."""
    from rich.console import Console

    from verify.report.write import render

    with Console(stderr=True).status("rendering") as status:

        def announce(phase: str) -> None:
            status.update(f"rendering: {phase}")
            if not sys.stderr.isatty():
                log(f"rendering: {phase}")

        written = render(record, out, announce, workers, edition)
    for path in written.paths:
        say(path)
    if written.problem is not None:
        raise written.problem
