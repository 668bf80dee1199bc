"""Compares a run with what commit 87651b76 predicted, measured and decided: the oracle of a rewrite.

``python -m tests.oracle RESULTS`` prints a line for each difference, and exits with 1 where there is any.
What is rewritten may draw other numbers. So predictions, controls, facts and outcomes are compared exactly,
and estimates with six standard errors of their difference: by chance, one run of a million departs.
"""

import json
import math
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from verify.evidence import Check, ClaimRecord, ControlRecord, Fact, RunRecord
from verify.evidence.load import load

FOLDER = Path(__file__).parent / "frozen"
GONE: dict[str, list[str]] = json.loads((FOLDER / "gone.json").read_text(encoding="utf-8"))
"""By claim, what is measured no longer because another finding of it, or of its chapter, says the same."""
TOLERANCE = 0.01  # of the run that the oracle was made of; bands and near misses depend on it
RESTATED = {
    ("scaling-keeps-shape-and-order", "scores-beyond-one"),  # a share of scores, not its distance from a law
    # A score moves by 1/(2^b + 1) of itself at most, not by 2^-b.
    *(("low-precision-scores", name) for name in ("move", "move-sharper")),
    # The sharp bound 1 + (n - 1)e^t, which is reached, not n·e^t.
    ("online-softmax", "against-the-last"),
    # Half precision overflows from 65520 on, not above 65504, to which what lies between is rounded.
    *(("half-precision", name) for name in ("raw-d16", "raw-d64", "raw-d256", "raw-as-rarely")),
    *(("half-precision", name) for name in ("overflow-point", "single-precision", "overflow-score")),
    # A slope through small distances of two laws, which are integrated more finely now: it moved by 1e-11.
    ("score-normal-limit", "rate"),
    ("adaptive-temperature", "normal-keys"),  # a whole number of keys, not a place between two
}
"""What compares something stronger now, or is known to more digits."""
REJUDGED = {"a6": "wrong", "b7": "holds-with-conditions", "n10": "holds-with-conditions"}
"""Statements with another outcome: code that does not run is no misprint; low dimension is a condition, and
so is initialisation, after which scaling is not like clipping."""
_ERRORS = 6.0
_ROUNDING = 1e-12


def departures(record: RunRecord) -> list[str]:
    """List where a run departs from the oracle, a line each.

    A run of some claims is compared in these; of another tolerance, in what no tolerance enters.
    """
    expected: dict[str, Any] = json.loads((FOLDER / "oracle.json").read_text(encoding="utf-8"))
    same_tolerance = record.run.settings.tolerance == TOLERANCE
    claims = {claim.id: claim for claim in record.claims}
    lines = []
    for name in record.run.claims or expected["claims"]:
        if name not in claims:
            lines.append(f"claim {name}: missing")
        elif name in expected["claims"]:
            lines += _claim_departures(claims[name], expected["claims"][name], same_tolerance=same_tolerance)
    outcomes = {statement.id: str(statement.outcome) for statement in record.statements}
    for name, outcome in (expected["statements"] | REJUDGED).items():
        # A run of some claims leaves the statements of others open or out.
        if not record.run.claims and outcomes.get(name) != outcome:
            lines.append(f"statement {name}: {outcomes.get(name)}, was {outcome}")
    return lines


def _claim_departures(claim: ClaimRecord, expected: Any, *, same_tolerance: bool) -> Iterator[str]:
    """Yield the departures of one claim; it may have more findings than the oracle, not fewer."""
    if claim.verdict != expected["verdict"]:
        yield f"{claim.id}: {claim.verdict}, was {expected['verdict']}"
    # The band of a check, and the wrong value of a near miss, depend on the tolerance.
    ignored: set[tuple[str, str]] = set()
    if not same_tolerance:
        ignored = {("checks", "tolerance"), ("controls", "prediction")}
    kinds: dict[str, Sequence[Check | ControlRecord | Fact]] = {
        "checks": claim.checks,
        "controls": claim.controls,
        "facts": claim.facts,
    }
    for kind, findings in kinds.items():
        now = {finding.id: finding for finding in findings}
        gone = {*GONE.get(claim.id, ()), *(name for owner, name in RESTATED if owner == claim.id)}
        compared = {name: before for name, before in expected[kind].items() if name not in gone}
        for name, before in compared.items():
            if name not in now:
                # What only a fine tolerance can tell is not measured at a coarse one.
                yield from [f"{claim.id}.{name}: missing"] * same_tolerance
                continue
            fields = dict(before) if isinstance(before, dict) else {"value": before}
            error = math.hypot(getattr(now[name], "standard_error", 0.0), fields.pop("standard_error", 0.0))
            for field, value in fields.items():
                allowed = _ERRORS * error if field == "estimate" else 0.0
                present = getattr(now[name], field)
                is_same = present == value
                if isinstance(present, float) and isinstance(value, float):
                    is_same = abs(present - value) <= allowed + _ROUNDING * max(1.0, abs(value))
                if (kind, field) not in ignored and not is_same:
                    yield f"{claim.id}.{name}: {field} {present!r}, was {value!r}"


def main() -> None:
    """Compare the results file that is named with the oracle."""
    (path,) = sys.argv[1:]
    lines = departures(load(Path(path)))
    print("\n".join(lines) or "the same predictions, controls, facts and outcomes as the oracle")
    sys.exit(1 if lines else 0)


if __name__ == "__main__":
    main()
