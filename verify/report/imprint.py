"""A run's settings and times, and its error budget."""

from __future__ import annotations

from typing import TYPE_CHECKING

from verify.evidence.provenance import creation
from verify.report.views import BudgetView
from verify.text import numbers

if TYPE_CHECKING:
    from verify.evidence import RunRecord


def settings(record: RunRecord) -> tuple[tuple[str, str], ...]:
    """Return the run's settings and times, each with its name."""
    chosen = record.run.settings
    phases = ((f"time, {name}", numbers.seconds(spent)) for name, spent in record.run.phases_s.items())
    return (
        ("seed", str(chosen.seed)),
        ("profile", chosen.profile),
        ("tolerance", f"±{numbers.percent(chosen.tolerance)}"),
        ("false alarms, whole run", f"at most {numbers.percent(chosen.false_alarm)}"),
        ("power aimed at", numbers.percent(chosen.power)),
        *((("drawn on", str(chosen.device)),) if chosen.device else ()),
        ("made", f"{creation(record):%Y-%m-%d %H:%M} UTC"),
        ("time, whole run", numbers.seconds(record.run.elapsed_s)),
        *phases,
        *_stored(record),
    )


def _stored(record: RunRecord) -> tuple[tuple[str, str], ...]:
    """Return what came from the store, of all that the run rests on; nothing where none was asked."""
    stored = record.run.stored
    if stored is None:
        return ()
    draws, derivations = stored.draws + stored.drawn, len(record.claims)
    return (
        (
            "drawn before, from the store",
            f"{numbers.count(stored.draws)} of {numbers.count(draws)} numbers",
        ),
        ("derived before, from the store", f"{stored.derivations} of {derivations} derivations"),
    )


def budget(record: RunRecord) -> BudgetView:
    """Return the numbers of the run's error budget."""
    shared = record.run.budget
    return BudgetView(
        false_alarm=numbers.small(shared.false_alarm),
        places=numbers.count(shared.places),
        share=numbers.small(shared.false_alarm / shared.places) if shared.places else "0",
        checks=numbers.count(shared.checks),
        controls=numbers.count(shared.controls),
        spent=numbers.small(shared.spent),
        rule=shared.rule,
    )
