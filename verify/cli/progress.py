"""What a person sees of a run: a bar on a terminal, elsewhere each verdict as its claim is settled."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Column

from verify.cli.console import log, tell
from verify.evidence import ClaimRecord, Proof, RunRecord, Verdict
from verify.text.latex import plain
from verify.text.numbers import counted

if TYPE_CHECKING:
    from verify.engine.runner import Callbacks

_MARKS = {Verdict.CONFIRMED: "✓", Verdict.APPROXIMATE: "≈", Verdict.REFUTED: "✗", Verdict.UNDECIDED: "?"}


@contextmanager
def following(begin: Callable[[tuple[str, ...]], None] = lambda _claims: None) -> Iterator[Callbacks]:
    """Yield callbacks that show a run on standard error; ``begin`` is called before it, with its claims.

    Where standard error is no terminal, each verdict is printed as soon as its claim is settled, where there
    are several with how many there are so far.
    """
    from verify.engine.runner import Callbacks

    is_terminal = sys.stderr.isatty()
    # A narrow terminal cuts the description, never the counts.
    whole = Column(no_wrap=True, min_width=7)
    with Progress(
        BarColumn(bar_width=10, table_column=Column(min_width=10)),
        MofNCompleteColumn(table_column=whole),
        TimeElapsedColumn(table_column=whole),
        TextColumn("{task.description}", table_column=Column(no_wrap=True, overflow="ellipsis")),
        console=Console(stderr=True),
        transient=True,
        disable=not is_terminal,
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
            bar.update(task, description=f"{soon}{drawn:.1e} of {wanted:.1e} random numbers")

        def on_finish(record: ClaimRecord) -> None:
            bar.advance(task)
            if not is_terminal:
                settled, total = bar.tasks[task].completed, str(len(names))
                count = f"{settled:>{len(total)}.0f}/{total} " if len(names) > 1 else ""
                tell(count + verdict_line(record, max(map(len, names))))

        yield Callbacks(on_finish, on_begin, on_progress)


def verdict_line(record: ClaimRecord, width: int) -> str:
    """Return a claim's mark, id, verdict and reason; ``width`` is that of the longest id."""
    if record.derivation.status is Proof.FAILED:
        # The line that fails is what its author needs; the verdict says no more.
        return f"✗ {record.id:<{width}}  {record.reason} ({record.verdict})"
    return f"{_MARKS[record.verdict]} {record.id:<{width}}  {record.verdict}: {record.reason}"


def say_outcomes(record: RunRecord, *, own_sources: bool) -> None:
    """Say what a bar has left unsaid, what became of statements, and how much the run rests on."""
    # The bar has counted claims and said nothing of their verdicts.
    if sys.stderr.isatty():
        width = max((len(claim.id) for claim in record.claims), default=0)
        for claim in record.claims:
            tell(verdict_line(claim, width))
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
