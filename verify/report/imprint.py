"""What made a run: its settings and times, its error budget, and the command that makes it again."""

from __future__ import annotations

import hashlib
import shlex
from typing import TYPE_CHECKING

from verify.evidence import PROFILES, RunRecord, in_utc, numbers
from verify.report.views import BudgetView

if TYPE_CHECKING:
    from datetime import datetime

    from verify.evidence.audits import AuditRecord


def creation(record: RunRecord | AuditRecord) -> datetime:
    """Return when a run or an audit was made, in UTC; a time without a zone counts as UTC."""
    return in_utc(record.run.created if isinstance(record, RunRecord) else record.created)


def origin(record: RunRecord | AuditRecord) -> str:
    """Return which run this is, by seed, profile and date, or which audit, by its rate and date."""
    if not isinstance(record, RunRecord):
        rate = numbers.percent(record.settings.false_alarm)
        return f"audit with a false-alarm rate of {rate}, {creation(record):%Y-%m-%d}"
    chosen = record.run.settings
    return f"seed {chosen.seed}, {chosen.profile} profile, {creation(record):%Y-%m-%d}"


def digest(record: RunRecord) -> str:
    """Return the SHA-256, in hexadecimal, of the claims' own digests: the same for the same findings."""
    text = "\n".join(f"{claim.id} {claim.digest}" for claim in record.claims)
    return hashlib.sha256(text.encode()).hexdigest()


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


def command(record: RunRecord) -> str:
    """Return the command that repeats the run; claim files of the user's own are to be filled in."""
    chosen, usual = record.run.settings, type(record.run.settings)()
    words = ["sdpa-verify report", *map(shlex.quote, record.run.claims)]
    words += ["--claims FILE"] * record.run.claim_files
    words += [f"--seed {chosen.seed}", f"--profile {chosen.profile}"]
    if chosen.tolerance != PROFILES[chosen.profile]:
        words.append(f"--tolerance {chosen.tolerance:g}")
    if chosen.false_alarm != usual.false_alarm:
        words.append(f"--false-alarm {chosen.false_alarm:g}")
    if chosen.power != usual.power:
        words.append(f"--power {chosen.power:g}")
    if chosen.device:
        words.append(f"--device {chosen.device.name}")
    return " ".join(words)
