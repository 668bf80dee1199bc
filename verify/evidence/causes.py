"""What is wrong in an audit, by its cause: layers and heads that share one are named together."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from verify.evidence.layers import Judgement
from verify.evidence.places import where

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from verify.evidence.layers import Finding, LayerRecord

_MARKS = {"refuted": "✗", "undecided": "?", "warned": "!"}


@dataclass(slots=True)
class Shared:
    """Findings with one judgement and one cause, or where none is known of one name."""

    findings: list[tuple[str, Finding]] = field(default_factory=list)

    @property
    def link(self) -> str:
        """The key of the first of them, without its head."""
        layer, first = self.findings[0]
        return f"{layer}.{first.name}"

    def heads(self) -> dict[str, frozenset[int]]:
        """Return the heads by layer; a finding on the layer as a whole counts as one on all its heads."""
        found: dict[str, set[int]] = {}
        for layer, one in self.findings:
            found.setdefault(layer, set()).update(() if one.head is None else (one.head,))
        return {layer: frozenset(heads) for layer, heads in found.items()}


def shared(layers: Sequence[LayerRecord], judgement: str) -> tuple[Shared, ...]:
    """Return the findings of one judgement on layers, those with the same cause and fix together.

    Those that decide the exit status come first, then those on most layers and heads.
    """
    found: dict[tuple[str, ...], Shared] = {}
    for layer in layers:
        for one in layer.findings:
            if one.judgement == judgement:
                name = () if one.cause else (one.name,)
                key = (one.cause, one.fix, *name)
                found.setdefault(key, Shared()).findings.append((layer.id, one))
    decisive = sorted(
        found.values(),
        key=lambda some: (not any(one.decides for _, one in some.findings), -len(some.findings)),
    )
    return tuple(decisive)


def lines(layers: Sequence[LayerRecord], left_out: Sequence[str]) -> Iterator[str]:
    """Yield what an audit found, a line for each cause: what is wrong first, and at last the counts.

    ``left_out`` says what could not be seen.
    """
    for judgement, mark in _MARKS.items():
        for some in shared(layers, judgement):
            names = ", ".join(dict.fromkeys(one.name for _, one in some.findings))
            found = f"{judgement}{_idle(some)}"
            yield f"{mark} {where(some.heads(), layers)}: {names} {found}: {_said(some, layers)}"
    for text in left_out:
        yield f"- not seen: {text}"
    yield _counts(layers)


def _idle(some: Shared) -> str:
    """Return what there is to add to a judgement that does not change the exit status though it might."""
    is_idle = not any(one.decides for _, one in some.findings)
    return " (does not decide)" if is_idle and some.findings[0][1].judgement == Judgement.REFUTED else ""


def _said(some: Shared, layers: Sequence[LayerRecord]) -> str:
    """Return the cause and the fix, else what was found of the worst head."""
    layer, worst = max(some.findings, key=lambda found: _size(found[1]))
    parts = [worst.cause] if worst.cause else [_measured(worst), worst.reason]
    parts.append(worst.fix)
    if worst.sequences_needed is not None:
        parts.append(f"it would take {worst.needed_bound} {worst.sequences_needed:,} sequences to decide")
    of_one = ""
    are_alike = len({(_measured(one), one.reason) for _, one in some.findings}) == 1
    if not are_alike and not worst.cause and not worst.fix:
        several = len(some.heads()) > 1
        head = frozenset(() if worst.head is None else (worst.head,))
        of_one = f"{where({layer: head}, layers) if several else f'head {worst.head}'}: "
    return of_one + "; ".join(part for part in parts if part)


def _size(finding: Finding) -> tuple[int, float]:
    return finding.sequences_needed or 0, finding.estimate or 0.0


def _measured(finding: Finding) -> str:
    if finding.estimate is None:
        return ""
    text = f"{finding.estimate:.4g}"
    low, high = finding.interval
    if (low, high) != (None, None):
        text += f", interval {_range(low, high)}"
    return text + (f", asked for {_range(*finding.band)}" if finding.band else "")


def _range(low: float | None, high: float | None) -> str:
    """Return a range in words where one end is open, and as one number where both ends print alike."""
    if low is None or high is None:
        end, word = (high, "at most") if low is None else (low, "at least")
        return "anything" if end is None else f"{word} {end:.4g}"
    ends = dict.fromkeys(format(end, ".4g") for end in (low, high))
    return "..".join(ends)


def _counts(layers: Sequence[LayerRecord]) -> str:
    heads = sum(layer.heads for layer in layers)
    findings = [one for layer in layers for one in layer.findings]
    counted = Counter(str(one.judgement) for one in findings)
    counts = ", ".join(f"{number:,} {judgement}" for judgement, number in sorted(counted.items()))
    return (
        f"{len(layers)} layer{'' if len(layers) == 1 else 's'}, {heads} head{'' if heads == 1 else 's'}: "
        f"{len(findings):,} findings, of which {sum(one.decides for one in findings):,} decide: {counts}"
    )
