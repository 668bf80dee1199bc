"""The time that a run will take, by the times of the reference run that ships."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from verify.engine.catalogue import ClaimFile
from verify.evidence import Settings
from verify.evidence.judging import PLANNED_LOOK, ErrorBudget
from verify.evidence.load import shipped
from verify.montecarlo.intervals import normal_quantile
from verify.spec.claim import Claim
from verify.text.numbers import counted, seconds

_PLANNING = 0.5
"""The share of the reference's simulations in which samples are planned: it does not grow with them."""


@dataclass(frozen=True)
class Planned:
    """The time of a claim for a single worker, in seconds; that of a user's own claim is not known."""

    claim: str
    derivation_s: float
    simulation_s: float

    @property
    def seconds(self) -> float:
        """Both together."""
        return self.derivation_s + self.simulation_s


@dataclass(frozen=True)
class Plan:
    """The time of a run with an empty store: each claim, and ``start_s`` until libraries are loaded.

    Of claims that are ``unknown`` to the reference no times are known.
    """

    settings: Settings
    start_s: float
    claims: tuple[Planned, ...]
    unknown: tuple[str, ...] = ()

    def wall_s(self, workers: int = 1) -> float:
        """Return the seconds from start to end with ``workers``.

        All of them draw, also for a claim that is left at last, but a derivation is made by a single worker.
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


def plan(claims: Mapping[str, Claim | ClaimFile], settings: Settings) -> Plan:
    """Return the plan of a run of these claims, with the times of the reference run's machine."""
    run = shipped().run
    larger = (_PLANNING + (1 - _PLANNING) * sample_size(settings)) / (
        _PLANNING + (1 - _PLANNING) * sample_size(run.settings)
    )
    rows = [
        Planned(name, run.spent_s[name]["derivation"], larger * run.spent_s[name]["simulation"])
        for name in claims
        if name in run.spent_s
    ]
    unknown = tuple(name for name in claims if name not in run.spent_s)
    return Plan(settings, run.phases_s["imports"], tuple(rows), unknown)


def table(plan: Plan, workers: int = 1) -> str:
    """Return a plan as text: a line a claim, the time from start to end, and the basis of both."""
    rows = list(plan.claims)
    if len(rows) > 1:
        derivations_s = sum(row.derivation_s for row in rows)
        rows.append(Planned("together", derivations_s, sum(row.simulation_s for row in rows)))
    width = max(map(len, ["claim", *(row.claim for row in rows)]))
    lines = [f"{'claim':<{width}}  derivation  simulation      both"]
    for row in rows:
        times = f"{row.derivation_s:>8.2f} s  {row.simulation_s:>8.2f} s  {row.seconds:>6.2f} s"
        lines.append(f"{row.claim:<{width}}  {times}")
    chosen = plan.settings
    rests_on = (
        f"From start to end about {seconds(plan.wall_s(workers))} with {counted(workers, 'worker')}, "
        f"{seconds(plan.start_s)} of it to load libraries: at tolerance {chosen.tolerance:g}, power "
        f"{chosen.power:g} and a family-wise error rate of {chosen.false_alarm:g}, with an empty cache "
        "and without pages. The times are those of the reference run, on its machine; half of a simulation "
        "grows with the samples."
    )
    if plan.unknown:
        rests_on += f" No times are known of {', '.join(plan.unknown)}: run --profile quick first."
    return "\n".join([*lines, "", rests_on])
