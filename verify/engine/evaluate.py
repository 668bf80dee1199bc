"""A claim's evidence: derived, planned, measured by a generator that asks for draws, and put on record.

``evaluate`` and ``draw`` are pure functions of plain values, which any process may call. Small draws are made
where a claim is evaluated. The rest of larger draws is handed back; called again with all that was drawn, in
this process or another, ``evaluate`` has the generator take the same way to where it was.
"""

import hashlib
import json
import math
import pickle
import platform
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, partial
from importlib.metadata import version
from typing import Any

import numpy as np
import scipy.linalg  # noqa: F401 - its library is among those that versions names

from verify.engine.catalogue import Entry
from verify.engine.measure import measure
from verify.engine.preparing import Prepared, Work, claim_record, prepare
from verify.engine.store import code
from verify.errors import SettingsError, VerifyError, claim_errors, described
from verify.executors.workers import linear_algebra, one_blas_thread
from verify.montecarlo.blocks import Chunk, Drawn, Request, Sums, draw_chunk
from verify.montecarlo.experiment import Experiment
from verify.version import __version__

Known = Mapping[tuple[str, int], Drawn]
"""The draws of cells by their ids and how many batches there are: a cell is asked for again as it grows."""

Mapped = Callable[..., Iterable[Sums]]
"""A function like ``map`` that draws chunks."""


@dataclass
class CellToDraw:
    """A cell of which ``batches`` are needed, as a pickle that needs none of the claim's code to be sent.

    ``drawn`` are its draws so far, ``batch_draws`` the random components of a batch.
    """

    id: str
    pickled: bytes
    batches: int
    chunk_batches: int
    batch_draws: int
    drawn: Drawn

    @classmethod
    def of(cls, request: Request, known: Known, latest: Mapping[str, Drawn]) -> "CellToDraw":
        """Return the cell of a request, with all that is drawn of it, if that is known, or its ``latest``."""
        cell, batches = request.cell, -(-request.blocks // request.cell.batch_blocks)
        try:
            pickled = pickle.dumps(cell, protocol=5)
        except Exception:  # noqa: BLE001 - an author's statistic may hold a function without a name
            pickled = b""
        drawn = known.get((cell.id, batches)) or latest.get(cell.id, Drawn())
        return cls(cell.id, pickled, batches, cell.chunk_batches, cell.batch_blocks * cell.coordinates, drawn)

    def missing(self, work: Work) -> list[Chunk]:
        """Return the chunks that are still to be drawn."""
        claim, seed = work.claim.id, work.settings.seed
        return list(self.drawn.missing(claim, seed, self.batches, self.chunk_batches))

    def draws(self, chunk: Chunk) -> int:
        """Return how many random components a chunk takes."""
        return (chunk.stop - chunk.first) * self.batch_draws

    def add(self, chunk: Chunk, sums: Sums) -> None:
        """Add the next chunk's sums to what is drawn."""
        self.drawn = self.drawn.then(chunk, sums, self.chunk_batches)


@dataclass
class Stretch:
    """The result of a call of ``evaluate``: the claim's record as JSON, or ``cells`` to be drawn first.

    Then it is to be called again, with their draws beside those ``known``. ``derivation_json`` is the record
    of the checked derivation. ``draws`` are the random components that the call itself has drawn, ``draw_s``
    the seconds that each took, and ``spent_s`` those of its parts, of processor time.
    """

    record: str = ""
    cells: tuple[CellToDraw, ...] = ()
    known: Known = field(default_factory=dict)
    draws: int = 0
    draw_s: float = 0.0
    derivation_json: str = ""
    spent_s: dict[str, float] = field(default_factory=dict)


_PREPARED: dict[Work, Prepared] = {}
"""Claims of which this process has evaluated a part; without them it would plan again."""


def evaluate(work: Work, derivation_json: str, known: Known, task_s: float, mapped: Mapped = map) -> Stretch:
    """Return a claim's evidence, or the draws that it needs first.

    ``derivation_json`` is the record of its checked derivation, empty where that is not known, and ``known``
    are the draws made for it. Of a request that takes longer to draw than ``task_s`` seconds, the rest is
    left to others.

    Raises:
        VerifyError: a setting is impossible for this claim, or the claim is broken.
    """
    # Of processor time, which other programs do not stretch: `plan` goes by that of the reference.
    begun = time.process_time()
    with claim_errors(work.claim.id, work.claim.origin), one_blas_thread():
        prepared = _PREPARED.pop(work, None) or prepare(work, derivation_json)
        derived_at = time.process_time()
        if prepared.experiment is None:
            stretch = Stretch(claim_record(prepared).model_dump_json(by_alias=True))
        else:
            stretch = _measured(work, prepared, prepared.experiment, known, task_s, mapped)
        if stretch.cells:
            _PREPARED[work] = prepared
        stretch.spent_s = {"derivation": derived_at - begun, "simulation": time.process_time() - derived_at}
        stretch.derivation_json = prepared.derivation.model_dump_json(by_alias=True)
        return stretch


def _measured(
    work: Work, prepared: Prepared, experiment: Experiment, known: Known, task_s: float, mapped: Mapped
) -> Stretch:
    """Measure a claim as far as it can be by earlier draws and by those that are made here."""
    steps = measure(experiment, work.claim.id, work.settings)
    latest, draws = dict[str, Drawn](), 0
    try:
        requests = next(steps)
        while True:
            # What was drawn before is sent again: the generator takes the same way to where it was.
            cells = [CellToDraw.of(request, known, latest) for request in requests]
            # Of processor time: on a busy machine, too, a second's work is done here. It is a chunk at least,
            # and all where a cell cannot be sent.
            begun, here = time.process_time(), 0
            until = begun + task_s if all(cell.pickled for cell in cells) else math.inf
            for cell, request in zip(cells, requests, strict=True):
                chunks = cell.missing(work) if not here or time.process_time() <= until else []
                drawing = mapped(partial(draw_chunk, request.cell), chunks)
                for chunk, sums in zip(chunks, drawing, strict=True):
                    cell.add(chunk, sums)
                    here += cell.draws(chunk)
                    if time.process_time() > until:
                        break
            draws += here
            if any(cell.drawn.batches < cell.batches for cell in cells):
                draw_s = (time.process_time() - begun) / here
                return Stretch(cells=tuple(cells), known=known, draws=draws, draw_s=draw_s)
            known = {**known, **{(cell.id, cell.batches): cell.drawn for cell in cells}}
            latest |= {cell.id: cell.drawn for cell in cells}
            requests = steps.send([cell.drawn.total for cell in cells])
    except StopIteration as end:
        findings, controls = end.value
    record = claim_record(prepared, findings, controls, work.settings.tolerance)
    return Stretch(record.model_dump_json(by_alias=True), draws=draws)


def draw(work: Work, chunks: Sequence[tuple[bytes, Chunk]]) -> tuple[tuple[Sums, ...], float]:
    """Return the sums of chunks of a claim's cells, which are pickles, and the seconds that took.

    Raises:
        ClaimError: the claim's own code fails.
    """
    begun = time.process_time()
    # The pickle of a cell may refer to definitions of a claim file.
    _ = work.claim.claim
    with claim_errors(work.claim.id, work.claim.origin):
        # They were pickled by this run.
        sums = tuple(draw_chunk(pickle.loads(cell), chunk) for cell, chunk in chunks)  # noqa: S301
    return sums, time.process_time() - begun


def perform(wanted: dict[str, str], task: bytes) -> Any:
    """Return the result of a task, in any process, if that has the ``versions`` that are ``wanted``.

    The ``task`` is a pickle of a function of this tool and its arguments: it is not read before.

    Raises:
        SettingsError: the machines differ in a version that decides the digits of results.
        VerifyError: the task's own error, in one line that any process can read.
    """
    for name, there in wanted.items():
        if there != (here := versions().get(name)):
            raise SettingsError(
                f"worker on {platform.node()}: has {name} {here}, this run {there}; use workers with the same"
            )
    function, arguments = pickle.loads(task)  # noqa: S301 - an executor runs what it is given
    try:
        return function(*arguments)
    except (KeyboardInterrupt, VerifyError):
        raise
    except BaseException as error:  # noqa: BLE001 - a claim file may do anything
        raise VerifyError(described(error)) from None


# --- what results depend on ---


@cache
def versions() -> dict[str, str]:
    """Return the versions that two machines have to share for results that are the same to the last bit."""
    simd = np.show_config(mode="dicts")["SIMD Extensions"]
    return {
        "sdpa-verify": f"{__version__} ({code()})",
        "python": ".".join(platform.python_version_tuple()[:2]),
        **{name: version(name) for name in ("numpy", "scipy", "sympy", "mpmath")},
        # The C library has the logarithms.
        "machine": " ".join((platform.machine(), platform.system(), *platform.libc_ver())),
        "instructions": " ".join([*simd.get("baseline", ()), *simd.get("found", ())]),
        "linear algebra": linear_algebra(),
    }


def key(kind: str, claim: Entry, *parts: object) -> bytes | None:
    """Return the key in the store of a value of this ``kind``, by its claim and ``parts``, which JSON knows.

    It is a SHA-256 over all of that and the versions. A claim made in this process may hold anything; it has
    none. A claim file may read other files, which are in no key.
    """
    if claim.made is not None:
        return None
    # By its text and not by its path: a copy elsewhere, or an older text, has its own rows again.
    source = repr((claim.text, claim.beside)) if claim.origin else ""
    content = json.dumps([kind, versions(), claim.id, source, *parts], sort_keys=True)
    return hashlib.sha256(content.encode()).digest()
