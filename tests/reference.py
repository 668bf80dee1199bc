"""Compares a fresh default run with the committed reference; run by ``.ci/run``.

``python -m tests.reference reports/results.json`` exits with 1 where a verdict differs, or, on the same
versions and instructions, a digest.
"""

import sys
from collections.abc import Iterator
from pathlib import Path

from verify.evidence import ClaimRecord, RunRecord
from verify.evidence.load import load
from verify.files.names import shipped_folder

SAME = ("python", "numpy", "scipy", "sympy", "linear algebra")
"""What digests depend on besides the settings; Python by its minor version."""


def differences(fresh: RunRecord, reference: RunRecord) -> list[str]:
    """Return what is otherwise in a fresh run than in the reference, a line each."""
    found = [f"settings: {fresh.run.settings}"] if fresh.run.settings != reference.run.settings else []
    before = {claim.id: claim for claim in reference.claims}
    now = {claim.id: claim for claim in fresh.claims}
    found += [f"{name}: in one of them only" for name in sorted(before.keys() ^ now.keys())]
    same = _versions(fresh) == _versions(reference)
    for name in before.keys() & now.keys():
        found += _of_claim(now[name], before[name], same=same)
    outcomes = {statement.id: statement.outcome for statement in reference.statements}
    for statement in fresh.statements:
        if outcomes.get(statement.id) != statement.outcome:
            found.append(f"statement {statement.id}: {statement.outcome}, was {outcomes.get(statement.id)}")
    return sorted(found)


def _of_claim(now: ClaimRecord, before: ClaimRecord, *, same: bool) -> Iterator[str]:
    verdicts, earlier = _verdicts(now), _verdicts(before)
    for name in sorted(verdicts.keys() | earlier.keys()):
        if verdicts.get(name) != earlier.get(name):
            yield f"{now.id}, {name}: {verdicts.get(name)}, was {earlier.get(name)}"
    if same and now.digest != before.digest:
        yield f"{now.id}: another digest on the same versions"


def _verdicts(claim: ClaimRecord) -> dict[str, str]:
    parts = {one.id: str(one.verdict) for group in (claim.checks, claim.controls) for one in group}
    return {"claim": str(claim.verdict), "derivation": str(claim.derivation.status), **parts}


def _versions(record: RunRecord) -> tuple[str, ...]:
    versions = record.run.environment
    minor = versions.get("python", "").rpartition(".")[0]
    return tuple(minor if name == "python" else versions.get(name, "") for name in SAME)


def main() -> None:
    """Compare the file named with the reference."""
    (path,) = sys.argv[1:]
    found = differences(load(Path(path)), load(shipped_folder("reference") / "results.json"))
    print("\n".join(found) or "the same verdicts as the reference, and on the same versions the same digests")
    sys.exit(1 if found else 0)


if __name__ == "__main__":
    main()
