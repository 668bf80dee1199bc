"""Runs: settings, progress in order, a record complete."""

from collections.abc import Callable
from pathlib import Path

import pytest

from verify.engine import runner
from verify.engine.catalogue import choose, shipped
from verify.engine.sources import read_sources
from verify.errors import SettingsError
from verify.evidence import RunRecord
from verify.version import __version__

Write = Callable[..., Path]


@pytest.mark.parametrize("value", [0.0, 1.0, float("nan")])
@pytest.mark.parametrize("name", ["tolerance", "false_alarm", "power"])
def test_rates_lie_between_0_and_1(name: str, value: float) -> None:
    """Both ends are excluded, and so is what is not a number."""
    with pytest.raises(SettingsError, match=f"^{name.replace('_', '-')} .*: must lie between 0 and 1"):
        runner.settings(**{name: value})  # type: ignore[arg-type]  # one of the rates


@pytest.mark.parametrize("workers", [1, pytest.param(2, marks=pytest.mark.slow)])
def test_progress_is_reported(workers: int) -> None:
    """Each claim is handed over, in whatever order two processes finish."""
    seen: list[str] = []
    callbacks = runner.Callbacks(on_finish=lambda record: seen.append(f"{record.id} {record.verdict}"))
    names = ["worked-dot-products", "sqrt-scaling-unique", "variance-of-multiple"]
    claims = choose(shipped(), names)
    settings = runner.settings(profile="quick")
    run = runner.run(claims, settings, read_sources(), workers=workers, callbacks=callbacks)
    assert sorted(seen) == sorted(f"{name} confirmed" for name in names)
    assert [record.id for record in run.claims] == list(claims)


def test_the_budget_is_spent_by_what_is_drawn(quick: RunRecord) -> None:
    """Exact comparisons cannot raise a false alarm; controls are not charged."""
    budget = quick.run.budget
    drawn = [check for claim in quick.claims for check in claim.checks if check.method != "exact"]
    assert quick.measured_checks == len(drawn) < budget.places
    assert quick.spent == pytest.approx(budget.false_alarm * len(drawn) / budget.places)
    assert quick.spent <= budget.false_alarm == quick.run.settings.false_alarm


def test_the_record_says_how_it_was_made(quick: RunRecord) -> None:
    """Versions, workers and times are there, of the whole and of each claim."""
    run = quick.run
    assert quick.tool.version == __version__
    assert {"python", "system", "processors", "workers", "numpy", "scipy", "sympy"} <= set(run.environment)
    assert run.environment["workers"] == ("2" if len(quick.claims) > 30 else "1")
    assert run.phases_s == {"verification": run.elapsed_s}
    assert list(run.spent_s) == [claim.id for claim in quick.claims]
    assert all(set(spent) == {"derivation", "simulation"} for spent in run.spent_s.values())
    assert run.created.endswith("+00:00")
