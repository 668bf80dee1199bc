"""Runs claims: derive, measure, judge, and put everything on record."""

from __future__ import annotations

import datetime as dt
import importlib.metadata
import os
import platform
import time
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from verify.claim import CHAPTERS, Claim
from verify.errors import ClaimError, SettingsError, own_code_of
from verify.evidence import (
    PROFILES,
    Budget,
    Check,
    ClaimRecord,
    Control,
    DerivationRecord,
    Fact,
    OrdinaryFit,
    Proof,
    Route,
    Run,
    RunRecord,
    Settings,
    Step,
    Tool,
)
from verify.measure import measure
from verify.montecarlo.experiment import Exact, Experiment, Fit
from verify.montecarlo.fits import ordinary
from verify.results import stored_calibration
from verify.sampling import refuse_malformed
from verify.statements import decide
from verify.symbolic.printing import latex, plain
from verify.verdict import FalseAlarms, of_claim
from verify.version import __version__
from verify.workers import mapping

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from verify.claim import Findings
    from verify.sources import SourceBook
    from verify.symbolic.derivation import Derivation, Examined

_PACKAGES = ("numpy", "scipy", "sympy", "matplotlib", "weasyprint")


@dataclass
class Progress:
    """Hears of the run as it goes on; the default says nothing.

    ``started(claim, phase)`` is called before each claim's derivation and measurement, and
    ``finished(record)`` after it.
    """

    started: Callable[[str, str], None] = field(default=lambda _claim, _phase: None)
    finished: Callable[[ClaimRecord], None] = field(default=lambda _record: None)


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
    if profile not in PROFILES:
        raise SettingsError(f"no profile {profile!r}; choose quick, standard or deep")
    tolerance = PROFILES[profile] if tolerance is None else tolerance
    for name, value in (("tolerance", tolerance), ("false-alarm", false_alarm), ("power", power)):
        if not 0 < value < 1:
            raise SettingsError(f"--{name} {value:g}: must lie between 0 and 1, both excluded")
    for name, value, least in (("tolerance", tolerance, 1e-9), ("false-alarm", false_alarm, 1e-30)):
        if value < least:
            raise SettingsError(f"--{name} {value:g}: nothing below {least:g} can be measured")
    if seed < 0:
        raise SettingsError(f"--seed {seed}: must not be negative")
    return Settings.model_validate(
        {
            "seed": seed,
            "profile": profile,
            "tolerance": tolerance,
            "false_alarm": false_alarm,
            "power": power,
        }
    )


def run(
    claims: Mapping[str, tuple[str, Claim]],
    chosen: Settings,
    book: SourceBook,
    *,
    requested: Sequence[str] = (),
    workers: int | None = None,
    progress: Progress | None = None,
) -> RunRecord:
    """Derive, measure and judge ``claims`` and decide the statements of ``book``.

    ``requested`` are the ids asked for, none meaning all, for the record. ``workers`` threads draw blocks;
    the results do not depend on their number, and None means one for each processor.

    Raises:
        VerifyError: a setting is impossible or a claim is broken.
    """
    begun = time.perf_counter()
    workers = (os.cpu_count() or 1) if workers is None else workers
    if workers < 1:
        raise SettingsError(f"--workers {workers}: at least one is needed")
    progress = progress or Progress()
    phases: dict[str, float] = {}
    alarms = FalseAlarms(chosen.false_alarm)
    with mapping(workers) as mapper:
        bench = _Bench(chosen, alarms, mapper, phases, progress)
        records = tuple(bench.settle(chapter, claim) for chapter, claim in claims.values())
    elapsed = round(time.perf_counter() - begun, 3)
    return RunRecord(
        tool=Tool(version=__version__),
        run=Run(
            settings=chosen,
            claims=tuple(requested),
            claim_files=sum(chapter == "user" for chapter, _ in claims.values()),
            budget=_budget(alarms, records),
            environment=_environment(workers),
            created=dt.datetime.now(dt.UTC).isoformat(timespec="seconds"),
            elapsed_s=elapsed,
            phases_s={name: round(seconds, 3) for name, seconds in phases.items()},
        ),
        claims=records,
        sources=book.sources,
        statements=decide(book, records),
        calibration=stored_calibration(),
    )


def _budget(alarms: FalseAlarms, records: Sequence[ClaimRecord]) -> Budget:
    checks = sum(check.method != "exact" for record in records for check in record.checks)
    controls = sum(len(record.controls) for record in records)
    return alarms.record(checks, controls)


@dataclass
class _Bench:
    """What settling one claim after another needs."""

    settings: Settings
    alarms: FalseAlarms
    mapper: Any
    phases: dict[str, float]
    progress: Progress
    checks: int = 0

    def settle(self, chapter: str, claim: Claim) -> ClaimRecord:
        """Return all evidence for one claim."""
        with own_code_of(claim.id):
            record = self._settle(chapter, claim)
        self.progress.finished(record)
        return record

    def _settle(self, chapter: str, claim: Claim) -> ClaimRecord:
        self.progress.started(claim.id, "derivation")
        with self._timed("derivation"):
            derivation = claim.derive()
            examined = derivation.examine()
            experiment = claim.experiment(derivation, self.settings.tolerance)
            refuse_malformed(experiment, claim.id)
            self._count(experiment)
        self.progress.started(claim.id, "simulation")
        with self._timed("simulation"):
            findings, controls = measure(experiment, claim.id, self.settings, self.alarms, self.mapper)
        derived = _derivation_record(derivation, examined)
        checks = tuple(findings.checks.values())
        facts = claim.facts(derivation)
        _refuse_double_names(claim.id, _names(checks, controls, facts))
        verdict, reason = of_claim(derived.status, derived.reason, checks, controls)
        return ClaimRecord(
            id=claim.id,
            chapter=chapter,
            chapter_title=CHAPTERS[chapter],
            title=claim.title,
            statement=claim.statement,
            meaning=claim.meaning,
            assumptions=claim.assumptions,
            references=claim.references,
            verdict=verdict,
            reason=reason,
            derivation=derived,
            checks=checks,
            controls=controls,
            fits=tuple(_ordinary_fits(experiment, findings)),
            facts=facts,
            series=claim.figures(derivation, findings),
        ).sealed()

    def _count(self, experiment: Experiment) -> None:
        """Refuse a run that outgrows the error budget before measuring what does not fit."""
        self.checks += sum(not isinstance(check, Exact) for check in experiment.checks)
        self.alarms.record(self.checks, 0)

    @contextmanager
    def _timed(self, phase: str) -> Iterator[None]:
        begun = time.perf_counter()
        yield
        self.phases[phase] = self.phases.get(phase, 0.0) + time.perf_counter() - begun


def _names(*groups: Sequence[Check | Control | Fact]) -> list[str]:
    return [one.id for group in groups for one in group]


def _refuse_double_names(claim: str, names: Sequence[str]) -> None:
    """Refuse a name given twice: a finding is linked to and cited by its claim and its name."""
    for name in names:
        if names.count(name) > 1:
            raise ClaimError(f"claim {claim}: {name!r} names two findings; rename the fact")


def _derivation_record(derivation: Derivation, examined: Examined) -> DerivationRecord:
    return DerivationRecord(
        status=Proof(examined.status),
        **_stated(derivation),
        routes=tuple(
            Route(
                title=route.title,
                start_latex=latex(route.start),
                start_plain=plain(route.start),
                steps=tuple(
                    Step(
                        latex=latex(one.step.expression),
                        plain=plain(one.step.expression),
                        relation=one.step.relation,
                        rule=one.step.rule,
                        checked_by=one.step.check.label,
                        holds=one.holds,
                    )
                    for one in steps
                ),
            )
            for route, steps in examined.routes
        ),
        agreement=examined.agreement,
        reason=examined.reason,
    )


def _stated(derivation: Derivation) -> dict[str, str]:
    if derivation.unclaimed:
        return {"subject": "", "result": "", "latex": ""}
    return {
        "subject": latex(derivation.subject),
        "result": plain(derivation.result),
        "latex": latex(derivation.equation),
    }


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


def _environment(workers: int) -> dict[str, str]:
    versions = {name: importlib.metadata.version(name) for name in _PACKAGES}
    return {
        "python": platform.python_version(),
        "system": platform.platform(),
        "processors": str(os.cpu_count()),
        "workers": str(workers),
        **versions,
    }
