"""False claims, and theorems tried at points, as the method chapter prints them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from verify.report.views import FalseClaimsView, FalseKindRow, FalsifiedView
from verify.text import numbers

if TYPE_CHECKING:
    from verify.evidence import FalseClaims, FalseKind, Falsified

_KINDS = {
    "binding": "derived is one thing, measured another",
    "control": "no control that could fail",
    "corner": "true but for one dimension, one or two keys, or no spread",
    "domain": "outside the values for which it holds",
    "induction": "sums in closed form",
    "integral": "integrals from 0 to infinity",
    "law": "another law than the assumed one",
    "lemma": "lemmas and definitions about something else",
    "limit": "limits, means and integrals exchanged",
    "reach": "from some values to all",
    "relation": "a relation the other way",
    "series": "first terms for the whole",
    "tight": "bounds a few per cent too tight",
    "tolerance": "bands so wide that they hold everything",
    "words": "words that say more than is shown",
}
"""What a kind is about; of others the name has to do."""

_OPEN = {
    "a tail that draws do not see": "few of the draws make most of the spread",
    "an outcome so rare that draws do not see it": "an outcome is too rare for draws",
    "draws that are all alike": "draws have no spread",
    "draws that overflow": "numbers too large for floating-point draws",
    "no difference that draws tell": "the sides differ by less than the noise of draws",
    "the balls are too wide": "rounding is not bounded closely enough",
}
"""Why a point is undecided, in plain words; other reasons are printed as they are."""


def false_claims(table: FalseClaims | None) -> FalseClaimsView | None:
    """Return the stored campaign as the report prints it, or None where the run holds none."""
    if table is None:
        return None
    return FalseClaimsView(
        rows=tuple(map(_row, table.kinds)),
        kinds=numbers.count(len(table.kinds)),
        caught=numbers.count(table.caught),
        of=numbers.count(table.of),
        neighbours=numbers.count(table.neighbours),
        all_in_order=table.caught == table.neighbours == table.of,
        command=table.command,
    )


def _row(one: FalseKind) -> FalseKindRow:
    return FalseKindRow(
        kind=_KINDS.get(one.kind, one.kind),
        caught=numbers.count(one.caught),
        of=numbers.count(one.of),
        by=", ".join(f"{what} {many}" for what, many in one.by.items()),
        neighbours=numbers.count(one.neighbours),
        in_order=one.caught == one.neighbours == one.of,
    )


def falsified(found: Falsified | None) -> FalsifiedView | None:
    """Return how theorems fared at points as the report prints it, or None where the run holds nothing."""
    if found is None:
        return None
    names = ("statements", "points", "held", "undecided", "refuted", "stopped", "untold")
    return FalsifiedView(
        **{name: numbers.count(getattr(found, name)) for name in names},
        seconds=f"{found.seconds:g}",
        seed=str(found.seed),
        why="; ".join(f"{_OPEN.get(why, why)} ({numbers.count(many)})" for why, many in found.why.items()),
        none_refuted=not found.refuted,
        command=found.command,
    )
