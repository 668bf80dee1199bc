"""Runs claims on all processors, decides the statements, and puts everything on record."""

from __future__ import annotations

import datetime as dt
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from verify.engine.catalogue import broken
from verify.engine.evaluate import Settled, received, task
from verify.engine.statements import decide
from verify.engine.verdict import ErrorBudget
from verify.errors import SettingsError, WorkerError
from verify.evidence import PROFILES, ClaimRecord, Run, RunRecord, Settings, Tool
from verify.evidence.load import stored_calibration
from verify.executors.environment import environment
from verify.executors.workers import Workers, using
from verify.spec.claim import USER
from verify.version import __version__

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from verify.engine.catalogue import ClaimFile
    from verify.engine.sources import SourceBook
    from verify.spec.claim import Claim

_LONGEST_SEED = 4096
_PACKAGES = ("numpy", "scipy", "sympy", "matplotlib", "weasyprint")


@dataclass
class Callbacks:
    """Functions that a run calls as it goes on; the default ones do nothing.

    ``on_start(claim)`` is called before each claim's derivation and measurement, and ``on_finish(record)``
    after it; with several workers, claims overlap and need not finish in order. ``on_begin(count)`` is called
    once before all, with the number of claims, when the arguments were found good, and may still refuse
    the run.
    """

    on_start: Callable[[str], None] = field(default=lambda _claim: None)
    on_finish: Callable[[ClaimRecord], None] = field(default=lambda _record: None)
    on_begin: Callable[[int], None] = field(default=lambda _count: None)


def settings(
    *,
    seed: int = 20170612,
    profile: str = "standard",
    tolerance: float | None = None,
    false_alarm: float = 1e-3,
    power: float = 0.95,
) -> Settings:
    """Return the run's settings after checking them; ``tolerance`` None means the profile's.

    Raises:
        SettingsError: one of them is outside what it may be.
    """
    if not isinstance(profile, str) or profile not in PROFILES:
        raise SettingsError(f"no profile {profile!r}; choose quick, standard or deep")
    tolerance = PROFILES[profile] if tolerance is None else tolerance
    _refuse_other_than(int, seed=seed)
    _refuse_other_than(float, tolerance=tolerance, false_alarm=false_alarm, power=power)
    for name, value in (("tolerance", tolerance), ("false-alarm", false_alarm), ("power", power)):
        if not 0 < value < 1:
            raise SettingsError(f"--{name} {value:g}: must lie between 0 and 1, both excluded")
    for name, value, least in (("tolerance", tolerance, 1e-9), ("false-alarm", false_alarm, 1e-30)):
        if value < least:
            raise SettingsError(f"--{name} {value:g}: nothing below {least:g} can be measured")
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
        }
    )


def _refuse_other_than(kind: type[int | float], **values: object) -> None:
    """Raise for values that are no numbers; a whole number will do where any number will."""
    for name, value in values.items():
        if isinstance(value, bool) or not isinstance(value, kind | int):
            wanted = "a whole number" if kind is int else "a number"
            raise SettingsError(f"{name.replace('_', '-')} {value!r}: give {wanted}")


def run(
    claims: Mapping[str, Claim | ClaimFile],
    chosen: Settings,
    book: SourceBook,
    *,
    requested: Sequence[str] = (),
    workers: Workers | int | None = None,
    callbacks: Callbacks | None = None,
) -> RunRecord:
    """Derive, measure and judge ``claims`` and decide the statements of ``book``.

    ``requested`` are the ids asked for, none meaning all, for the record. ``workers`` processors are used,
    None meaning all: as processes that settle one claim each or, where there are fewer claims, as threads
    that draw for one. A claim file of the user's own always has a process of its own, a claim made in this
    process stays in it. The results do not depend on their number.

    Raises:
        VerifyError: a setting is impossible or a claim is broken.
    """
    begun = time.perf_counter()
    callbacks = callbacks or Callbacks()
    callbacks.on_begin(len(claims))
    budget = ErrorBudget(chosen.false_alarm)
    with using(workers) as some:
        settled = _settled(claims, chosen, budget, some, callbacks, book)
    records = tuple(one.record for one in settled)
    elapsed = round(time.perf_counter() - begun, 3)
    return RunRecord(
        tool=Tool(version=__version__),
        run=Run(
            settings=chosen,
            claims=tuple(requested),
            claim_files=sum(claim.chapter == USER for claim in claims.values()),
            budget=budget.record(_drawn(records), sum(len(record.controls) for record in records)),
            environment=environment(some.count, _PACKAGES),
            created=dt.datetime.now(dt.UTC).isoformat(timespec="seconds"),
            elapsed_s=elapsed,
            phases_s={"verification": elapsed},
            spent_s={one.record.id: one.spent_s for one in settled},
        ),
        claims=records,
        sources=book.sources,
        statements=decide(book, records),
        calibration=stored_calibration(),
    ).sealed()


def _settled(
    claims: Mapping[str, Claim | ClaimFile],
    chosen: Settings,
    budget: ErrorBudget,
    workers: Workers,
    callbacks: Callbacks,
    book: SourceBook,
) -> tuple[Settled, ...]:
    """Return every claim settled, in the order of ``claims``."""
    processes = max(1, min(workers.count, len(claims)))
    threads = workers.count // processes
    names = list(claims)
    tasks = [task(claims[name], chosen, threads, book.wanted(name)) for name in names]
    done: dict[int, Settled] = {}

    def on_start(place: int) -> None:
        callbacks.on_start(names[place])

    try:
        for place, result in workers.run_tasks(tasks, processes, on_start):
            done[place] = received(claims[names[place]], result)
            # All claims share one budget; a run that outgrows it ends here.
            budget.record(_drawn([settled.record for settled in done.values()]), 0)
            callbacks.on_finish(done[place].record)
    except WorkerError as error:
        raise broken(claims[names[error.place]], error) from error
    return tuple(done[place] for place in range(len(tasks)))


def _drawn(records: Sequence[ClaimRecord]) -> int:
    """Return the number of checks that could raise a false alarm."""
    return sum(check.method != "exact" for record in records for check in record.checks)
