"""A short campaign of kills."""

import signal
import tempfile
from pathlib import Path

import pytest

from tests.faults.kills import SIGNALS, TARGETS, Kill, Place, kills, struck, table


def test_a_campaign_is_a_function_of_its_seed() -> None:
    """It can be repeated, and every signal, target and kind of moment occurs in it."""
    campaign = kills(60, 3)
    assert campaign == kills(60, 3) != kills(60, 4)
    assert campaign[:12] == kills(12, 3)
    of_target = {one: {kill.number for kill in campaign if kill.target == one} for one in TARGETS}
    assert of_target.pop("main") == set(SIGNALS)
    assert {frozenset(some) for some in of_target.values()} == {frozenset({*SIGNALS, signal.SIGSTOP})}
    assert {kill.target for kill in campaign if kill.number is SIGNALS[0]} == set(TARGETS)
    assert {kill.moment is None for kill in campaign} == {True, False}


@pytest.mark.slow
def test_kills_lose_nothing_and_leave_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Three kills: old files whole, no process after a second, no debris after the next run."""
    check_campaign(kills(3, 5, ["main", "main", "worker"]), tmp_path, monkeypatch)


@pytest.mark.slow
def test_no_process_of_a_cluster_is_missed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two kills of its workers: another does the work, and none is left behind."""
    pytest.importorskip("distributed")
    check_campaign(kills(2, 5, ["dask worker"]), tmp_path, monkeypatch)


def check_campaign(campaign: list[Kill], folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Check that a short campaign loses nothing and leaves nothing."""
    monkeypatch.setattr(tempfile, "tempdir", None)
    place = Place(folder, (kill.command for kill in campaign))
    outcomes = [struck(kill, place) for kill in campaign]
    # A command that was quicker than at first had ended before; by now that is known.
    outcomes += [struck(one.kill, place) for one in outcomes if not one.hit]
    assert not [one for one in outcomes if one.problems], table(outcomes)
    assert sum(one.hit for one in outcomes) >= len(campaign) - 1
