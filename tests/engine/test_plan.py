"""What a verification will take, said before it is run."""

from collections.abc import Callable

import pytest

from tests.tool import Ended
from verify.engine.catalogue import catalogue
from verify.engine.plan import Planned, PlannedCell, plan, table
from verify.engine.runner import settings
from verify.errors import SettingsError
from verify.evidence import RunRecord
from verify.montecarlo.experiment import quantities_of

CLAIM = catalogue()["over-scaling"]


def test_the_cells_are_those_of_the_run(quick: RunRecord) -> None:
    """What a cell is planned to draw, under which settings, is what its checks then rest on."""
    planned = {cell.id: cell for cell in plan(CLAIM, settings(profile="quick")).cells}
    experiment = CLAIM.experiment(CLAIM.derive(), 0.05)
    drawn = quick.claim("over-scaling")
    for check in quantities_of(experiment.checks):
        found, cell = drawn.check(check.id), planned[check.cell.id]
        assert found.cell == cell.settings
        assert found.looks > 1 or (found.blocks, found.draws) == (cell.blocks, cell.draws)


def test_workers_share_all_but_the_longest_chunk() -> None:
    """One worker takes the sum; N take at least an Nth, and at most one chunk more."""
    cells = [
        PlannedCell(id=name, settings={}, blocks=1, scores=1, draws=1, memory=10, seconds=s, chunk_s=c)
        for name, s, c in (("a", 8.0, 0.5), ("b", 4.0, 0.25))
    ]
    row = Planned(claim="mine", checks=1, controls=1, cells=tuple(cells))
    assert [row.wall_s(count) for count in (1, 2, 24)] == [12.0, 6.5, 1.0]
    assert table([row], settings(), 2).splitlines()[-1].split()[-4:] == ["0", "MB", "6.50", "s"]
    assert "2 workers like those of this machine" in table([row], settings(), 2)


def test_the_impossible_is_refused_with_its_reason() -> None:
    """A tolerance that takes too long names the claim, the cell and what to raise."""
    with pytest.raises(SettingsError, match=r"score-variance-general, cell uniform-d1000.*raise --tolerance"):
        plan(catalogue()["score-variance-general"], settings(tolerance=1e-4))


def test_the_command_prints_a_line_a_claim_and_the_sum(tool: Callable[..., Ended]) -> None:
    """Both claims asked for and their sum are there, under the settings they are planned for."""
    ended = tool("plan", "over-scaling", "sqrt-scaling", "--profile", "quick")
    assert ended.status == 0
    names = [line.split()[0] for line in ended.out.splitlines()[3:]]
    assert names == ["claim", "sqrt-scaling", "over-scaling", "together"]
    assert "tolerance 0.05" in ended.out


def test_the_command_refuses_the_impossible_in_one_line(tool: Callable[..., Ended]) -> None:
    """The reason and the fix are reported, and the status is that of bad input."""
    ended = tool("plan", "over-scaling", "--tolerance", "1e-7")
    assert ended.status == 2
    assert len(ended.err.strip().splitlines()) == 1
    assert "raise --tolerance" in ended.err
