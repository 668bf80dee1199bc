"""Whether a run comes out again: its claims derived, drawn and judged anew, and compared value by value."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from verify.evidence import Check, ClaimRecord, RunRecord
from verify.text.latex import plain
from verify.text.numbers import counted
from verify.version import __version__

_DECIDE_DIGITS = ("python", "linear algebra", "numpy", "scipy", "sympy")
"""Parts of the environment on which the last digits of a result depend."""
_NAMED = 12
"""This many differences are named before the others are counted."""


class Difference(NamedTuple):
    """A value that came out otherwise.

    ``key`` names it, as citations do; ``apart`` is whether it lies beyond both intervals, or was judged
    otherwise, so that no chance of another machine's rounding explains it.
    """

    key: str
    before: str
    now: str
    apart: bool


@dataclass(frozen=True)
class Reproduction:
    """The comparison of a run with the same run made again.

    Attributes:
        claims: The ids of the claims that were run again.
        identical: How many of them have the digest that the file says.
        differences: The values that came out otherwise, in the order of the report.
        missing: Parts of the run's environment that are not here, a sentence each.
        digest: The digest of the claims that were made again.
    """

    claims: tuple[str, ...]
    identical: int
    differences: tuple[Difference, ...]
    missing: tuple[str, ...]
    digest: str

    @property
    def exit_status(self) -> int:
        """0 if identical; 3 if a missing environment may be why it is not, or nothing was run; else 1."""
        if self.claims and self.identical == len(self.claims) and not self.differences:
            return 0
        explained = self.missing and not any(difference.apart for difference in self.differences)
        return 3 if explained or not self.claims else 1

    def __str__(self) -> str:
        """Return its words, a line for each difference."""
        lines = [f"missing here: {what}" for what in self.missing]
        for difference in self.differences[:_NAMED]:
            how = "beyond both intervals" if difference.apart else "within the intervals"
            lines.append(f"{difference.key}: {difference.before} → {difference.now}, {how}")
        if len(self.differences) > _NAMED:
            lines.append(f"and {counted(len(self.differences) - _NAMED, 'value')} more")
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


def is_same(old: ClaimRecord, new: ClaimRecord) -> bool:
    """Return whether two records of a claim have the same digest, which is that of their content."""
    return old.digest == new.digest == old.sealed().digest


def differences(before: Sequence[ClaimRecord], now: Sequence[ClaimRecord]) -> Iterator[Difference]:
    """Yield the differences between records of the same claims, in their order."""
    for old, new in zip(before, now, strict=True):
        if not is_same(old, new):
            # A digest also covers texts, controls, figures and lines of the derivation.
            rest = Difference(old.id, old.digest[:12], new.digest[:12], apart=False)
            yield from list(_of_claim(old, new)) or [rest]


def _of_claim(old: ClaimRecord, new: ClaimRecord) -> Iterator[Difference]:
    """Yield the differences of a claim: in its outcome, its checks, and its exact values."""
    outcome, again = (f"{claim.derivation.status}, {claim.verdict}" for claim in (old, new))
    if outcome != again:
        yield Difference(old.id, outcome, again, apart=True)
    checks = {check.id: check for check in new.checks}
    for before in old.checks:
        now, key = checks.pop(before.id, None), f"{old.id}.{before.id}"
        if now is None:
            yield Difference(key, "a check", "none", apart=True)
        elif _numbers(before) != _numbers(now):
            low, high = max(before.interval[0], now.interval[0]), min(before.interval[1], now.interval[1])
            is_other = before.verdict is not now.verdict or before.prediction != now.prediction
            yield Difference(key, _shown(before), _shown(now), apart=is_other or low > high)
    for name in checks:
        yield Difference(f"{old.id}.{name}", "none", "a check", apart=True)
    values = {fact.id: repr(fact.value) for fact in new.facts}
    for fact in old.facts:
        if (value := values.get(fact.id, "none")) != repr(fact.value):
            yield Difference(f"{old.id}.{fact.id}", f"{fact.value!r} ({plain(fact.what)})", value, apart=True)


def _numbers(check: Check) -> tuple[object, ...]:
    numbers = check.estimate, check.interval, check.prediction, check.standard_error
    return (*numbers, check.blocks, check.draws, check.verdict)


def _shown(check: Check) -> str:
    return f"{check.estimate!r} in [{check.interval[0]:.7g}, {check.interval[1]:.7g}], {check.verdict}"
