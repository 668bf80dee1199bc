"""A run that is killed or interrupted, and one that loses a worker, are gone on with, and nothing is left."""

import contextlib
import os
import signal
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.engine.test_store import rows
from tests.tool import alive, begin, finish
from verify.evidence.load import load

CLAIMS, TOLERANCE = ("score-mean", "worked-dot-products", "doubled-keys"), 0.003
"""So fine that workers draw for a few seconds."""


@pytest.mark.slow
@pytest.mark.parametrize("workers", [2, 4])
def test_a_run_is_resumed_wherever_it_ended(
    tmp_path: Path, claim_file: Callable[..., Path], workers: int
) -> None:
    """By Ctrl-C at once and later, by SIGKILL, by the end of a worker: the digests are those of one process.

    Nothing is left of it but the store; Ctrl-C and a lost worker are one line each.
    """
    options = ("--claims", claim_file(), "--tolerance", TOLERANCE)
    assert finish(begin("run", *CLAIMS, *options, "--fresh", "--workers", 1, "--out", tmp_path)).status == 0
    alone = load(tmp_path / "results.json")
    store, out = tmp_path / "store.sqlite", tmp_path / "out"
    common = (*options, "--store", store, "--out", out, "--workers", workers)
    interrupt, kill = signal.SIGINT, signal.SIGKILL
    for number, more in ((interrupt, 0), (interrupt, 1), (kill, 3), (None, 2), (interrupt, 2)):
        wanted = more + (rows(store) if store.is_file() else 0)
        process = begin("run", *CLAIMS, *common, start_new_session=True)
        while process.poll() is None and not (store.is_file() and rows(store) >= wanted):
            time.sleep(0.05)
        victims = {process.pid} if number else alive(process.pid) - {process.pid}
        with contextlib.suppress(ProcessLookupError, ValueError):
            os.kill(max(victims), number or kill)
        ended = finish(process, 120)
        until = time.monotonic() + 10
        while alive(process.pid) and time.monotonic() < until:
            time.sleep(0.05)
        assert not alive(process.pid)
        if ended.status == 0:  # it was faster
            break
        assert ended.status == {interrupt: 130, kill: -kill, None: 2}[number]
        assert number == kill or ended.complaint
        assert not (out / "results.json").exists()
    # The runs that ended have left something to go on from.
    assert rows(store) > 0
    ended = finish(begin("run", *CLAIMS, *common))
    assert ended.status == 0, ended.err
    resumed = load(out / "results.json")
    assert [claim.digest for claim in resumed.claims] == [claim.digest for claim in alone.claims]
