"""Whether a run comes out again: its claims derived, drawn and judged anew, and compared value by value."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from verify.citing.compare import APART, Change, compare
from verify.evidence import RunRecord
from verify.evidence.load import digest
from verify.text.latex import Prose
from verify.text.numbers import counted
from verify.version import __version__

_DECIDE_DIGITS = ("python", "linear algebra", "numpy", "scipy", "sympy")
"""Parts of the environment on which the last digits of a result depend."""
_NAMED = 12
"""This many differences are named before the others are counted."""


@dataclass(frozen=True)
class Reproduction:
    """The comparison of a run with the same run made again.

    Attributes:
        claims: The ids of the claims that were run again.
        identical: How many of them have the digest that the file says.
        differences: What came out otherwise, with its key, verdicts first.
        missing: Parts of the run's environment that are not here, a sentence each.
        digest: The digest of the claims that were made again.
        explained: Whether what is missing may be why: no verdict is another, no value beyond both intervals.
    """

    claims: tuple[str, ...]
    identical: int
    differences: tuple[Change, ...]
    missing: tuple[str, ...]
    digest: str
    explained: bool

    @property
    def exit_status(self) -> int:
        """0 if identical; 3 if a missing environment may be why it is not, or nothing was run; else 1."""
        if self.claims and self.identical == len(self.claims):
            return 0
        return 3 if self.explained or not self.claims else 1

    def __str__(self) -> str:
        """Return its words, a line for each difference."""
        lines = [f"missing here: {what}" for what in self.missing]
        for key, _, before, now, why in self.differences[:_NAMED]:
            lines.append(f"{key}: {before} → {now}{f' ({why})' if why else ''}")
        if len(self.differences) > _NAMED:
            lines.append(f"and {counted(len(self.differences) - _NAMED, 'difference')} more")
        if self.exit_status == 0:
            lines.append(f"identical: {counted(len(self.claims), 'claim')}, digest {self.digest[:16]}")
        elif self.claims:
            lines.append(f"{self.identical} of {counted(len(self.claims), 'claim')} identical")
        else:
            lines.append("nothing could be run again")
        return "\n".join(lines)


def missing(record: RunRecord, environment: Mapping[str, str]) -> Iterator[str]:
    """Yield the parts of the environment that decide the last digits and differ from those of a run."""
    if record.tool.version != __version__:
        yield f"sdpa-verify {record.tool.version}; this is {__version__}"
    for name in _DECIDE_DIGITS:
        before, here = record.run.environment.get(name, ""), environment.get(name, "")
        if before and before != here:
            yield f"{name} {before}; here it is {here or 'not installed'}"


def reproduction(before: RunRecord, now: RunRecord, lacking: tuple[str, ...]) -> Reproduction:
    """Return how the claims of a run came out ``now``; ``lacking`` is what is missing here."""
    bare = {"sources": (), "statements": ()}
    recorded = {claim.id: claim for claim in before.claims}
    old = before.model_copy(update={"claims": tuple(recorded[claim.id] for claim in now.claims), **bare})
    changes = compare(old, now.model_copy(update=bare))
    named = [*changes.verdicts, *changes.moved]
    named += [Change(key, Prose(""), "there", "gone") for key in changes.gone]
    named += [Change(key, Prose(""), "none", "new") for key in changes.come]
    explained = bool(lacking) and not (changes.verdicts or changes.gone or changes.come)
    identical = 0
    for claim, again in zip(old.claims, now.claims, strict=True):
        # The digest of a file may have been left when a value was changed.
        if claim.digest == again.digest == claim.sealed().digest:
            identical += 1
        elif not any(change.key.partition(".")[0] == claim.id for change in named):
            # A digest also covers texts, controls, figures and lines of the derivation.
            named.append(Change(claim.id, Prose(""), claim.digest[:12], again.digest[:12], "another digest"))
    explained = explained and not any(change.why == APART for change in named)
    names = tuple(claim.id for claim in now.claims)
    return Reproduction(names, identical, tuple(named), lacking, digest(now), explained)
