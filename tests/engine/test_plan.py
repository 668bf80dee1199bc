"""Plans: what a run will take, from times that were measured, and what the estimate rests on."""

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.tool import Ended
from verify.engine.plan import plan, sample_size
from verify.engine.runner import settings
from verify.evidence import RunRecord

NAMES = ("score-variance", "sqrt-scaling")


def test_samples_grow_as_errors_shrink() -> None:
    """With the tolerance's square; a smaller false-alarm rate and a larger power cost a little more."""
    assert sample_size(settings()) == 1
    assert sample_size(settings(profile="quick")) == pytest.approx(1 / 25)
    assert 1 < sample_size(settings(false_alarm=1e-6)) < 2
    assert 1 < sample_size(settings(power=0.99)) < 1.5


@pytest.mark.parametrize(("tolerance", "larger"), [(0.01, 1.0), (0.005, 2.5)])
def test_the_times_are_those_of_the_reference(reference: RunRecord, tolerance: float, larger: float) -> None:
    """At its settings what it took; half of the tolerance draws four times as much. The last row adds up."""
    spent = [reference.run.spent_s[name] for name in NAMES]
    times = [(of["derivation"], larger * of["simulation"]) for of in spent]
    times.append((sum(first for first, _ in times), sum(second for _, second in times)))
    head, *rows, _, rests_on = plan(NAMES, settings(tolerance=tolerance)).splitlines()
    assert head.split() == ["claim", "derivation", "simulation", "both"]
    for row, name, (derivation, simulation) in zip(rows, [*NAMES, "together"], times, strict=True):
        shown = [f"{derivation:.2f}", f"{simulation:.2f}", f"{derivation + simulation:.2f}"]
        assert row.replace(" s", "").split() == [name, *shown]
    assert f"at tolerance {tolerance:g}, power 0.95" in rests_on


def test_workers_share_all_but_a_derivation(reference: RunRecord) -> None:
    """Ever more of them leave the longest derivation and the start."""
    longest = max(reference.run.spent_s[name]["derivation"] for name in NAMES)
    last = plan(NAMES, settings(), 10**6).splitlines()[-1].replace("\N{NARROW NO-BREAK SPACE}", " ")
    assert f"about {reference.run.phases_s['imports'] + longest:.1f} s with 1 000 000 workers" in last


def test_of_a_claim_of_ones_own_no_times_are_known(
    tool: Callable[..., Ended], claim_file: Callable[..., Path]
) -> None:
    """The command takes files as `run` does, and names what it knows nothing of."""
    ended = tool("plan", "sqrt-scaling", "--claims", claim_file(), "--profile", "quick")
    assert ended.status == 0
    assert [line.split()[0] for line in ended.out.splitlines()[:2]] == ["claim", "sqrt-scaling"]
    assert "Of doubled-keys no times are known" in " ".join(ended.out.split())
