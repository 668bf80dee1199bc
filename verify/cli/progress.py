"""What a person sees while it runs: a progress bar on a terminal, plain lines in a pipe."""

from __future__ import annotations

import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    ProgressColumn,
    TextColumn,
    TimeElapsedColumn,
)
from rich.table import Column

from verify.cli.console import log
from verify.evidence import ClaimRecord, Proof, RunRecord, Statement, StoreUse, Verdict
from verify.text import numbers
from verify.text.latex import plain

if TYPE_CHECKING:
    from verify.engine.runner import Callbacks
    from verify.engine.schedule import RunProgress

_WIDE = 60  # columns from which on a terminal has room for a bar
_REFRESH_S = 0.2  # seconds between two looks of the progress bar

_MARKS = {Verdict.CONFIRMED: "✓", Verdict.APPROXIMATE: "≈", Verdict.REFUTED: "✗", Verdict.UNDECIDED: "?"}


@contextmanager
def following(begin: Callable[[], None]) -> Iterator[Callbacks]:
    """Yield callbacks that show the progress of a run on standard error, and call ``begin`` before it."""
    from verify.engine.runner import Callbacks

    if not sys.stderr.isatty():
        yield Callbacks(
            on_begin=lambda _count: begin(), on_finish=lambda record: log(f"{record.id}: {record.verdict}")
        )
        return
    console = Console(stderr=True)
    whole = Column(no_wrap=True, min_width=7)
    shown: list[ProgressColumn] = [
        MofNCompleteColumn(table_column=whole),
        TimeElapsedColumn(table_column=whole),
    ]
    if console.width >= _WIDE:
        shown.insert(0, BarColumn(bar_width=10, table_column=Column(min_width=10)))
    # Two counts of seven columns, the bar, and a blank after each.
    room = console.width - (16 if console.width < _WIDE else 27)
    text = TextColumn("{task.description}", table_column=Column(no_wrap=True, overflow="ellipsis"))
    with Progress(*shown, text, console=console, transient=True) as bar:
        task = bar.add_task("starting", total=None)
        shown_at = 0.0

        def on_begin(count: int) -> None:
            begin()
            bar.update(task, total=count)

        def on_start(claim: str) -> None:
            bar.update(task, description=f"deriving {claim}")

        def on_progress(progress: RunProgress) -> None:
            nonlocal shown_at
            if progress.drawn and time.monotonic() - shown_at > _REFRESH_S:
                shown_at = time.monotonic()
                bar.update(task, description=progress_line(progress, room))

        yield Callbacks(on_start, lambda _record: bar.update(task, advance=1), on_begin, on_progress)


def progress_line(progress: RunProgress, room: int = 80) -> str:
    """Return what is left, how much is drawn, how fast, and by how many workers, as far as there is room."""
    words = [f"{progress.left_s:.0f} s left"] if progress.left_s is not None else []
    words.append(f"{progress.drawn:.1e} drawn")
    if progress.left_s is not None:
        words.append(f"{progress.rate:.1e}/s")
    words.append(f"{progress.workers} working")
    if progress.stored:
        words.append(f"{progress.stored:.1e} stored")
    while len(words) > 1 and len(" · ".join(words)) > room:
        words.pop()
    return " · ".join(words)


def stored_line(stored: StoreUse) -> str:
    """Return one line on what a run took from the store."""
    share = stored.draws / (stored.draws + stored.drawn) if stored.draws else 0
    derivations = "1 derivation" if stored.derivations == 1 else f"{stored.derivations} derivations"
    return f"from the store: {derivations} and {share:.0%} of the draws"


def device_line(record: RunRecord) -> str:
    """Return one line on how many checks a device has drawn; they name its generator."""
    from verify.montecarlo.devices import GENERATOR

    drawn = [check for claim in record.claims for check in claim.checks if check.method == "monte-carlo"]
    there = sum(GENERATOR in check.cell for check in drawn)
    return f"drawn on {record.run.settings.device}: {there} of {len(drawn)} checks, the others as without it"


def closing_lines(record: RunRecord) -> Iterator[str]:
    """Yield the summary of a whole run: how much it rests on, and where that came from."""
    if record.run.own_sources or record.run.pack:
        outcomes = Counter(str(one.outcome).replace("-", " ") for one in record.statements)
        counts = ", ".join(f"{count} {outcome}" for outcome, count in outcomes.items())
        yield f"{numbers.counted(len(record.statements), 'statement')}: {counts}"
    if record.claims:
        yield counts_line(record)
    if record.run.settings.device is not None:
        yield device_line(record)
    stored = record.run.stored
    if stored is not None and (stored.derivations or stored.draws):
        yield stored_line(stored)


def verdict_line(record: ClaimRecord) -> str:
    """Return one line on a claim: mark, id, verdict and reason, and how close its tightest bound is."""
    failed = record.derivation.status is Proof.FAILED
    mark = "✗" if failed else _MARKS[record.verdict]
    return f"{mark} {record.id:<24} {record.verdict:<12} {record.reason}{_tightest(record)}"


def _tightest(record: ClaimRecord) -> str:
    """Return the derived bound whose estimate is nearest to it in proportion, nothing where there is none."""
    bounds = {check.id: check.tightness for check in record.checks if check.tightness is not None}
    if not bounds:
        return ""
    name = min(bounds, key=lambda one: abs(bounds[one] - 1))
    return f"; tightest bound {name}: estimate ÷ bound {numbers.exact(bounds[name], 4)}"


def counts_line(record: RunRecord) -> str:
    """Return one line of counts: claims, checks of both kinds, negative controls rejected."""
    controls = [control for claim in record.claims for control in claim.controls]
    refuted = sum(control.verdict is Verdict.REFUTED for control in controls)
    claims = f"{len(record.claims)} {'claim' if len(record.claims) == 1 else 'claims'}"
    checks = f"{record.measured_checks} measured and {record.exact_checks} exact checks"
    return f"{claims}: {checks}; {refuted} of {len(controls)} negative controls rejected"


def outcome_line(statement: Statement) -> str:
    """Return one line on a statement of the user's own: its outcome, and why it does not hold."""
    reasons = " ".join(plain(part.reason) for part in statement.parts if not part.holds)
    return f"{statement.id}: {statement.outcome.replace('-', ' ')}. {reasons}".rstrip(" .") + "."


def surprise_line(statement: Statement) -> str:
    """Return one line on a statement whose outcome is not the known one: both, and the parts' reasons."""
    reasons = " ".join(part.reason for part in statement.parts if not part.holds)
    return f"! statement {statement.id}: {statement.outcome}, known as {statement.noted}. {reasons}".rstrip()
