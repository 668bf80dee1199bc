"""What a run will take: predicted from the times that its claims took before, scaled to this machine."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from typing import Any

import numpy as np

from verify.engine import runner
from verify.engine.catalogue import ClaimFile
from verify.engine.sources import SourceBook
from verify.evidence import RunRecord, Settings
from verify.evidence.judging import PLANNED_LOOK, ErrorBudget
from verify.executors.workers import Workers
from verify.files.names import shipped_folder
from verify.montecarlo.intervals import normal_quantile
from verify.spec.claim import Claim
from verify.text.numbers import counted, seconds

_TRIAL = (0.05, 0.02)
"""Tolerances at which a claim is tried of which no times are stored."""

_TURN_S = 0.25  # seconds for which one kind of work is timed, twice for each of the two


@dataclass(frozen=True)
class Planned:
    """What a claim takes one worker of this machine, in seconds.

    ``is_tried`` says that it was run for this at coarse tolerances, as no times of it are stored.
    """

    claim: str
    derivation_s: float
    simulation_s: float
    is_tried: bool = False

    @property
    def seconds(self) -> float:
        """Both together."""
        return self.derivation_s + self.simulation_s


@dataclass(frozen=True)
class Plan:
    """What a run takes with nothing in the store: each claim, and ``start_s`` until libraries are loaded."""

    settings: Settings
    start_s: float
    claims: tuple[Planned, ...]

    def wall_s(self, workers: int = 1) -> float:
        """Return the seconds from start to end with ``workers`` like those of this machine.

        All of them draw, also for a claim that is left at last, but a derivation is made by one.
        """
        last = max((row.derivation_s + row.simulation_s / workers for row in self.claims), default=0.0)
        return self.start_s + max(last, sum(row.seconds for row in self.claims) / workers)


def sample_size(settings: Settings) -> float:
    """Return how large samples are, as a multiple of those for the default settings.

    The tolerance spans as many standard errors as the error rate and the power ask for.
    """

    def squared(chosen: Settings) -> float:
        share = ErrorBudget(chosen.false_alarm).share(PLANNED_LOOK)
        return ((normal_quantile(share) + normal_quantile(1 - chosen.power)) / chosen.tolerance) ** 2

    return squared(settings) / squared(Settings())


def times_of(coarse: RunRecord, fine: RunRecord, claim: str) -> tuple[float, float, float]:
    """Return what a claim took in two runs, of which the second drew larger samples, in seconds.

    Its derivation, what is spent however small the samples, and what is drawn at the default settings.
    """
    (few, first), (many, second) = (
        (sample_size(run.run.settings), run.run.spent_s[claim]["simulation"]) for run in (coarse, fine)
    )
    drawn_s = max(0.0, second - first) / (many - few)
    derivation_s = min(run.run.spent_s[claim]["derivation"] for run in (coarse, fine))
    return derivation_s, max(0.0, second - drawn_s * many), drawn_s


@cache
def measured_costs() -> dict[str, Any]:
    """Return the times that ship with this version, written by ``tests/benchmarks/costs.py``.

    ``claims`` has the three of each claim, ``start_s`` that of a start, ``speed`` the machine's.
    """
    content: dict[str, Any] = json.loads((shipped_folder("data") / "costs.json").read_text(encoding="utf-8"))
    return content


def speed() -> dict[str, float]:
    """Time this machine for a second: what it does in one of ``algebra``, in Python, and of ``draws``."""
    rng, rates = np.random.Generator(np.random.SFC64(1)), {"algebra": 0.0, "draws": 0.0}
    # By turns, since other programs may take the processor for a while.
    for kind in ("algebra", "draws", "algebra", "draws"):
        begun, done, spent = time.perf_counter(), 0, 0.0
        while spent < _TURN_S:
            if kind == "algebra":
                sum(Fraction(1, number) for number in range(1, 60))
            else:
                q, k = rng.standard_normal((2, 256, 16, 64), np.float32)
                np.einsum("bnd,bnd->bn", q, k).var()
            done, spent = done + 1, time.perf_counter() - begun
        rates[kind] += done / spent / 2
    return rates


def plan(claims: Mapping[str, Claim | ClaimFile], settings: Settings, workers: Workers | int | None) -> Plan:
    """Return what a run of these claims takes.

    A claim of which no times are stored is run by ``workers``, at two coarse tolerances.

    Raises:
        VerifyError: such a claim is broken.
    """
    costs, here = measured_costs(), speed()
    algebra, draws = (costs["speed"][name] / here[name] for name in ("algebra", "draws"))
    rows = []
    for name, claim in claims.items():
        if is_tried := name not in costs["claims"]:
            tried = (settings.model_copy(update={"tolerance": tolerance}) for tolerance in _TRIAL)
            coarse, fine = (runner.run({name: claim}, each, SourceBook(), workers=workers) for each in tried)
            derivation_s, floor_s, drawn_s = times_of(coarse, fine, name)
        else:
            of_algebra, *of_draws = costs["claims"][name]
            derivation_s, floor_s, drawn_s = algebra * of_algebra, *(draws * part for part in of_draws)
        rows.append(Planned(name, derivation_s, floor_s + sample_size(settings) * drawn_s, is_tried))
    return Plan(settings, algebra * costs["start_s"], tuple(rows))


def table(plan: Plan, workers: int = 1) -> str:
    """Return a plan as text: a line a claim, the time from start to end, and what both rest on."""
    rows = list(plan.claims)
    if len(rows) > 1:
        derivations_s = sum(row.derivation_s for row in rows)
        rows.append(Planned("together", derivations_s, sum(row.simulation_s for row in rows)))
    names = [f"{row.claim}{' *' * row.is_tried}" for row in rows]
    width = max(map(len, ["claim", *names]))
    lines = [f"{'claim':<{width}}  derivation  simulation      both"]
    for name, row in zip(names, rows, strict=True):
        times = f"{row.derivation_s:>8.2f} s  {row.simulation_s:>8.2f} s  {row.seconds:>6.2f} s"
        lines.append(f"{name:<{width}}  {times}")
    chosen = plan.settings
    rests_on = (
        f"From start to end about {seconds(plan.wall_s(workers))} with {counted(workers, 'worker')}, "
        f"{seconds(plan.start_s)} of it to load libraries: at tolerance {chosen.tolerance:g}, power "
        f"{chosen.power:g} and a family-wise error rate of {chosen.false_alarm:g}, with an empty cache "
        "and without pages. The times are those of a measured run, scaled by how fast this "
        "machine does algebra and draws."
    )
    if any(row.is_tried for row in plan.claims):
        rests_on += " * was tried here, at tolerances {:g} and {:g}.".format(*_TRIAL)
    return "\n".join([*lines, "", rests_on])
