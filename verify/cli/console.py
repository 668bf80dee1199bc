"""What commands share: how they print results, write pages, complain, and end."""

from __future__ import annotations

import os
import sys
import textwrap
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import datetime
from functools import reduce
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

import click

from verify.errors import OutputError
from verify.files.names import EDITIONS
from verify.text.escapes import for_terminal, one_line

if TYPE_CHECKING:
    from verify.evidence.load import Reported
    from verify.executors.workers import Workers

PATH = click.Path(path_type=Path, readable=False)
"""A path; what cannot be read is said where it is read, with how to fix it."""

Decorator = Callable[[Callable[..., None]], Callable[..., None]]
"""Gives a command options."""


def together(*options: Decorator) -> Decorator:
    """Return several options as one decorator."""
    return lambda command: reduce(lambda made, option: option(made), reversed(options), command)


def claims_option(text: str) -> Decorator:
    """Return the option of claim files."""
    return click.option("--claims", "claim_files", type=PATH, multiple=True, metavar="FILE", help=text)


def form_option(forms: Sequence[str], default: str = "text") -> Decorator:
    """Return the option of the format in which something is printed or written."""
    text = "Output format."
    return click.option(
        "--format", "form", type=click.Choice(forms), default=default, show_default=True, help=text
    )


def out_option(folder: str, text: str = "Folder to write to.") -> Decorator:
    """Return the option of where to write, with a default."""
    return click.option("--out", type=PATH, default=Path(folder), show_default=True, metavar="DIR", help=text)


_LEAST = 80  # columns that are laid out for at least

_UNSAID = "verify.unsaid"  # where a command's context keeps why standard output could not be written

_CREATED = ("%Y-%m-%dT%H:%M:%S", "D:%Y%m%d%H%M%S")
"""How a page, and a PDF, say when the findings were made that they show."""


def say(text: object) -> None:
    """Print a result; a closed or full standard output must not stop what is written to files."""
    try:
        click.echo(for_terminal(str(text)))
    except OSError as error:
        silence(sys.stdout)
        if not isinstance(error, BrokenPipeError):
            click.get_current_context().meta[_UNSAID] = error.strerror


def tell(text: object) -> None:
    """Print a result for people: its lines fit the terminal, and are left whole in a pipe."""
    say(fitted(str(text), columns(sys.stdout)))


def columns(stream: TextIO) -> int | None:
    """Return how many columns a terminal has, at least 80, as it or the environment says; None of a pipe."""
    if (given := os.environ.get("COLUMNS", "")).isdecimal() and int(given):
        return max(_LEAST, int(given))
    try:
        return max(_LEAST, os.get_terminal_size(stream.fileno()).columns)
    except (OSError, ValueError):
        return None


def fitted(text: str, width: int | None, hang: int = 4) -> str:
    """Return text whose lines are broken between words, the rest of each set in by ``hang`` more.

    A longer word, such as a key, a path or a digest, is never broken, so that it can be copied.
    """
    if width is None:
        return text
    lines = []
    for line in text.split("\n"):
        indent = " " * (len(line) - len(line.lstrip()))
        # Gaps between columns of a line that does not fit say nothing.
        words = " ".join(line.split())
        lines.append(line if len(line) <= width else beside(indent, words, width, indent + " " * hang))
    return "\n".join(lines)


def beside(head: str, text: str, width: int | None, indent: str | None = None) -> str:
    """Return ``text`` behind ``head``; where it takes several lines, they hang below the first word of it."""
    if width is None:
        return head + text
    return textwrap.fill(
        text,
        width,
        initial_indent=head,
        subsequent_indent=" " * len(head) if indent is None else indent,
        break_long_words=False,
        break_on_hyphens=False,
    )


def end(status: int) -> None:
    """End with ``status``, unless results could not be printed."""
    reason = click.get_current_context().meta.get(_UNSAID)
    if reason:
        raise OutputError(f"standard output: cannot be written ({reason}); free space or send it elsewhere")
    sys.exit(status)


def complain(text: str) -> None:
    """Print one line on standard error."""
    try:
        line = f"sdpa-verify: {one_line(' '.join(text.split()))}"
        click.echo(fitted(line, columns(sys.stderr), hang=2), err=True)
    except OSError:
        silence(sys.stderr)


def log(text: str) -> None:
    """Print a line on standard error; a closed or full standard error is no reason to stop."""
    try:
        print(fitted(for_terminal(text), columns(sys.stderr)), file=sys.stderr, flush=True)  # noqa: T201 - this is the terminal
    except OSError:
        silence(sys.stderr)


def silence(stream: TextIO) -> None:
    """Send whatever is still written to ``stream`` to nowhere; its reader is gone or its disk full."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, stream.fileno())
    os.close(nowhere)


@contextmanager
def rendering() -> Iterator[Callable[[str], None]]:
    """Yield a function that shows which part of the report is being made."""
    if not sys.stderr.isatty():
        yield lambda phase: log(f"rendering: {phase}")
        return
    from rich.console import Console

    with Console(stderr=True).status("rendering") as status:
        yield lambda phase: status.update(f"rendering: {phase}")


def phases_line(phases: Mapping[str, float]) -> str:
    """Return the time of each phase and their sum, in seconds."""
    parts = ", ".join(f"{name} {seconds:.1f}" for name, seconds in phases.items())
    return f"{sum(phases.values()):.1f} s ({parts})"


def rendered(
    record: Reported,
    out: Path,
    workers: Workers | int | None = None,
    phases_s: Mapping[str, float] | None = None,
    edition: str = EDITIONS[0],
) -> None:
    """Write the report, and log the times after those of phases before it.

    If a rendering step could not be done, say so and end with its exit status.
    """
    from verify.report.write import write_report

    with rendering() as announce:
        written = write_report(record, out, announce, workers, edition)
    for path in written.paths:
        say(path)
    say_outdated(record, out, [path.name for path in written.paths])
    log(phases_line({**(phases_s or {}), **written.phases_s}))
    if written.problem is not None:
        raise written.problem


def say_outdated(record: Reported, out: Path, besides: Iterable[str] = ()) -> None:
    """Say which pages in a folder are not of the record whose evidence lies there, ``besides`` some."""
    from verify.evidence.load import names

    pages = [
        name for name in names(record).pages if name not in besides and _is_of_another(out / name, record)
    ]
    if pages:
        are, them = ("is", "it") if len(pages) == 1 else ("are", "them")
        log(f"{', '.join(pages)} in {out} {are} from an earlier run; remove {them}, or render {them} again")


def _is_of_another(page: Path, record: Reported) -> bool:
    """Return whether a page was made of another record: each says when the findings were made."""
    from verify import evidence

    text = record.run.created if isinstance(record, evidence.RunRecord) else record.created
    created = datetime.fromisoformat(text)
    try:
        content = page.read_bytes()
    except OSError:
        return False
    return not any(f"{created:{form}}".encode() in content for form in _CREATED)
