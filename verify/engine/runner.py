"""Runs claims on all processors, decides the statements, and puts everything on record; plans such a run."""

import datetime as dt
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass

from pydantic import ValidationError

from verify import defaults, evidence
from verify.engine.catalogue import Entry
from verify.engine.evaluate import versions
from verify.engine.preparing import Work
from verify.engine.schedule import Schedule, SettledClaim
from verify.engine.statements import SourceBook, decide
from verify.engine.store import Store
from verify.errors import SettingsError, what_is_wrong
from verify.evidence import PROFILES, ClaimRecord, Presentation, RunRecord, Settings
from verify.evidence.judging import PLACES, PLANNED_LOOK, share
from verify.evidence.load import shipped
from verify.executors.workers import Workers, environment, one_blas_thread, threads_of, using
from verify.files import shipped_folder
from verify.montecarlo.experiment import FINEST
from verify.montecarlo.intervals import normal_quantile
from verify.text.numbers import counted, seconds
from verify.version import __version__


@dataclass
class Callbacks:
    """Functions that a run calls as it goes on; the defaults do nothing.

    ``on_finish(record)`` is called for each settled claim; they need not finish in order.
    ``on_begin(claims)`` is called once before all, with the ids of the claims. ``on_progress(drawn, wanted)``
    is called often, with the number of random components drawn, and of those that are known to be needed.
    """

    on_finish: Callable[[ClaimRecord], None] = lambda _record: None
    on_begin: Callable[[tuple[str, ...]], None] = lambda _claims: None
    on_progress: Callable[[int, int], None] = lambda _drawn, _wanted: None


def settings(*, profile: str = defaults.PROFILE, tolerance: float | None = None, **others: float) -> Settings:
    """Return the run's settings after checking them; ``tolerance`` None means the profile's.

    ``others`` are the fields ``seed``, ``false_alarm`` and ``power``.

    Raises:
        SettingsError: a setting is outside of its range.
    """
    if profile not in PROFILES:
        raise SettingsError(f"no profile {profile!r}; choose quick, standard or deep")
    given = {"profile": profile, "tolerance": PROFILES[profile] if tolerance is None else tolerance, **others}
    try:
        chosen = Settings.model_validate(given)
    except ValidationError as error:
        raise SettingsError(what_is_wrong(error)) from error
    if chosen.tolerance < FINEST:
        raise SettingsError(
            f"tolerance {tolerance:g}: scores are made in single precision, which allows none below "
            f"{FINEST:g}; raise it"
        )
    return chosen


def run(
    claims: Mapping[str, Entry],
    chosen: Settings,
    book: SourceBook,
    *,
    requested: Sequence[str] = (),
    numbers: Mapping[str, str] | None = None,
    words: Presentation | None = None,
    workers: Workers | int | None = None,
    executor: Executor | None = None,
    store: Store | None = None,
    callbacks: Callbacks | None = None,
) -> RunRecord:
    """Derive, measure and judge ``claims`` and decide the statements of ``book``.

    ``requested`` are the ids asked for, none meaning all, ``numbers`` those of the claims in the catalogue,
    and ``words`` those of the report, all for the record. ``workers`` processors are used, None meaning all.
    A claim made in this process stays in it; all others are up to the ``executor``, if given. The results
    depend on none of these, nor on the entries of earlier runs in the ``store``.

    Raises:
        VerifyError: a setting is impossible or a claim is broken.
    """
    begun = time.perf_counter()
    callbacks = callbacks or Callbacks()
    callbacks.on_begin(tuple(claims))
    works = [Work(entry, chosen) for entry in claims.values()]
    # Results do not depend on libraries that a claim file may bring.
    versions()  # read once, before any is loaded
    settled: dict[str, SettledClaim] = {}
    with one_blas_thread(), using(workers) as processes, threads_of(processes.count) as threads:
        # To start processes for a single claim is not worth while.
        here = threads if len(works) == 1 < processes.count else processes
        schedule = Schedule(works, executor or here, store, threads.map, callbacks.on_progress)
        for claim in schedule.run():
            settled[claim.record.id] = claim
            # All claims share one budget; a run that outgrows it ends here.
            checks = sum(done.record.measured_checks for done in settled.values())
            if checks > PLACES:
                budget = f"the false-alarm budget has {PLACES} places"
                raise SettingsError(f"{checks} checks, but {budget}; run fewer claims at once")
            callbacks.on_finish(claim.record)
    records = tuple(settled[name].record for name in claims)
    elapsed, data = round(time.perf_counter() - begun, 3), shipped_folder("data")
    return RunRecord(
        tool=evidence.Tool(version=__version__),
        run=evidence.Run(
            settings=chosen,
            claims=tuple(requested),
            numbers=dict(numbers or {}),
            own_sources=book.is_own,
            pack=book.pack,
            environment=environment(processes.count),
            created=dt.datetime.now(dt.UTC).isoformat(timespec="seconds"),
            elapsed_s=elapsed,
            phases_s={"verification": elapsed},
            spent_s={
                name: {part: round(seconds, 3) for part, seconds in settled[name].spent_s.items()}
                for name in claims
            },
            presentation=words or Presentation(),
        ),
        claims=records,
        sources=book.sources,
        statements=decide(book, records),
        calibration=evidence.Calibration.model_validate_json((data / "calibration.json").read_bytes()),
        false_claims=evidence.FalseClaims.model_validate_json((data / "false_claims.json").read_bytes()),
    ).sealed()


def sample_size(settings: Settings) -> float:
    """Return how large samples are, as a multiple of those for the default settings.

    The tolerance spans as many standard errors as the error rate and the power ask for.
    """

    def squared(chosen: Settings) -> float:
        alpha = share(chosen.false_alarm, PLANNED_LOOK)
        return ((normal_quantile(alpha) + normal_quantile(1 - chosen.power)) / chosen.tolerance) ** 2

    return squared(settings) / squared(Settings())


def plan(claims: Collection[str], settings: Settings, workers: int = 1) -> str:
    """Return in words how long a run of these claims takes with an empty cache.

    By the times of the reference run for a single worker. Of a claim of the user's own none is known.
    """
    run = shipped().run
    # Half of a simulation there is planning, which takes as long whatever the tolerance.
    growth = (1 + sample_size(settings)) / (1 + sample_size(run.settings))
    spent = [run.spent_s[name] for name in claims if name in run.spent_s]
    derivations = [of["derivation"] for of in spent]
    simulations = [growth * of["simulation"] for of in spent]
    # All workers draw, also for a claim that is left at last, but a derivation is made by a single worker.
    last = max(
        (first + then / workers for first, then in zip(derivations, simulations, strict=True)), default=0.0
    )
    start, work = run.phases_s["imports"], sum(derivations) + sum(simulations)
    says = (
        f"About {seconds(start + max(last, work / workers))} with {counted(workers, 'worker')}: "
        f"{seconds(start)} to load libraries, {seconds(sum(derivations))} of processor time to derive and "
        f"{seconds(sum(simulations))} to draw, at tolerance {settings.tolerance:g}, power {settings.power:g} "
        f"and a family-wise error rate of {settings.false_alarm:g}, with an empty cache and without pages. "
        "The times are those of the reference run, on its machine."
    )
    unknown = [name for name in claims if name not in run.spent_s]
    beside = f"Of {', '.join(unknown)} no times are known: try `run --profile quick`." if unknown else ""
    return f"{says} {beside}".strip() if spent else beside
