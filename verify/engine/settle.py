"""Settles one claim in stretches, each of which any process can do.

``advance`` goes as far as the sums at hand reach and says what is to be drawn next, ``draw_chunks`` draws it,
wherever that is. Neither remembers anything but what it can compute again.
"""

from __future__ import annotations

import io
import pickle
import time
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, Any

from verify.engine.binding import bound
from verify.engine.catalogue import resolve
from verify.engine.claim_files import ClaimFile
from verify.engine.devices import device_errors, on_device
from verify.engine.evaluate import NOTHING, claim_record, derivation_record, measured
from verify.engine.samples import Remembered
from verify.engine.statements import refuse_absent_evidence
from verify.engine.validation import validate
from verify.engine.verdict import ErrorBudget
from verify.errors import ClaimError, claim_errors, correction
from verify.evidence import ClaimRecord, DerivationRecord, Fact, Proof, Settings
from verify.executors.threads import one_blas_thread
from verify.montecarlo.blocks import draw_chunk
from verify.montecarlo.experiment import Exact, Experiment, cells_of, every_comparison
from verify.spec.claim import USER, several
from verify.spec.words import Words
from verify.symbolic.derivation import tried
from verify.symbolic.falsifier import FULL, GLANCE

if TYPE_CHECKING:
    from collections.abc import Sequence

    from verify.engine.catalogue import Reference
    from verify.engine.sources import Wanted
    from verify.montecarlo.blocks import Cell, Chunk, Request, Sums


@dataclass(frozen=True)
class Work:
    """What settling a claim depends on; all of it can be sent to another process, but a ``Made`` claim.

    ``wanted`` is the evidence that the sources' statements rest on; nothing is drawn if some does not exist.
    ``run`` tells the runs apart that one process works for.
    """

    claim: Reference
    settings: Settings
    wanted: tuple[Wanted, ...]
    run: str

    @property
    def origin(self) -> object:
        """The claim's file, for messages; nothing where it has none."""
        return self.claim.path if isinstance(self.claim, ClaimFile) else ""


@dataclass(frozen=True)
class CellToDraw:
    """A cell of which ``batches`` are wanted, as whoever has not got the claim's code can pass it on.

    ``pickled`` is the cell, empty where it is no pickle, and ``modules`` are those that it refers to;
    ``batch_draws`` are random components.
    """

    id: str
    batches: int
    chunk_batches: int
    batch_blocks: int
    batch_draws: int
    pickled: bytes
    modules: tuple[str, ...]


@dataclass(frozen=True)
class Awaiting:
    """A claim that goes on when these cells are drawn, in this order."""

    cells: tuple[CellToDraw, ...]
    proof: str
    spent_s: dict[str, float]


@dataclass(frozen=True)
class Settled:
    """A claim's evidence as JSON, and the seconds that the last stretch took."""

    record: str
    proof: str
    spent_s: dict[str, float]


class _NotDrawn(Exception):  # noqa: N818 - it is the way out of the measuring loop, and no error
    def __init__(self, requests: Sequence[Request]) -> None:
        super().__init__()
        self.requests = requests


def advance(work: Work, proof: str, answers: Sequence[Sequence[Sums]]) -> Settled | Awaiting:
    """Return a claim's evidence, or what has to be drawn before it can be given.

    ``answers`` are the sums of all that was awaited before, in order; with them it goes the same way again.
    ``proof`` is the record of the checked derivation as JSON, empty where it is still to be checked. A failed
    derivation ends the claim: what it was to predict is not measured.

    Raises:
        VerifyError: a setting is impossible for this claim, or the claim is broken.
    """
    begun = time.perf_counter()
    claim = resolve(work.claim)
    with claim_errors(claim.id, work.origin), one_blas_thread():
        prepared = _prepared(work)
        told, shown = prepared.shown(proof)
        derived, evidence = time.perf_counter(), NOTHING
        words = Words(claim, prepared.derivation)
        try:
            if shown.status is not Proof.FAILED:
                planned = prepared.planned
                words = replace(words, facts=planned[1], experiment=planned[0])
                derived = time.perf_counter()
                source = _Answered(answers)
                evidence = measured(
                    claim, prepared.derivation, planned, work.settings, source, prepared.remembered
                )
            record = claim_record(words, shown, evidence).model_dump_json(by_alias=True)
        except _NotDrawn as open_:
            cells = tuple(_to_draw(request) for request in open_.requests)
            return Awaiting(cells, told, _seconds(begun, derived))
        return Settled(record, told, _seconds(begun, derived))


def _seconds(begun: float, derived: float) -> dict[str, float]:
    return {"derivation": derived - begun, "simulation": time.perf_counter() - derived}


class _Answered:
    """Gives the answers there are, one for each time it is asked; then the measuring ends."""

    def __init__(self, answers: Sequence[Sequence[Sums]]) -> None:
        self._answers = iter(answers)

    def __call__(self, requests: Sequence[Request]) -> Sequence[Sums]:
        for answer in self._answers:
            return answer
        raise _NotDrawn(requests)


def _to_draw(request: Request) -> CellToDraw:
    cell = request.cell
    pickled, modules = _pickled(cell)
    return CellToDraw(
        cell.id,
        -(-request.blocks // cell.batch_blocks),
        cell.chunk_batches,
        cell.batch_blocks,
        cell.batch_blocks * cell.sampler.coordinates,
        pickled,
        modules,
    )


class _Recorder(pickle.Unpickler):
    """Notes the modules that a pickle refers to."""

    def __init__(self, content: bytes) -> None:
        super().__init__(io.BytesIO(content))
        self.modules: set[str] = set()

    def find_class(self, module: str, name: str) -> Any:
        self.modules.add(module)
        return super().find_class(module, name)


def _pickled(cell: Cell) -> tuple[bytes, tuple[str, ...]]:
    """Return a cell as a pickle with the modules it refers to; nothing where it is none, as with a lambda."""
    try:
        content = pickle.dumps(cell, protocol=5)
        recorder = _Recorder(content)
        recorder.load()
    except Exception:  # noqa: BLE001 - what a claim file's own objects raise when they are pickled
        return b"", ()
    return content, tuple(sorted(recorder.modules))


@dataclass(frozen=True)
class Drawings:
    """The sums of chunks that were drawn, and the seconds that took."""

    sums: tuple[Sums, ...]
    spent_s: float


def draw_chunks(work: Work, chunks: Sequence[tuple[CellToDraw, Chunk]]) -> Drawings:
    """Return the sums of chunks of a claim's cells; any process may draw any of them.

    Raises:
        ClaimError: the claim's own code fails.
    """
    begun = time.perf_counter()
    claim = resolve(work.claim)
    with claim_errors(claim.id, work.origin), device_errors(), one_blas_thread():
        sums = tuple(draw_chunk(_cell(work, cell), chunk) for cell, chunk in chunks)
    return Drawings(sums, time.perf_counter() - begun)


def _cell(work: Work, cell: CellToDraw) -> Cell:
    if cell.pickled:
        found: Cell = pickle.loads(cell.pickled)  # noqa: S301 - made by this run
        return found
    return _prepared(work).cell(cell.id)


@lru_cache(maxsize=64)
def _prepared(work: Work) -> _Prepared:
    return _Prepared(work)


class _Prepared:
    """A claim with its derivation and what is planned for it, as this process has it at hand."""

    def __init__(self, work: Work) -> None:
        self._work, self._claim = work, resolve(work.claim)
        self.derivation = self._claim.derived()
        self.remembered = Remembered()
        self._shown: tuple[str, DerivationRecord] | None = None

    @cached_property
    def planned(self) -> tuple[Experiment, tuple[Fact, ...]]:
        """The claim's experiment and facts; what could only fail after drawing is refused, words included."""
        work, claim = self._work, self._claim
        experiment = claim.measured_by(self.derivation, work.settings.tolerance)
        validate(experiment, claim.id)
        experiment = on_device(experiment, work.settings.device)
        facts = several(claim.facts(self.derivation))
        comparisons = tuple(control.comparison for control in experiment.controls)
        _refuse_double_names(claim.id, [one.id for one in (*every_comparison(experiment), *facts)])
        refuse_absent_evidence(work.wanted, claim.id, experiment.checks, comparisons, facts)
        # A claim that outgrows the error budget is refused before it is measured.
        drawn = sum(not isinstance(check, Exact) for check in experiment.checks)
        ErrorBudget(work.settings.false_alarm).record(drawn, 0)
        words = Words(claim, self.derivation, facts, experiment)
        words.said()
        return words.spoken(experiment), facts

    def shown(self, proof: str) -> tuple[str, DerivationRecord]:
        """Return a checked derivation as JSON, ``proof`` unless that is empty, and its record."""
        if self._shown is None or self._shown[0] != proof:
            if proof:
                record = DerivationRecord.model_validate_json(proof)
            else:
                examined, checks = self.derivation.examine(), tuple[str, ...]()
                if examined.status != "failed":
                    planned = self.planned[0]  # refused in less time than it takes to try
                    whole = isinstance(self._work.claim, ClaimFile)
                    examined = tried(examined, FULL if whole else GLANCE, whole=whole)
                if examined.status != "failed":
                    theorems = (one.theorem for one in examined.routes if one.theorem)
                    checks = bound(theorems, planned.checks)
                record = derivation_record(self.derivation, examined, checks)
                proof = record.model_dump_json(by_alias=True)
            self._shown = proof, record
        return self._shown

    def cell(self, name: str) -> Cell:
        """Return one of the experiment's cells."""
        cells = cells_of(every_comparison(self.planned[0]))
        return next(cell for cell in cells if cell.id == name)


def broken_evidence(claim: Reference, why: str) -> ClaimError:
    """Return that what came back for a claim is no evidence."""
    where = claim.path if isinstance(claim, ClaimFile) else ""
    return ClaimError(f"claim {claim.id}: its evidence is malformed: {why}; {correction(where)}")


def received(claim: Reference, settled: Settled) -> ClaimRecord:
    """Return the record of a settled claim.

    Raises:
        ClaimError: it is no evidence for that claim.
    """
    try:
        record = ClaimRecord.model_validate_json(settled.record)
    except ValueError as error:
        raise broken_evidence(claim, str(error)) from error
    if isinstance(claim, ClaimFile) and (record.id, record.chapter) != (claim.id, USER):
        changed = f"its id has become {record.id}"
        raise ClaimError(f"claim {claim.id}: {changed}; {correction(claim.path)}")
    return record


def _refuse_double_names(claim: str, names: Sequence[str]) -> None:
    """Refuse a name given twice: a finding is linked to and cited by its claim and its name."""
    for name in names:
        if names.count(name) > 1:
            raise ClaimError(f"claim {claim}: {name!r} names two findings; rename the fact")
