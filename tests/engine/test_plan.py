"""Plans: what a run will take, from times that were measured, and what the estimate rests on."""

from collections.abc import Callable
from pathlib import Path

import pytest

import verify
from tests.tool import Ended
from verify.claims.chapters import CHAPTERS
from verify.engine import plan
from verify.engine.plan import Plan, Planned, measured_costs, sample_size, table, times_of
from verify.engine.runner import settings
from verify.evidence import RunRecord

ROWS = (Planned("first", 0.5, 8.0), Planned("second-claim", 1.5, 2.0, is_tried=True))


@pytest.fixture
def same_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let this machine be as fast as that on which the times were measured."""
    monkeypatch.setattr(plan, "speed", lambda: measured_costs()["speed"])


def test_every_claim_has_its_times() -> None:
    """Those that ship, and no others."""
    assert list(measured_costs()["claims"]) == [
        name for chapter in CHAPTERS.values() for name in chapter.claims
    ]


def test_workers_share_all_but_a_derivation() -> None:
    """One takes the sum and the start; ever more of them leave the longest derivation and the start."""
    made = Plan(settings(), 2.0, ROWS)
    assert [made.wall_s(count) for count in (1, 2, 10**6)] == [14.0, 8.0, pytest.approx(3.5, abs=1e-4)]


def test_samples_grow_as_errors_shrink() -> None:
    """With the tolerance's square; a smaller false-alarm rate and a larger power cost a little more."""
    assert sample_size(settings()) == 1
    assert sample_size(settings(profile="quick")) == pytest.approx(1 / 25)
    assert 1 < sample_size(settings(false_alarm=1e-6)) < 2
    assert 1 < sample_size(settings(power=0.99)) < 1.5


@pytest.mark.usefixtures("same_machine")
def test_times_that_were_measured_are_scaled(monkeypatch: pytest.MonkeyPatch) -> None:
    """By how fast this machine is, and what is drawn by the tolerance as well."""
    derivation_s, floor_s, drawn_s = measured_costs()["claims"]["score-variance"]
    (row,) = verify.plan(["score-variance"], tolerance=0.005).claims
    assert (row.derivation_s, row.is_tried) == (derivation_s, False)
    assert row.simulation_s == pytest.approx(floor_s + 4 * drawn_s)
    twice = {name: 2 * rate for name, rate in measured_costs()["speed"].items()}
    monkeypatch.setattr(plan, "speed", lambda: twice)
    (faster,) = verify.plan(["score-variance"], tolerance=0.005).claims
    assert faster.seconds == pytest.approx(row.seconds / 2)


def test_two_runs_give_the_times_of_a_claim(small: RunRecord) -> None:
    """What does not grow with samples, and what does."""
    (claim,) = small.claims

    def run(profile: str, simulation_s: float) -> RunRecord:
        spent = {claim.id: {"derivation": 0.25, "simulation": simulation_s}}
        changed = small.run.model_copy(update={"settings": settings(profile=profile), "spent_s": spent})
        return small.model_copy(update={"run": changed})

    times = times_of(run("quick", 0.2), run("standard", 2.6), claim.id)
    assert times == pytest.approx((0.25, 0.1, 2.5))
    assert times_of(run("quick", 0.3), run("standard", 0.2), claim.id)[1:] == (0.2, 0)


def test_the_table_says_what_it_rests_on() -> None:
    """A line a claim, the sum, and the time from start to end."""
    *lines, said = table(Plan(settings(), 2.0, ROWS), 2).splitlines()
    assert lines == [
        "claim           derivation  simulation      both",
        "first               0.50 s      8.00 s    8.50 s",
        "second-claim *      1.50 s      2.00 s    3.50 s",
        "together            2.00 s     10.00 s   12.00 s",
        "",
    ]
    assert said.replace("\N{NARROW NO-BREAK SPACE}", " ") == (
        "From start to end about 8.0 s with 2 workers, 2.0 s of it to load libraries: at tolerance 0.01, "
        "power 0.95 and a family-wise error rate of 0.001, with an empty cache and without "
        "pages. The times are those of a measured run, scaled by how fast this machine does algebra and "
        "draws. * was tried here, at tolerances 0.05 and 0.02."
    )


@pytest.mark.slow
def test_a_claim_of_ones_own_is_tried(tool: Callable[..., Ended], claim_file: Callable[..., Path]) -> None:
    """The command takes files as `run` does, and marks what it ran."""
    ended = tool("plan", "sqrt-scaling", "--claims", claim_file(), "--profile", "quick")
    assert ended.status == 0
    names = [line.split()[0] for line in ended.out.splitlines()[:4]]
    assert names == ["claim", "sqrt-scaling", "doubled-keys", "together"]
    assert "doubled-keys *" in ended.out
    assert "tolerance 0.05" in ended.out
