"""The time that a run will take, by the times of the reference run that ships."""

from __future__ import annotations

from collections.abc import Collection

from verify.evidence import Settings
from verify.evidence.judging import PLANNED_LOOK, ErrorBudget
from verify.evidence.load import shipped
from verify.montecarlo.intervals import normal_quantile
from verify.text.numbers import counted, seconds

_PLANNING = 0.5
"""The share of the reference's simulations in which samples are planned: it does not grow with them."""


def sample_size(settings: Settings) -> float:
    """Return how large samples are, as a multiple of those for the default settings.

    The tolerance spans as many standard errors as the error rate and the power ask for.
    """

    def squared(chosen: Settings) -> float:
        share = ErrorBudget(chosen.false_alarm).share(PLANNED_LOOK)
        return ((normal_quantile(share) + normal_quantile(1 - chosen.power)) / chosen.tolerance) ** 2

    return squared(settings) / squared(Settings())


def plan(claims: Collection[str], settings: Settings, workers: int = 1) -> str:
    """Return the plan of a run of these claims with an empty cache, as text.

    It has a line a claim, the time from start to end, and the basis of both: the times of the reference run
    for a single worker. Of a claim of the user's own none is known.
    """
    run = shipped().run
    # Planning takes as long whatever the tolerance; the rest of a simulation grows with its samples.
    planned, then = (_PLANNING + (1 - _PLANNING) * sample_size(of) for of in (settings, run.settings))
    rows = [
        (name, run.spent_s[name]["derivation"], run.spent_s[name]["simulation"] * planned / then)
        for name in claims
        if name in run.spent_s
    ]
    # All workers draw, also for a claim that is left at last, but a derivation is made by a single worker.
    last = max((derivation + simulation / workers for _, derivation, simulation in rows), default=0.0)
    derivations, simulations = sum(row[1] for row in rows), sum(row[2] for row in rows)
    start = run.phases_s["imports"]
    wall = start + max(last, (derivations + simulations) / workers)
    if len(rows) > 1:
        rows.append(("together", derivations, simulations))
    width = max(map(len, ["claim", *(name for name, *_ in rows)]))
    lines = [f"{'claim':<{width}}  derivation  simulation      both"]
    for name, derivation, simulation in rows:
        both = derivation + simulation
        lines.append(f"{name:<{width}}  {derivation:>8.2f} s  {simulation:>8.2f} s  {both:>6.2f} s")
    rests_on = (
        f"From start to end about {seconds(wall)} with {counted(workers, 'worker')}, "
        f"{seconds(start)} of it to load libraries: at tolerance {settings.tolerance:g}, power "
        f"{settings.power:g} and a family-wise error rate of {settings.false_alarm:g}, with an empty cache "
        "and without pages. The times are those of the reference run, on its machine; half of a simulation "
        "grows with the samples."
    )
    if unknown := [name for name in claims if name not in run.spent_s]:
        rests_on += f" Of {', '.join(unknown)} no times are known: try `run --profile quick`."
    return "\n".join([*lines, "", rests_on])
