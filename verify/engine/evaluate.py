"""A claim's evidence: derived, planned, measured by a generator that asks for draws, and put on record.

A ``ClaimEvaluation`` lives in one process from its beginning to its end, so nothing is derived twice. The
chunks that it asks for can be drawn by any process.
"""

import pickle
import time
from collections.abc import Container, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any

from verify.claims.chapters import CHAPTERS
from verify.engine.catalogue import ClaimFile, ClaimReference
from verify.engine.derivations import derivation_record
from verify.engine.measure import Sampling, measure
from verify.engine.sources import Wanted
from verify.engine.statements import refuse_absent_evidence
from verify.engine.validation import validate
from verify.errors import ClaimError, SettingsError, WorkerError, claim_errors, nearest
from verify.evidence import (
    Check,
    ClaimRecord,
    ControlRecord,
    DerivationRecord,
    Fact,
    OrdinaryFit,
    Proof,
    Settings,
)
from verify.evidence.judging import ErrorBudget
from verify.executors.machine import no_garbage_collection, one_blas_thread
from verify.montecarlo.blocks import Cell, Chunk, Request, Sums, draw_chunk
from verify.montecarlo.blocks import Settings as CellSettings
from verify.montecarlo.devices import Device, DeviceError, moved
from verify.montecarlo.experiment import Exact, Experiment, Fit, every_comparison, ordinary
from verify.spec.claim import Claim, Findings
from verify.spec.experiment import bound_to
from verify.spec.words import Words
from verify.symbolic.chains import Derivation


@dataclass(frozen=True)
class Work:
    """What the evidence of a claim depends on; all but an ``InMemoryClaim`` can be sent to other processes.

    ``wanted`` is the evidence that the sources' statements rest on; nothing is drawn if some does not exist.
    ``run`` tells apart the runs that one process works for.
    """

    claim: ClaimReference
    settings: Settings
    wanted: tuple[Wanted, ...]
    run: str

    @property
    def origin(self) -> object:
        """The claim's file, for messages; empty where it has none."""
        return self.claim.path if isinstance(self.claim, ClaimFile) else ""

    @property
    def key(self) -> str:
        """What tells this claim of this run apart from others."""
        return f"{self.run} {self.claim.id}"


@dataclass(frozen=True)
class CellToDraw:
    """A cell of which ``batches`` are needed, in a form that needs none of the claim's code.

    ``pickled`` is the cell, empty where it cannot be pickled; ``batch_draws`` are random components.
    ``settings``, the ``names`` of the outputs and the ``scores`` of a block are for who asks for the sums.
    """

    id: str
    batches: int
    chunk_batches: int
    batch_blocks: int
    batch_draws: int
    pickled: bytes
    settings: CellSettings
    names: tuple[str, ...]
    scores: int


@dataclass(frozen=True)
class NeedsDraws:
    """An evaluation that resumes when these cells are drawn; it is sent their sums in this order."""

    cells: tuple[CellToDraw, ...]
    proof: str
    spent_s: dict[str, float]


@dataclass(frozen=True)
class Settled:
    """A claim's record as JSON, and the seconds that the last stretch took."""

    record: str
    proof: str
    spent_s: dict[str, float]


@dataclass(frozen=True)
class ChunkSums:
    """The sums of chunks that were drawn, and the seconds that took."""

    sums: tuple[Sums, ...]
    spent_s: float


@dataclass
class ClaimEvaluation:
    """A claim that is being evaluated in this process.

    ``proof`` is the record of its checked derivation as JSON, empty until it is checked. A failed derivation
    ends the claim: what it was to predict is not measured.
    """

    work: Work
    proof: str = ""
    cells: dict[str, Cell] = field(default_factory=dict)
    _derived_at: float = 0.0

    def __post_init__(self) -> None:
        self._steps = self._evaluated()

    def advance(self, sums: Sequence[Sums] | None = None) -> NeedsDraws | Settled:
        """Return the evidence, or what has to be drawn first; ``sums`` are of what was needed last.

        Raises:
            VerifyError: a setting is impossible for this claim, or the claim is broken.
        """
        begun = self._derived_at = time.perf_counter()
        with claim_errors(self.work.claim.id, self.work.origin), device_errors(), one_blas_thread():
            try:
                requests = next(self._steps) if sums is None else self._steps.send(sums)
            except StopIteration as end:
                return Settled(end.value, self.proof, self._seconds(begun))
            self.cells |= {one.cell.id: one.cell for one in requests}
            return NeedsDraws(tuple(map(_to_draw, requests)), self.proof, self._seconds(begun))

    def _seconds(self, begun: float) -> dict[str, float]:
        return {
            "derivation": self._derived_at - begun,
            "simulation": time.perf_counter() - self._derived_at,
        }

    def _evaluated(self) -> Sampling[str]:
        """Yield what is to be drawn, and return the record as JSON."""
        claim = self.work.claim.claim
        with no_garbage_collection():  # an eighth of the time, and expressions leave little of it
            derivation = claim.derived()
            planned = None if self.proof else self._prove(claim, derivation)
        proof = DerivationRecord.model_validate_json(self.proof)
        words, evidence = claim.words(derivation), dict[str, Any]()
        if proof.status is not Proof.FAILED:
            experiment, facts = planned or self._planned(claim, derivation)
            derived = bound_to(experiment)
            words = replace(words, facts=facts, experiment=experiment)
            self._derived_at = time.perf_counter()
            budget = ErrorBudget(self.work.settings.false_alarm)
            findings, controls = yield from measure(experiment, claim.id, self.work.settings, budget)
            checks = tuple(findings.checks.values())
            drawn = replace(words, checks=checks)
            evidence = {
                "checks": tuple(_with_origin(check, derived) for check in checks),
                "controls": controls,
                "fits": tuple(_ordinary_fits(experiment, findings)),
                "facts": facts,
                "series": tuple(
                    map(drawn.drawn, claim.drawn(derivation, findings, self.work.settings.tolerance))
                ),
            }
        else:
            self._derived_at = time.perf_counter()
        return claim_record(words, proof, **evidence).model_dump_json(by_alias=True)

    def _prove(self, claim: Claim, derivation: Derivation) -> tuple[Experiment, tuple[Fact, ...]] | None:
        """Check the derivation and put it on record; return what is planned, unless it failed."""
        planned = None if derivation.problem else self._planned(claim, derivation)
        self.proof = derivation_record(derivation).model_dump_json(by_alias=True)
        return planned

    def _planned(self, claim: Claim, derivation: Derivation) -> tuple[Experiment, tuple[Fact, ...]]:
        """Return the claim's experiment and facts; what could only fail after drawing is refused here."""
        work = self.work
        experiment = claim.measured_by(derivation, work.settings.tolerance)
        validate(experiment, claim.id)
        if work.settings.device is not None:
            experiment = moved(experiment, Device(**dict(work.settings.device)))
        facts = claim.exact_values(derivation, work.settings.tolerance)
        comparisons = tuple(control.comparison for control in experiment.controls)
        names = [one.id for one in (*every_comparison(experiment), *facts)]
        for name in names:
            # A finding is linked to and cited by its claim and its name.
            if names.count(name) > 1:
                raise ClaimError(f"claim {claim.id}: {name!r} names two findings; rename the fact")
        refuse_absent_evidence(work.wanted, claim.id, experiment.checks, comparisons, facts)
        # A claim that outgrows the error budget is refused before it is measured.
        drawn = sum(not isinstance(check, Exact) for check in experiment.checks)
        ErrorBudget.refuse_too_many(drawn)
        words = claim.words(derivation, facts, experiment)
        words.said()
        return words.spoken(experiment), facts


def _to_draw(request: Request) -> CellToDraw:
    cell = request.cell
    try:
        pickled = pickle.dumps(cell, protocol=5)
    except Exception:  # noqa: BLE001 - an author's statistic may hold a function without a name
        pickled = b""
    return CellToDraw(
        cell.id,
        -(-request.blocks // cell.batch_blocks),
        cell.chunk_batches,
        cell.batch_blocks,
        cell.batch_blocks * cell.sampler.coordinates,
        pickled,
        cell.settings,
        tuple(cell.sampler.names),
        cell.sampler.scores,
    )


_EVALUATIONS: dict[str, ClaimEvaluation] = {}  # those under way in this process, by the keys of their work


def begin(work: Work, proof: str) -> NeedsDraws | Settled:
    """Begin to evaluate a claim in this process, and return what ``ClaimEvaluation.advance`` does.

    ``proof`` is the record of its checked derivation as JSON, empty where that is not in the store.

    Raises:
        VerifyError: a setting is impossible for this claim, or the claim is broken.
    """
    _EVALUATIONS[work.key] = ClaimEvaluation(work, proof)
    return resume(work, None)


def resume(work: Work, sums: Sequence[Sums] | None) -> NeedsDraws | Settled:
    """Resume an evaluation that was begun in this process, and return what ``ClaimEvaluation.advance`` does.

    Raises:
        VerifyError: a setting is impossible for this claim, or the claim is broken.
    """
    evaluation = _EVALUATIONS.pop(work.key, None)
    if evaluation is None:
        raise WorkerError("the process that evaluated it has ended")
    result = evaluation.advance(sums)
    if isinstance(result, NeedsDraws):
        _EVALUATIONS[work.key] = evaluation
    return result


def forget(work: Work) -> None:
    """End an evaluation that was begun in this process, if it has not ended."""
    _EVALUATIONS.pop(work.key, None)


def draw_chunks(work: Work, chunks: Sequence[tuple[CellToDraw, Chunk]]) -> ChunkSums:
    """Return the sums of chunks of a claim's cells.

    Any process may draw them; a cell that cannot be pickled is drawn by the process that evaluates the claim.

    Raises:
        ClaimError: the claim's own code fails.
    """
    begun = time.perf_counter()
    # The pickle of a cell may refer to what a claim file defines.
    claim = work.claim.claim
    with claim_errors(claim.id, work.origin), device_errors(), one_blas_thread():
        sums = tuple(draw_chunk(_cell(work, cell), chunk) for cell, chunk in chunks)
    return ChunkSums(sums, time.perf_counter() - begun)


@contextmanager
def device_errors() -> Iterator[None]:
    """Report what is wrong with a device as a setting that cannot be."""
    try:
        yield
    except DeviceError as error:
        raise SettingsError(f"--device {error}") from error


def _cell(work: Work, cell: CellToDraw) -> Cell:
    if cell.pickled:
        found: Cell = pickle.loads(cell.pickled)  # noqa: S301 - made by this run
        return found
    return _EVALUATIONS[work.key].cells[cell.id]


def claim_record(
    words: Words,
    proof: DerivationRecord,
    checks: tuple[Check, ...] = (),
    controls: tuple[ControlRecord, ...] = (),
    **others: Any,
) -> ClaimRecord:
    """Return the record of a claim in these ``words``, with its evidence and digest."""
    claim, ids = words.claim, [one.id for one in checks]
    if claim.headline and ids and claim.headline not in ids:
        near = nearest(claim.headline, ids)
        raise ClaimError(
            f"claim {claim.id}: its headline {claim.headline!r} is no check of it; {near or 'name one'}"
        )
    return ClaimRecord(
        id=claim.id,
        chapter=claim.chapter,
        chapter_title=CHAPTERS[claim.chapter].title,
        **replace(words, checks=checks).said(),
        assumptions=claim.assumptions,
        references=claim.references,
        authors=claim.authors,
        headline=claim.headline,
        derivation=proof,
        checks=checks,
        controls=controls,
        **others,
    ).sealed()


def _with_origin(check: Check, derived: Container[str]) -> Check:
    """Return a check whose prediction is called a threshold unless a chain derives what it measures."""
    if check.origin == "set" or check.method == "exact" or check.id in derived:
        return check
    return check.model_copy(update={"origin": "computed"})


def _ordinary_fits(experiment: Experiment, findings: Findings) -> Iterator[OrdinaryFit]:
    """Yield one unweighted line for each set of points that a weighted fit goes through."""
    seen: set[tuple[str, ...]] = set()
    for check in experiment.checks:
        if not isinstance(check, Fit) or check.fit.model == "power":
            continue
        members = tuple(member.id for member in check.members)
        if members in seen:
            continue
        seen.add(members)
        slope, intercept, r_squared = ordinary(check.fit.x, [findings.checks[m].estimate for m in members])
        name = check.id if check.id.startswith("ordinary") else f"ordinary-{check.id}"
        yield OrdinaryFit(
            id=name, quantity=check.members[0].label, slope=slope, intercept=intercept, r_squared=r_squared
        )
