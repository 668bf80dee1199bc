"""How a run differs from an earlier one, or from itself made again: verdicts, keys, values and settings.

Intervals are simultaneous: except with probability of at most the family-wise error rate, all intervals of a
run contain their true values. So in two runs of the same truth a pair of intervals is disjoint with
probability of at most the sum of both rates, however the runs depend on each other. A value has *moved* where
the two are disjoint; that sum is the family-wise error rate of this word, over all values compared. What is
computed, or drawn by the same seed in the same number, has to be equal to ten digits.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import NamedTuple

from verify.citing.values import SOURCE, Part, Value, by_key
from verify.evidence import Check, ClaimRecord, ControlRecord, Fact, RunRecord, Statement
from verify.evidence.load import digest, origin
from verify.evidence.words import badge
from verify.text import numbers
from verify.text.numbers import counted
from verify.version import __version__

_DIGITS = 1e-9  # of the largest number beside them: what numbers equal to ten digits may differ by
_HOW = ("block", "drawn in")  # settings of a cell that say how it is drawn: its truth does not depend on them
_APART = "intervals apart"  # why a value is known to have moved whatever draws it is of
# Parts of the environment on which the last digits of a result depend.
_DECIDE_DIGITS = ("python", "linear algebra", "numpy", "scipy", "sympy")
_NAMED = 12  # this many keys or differences are named before the others are counted


class Change(NamedTuple):
    """What became of what a key names; ``why`` says of a value how it is known to have moved."""

    key: str
    before: str
    after: str
    why: str = ""


class Changes(NamedTuple):
    """How a run differs from an ``earlier`` one.

    ``verdicts`` are those of claims with their proofs, of checks and of controls; ``moved`` values are
    otherwise than chance allows. ``come`` and ``gone`` are keys, without those of parts. ``judged`` values
    were compared by their intervals, of which at the family-wise ``rate`` one would seem to have moved though
    none did; of ``whole`` claims ``same`` have the same evidence.
    """

    earlier: str
    later: str
    verdicts: tuple[Change, ...]
    statements: tuple[Change, ...]
    moved: tuple[Change, ...]
    come: tuple[str, ...]
    gone: tuple[str, ...]
    settings: tuple[Change, ...]
    same: int
    whole: int
    judged: int
    rate: float

    @property
    def exit_status(self) -> int:
        """1 if a verdict or an outcome changed, else 0."""
        return int(bool(self.verdicts or self.statements))


def compare(old: RunRecord, new: RunRecord) -> Changes:
    """Return how a run differs from an earlier one."""
    before, after = by_key(old), by_key(new)
    same_seed = old.run.settings.seed == new.run.settings.seed
    turned, moved, judged = [], [], 0
    # What has a colon is a part of what is compared as a whole.
    for key in [key for key in after if ":" not in key and key in before]:
        then, now = _judged(before[key]), _judged(after[key])
        if now != then:
            turned.append(Change(key, then, now))
        why, is_redrawn = _moved(before[key].part, after[key].part, same_seed=same_seed)
        judged += is_redrawn
        if why:
            then, now = before[key].text, after[key].text
            if then == now:
                # To the digits that their errors allow; so all digits are shown.
                parts = before[key].part, after[key].part
                then, now = (repr(getattr(part, "estimate", getattr(part, "value", None))) for part in parts)
            moved.append(Change(key, then, now, why))
    was, is_now = (defaultdict(str, _settings(run)) for run in (old, new))
    differing = [name for name in [*(was | is_now)] if was[name] != is_now[name]]
    earlier, later = (
        f"sdpa-verify {run.tool.version}, {origin(run)}, digest {digest(run)[:12]}" for run in (old, new)
    )
    digests = [{(claim.id, claim.digest) for claim in run.claims} for run in (old, new)]
    return Changes(
        earlier=earlier,
        later=later,
        verdicts=tuple(change for change in turned if not change.key.startswith(f"{SOURCE}.")),
        statements=tuple(change for change in turned if change.key.startswith(f"{SOURCE}.")),
        moved=tuple(moved),
        come=_alone(after, before),
        gone=_alone(before, after),
        settings=tuple(Change(name, was[name], is_now[name]) for name in differing),
        same=len(set.intersection(*digests)),
        whole=len(new.claims),
        judged=judged,
        rate=min(1.0, old.spent + new.spent),
    )


def _moved(old: Part | None, new: Part | None, *, same_seed: bool) -> tuple[str, bool]:
    """Return how a check or a fact is known to have moved, if it is, and whether its intervals decide."""
    if isinstance(old, Fact) and isinstance(new, Fact):
        noise = _DIGITS * max(abs(old.value), abs(new.value))
        return "computed otherwise" if abs(old.value - new.value) > noise else "", False
    if not isinstance(old, Check) or not isinstance(new, Check):
        return "", False
    both = (old, new)
    # What a check is of, and then how that was drawn.
    of, new_of = (
        (check.quantity, check.method, check.relation, check.cell | dict.fromkeys(_HOW, "")) for check in both
    )
    drawn, new_drawn = (
        (check.looks, check.blocks, check.draws, *map(check.cell.get, _HOW)) for check in both
    )
    if of != new_of:
        return "of another quantity or other settings", False
    is_exact = new.method == "exact"
    is_redrawn = not is_exact and (not same_seed or drawn != new_drawn)
    sizes = [abs(size) for check in both for size in (*check.interval, check.estimate, check.prediction)]
    # An exact check allows for rounding in place of 0.
    rounding = max(check.tolerance * (is_exact and check.prediction == 0) for check in both)
    noise = _DIGITS * max(sizes) + rounding
    # Intervals that touch may hold the same truth.
    (low, high), (new_low, new_high) = old.interval, new.interval
    if not is_exact and max(low - new_high, new_low - high) > noise:
        return _APART, is_redrawn
    if not is_redrawn and abs(old.estimate - new.estimate) > noise:
        return "computed otherwise" if is_exact else "otherwise of the same draws", False
    return "another prediction" if abs(old.prediction - new.prediction) > noise else "", is_redrawn


def _alone(known: Mapping[str, Value], others: Mapping[str, Value]) -> tuple[str, ...]:
    """Return the keys that only one run has, without parts; of a whole claim, its own alone."""
    alone = [key for key in known if key not in others and ":" not in key]
    return tuple(key for key in alone if key.partition(".")[0] not in alone or "." not in key)


def _judged(value: Value) -> str:
    """Return the verdict of what has one, of a claim with its proof; nothing of what has none."""
    match judged := value.part or value.subject:
        case ClaimRecord():
            return f"{badge(judged.derivation.status).word}, {badge(judged.verdict).word}"
        case Check() | ControlRecord():
            return badge(judged.verdict).word
        case Statement():
            return badge(judged.outcome).word
    return ""


def _settings(run: RunRecord) -> dict[str, str]:
    """Return what results depend on besides the claims: settings and versions, in words."""
    # Results are the same for any number of workers.
    versions = {name: version for name, version in run.run.environment.items() if name != "workers"}
    return {
        **{name.replace("_", " "): str(value) for name, value in dict(run.run.settings).items()},
        "claims asked for": ", ".join(run.run.claims) or "all",
        "sdpa-verify": run.tool.version,
        **versions,
    }


def to_text(changes: Changes) -> str:
    """Return the comparison as lines with a heading above each group, and which rule it is made by."""
    lines = [f"before:  {changes.earlier}", f"after:   {changes.later}", ""]
    groups = {
        "verdicts": changes.verdicts,
        "outcomes of statements": changes.statements,
        "values that moved": changes.moved,
        "settings and versions": changes.settings,
    }
    for title, group in groups.items():
        lines += [f"{title}:"] * bool(group)
        for key, before, after, why in group:
            lines.append(f"  {key}: {before or '(none)'} → {after or '(none)'}{f' ({why})' if why else ''}")
        lines += [""] * bool(group)
    for word, keys in (("new", changes.come), ("gone", changes.gone)):
        if keys:
            rest = f" and {len(keys) - _NAMED} more" if len(keys) > _NAMED else ""
            lines.append(f"keys that are {word}: {', '.join(keys[:_NAMED])}{rest}")
    lines.append(f"{changes.same} of {changes.whole} claims have the same evidence to ten digits.")
    if changes.judged:
        lines.append(
            f"{numbers.count(changes.judged)} values were drawn otherwise; a value has moved where its two "
            f"intervals are disjoint. If nothing changed, the probability that any value appears to have "
            f"moved is at most {numbers.small(changes.rate)}."
        )
    lines += ["No verdict and no outcome changed."] * (not changes.exit_status)
    return "\n".join(lines)


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
        for key, before, now, why in self.differences[:_NAMED]:
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
    # Statements follow from claims, of which only some may have been run again.
    bare = {"sources": (), "statements": ()}
    recorded = {claim.id: claim for claim in before.claims}
    old = before.model_copy(update={"claims": tuple(recorded[claim.id] for claim in now.claims), **bare})
    changes = compare(old, now.model_copy(update=bare))
    named = [*changes.verdicts, *changes.moved]
    named += [Change(key, "there", "gone") for key in changes.gone]
    named += [Change(key, "none", "new") for key in changes.come]
    # Another version may move last digits, but turns no verdict.
    explained = bool(lacking) and not (changes.verdicts or changes.gone or changes.come)
    identical = 0
    for claim, again in zip(old.claims, now.claims, strict=True):
        # The digest of a file may have been left when a value was changed.
        if claim.digest == again.digest == claim.sealed().digest:
            identical += 1
        elif not any(change.key.partition(".")[0] == claim.id for change in named):
            # A digest also covers texts, controls, figures and lines of the derivation.
            named.append(Change(claim.id, claim.digest[:12], again.digest[:12], "another digest"))
    explained = explained and not any(change.why == _APART for change in named)
    names = tuple(claim.id for claim in now.claims)
    return Reproduction(names, identical, tuple(named), lacking, digest(now), explained)
