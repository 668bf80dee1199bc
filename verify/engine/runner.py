"""Runs claims on all processors, decides the statements, and puts everything on record."""

import datetime as dt
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Executor
from contextlib import contextmanager
from dataclasses import dataclass, field

from pydantic import ValidationError

from verify import defaults
from verify.engine.backends import Backend, ExecutorBackend, InProcessBackend, ProcessBackend
from verify.engine.catalogue import ClaimFile, InMemoryClaim, reference
from verify.engine.evaluate import Work, device_errors
from verify.engine.keys import made_by
from verify.engine.schedule import OnSums, RunProgress, Schedule
from verify.engine.sources import SourceBook
from verify.engine.statements import decide
from verify.engine.store import Store
from verify.errors import SettingsError, what_is_wrong
from verify.evidence import (
    PROFILES,
    Calibration,
    ClaimRecord,
    DeviceRecord,
    FalseClaims,
    Presentation,
    Run,
    RunRecord,
    Settings,
    StoreUse,
    Tool,
)
from verify.evidence.judging import ErrorBudget
from verify.evidence.load import stored_table
from verify.executors.machine import environment
from verify.executors.workers import Workers, using
from verify.montecarlo.devices import find_device
from verify.montecarlo.experiment import FINEST
from verify.spec.claim import Claim
from verify.version import __version__

_LONGEST_SEED = 4096
_LEAST_RATE = 1e-30
PACKAGES = ("numpy", "scipy", "sympy", "matplotlib", "weasyprint")
"""Packages whose versions a run records."""


@dataclass
class Callbacks:
    """Functions that a run calls as it goes on; the default ones do nothing.

    ``on_start(claim)`` is called before each claim's derivation and measurement, and ``on_finish(record)``
    after it; claims overlap and need not finish in order. ``on_begin(claims)`` is called
    once before all, with the ids of the claims, when the arguments were found good, and may still refuse
    the run. ``on_progress(progress)`` is called often, with how much is drawn, and ``on_sums(claim, sums)``,
    if there is such a function, with what was drawn for each settled claim.
    """

    on_start: Callable[[str], None] = field(default=lambda _claim: None)
    on_finish: Callable[[ClaimRecord], None] = field(default=lambda _record: None)
    on_begin: Callable[[tuple[str, ...]], None] = field(default=lambda _claims: None)
    on_progress: Callable[[RunProgress], None] = field(default=lambda _progress: None)
    on_sums: OnSums | None = None


def settings(
    *,
    seed: int = defaults.SEED,
    profile: str = defaults.PROFILE,
    tolerance: float | None = None,
    false_alarm: float = defaults.FALSE_ALARM,
    power: float = defaults.POWER,
    device: str | None = None,
) -> Settings:
    """Return the run's settings after checking them; ``tolerance`` None means the profile's.

    Raises:
        SettingsError: one of them is outside what it may be, or there is no such device.
    """
    if profile not in PROFILES:
        raise SettingsError(f"no profile {profile!r}; choose quick, standard or deep")
    tolerance = PROFILES[profile] if tolerance is None else tolerance
    for name, value in (("tolerance", tolerance), ("false-alarm", false_alarm), ("power", power)):
        if not 0 < value < 1:
            raise SettingsError(f"--{name} {value:g}: must lie between 0 and 1, both excluded")
    if false_alarm < _LEAST_RATE:
        raise SettingsError(f"--false-alarm {false_alarm:g}: nothing below {_LEAST_RATE:g} can be measured")
    if tolerance < FINEST:
        raise SettingsError(
            f"--tolerance {tolerance:g}: scores are made in single precision, which allows none below "
            f"{FINEST:g}; raise --tolerance"
        )
    if seed < 0:
        raise SettingsError(f"--seed {seed}: must not be negative")
    if seed.bit_length() > _LONGEST_SEED:
        raise SettingsError(f"--seed: has more than {_LONGEST_SEED} bits; give a shorter number")
    return Settings.model_validate(
        {
            "seed": seed,
            "profile": profile,
            "tolerance": tolerance,
            "false_alarm": false_alarm,
            "power": power,
            "device": None if device is None else _recorded(device),
        }
    )


def presentation(
    title: str | None = None, question: str | None = None, author: str | None = None
) -> Presentation:
    """Return the words of a report after checking them.

    Raises:
        SettingsError: one of them is empty, or no text in one line with sound formulas.
    """
    given = {"title": title, "question": question, "author": author}
    for name, text in given.items():
        if text is not None and not text.strip():
            raise SettingsError(f"--{name} {text!r}: give some text")
    try:
        return Presentation.model_validate(given)
    except ValidationError as error:
        raise SettingsError(f"--{what_is_wrong(error)}") from error


def _recorded(device: str) -> DeviceRecord:
    """Return the record of the device that has this name.

    Raises:
        SettingsError: there is none.
    """
    with device_errors():
        return DeviceRecord.model_validate(vars(find_device(device)))


def run(
    claims: Mapping[str, Claim | ClaimFile],
    chosen: Settings,
    book: SourceBook,
    *,
    requested: Sequence[str] = (),
    numbers: Mapping[str, str] | None = None,
    own_sources: bool = False,
    pack: str | None = None,
    workers: Workers | int | None = None,
    executor: Executor | None = None,
    store: Store | None = None,
    callbacks: Callbacks | None = None,
) -> RunRecord:
    """Derive, measure and judge ``claims`` and decide the statements of ``book``.

    ``requested`` are the ids asked for, none meaning all, ``numbers`` those of the claims in the
    catalogue, ``own_sources`` says that the book is the user's own, and ``pack`` the name under which it
    ships, all for the record. ``workers`` processors are used, None meaning all: as processes or, for a
    single claim, as threads. A claim made in this process stays in it. An ``executor`` draws for all others,
    which are evaluated here. The results depend on none of these, nor on what the ``store`` has of earlier
    runs.

    Raises:
        VerifyError: a setting is impossible or a claim is broken.
    """
    begun = time.perf_counter()
    callbacks = callbacks or Callbacks()
    callbacks.on_begin(tuple(claims))
    if store is not None or executor is not None:
        # Libraries that a claim file may bring are no part of what all keys depend on.
        made_by()
    token = str(time.time_ns())
    works = [Work(reference(claim), chosen, book.wanted(name), token) for name, claim in claims.items()]
    with using(workers) as some, _backends(some, executor, len(claims)) as backends:
        called = callbacks.on_start, callbacks.on_progress, callbacks.on_sums
        schedule = Schedule(works, backends.of, store, *called)
        settled = _settled(schedule, callbacks)
    records = tuple(record for record, _ in settled)
    elapsed = round(time.perf_counter() - begun, 3)
    return RunRecord(
        tool=Tool(version=__version__),
        run=Run(
            settings=chosen,
            claims=tuple(requested),
            numbers=dict(numbers or {}),
            own_sources=own_sources,
            pack=pack,
            environment=environment(backends.others.workers, PACKAGES),
            created=dt.datetime.now(dt.UTC).isoformat(timespec="seconds"),
            elapsed_s=elapsed,
            phases_s={"verification": elapsed},
            spent_s={record.id: spent for record, spent in settled},
            stored=None
            if store is None
            else StoreUse(
                derivations=schedule.progress.derivations,
                draws=schedule.progress.stored,
                drawn=schedule.progress.drawn,
            ),
        ),
        claims=records,
        sources=book.sources,
        statements=decide(book, records),
        calibration=stored_table(Calibration),
        false_claims=stored_table(FalseClaims),
    ).sealed()


def _settled(schedule: Schedule, callbacks: Callbacks) -> tuple[tuple[ClaimRecord, dict[str, float]], ...]:
    """Return the record of every claim, in their order, with the seconds of its parts."""
    done: dict[int, tuple[ClaimRecord, dict[str, float]]] = {}
    drawn = 0
    for one in schedule.run():
        record = one.record
        done[one.place] = record, {name: round(seconds, 3) for name, seconds in one.spent_s.items()}
        # All claims share one budget; a run that outgrows it ends here.
        drawn += record.measured_checks
        ErrorBudget.refuse_too_many(drawn)
        callbacks.on_finish(record)
    return tuple(done[place] for place in sorted(done))


@dataclass(frozen=True)
class _Backends:
    """What works for a claim: one made in this process stays here, all others may be sent elsewhere."""

    here: InProcessBackend
    others: Backend

    def of(self, work: Work) -> Backend:
        """Return what works for a claim."""
        return self.here if isinstance(work.claim, InMemoryClaim) else self.others


@contextmanager
def _backends(workers: Workers, executor: Executor | None, claims: int) -> Iterator[_Backends]:
    """Yield what works for claims; where it is a single one, threads draw, and no process is started."""
    here = InProcessBackend(workers.count)
    local = here if min(workers.count, claims) == 1 else ProcessBackend(workers)
    try:
        yield _Backends(here, local if executor is None else ExecutorBackend(executor, local))
    finally:
        here.close()
