"""What made a record: its date, its digest, and the command that repeats a run."""

import hashlib
import shlex
from datetime import datetime

from verify.defaults import PROFILES
from verify.evidence.audits import AuditRecord
from verify.evidence.comparisons import ComparisonRecord
from verify.evidence.runs import RunRecord
from verify.evidence.texts import in_utc
from verify.files.names import AUDIT, COMPARISON, RUN, Names
from verify.text import numbers

Reported = RunRecord | AuditRecord | ComparisonRecord
"""A record of which there are pages."""


def names(record: Reported) -> Names:
    """Return what the files of a record's report are called."""
    if isinstance(record, ComparisonRecord):
        return COMPARISON
    return RUN if isinstance(record, RunRecord) else AUDIT


def creation(record: Reported) -> datetime:
    """Return when a run, an audit or a comparison was made, in UTC; a time without a zone counts as UTC."""
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


def command(record: RunRecord) -> str:
    """Return the command that repeats the run; files of the user's own are to be filled in."""
    chosen, usual = record.run.settings, type(record.run.settings)()
    words = ["sdpa-verify report", *map(shlex.quote, record.run.claims)]
    words += ["--claims FILE"] * record.run.claim_files
    if record.run.own_sources or record.run.pack:
        words.append(f"--sources {record.run.pack or 'FILE'}")
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
