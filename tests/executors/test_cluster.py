"""A Dask cluster: the digests of one process, and one line where there is none."""

import contextlib
import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.tool import ROOT, begin, finish
from verify import api
from verify.errors import SettingsError
from verify.evidence.load import load
from verify.executors import workers as module
from verify.executors.workers import connected

NAMES = ["variance-of-multiple", "sqrt-scaling-unique"]


def refuse(address: str, match: str) -> None:
    """See that an address is refused in one line."""
    with pytest.raises(SettingsError, match=match), connected(address):
        pass


def test_without_dask_one_line_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    """It is an extra."""
    monkeypatch.setitem(sys.modules, "distributed", None)
    refuse("host:8786", r"needs Dask; install it with `pip install '\.\[dask\]'` in the clone")


@pytest.mark.parametrize("address", ["", "foo", "host:port", "http://host:80", ":8786", "host:-1", "a b:80"])
def test_what_is_no_address_is_refused_on_sight(address: str) -> None:
    """Dask would wait for half a minute, and end with a traceback from one of its threads."""
    refuse(address, "is not an address; give HOST:PORT")


@pytest.mark.slow
def test_no_scheduler_is_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    """It says where none was, and what to start."""
    pytest.importorskip("distributed")
    monkeypatch.setattr(module, "_JOIN_S", 1)
    refuse("tcp://127.0.0.1:9", r"127.0.0.1:9: no worker can be reached .*`dask scheduler`")


def started(part: str, folder: Path) -> subprocess.Popen[bytes]:
    """Start a part of a cluster, whose address is in a file of the folder, in a session of its own."""
    options = ("--port", "0") if part == "scheduler" else ("--nthreads", "1")
    command = [sys.executable, "-m", f"distributed.cli.dask_{part}", "--no-dashboard", *options]
    return subprocess.Popen(
        [*command, "--scheduler-file", str(folder / "address.json")],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )


@pytest.fixture
def parts(tmp_path: Path) -> Iterator[tuple[str, list[subprocess.Popen[bytes]]]]:
    """Yield the address of a scheduler and of its two workers, which were started by hand, with all three."""
    pytest.importorskip("distributed")
    processes = [started("scheduler", tmp_path)]
    while not (tmp_path / "address.json").exists():
        time.sleep(0.1)
    processes += [started("worker", tmp_path) for _ in range(2)]
    try:
        yield json.loads((tmp_path / "address.json").read_text())["address"], processes
    finally:
        for process in reversed(processes):
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()


Parts = tuple[str, list[subprocess.Popen[bytes]]]


@pytest.mark.slow
def test_the_digests_are_those_of_one_process(
    parts: Parts, tmp_path: Path, claim_file: Callable[..., Path]
) -> None:
    """Of claims that come with the tool and of a file, whose text goes to the workers."""
    path = claim_file()
    alone = api.run([*NAMES, path], tolerance=0.01, workers=1, store=False)
    arguments = (*NAMES, "doubled-keys", "--claims", path, "--tolerance", 0.01, "--fresh", "--out", tmp_path)
    ended = finish(begin("run", *arguments, "--cluster", parts[0]))
    assert ended.status == 0, ended.err
    assert "Traceback" not in ended.err
    made = load(tmp_path / "results.json")
    assert [claim.digest for claim in made.claims] == [claim.digest for claim in alone.claims]


@pytest.mark.slow
@pytest.mark.parametrize("lost", ["worker", "scheduler", ""])
def test_a_part_of_a_cluster_is_lost(parts: Parts, tmp_path: Path, lost: str) -> None:
    """What a worker was at another one does; without a scheduler the run ends with one line, as by Ctrl-C."""
    distributed = pytest.importorskip("distributed")
    address, (scheduler, worker, _) = parts
    tolerance = {"worker": 0.005}.get(lost, 0.0005)
    options = ("--tolerance", tolerance, "--fresh", "--out", tmp_path)
    process = begin("run", "over-scaling", *options, "--cluster", address)
    with distributed.Client(address, set_as_default=False) as client:
        while not any(client.processing().values()):
            assert process.poll() is None
            time.sleep(0.2)
    if lost:
        os.killpg({"worker": worker, "scheduler": scheduler}[lost].pid, signal.SIGKILL)
    else:
        process.send_signal(signal.SIGINT)
    ended = finish(process, 200)
    assert not re.search("Traceback|KeyboardInterrupt", ended.err)
    assert ended.status == {"worker": 0, "scheduler": 2, "": 130}[lost], ended.err
    if lost != "worker":
        assert ended.complaint.startswith("a task was lost with its worker" if lost else "interrupted")
