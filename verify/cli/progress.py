"""What a person sees while it runs: a progress bar on a terminal, plain lines in a pipe."""

from __future__ import annotations

import sys
import time
from collections import Counter
from contextlib import contextmanager
from typing import TYPE_CHECKING

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from verify.cli.console import log
from verify.evidence import ClaimRecord, Proof, RunRecord, Statement, StoreUse, Verdict
from verify.text import numbers
from verify.text.latex import plain

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from verify.engine.runner import Callbacks
    from verify.engine.schedule import Progress as Progressed

_REFRESH_S = 0.2
"""Seconds between two looks of the progress bar."""

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
    columns = (
        BarColumn(bar_width=10),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        # Last, for it is what a narrow terminal cuts.
        TextColumn("{task.description}"),
    )
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("starting", total=None)
        shown_at = 0.0

        def on_begin(count: int) -> None:
            begin()
            bar.update(task, total=count)

        def on_start(claim: str) -> None:
            bar.update(task, description=f"deriving {claim}")

        def on_progress(progress: Progressed) -> None:
            nonlocal shown_at
            if progress.drawn and time.monotonic() - shown_at > _REFRESH_S:
                shown_at = time.monotonic()
                bar.update(task, description=progress_line(progress))

        yield Callbacks(on_start, lambda _record: bar.update(task, advance=1), on_begin, on_progress)


def progress_line(progress: Progressed) -> str:
    """Return how much is drawn, how fast, what is left of what is known to be wanted, and who is at work."""
    words = [f"{progress.drawn:.2e} drawn"]
    if progress.stored:
        words.append(f"{progress.stored:.2e} stored")
    if progress.left_s is not None:
        words += [f"{progress.rate:.1e}/s", f"{progress.left_s:.0f} s left"]
    return " · ".join([*words, f"{progress.workers} at work"])


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
    """Return one line on how much a run rests on: claims, checks of both kinds, wrong versions refuted."""
    controls = [control for claim in record.claims for control in claim.controls]
    refuted = sum(control.verdict is Verdict.REFUTED for control in controls)
    claims = f"{len(record.claims)} {'claim' if len(record.claims) == 1 else 'claims'}"
    checks = f"{record.measured_checks} measured and {record.exact_checks} exact checks"
    return f"{claims}: {checks}; {refuted} of {len(controls)} wrong versions refuted"


def outcome_line(statement: Statement) -> str:
    """Return one line on a statement of the user's own: its outcome, and why it does not hold."""
    reasons = " ".join(plain(part.reason) for part in statement.parts if not part.holds)
    return f"{statement.id}: {statement.outcome.replace('-', ' ')}. {reasons}".rstrip(" .") + "."


def surprise_line(statement: Statement) -> str:
    """Return one line on a statement whose outcome is not the known one: both, and the parts' reasons."""
    reasons = " ".join(part.reason for part in statement.parts if not part.holds)
    return f"! statement {statement.id}: {statement.outcome}, known as {statement.noted}. {reasons}".rstrip()
