"""What a run does not depend on: how often it ended, workers, hashes, time zones, languages, optimisation."""

import contextlib
import json
import os
import signal
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

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


UNLIKE = ("created", "elapsed_s", "phases_s", "spent_s", "environment")
"""What of a run says how and when it was made."""

WORLDS: tuple[tuple[int, dict[str, str]], ...] = (
    (1, {"PYTHONHASHSEED": "0", "TZ": "UTC", "LC_ALL": "C"}),
    (2, {"PYTHONHASHSEED": "1", "TZ": "Asia/Kathmandu", "LC_ALL": "C.UTF-8"}),
    (3, {"PYTHONHASHSEED": "4294967295", "TZ": "America/St_Johns", "LC_ALL": "tr_TR.UTF-8"}),
    (2, {"PYTHONHASHSEED": "7", "PYTHONOPTIMIZE": "2", "PYTHONUTF8": "1"}),
)


def made_in(world: Mapping[str, str], workers: int, claim: Path, out: Path) -> dict[str, Any]:
    """Return the content of the results of three claims in a world, without what may differ."""
    claims = ("doubled-keys", "over-scaling", "worked-dot-products")
    options = ("--claims", claim, "--profile", "quick", "--workers", workers, "--out", out)
    ended = finish(begin("run", *claims, *options, environment=world))
    assert ended.status == 0, ended.err
    content: dict[str, Any] = json.loads((out / "results.json").read_text(encoding="utf-8"))
    content["run"] = {key: value for key, value in content["run"].items() if key not in UNLIKE}
    return {key: value for key, value in content.items() if key != "seal"}


@pytest.mark.slow
def test_the_evidence_is_the_same_in_all_worlds(tmp_path: Path, claim_file: Callable[..., Path]) -> None:
    """Claims that come with the tool and one of the user's own, to the last bit."""
    claim = claim_file()
    first, *others = (
        made_in(world, workers, claim, tmp_path / str(place)) for place, (workers, world) in enumerate(WORLDS)
    )
    assert len(first["claims"]) == 3
    for other in others:
        assert other == first
