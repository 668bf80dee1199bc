"""What commands share: options, and how they print results, follow a run, write pages, complain, and end."""

from __future__ import annotations

import os
import sys
import textwrap
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import reduce
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

import click

from verify import defaults
from verify.files import EDITIONS
from verify.text.escapes import for_terminal, one_line
from verify.text.latex import plain
from verify.text.numbers import counted

if TYPE_CHECKING:
    from verify.engine.runner import Callbacks
    from verify.evidence import ClaimRecord, RunRecord
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


def say(text: object) -> None:
    """Print a result; a reader who went away has read enough."""
    try:
        click.echo(for_terminal(str(text)))
    except BrokenPipeError:
        silence(sys.stdout)


def tell(text: object, hang: int = 4) -> None:
    """Print a result for people: its lines fit the terminal, and are left whole in a pipe."""
    say(fitted(str(text), width_of(), hang))


def log(text: str, hang: int = 4) -> None:
    """Print a line on standard error; a closed or full standard error is no reason to stop."""
    try:
        click.echo(fitted(for_terminal(text), width_of(sys.stderr), hang), err=True)
    except OSError:
        silence(sys.stderr)


def complain(text: str) -> None:
    """Print one line on standard error."""
    log(f"sdpa-verify: {one_line(' '.join(text.split()))}", hang=2)


def silence(stream: TextIO) -> None:
    """Send whatever is still written to ``stream`` to nowhere; its reader is gone or its disk full."""
    # Python writes what is left in its buffer at the end, which would fail again.
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, stream.fileno())
    os.close(nowhere)


def width_of(stream: TextIO | None = None) -> int | None:
    """Return how many columns a terminal has, at least 80, as it or the environment says; None of a pipe.

    The stream is standard output, unless another is given.
    """
    # As rich and Click have it, the environment comes first.
    if (given := os.environ.get("COLUMNS", "")).isdecimal() and int(given):
        return max(80, int(given))
    try:
        return max(80, os.get_terminal_size((stream or sys.stdout).fileno()).columns)
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


@contextmanager
def following(begin: Callable[[tuple[str, ...]], None] = lambda _claims: None) -> Iterator[Callbacks]:
    """Yield callbacks that show a run on standard error; ``begin`` is called before it, with its claims.

    A terminal has a bar. Elsewhere each verdict is printed as soon as its claim is settled, where there are
    several with how many there are so far.
    """
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
    from rich.table import Column

    from verify.engine.runner import Callbacks

    # A narrow terminal cuts the description, never the counts.
    whole = Column(no_wrap=True, min_width=7)
    with Progress(
        BarColumn(bar_width=10, table_column=Column(min_width=10)),
        MofNCompleteColumn(table_column=whole),
        TimeElapsedColumn(table_column=whole),
        TextColumn("{task.description}", table_column=Column(no_wrap=True, overflow="ellipsis")),
        console=Console(stderr=True),
        transient=True,
        disable=not sys.stderr.isatty(),
    ) as bar:
        task = bar.add_task("deriving", total=None)
        names: list[str] = []

        def on_begin(claims: tuple[str, ...]) -> None:
            begin(claims)
            names.extend(claims)
            bar.update(task, total=len(claims))

        def on_progress(drawn: int, wanted: int) -> None:
            # By what is known to be needed so far: samples that stay open grow.
            left = (bar.tasks[task].elapsed or 0) * (wanted / drawn - 1) if drawn else 0
            soon = f"about {left:.0f} s left, " if left else ""
            if wanted:
                millions = f"{drawn / 1e6:,.1f} of {wanted / 1e6:,.1f} million random numbers"
                bar.update(task, description=f"{soon}{millions}")

        def on_finish(record: ClaimRecord) -> None:
            bar.advance(task)
            if bar.disable:
                settled, total = bar.tasks[task].completed, str(len(names))
                count = f"{settled:>{len(total)}.0f}/{total} " if len(names) > 1 else ""
                tell(count + _verdict_line(record, max(map(len, names))))

        yield Callbacks(on_finish, on_begin, on_progress)


def _verdict_line(record: ClaimRecord, width: int) -> str:
    """Return a claim's mark, id, verdict and reason; ``width`` is that of the longest id."""
    from verify.evidence import Proof

    mark = {"confirmed": "✓", "approximate": "≈", "refuted": "✗", "undecided": "?"}[record.verdict]
    if record.derivation.status is Proof.FAILED:
        # The line that fails is what its author needs; the verdict says no more.
        return f"✗ {record.id:<{width}}  {record.reason} ({record.verdict})"
    return f"{mark} {record.id:<{width}}  {record.verdict}: {record.reason}"


def say_outcomes(record: RunRecord, *, own_sources: bool) -> None:
    """Say what a bar has left unsaid, what became of statements, and how much the run rests on."""
    from verify.evidence import Verdict

    # The bar has counted claims and said nothing of their verdicts.
    if sys.stderr.isatty():
        width = max((len(claim.id) for claim in record.claims), default=0)
        for claim in record.claims:
            tell(_verdict_line(claim, width), hang=width + 4)
    if own_sources:
        for statement in record.statements:
            reasons = " ".join(plain(part.reason) for part in statement.parts if not part.holds)
            tell(f"{statement.id}: {statement.outcome.replace('-', ' ')}. {reasons}".rstrip(" .") + ".")
        outcomes = Counter(statement.outcome.replace("-", " ") for statement in record.statements)
        counts = ", ".join(f"{count} {outcome}" for outcome, count in outcomes.items())
        log(f"{counted(len(record.statements), 'statement')}: {counts}")
    if record.claims:
        controls = [control for claim in record.claims for control in claim.controls]
        refuted = sum(control.verdict is Verdict.REFUTED for control in controls)
        checks = f"{record.measured_checks} measured and {record.exact_checks} exact checks"
        rejected = f"{refuted} of {len(controls)} negative controls rejected"
        log(f"{counted(len(record.claims), 'claim')}: {checks}; {rejected}")
    if stale := [claim.id for claim in record.claims if claim.derivation.stale]:
        which = f"{', '.join(stale)}: what Coq proved, as recorded, is another statement"
        log(f"{which}; prove it again with python -m verify.proofs --write")


def rendered(
    record: Reported, out: Path, workers: Workers | int | None = None, edition: str = EDITIONS[0]
) -> None:
    """Write the report; if a rendering step could not be done, say so and end with its exit status."""
    from rich.console import Console

    from verify.evidence import RunRecord
    from verify.report.write import render

    with Console(stderr=True).status("rendering") as status:

        def announce(phase: str) -> None:
            status.update(f"rendering: {phase}")
            # The page of an audit takes no time to speak of.
            if not sys.stderr.isatty() and isinstance(record, RunRecord):
                log(f"rendering: {phase}")

        written = render(record, out, announce, workers, edition)
    for path in written.paths:
        say(path)
    if written.problem is not None:
        raise written.problem
