"""Runs: settings, a record complete; and plans, from times that were measured."""

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.tool import Tool
from verify import api
from verify.engine import runner
from verify.engine.runner import plan, sample_size
from verify.errors import SettingsError
from verify.evidence import RunRecord
from verify.text.numbers import seconds
from verify.version import __version__


def test_the_budget_is_spent_by_what_is_drawn(quick: RunRecord) -> None:
    """Exact comparisons cannot raise a false alarm; controls are not charged."""
    budget = quick.run.budget
    drawn = [check for claim in quick.claims for check in claim.checks if check.method != "exact"]
    assert quick.measured_checks == len(drawn) < budget.places
    assert quick.spent == pytest.approx(budget.false_alarm * len(drawn) / budget.places)
    assert quick.spent <= budget.false_alarm == quick.run.settings.false_alarm


def test_too_many_checks_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """A budget is never overdrawn in silence."""
    monkeypatch.setattr(runner, "PLACES", 1)
    with pytest.raises(SettingsError, match="checks, but the false-alarm budget has 1 places; run fewer"):
        api.run(["score-mean"], profile="quick", workers=1)


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


NAMES = ("score-variance", "sqrt-scaling")


def test_samples_grow_as_errors_shrink() -> None:
    """With the tolerance's square; a smaller false-alarm rate and a larger power cost a little more."""
    assert sample_size(runner.settings()) == 1
    assert sample_size(runner.settings(profile="quick")) == pytest.approx(1 / 25)
    assert 1 < sample_size(runner.settings(false_alarm=1e-6)) < 2
    assert 1 < sample_size(runner.settings(power=0.99)) < 1.5


@pytest.mark.parametrize(("tolerance", "larger"), [(0.01, 1.0), (0.005, 2.5)])
def test_the_times_are_those_of_the_reference(reference: RunRecord, tolerance: float, larger: float) -> None:
    """At its settings what it took; half of the tolerance draws four times as much.

    Workers share all but the longest derivation and the start.
    """
    spent = [reference.run.spent_s[name] for name in NAMES]
    derivation = sum(of["derivation"] for of in spent)
    simulation = larger * sum(of["simulation"] for of in spent)
    start = reference.run.phases_s["imports"]
    says = plan(NAMES, runner.settings(tolerance=tolerance))
    assert says.startswith(f"About {seconds(start + derivation + simulation)} with 1 worker: ")
    assert f"{seconds(derivation)} of processor time to derive and {seconds(simulation)} to draw" in says
    assert f"at tolerance {tolerance:g}, power 0.95" in says
    longest = max(of["derivation"] for of in spent)
    assert plan(NAMES, runner.settings(), 10**6).startswith(f"About {seconds(start + longest)} with 1")


def test_of_a_claim_of_ones_own_no_times_are_known(tool: Tool, claim_file: Callable[..., Path]) -> None:
    """The command takes files as `run` does, and names what it knows nothing of."""
    ended = tool("plan", "sqrt-scaling", "--claims", claim_file(), "--profile", "quick")
    assert ended.status == 0
    assert "Of doubled-keys no times are known" in " ".join(ended.out.split())
    alone = tool("plan", "doubled-keys", "--claims", claim_file())
    assert alone.out.startswith("Of doubled-keys no times are known")
