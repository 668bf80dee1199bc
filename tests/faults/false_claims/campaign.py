"""Runs claims that are false, and the nearest true claim beside each.

    python -m tests.faults.false_claims.campaign [--kind KIND] [-v] [--write FILE]

prints, kind by kind, how many false claims are caught and by what, and how many true neighbours pass;
``--write`` stores the table that the report's method section prints. A claim passes where it is proved and
confirmed; a false claim that does not pass is caught.

A mistake belongs here if an author who believes the claim could make it: a domain, a law, a condition, a
constant or a control that is wrong. What only somebody makes who knows that the claim is false does not.
"""

import argparse
import sys
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import verify
from tests.faults.false_claims import analysis, inference, measuring, newer
from verify.errors import VerifyError
from verify.evidence import ClaimRecord, FalseClaims, FalseKind, Proof, Verdict
from verify.former import Claim
from verify.version import __version__

COMMAND = "python -m tests.faults.false_claims.campaign --write data/false_claims.json"
KINDS = {
    "corner": analysis.CORNER,
    "domain": analysis.DOMAIN,
    "existence": analysis.EXISTENCE,
    "induction": analysis.INDUCTION,
    "integral": analysis.INTEGRAL,
    "law": inference.LAW,
    "lemma": inference.LEMMA,
    "limit": analysis.LIMIT,
    "measuring": measuring.MEASURING,
    "newer": newer.NEWER,
    "reach": inference.REACH,
    "relation": inference.RELATION,
    "series": analysis.SERIES,
    "tight": inference.TIGHT,
}
"""The pairs of each kind of mistake, by what is wrong in the false claim."""
NAMES = [(kind, mistake) for kind, pairs in KINDS.items() for mistake in pairs]


@dataclass(frozen=True)
class Outcome:
    """How a claim ended: its record, or why it was refused before it was drawn."""

    record: ClaimRecord | None
    refusal: str = ""

    @property
    def caught_by(self) -> str:
        """The net that keeps it from being proved and confirmed; empty where nothing does."""
        if self.record is None:
            return "refusal"
        proof = self.record.derivation.status
        if proof is Proof.FAILED:
            return "kernel"
        if self.record.verdict is not Verdict.CONFIRMED:
            return "measurement"
        return "" if proof is Proof.PROVED else "verdict"

    def __str__(self) -> str:
        """Return the reason in a line."""
        if self.record is None:
            return self.refusal
        derivation = self.record.derivation
        return derivation.reason if derivation.status is Proof.FAILED else self.record.reason


def outcome(claim: Claim, kind: str, mistake: str) -> Outcome:
    """Return how a claim ends in the quick profile."""
    named = replace(claim, id=f"{kind}-{mistake.replace('_', '-')}")
    try:
        run = verify.run([named], profile="quick", workers=1, store=False)
    except VerifyError as error:
        return Outcome(None, str(error))
    return Outcome(run.claims[0])


def outcomes(kind: str, mistake: str) -> tuple[Outcome, Outcome]:
    """Return how a false claim ends, and its true neighbour."""
    pair = KINDS[kind][mistake]
    return outcome(pair.false(), kind, mistake), outcome(pair.true(), kind, mistake)


def table(results: Iterable[tuple[str, Outcome, Outcome]]) -> FalseClaims:
    """Return what is caught of each kind, by what, and how many neighbours pass."""
    kinds: dict[str, list[tuple[str, str]]] = {}
    for kind, false, true in results:
        kinds.setdefault(kind, []).append((false.caught_by, true.caught_by))
    rows = []
    for kind, nets in kinds.items():
        by = Counter(net for net, _ in nets if net)
        passed = sum(not net for _, net in nets)
        rows.append(
            FalseKind(
                kind=kind, of=len(nets), caught=by.total(), by=dict(sorted(by.items())), neighbours=passed
            )
        )
    return FalseClaims(command=COMMAND, version=__version__, kinds=tuple(rows))


def main(arguments: Sequence[str] | None = None) -> int:
    """Run them; return 1 where a false claim passes or a true neighbour does not."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--kind", choices=KINDS)
    parser.add_argument("--write", type=Path, metavar="FILE")
    parser.add_argument("-v", action="store_true", help="Print how each ends.")
    options = parser.parse_args(arguments)
    results = []
    for kind, mistake in NAMES:
        if options.kind in {None, kind}:
            false, true = outcomes(kind, mistake)
            results.append((kind, false, true))
            if options.v or not false.caught_by:
                print(f"{kind} {mistake}: {false.caught_by or 'NOT CAUGHT'}: {false}")
            if true.caught_by:
                print(f"{kind} {mistake}: the true neighbour DOES NOT PASS: {true}")
    counts = table(results)
    for row in counts.kinds:
        by = ", ".join(f"{times} by {net}" for net, times in row.by.items())
        print(f"{row.kind:10} {row.caught:3} of {row.of:3} caught, {row.neighbours:3} neighbours pass; {by}")
    print(f"{counts.caught} of {counts.of} false claims are caught, {counts.neighbours} neighbours pass")
    if options.write:
        options.write.write_text(counts.model_dump_json(indent=1) + "\n", encoding="utf-8")
    return int(not counts.caught == counts.neighbours == counts.of)


if __name__ == "__main__":
    sys.exit(main())
