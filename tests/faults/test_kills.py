"""A run that is killed, and one that loses a worker, are gone on with: nothing is lost, nothing is left."""

import os
import signal
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.tool import alive, begin, finish
from verify import api
from verify.engine.store import Store

CLAIMS, TOLERANCE = ("score-mean", "doubled-keys"), 0.005
"""So fine that workers draw for a few seconds."""


@pytest.mark.slow
@pytest.mark.parametrize("victim", ["run", "worker"])
def test_a_killed_run_resumes(tmp_path: Path, claim_file: Callable[..., Path], victim: str) -> None:
    """The digests are those of an undisturbed run; a run that loses a worker ends with one line."""
    path, store, out = claim_file(), tmp_path / "store.sqlite", tmp_path / "out"
    options = ("--claims", path, "--tolerance", TOLERANCE, "--store", store, "--out", out, "--workers", 2)
    process = begin("run", *CLAIMS, *options, start_new_session=True)
    while process.poll() is None and not (store.is_file() and _rows(store) > 8):
        time.sleep(0.05)
    workers = alive(process.pid) - {process.pid}
    os.kill(process.pid if victim == "run" else min(workers), signal.SIGKILL)
    ended = finish(process, 20)
    assert workers
    if victim == "worker":
        assert ended.status == 2
        assert "its process was ended by SIGKILL" in ended.complaint
        assert ended.complaint.endswith("; run it again: it goes on from the store")
    until = time.monotonic() + 5
    while alive(process.pid) and time.monotonic() < until:
        time.sleep(0.05)
    assert not alive(process.pid)
    assert not (out / "results.json").exists()
    chosen: list[str | Path] = [CLAIMS[0], path]
    resumed = api.run(chosen, tolerance=TOLERANCE, workers=1, store=store)
    alone = api.run(chosen, tolerance=TOLERANCE, workers=1, store=False)
    assert resumed.run.stored is not None
    assert resumed.run.stored.draws > 0
    assert [claim.digest for claim in resumed.claims] == [claim.digest for claim in alone.claims]


def _rows(path: Path) -> int:
    with Store(path) as store:
        return store.size()[0]
