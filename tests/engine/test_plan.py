"""What a verification will take, told before it is run."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from verify.engine.catalogue import catalogue
from verify.engine.plan import plan
from verify.engine.runner import settings
from verify.errors import SettingsError

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.tool import Ended

CLAIM = catalogue()["over-scaling"]


def test_counts_are_those_of_the_run() -> None:
    """Checks, controls and cells are the experiment's own, and every cell draws something."""
    planned = plan(CLAIM, settings(profile="quick"))
    experiment = CLAIM.experiment(CLAIM.derive(), 0.05)
    assert (planned.checks, planned.controls) == (len(experiment.checks), len(experiment.controls))
    assert planned.cells == 6
    assert planned.draws > planned.blocks > 0
    assert planned.seconds > 0


def test_a_fifth_of_the_tolerance_takes_more() -> None:
    """Draws grow with the inverse square of the tolerance once samples exceed their smallest size."""
    coarse, fine = (plan(CLAIM, settings(tolerance=t)) for t in (0.01, 0.002))
    assert fine.draws > 8 * coarse.draws


def test_memory_does_not_grow_with_the_draws() -> None:
    """The plan's memory is that of one batch, below 100 MB whatever the tolerance."""
    for tolerance in (0.05, 0.0005):
        assert plan(CLAIM, settings(tolerance=tolerance)).memory < 100e6


def test_the_impossible_is_refused_with_its_reason() -> None:
    """A tolerance of one in a million names the claim, the cell and what to raise."""
    with pytest.raises(SettingsError, match=r"over-scaling, cell d1.*raise --tolerance"):
        plan(CLAIM, settings(tolerance=1e-6))


def test_the_command_prints_a_line_a_claim_and_the_sum(tool: Callable[..., Ended]) -> None:
    """Both claims asked for and their sum are there, under the settings they are planned for."""
    ended = tool("plan", "over-scaling", "sqrt-scaling", "--profile", "quick")
    assert ended.status == 0
    names = [line.split()[0] for line in ended.out.splitlines()[2:]]
    assert names == ["claim", "sqrt-scaling", "over-scaling", "together"]
    assert "tolerance 0.05" in ended.out


def test_the_command_refuses_the_impossible_in_one_line(tool: Callable[..., Ended]) -> None:
    """The reason and the mend are told, and the status is that of bad input."""
    ended = tool("plan", "over-scaling", "--tolerance", "1e-7")
    assert ended.status == 2
    assert len(ended.err.strip().splitlines()) == 1
    assert "raise --tolerance" in ended.err
