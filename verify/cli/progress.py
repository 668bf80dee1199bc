"""What a person sees of a run: a bar on a terminal, elsewhere each verdict as its claim is settled."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    TextColumn,
    TimeElapsedColumn,
)
from rich.table import Column

from verify.cli.console import beside, columns, say
from verify.evidence import ClaimRecord, Proof, RunRecord, Statement, StoreUse, Verdict
from verify.text import numbers
from verify.text.latex import plain

if TYPE_CHECKING:
    from verify.engine.runner import Callbacks
    from verify.engine.schedule import RunProgress

_MARKS = {Verdict.CONFIRMED: "✓", Verdict.APPROXIMATE: "≈", Verdict.REFUTED: "✗", Verdict.UNDECIDED: "?"}


@contextmanager
def following(begin: Callable[[tuple[str, ...]], None]) -> Iterator[Callbacks]:
    """Yield callbacks that show a run on standard error; ``begin`` is called before it, with its claims.

    Where standard error is no terminal, each verdict is printed as soon as its claim is settled.
    """
    from verify.engine.runner import Callbacks

    if not sys.stderr.isatty():
        yield _printing(begin)
        return
    whole = Column(no_wrap=True, min_width=7)
    with Progress(
        BarColumn(bar_width=10, table_column=Column(min_width=10)),
        MofNCompleteColumn(table_column=whole),
        TimeElapsedColumn(table_column=whole),
        TextColumn("{task.description}", table_column=Column(no_wrap=True, overflow="ellipsis")),
        console=Console(stderr=True),
        transient=True,
    ) as bar:
        task = bar.add_task("starting", total=None)

        def on_begin(claims: tuple[str, ...]) -> None:
            begin(claims)
            bar.update(task, total=len(claims))

        def on_progress(progress: RunProgress) -> None:
            bar.update(task, description=progress_line(progress))

        yield Callbacks(lambda _record: bar.update(task, advance=1), on_begin, on_progress)


def _printing(begin: Callable[[tuple[str, ...]], None]) -> Callbacks:
    """Return callbacks that print each verdict, where there are several with how many there are so far."""
    from verify.engine.runner import Callbacks

    names: tuple[str, ...] = ()
    settled = 0

    def on_begin(claims: tuple[str, ...]) -> None:
        nonlocal names
        begin(claims)
        names = claims

    def on_finish(record: ClaimRecord) -> None:
        nonlocal settled
        settled += 1
        total = str(len(names))
        count = f"{settled:>{len(total)}}/{total} " if len(names) > 1 else ""
        say(verdict_line(record, max(map(len, names)), count, columns(sys.stdout)))

    return Callbacks(on_begin=on_begin, on_finish=on_finish)


def progress_line(progress: RunProgress) -> str:
    """Return how much is drawn and how fast, and what is left of what is known to be needed."""
    if progress.left_s is None:
        return "deriving"
    return f"{progress.drawn:.1e} drawn, {progress.rate:.1e}/s · {progress.left_s:.0f} s left"


def stored_line(stored: StoreUse) -> str:
    """Return one line on what a run took from the cache."""
    share = stored.draws / (stored.draws + stored.drawn) if stored.draws else 0
    derivations = "1 derivation" if stored.derivations == 1 else f"{stored.derivations} derivations"
    return f"from the cache: {derivations} and {share:.0%} of the draws"


def closing_lines(record: RunRecord) -> Iterator[str]:
    """Yield the summary of a whole run: how much it rests on, and where that came from."""
    if record.run.own_sources or record.run.pack:
        outcomes = Counter(str(one.outcome).replace("-", " ") for one in record.statements)
        counts = ", ".join(f"{count} {outcome}" for outcome, count in outcomes.items())
        yield f"{numbers.counted(len(record.statements), 'statement')}: {counts}"
    if record.claims:
        yield counts_line(record)
    if stale := [claim.id for claim in record.claims if claim.derivation.stale]:
        which = f"{', '.join(stale)}: what Coq proved, as recorded, is another statement"
        yield f"{which}; prove it again with python -m verify.proofs --write"
    stored = record.run.stored
    if stored is not None and (stored.derivations or stored.draws):
        yield stored_line(stored)


def verdict_line(record: ClaimRecord, width: int = 0, count: str = "", columns: int | None = None) -> str:
    """Return a claim's mark, id, verdict and reason behind a ``count``; ``width`` is that of the longest id.

    Within a number of ``columns`` the reason takes several lines, which start below the verdict.
    """
    failed = record.derivation.status is Proof.FAILED
    mark = "✗" if failed else _MARKS[record.verdict]
    return beside(f"{count}{mark} {record.id:<{width}}  ", f"{record.verdict}: {record.reason}", columns)


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
