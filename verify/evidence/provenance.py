"""What made a run or an audit, what its files are called, and the command that repeats it."""

from __future__ import annotations

import hashlib
import shlex
from typing import TYPE_CHECKING, NamedTuple

from verify.evidence.runs import PROFILES, RunRecord
from verify.evidence.texts import in_utc
from verify.text import numbers

if TYPE_CHECKING:
    from datetime import datetime

    from verify.evidence.audits import AuditRecord

EDITIONS = ("report", "brief", "full")
"""Of at most twelve pages, which is the usual one; of one page; with all of the evidence."""


class Names(NamedTuple):
    """The names of a record's file and of its pages; ``stem`` is that of their templates as well."""

    evidence: str
    stem: str
    editions: tuple[str, ...] = EDITIONS

    @property
    def page(self) -> str:
        """The page for the screen."""
        return f"{self.stem}.html"

    @property
    def sheet(self) -> str:
        """The document for print, in the edition that citations refer to."""
        return f"{self.stem}.pdf"

    @property
    def pages(self) -> tuple[str, ...]:
        """All that can be made of the evidence, in every edition."""
        return (self.page, *map(self.sheet_of, self.editions))

    def sheet_of(self, edition: str) -> str:
        """Return what the document for print is called in an edition."""
        return self.sheet if edition == EDITIONS[0] else f"{self.stem}-{edition}.pdf"


RUN, AUDIT = Names("results.json", "report"), Names("audit.json", "audit", EDITIONS[:1])


def names(record: RunRecord | AuditRecord) -> Names:
    """Return what the files of a record's report are called."""
    return RUN if isinstance(record, RunRecord) else AUDIT


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
