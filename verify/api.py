"""The tool as a library: run the verification, render its record."""

from __future__ import annotations

from typing import TYPE_CHECKING

from verify import runner
from verify.catalogue import catalogue, choose
from verify.report.write import Written, write_report
from verify.sources import read_sources

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from verify.claim import Claim
    from verify.evidence import RunRecord


def list_claims(claim_files: Sequence[Path] = ()) -> dict[str, Claim]:
    """Return all claims by id, the user's own from ``claim_files`` included.

    Raises:
        ClaimError: a claim file cannot be loaded, or two claims share an id.
    """
    return {name: claim for name, (_, claim) in catalogue(claim_files).items()}


def run(
    claims: Sequence[str] = (),
    *,
    seed: int = 20170612,
    profile: str = "standard",
    tolerance: float | None = None,
    false_alarm: float = 1e-3,
    power: float = 0.95,
    workers: int | None = None,
    claim_files: Sequence[Path] = (),
    sources: Path | None = None,
    progress: runner.Progress | None = None,
) -> RunRecord:
    """Derive, measure and judge the named claims (all of them if none is named).

    ``tolerance`` None means the profile's: 5% quick, 1% standard, 0.2% deep; ``false_alarm`` is for the
    whole run; ``workers`` None means one for each processor and changes no result; ``sources`` None means
    the statements that come with the tool.

    Raises:
        VerifyError: bad input; one line says what, where and how to mend.
    """
    chosen = runner.settings(
        seed=seed, profile=profile, tolerance=tolerance, false_alarm=false_alarm, power=power
    )
    book = read_sources(sources)
    wanted = choose(catalogue(claim_files), claims)
    return runner.run(wanted, chosen, book, requested=claims, workers=workers, progress=progress)


def render(
    record: RunRecord,
    out: Path,
    announce: Callable[[str], None] = lambda _phase: None,
    workers: int | None = None,
) -> Written:
    """Write ``results.json``, ``report.html`` and ``report.pdf`` of a run into the folder ``out``.

    ``workers`` processes draw figures and formulas; None means one for each processor.

    Raises:
        OutputError: the folder cannot be written; what was there before is untouched.
    """
    return write_report(record, out, announce, workers)
