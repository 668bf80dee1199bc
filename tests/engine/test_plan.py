"""Plans: what a run will take, from times that were measured, and what the estimate rests on."""

from collections.abc import Callable
from pathlib import Path

import pytest

import verify
from tests.tool import Ended
from verify.engine.plan import Plan, Planned, sample_size, table
from verify.engine.runner import settings
from verify.evidence import RunRecord

ROWS = (Planned("first", 0.5, 8.0), Planned("second-claim", 1.5, 2.0))


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


def test_the_times_are_those_of_the_reference(reference: RunRecord) -> None:
    """At its settings what it took; a half of the tolerance draws four times as much."""
    spent = reference.run.spent_s["score-variance"]
    (same,) = verify.plan(["score-variance"]).claims
    assert same.derivation_s == spent["derivation"]
    assert same.simulation_s == pytest.approx(spent["simulation"])
    (finer,) = verify.plan(["score-variance"], tolerance=0.005).claims
    assert finer.simulation_s == pytest.approx(2.5 * spent["simulation"])


def test_the_table_says_what_it_rests_on() -> None:
    """A line a claim, the sum, and the time from start to end."""
    *lines, said = table(Plan(settings(), 2.0, ROWS), 2).splitlines()
    assert lines == [
        "claim         derivation  simulation      both",
        "first             0.50 s      8.00 s    8.50 s",
        "second-claim      1.50 s      2.00 s    3.50 s",
        "together          2.00 s     10.00 s   12.00 s",
        "",
    ]
    assert said.replace("\N{NARROW NO-BREAK SPACE}", " ") == (
        "From start to end about 8.0 s with 2 workers, 2.0 s of it to load libraries: at tolerance 0.01, "
        "power 0.95 and a family-wise error rate of 0.001, with an empty cache and without pages. "
        "The times are those of the reference run, on its machine; half of a simulation "
        "grows with the samples."
    )


def test_of_a_claim_of_ones_own_no_times_are_known(
    tool: Callable[..., Ended], claim_file: Callable[..., Path]
) -> None:
    """The command takes files as `run` does, and names what it knows nothing of."""
    ended = tool("plan", "sqrt-scaling", "--claims", claim_file(), "--profile", "quick")
    assert ended.status == 0
    assert [line.split()[0] for line in ended.out.splitlines()[:2]] == ["claim", "sqrt-scaling"]
    assert "No times are known of doubled-keys" in " ".join(ended.out.split())
