"""The tool as a library: run the verification, render its record."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from verify.engine import runner
from verify.engine.catalogue import catalogue_with, choose
from verify.engine.sources import read_sources, refuse_unknown_claims
from verify.errors import ResultsError, SettingsError
from verify.evidence import RunRecord
from verify.executors.workers import Workers, using

if TYPE_CHECKING:
    from collections.abc import Callable

    from verify.engine.catalogue import ClaimFile, Entries
    from verify.engine.sources import SourceBook
    from verify.report.write import Written
    from verify.spec.claim import Claim


def list_claims(claim_files: Sequence[Path] = ()) -> dict[str, Claim | ClaimFile]:
    """Return all claims by id, the user's own from ``claim_files`` included, which are run elsewhere.

    Raises:
        ClaimError: a claim file cannot be loaded, or two claims share an id.
    """
    return catalogue_with(claim_files)


def run(
    claims: Sequence[str] = (),
    *,
    seed: int = 20170612,
    profile: str = "standard",
    tolerance: float | None = None,
    false_alarm: float = 1e-3,
    power: float = 0.95,
    workers: Workers | int | None = None,
    claim_files: Sequence[Path] = (),
    sources: Path | None = None,
    progress: runner.Progress | None = None,
) -> RunRecord:
    """Derive, measure and judge the named claims (all of them if none is named).

    ``tolerance`` None means the profile's: 5% quick, 1% standard, 0.2% deep; ``false_alarm`` is for the
    whole run; ``workers`` None means one for each processor and changes no result; ``sources`` None means
    the statements that come with the tool. The functions of ``claim_files`` run in processes of their own.

    Raises:
        VerifyError: bad input; one line says what, where and how to mend.
    """
    chosen = runner.settings(
        seed=seed, profile=profile, tolerance=tolerance, false_alarm=false_alarm, power=power
    )
    if progress is not None and not isinstance(progress, runner.Progress):
        raise SettingsError(f"progress {progress!r}: give a verify.engine.runner.Progress")
    with using(workers) as some:
        wanted, book = _looked_up(claims, claim_files, sources, some)
        return runner.run(wanted, chosen, book, requested=claims, workers=some, progress=progress)


def _looked_up(
    claims: Sequence[str], claim_files: Sequence[Path], sources: Path | None, workers: Workers
) -> tuple[Entries, SourceBook]:
    for name, given in (("claims", claims), ("claim files", claim_files)):
        if isinstance(given, str | bytes | Path) or not isinstance(given, Sequence):
            raise SettingsError(f"{name} {given!r}: give a list, such as [{given!r}]")
        for one in given:
            if not isinstance(one, str | Path):
                raise SettingsError(f"{name} {one!r}: give text")
    known = catalogue_with([Path(one) for one in claim_files], workers)
    book = read_sources(None if sources is None else Path(sources))
    refuse_unknown_claims(book, known)
    return choose(known, claims), book


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
        ResultsError: this is not the record of a run.
    """
    if not isinstance(record, RunRecord):
        raise ResultsError(f"{type(record).__name__}: is no record of a run; give what run or load returns")
    from verify.report.write import write_report  # noqa: PLC0415 - not needed for a run

    return write_report(record, Path(out), announce, workers)
