"""Devices as a setting: looked for before anything is drawn, on record, or refused in one line."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.tool import begin, finish
from verify.engine import runner
from verify.engine.catalogue import catalogue, choose
from verify.engine.evaluate import device_errors
from verify.engine.sources import read_sources
from verify.engine.store import Store
from verify.errors import SettingsError
from verify.evidence import RunRecord, Verdict
from verify.montecarlo.devices import GENERATOR, DeviceError


def test_a_device_is_looked_for_before_anything_is_drawn() -> None:
    """It is on record with what it is."""
    pytest.importorskip("torch")
    device = runner.settings(device="cpu").device
    assert device is not None
    assert str(device).startswith("cpu (the processor, PyTorch ")
    with pytest.raises(SettingsError, match="give its name, such as 'cuda'"):
        runner.settings(device=0)  # type: ignore[arg-type]  # what anybody may pass
    assert runner.settings().device is None


def test_what_is_wrong_with_a_device_is_no_mistake_in_a_claim() -> None:
    """The line names the option."""
    with pytest.raises(SettingsError, match=r"^--device cuda: fails; leave --device out$"), device_errors():
        raise DeviceError("cuda: fails; leave --device out")


@pytest.mark.slow
def test_the_command_says_it_in_one_line(tmp_path: Path) -> None:
    """With status 2, and nothing is written."""
    ended = finish(begin("run", "score-mean", "--device", "gpu", "--fresh", "--out", tmp_path / "out"))
    assert (ended.status, ended.out) == (2, "")
    assert ended.complaint.startswith("--device gpu: give cuda, cuda:N")
    assert not (tmp_path / "out").exists()


@pytest.mark.slow
def test_on_a_device_claims_are_confirmed_and_their_wrong_versions_refuted(tmp_path: Path) -> None:
    """By the code of a card, on the processor: with other digits, named, and the same by two processes."""
    pytest.importorskip("torch")
    chosen = choose(catalogue(), ["row-variance", "self-score"])
    settings = runner.settings(profile="quick", device="cpu")
    with Store(tmp_path / "store.sqlite") as store:
        found = runner.run(chosen, settings, read_sources(), workers=2, store=store)
        again = runner.run(chosen, settings, read_sources(), workers=1, store=store)
    plain = runner.run(chosen, runner.settings(profile="quick"), read_sources(), workers=1)
    assert found.exit_status == 0
    assert all(control.verdict is Verdict.REFUTED for one in found.claims for control in one.controls)
    digests = [[claim.digest for claim in one.claims] for one in (found, again, plain)]
    assert digests[0] == digests[1]
    assert again.run.stored is not None
    assert again.run.stored.drawn == 0
    # Vectors that are queries and keys at once are drawn as without a device.
    there = {one.id: any(GENERATOR in check.cell for check in one.checks) for one in found.claims}
    assert there == {"row-variance": True, "self-score": False}
    same = dict(zip(there, map(str.__eq__, digests[0], digests[2]), strict=True))
    assert same == {"row-variance": False, "self-score": True}
    assert RunRecord.model_validate_json(found.to_json()) == found
