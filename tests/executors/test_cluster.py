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

from tests.tool import ROOT, alive, begin, finish
from verify import api
from verify.errors import SettingsError
from verify.evidence.load import load
from verify.executors import cluster as module
from verify.executors.cluster import connected

NAMES = ["variance-of-multiple", "sqrt-scaling-unique"]


def refuse(address: str, match: str) -> None:
    """See that an address is refused in one line."""
    with pytest.raises(SettingsError, match=match), connected(address):
        pass


def test_without_dask_one_line_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    """It is an extra."""
    monkeypatch.setitem(sys.modules, "dask", None)
    refuse("local:2", r"needs Dask; install it with `pip install 'sdpa-verify\[dask\]'`")


@pytest.mark.parametrize("address", ["local:", "local:0", "local:-1", "local:x", "local:1.5", "local:1025"])
def test_a_number_of_processes_is_wanted(address: str) -> None:
    """Anything else after ``local:`` is refused."""
    refuse(address, "give local:N with a number of processes")


@pytest.mark.parametrize(
    "address",
    ["", "foo", "host:port", "http://host:80", "inproc://1/2", ":8786", "host:-1", "a b:80", "host:8786/"],
)
def test_what_is_no_address_is_refused_on_sight(address: str) -> None:
    """Dask would wait for half a minute, and end with a traceback from one of its threads."""
    refuse(address, "is not an address; give HOST:PORT or local:N")


@pytest.mark.slow
def test_no_scheduler_is_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    """It says where none was found, and what to start."""
    pytest.importorskip("distributed")
    monkeypatch.setattr(module, "_JOIN_S", 1)
    refuse("tcp://127.0.0.1:9", r"127.0.0.1:9: no worker can be reached .*`dask scheduler`")


@pytest.mark.slow
def test_the_digests_are_those_of_one_process(tmp_path: Path, claim_file: Callable[..., Path]) -> None:
    """Of claims that come with the tool and of a file, whose text goes to the workers."""
    pytest.importorskip("distributed")
    path = claim_file()
    alone = api.run([*NAMES, path], tolerance=0.01, workers=1, store=False)
    arguments = (*NAMES, "doubled-keys", "--claims", path, "--tolerance", 0.01, "--fresh", "--out", tmp_path)
    ended = finish(begin("run", *arguments, "--cluster", "local:2"))
    assert ended.status == 0, ended.err
    assert "Traceback" not in ended.err
    found = load(tmp_path / "results.json")
    assert [claim.digest for claim in found.claims] == [claim.digest for claim in alone.claims]


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
@pytest.mark.parametrize("lost", ["worker", "scheduler"])
def test_a_part_of_a_cluster_is_lost(parts: Parts, tmp_path: Path, lost: str) -> None:
    """What a worker was at another one does; without a scheduler the run ends with one line."""
    distributed = pytest.importorskip("distributed")
    address, (scheduler, worker, _) = parts
    tolerance = {"worker": 0.005, "scheduler": 0.0005}[lost]
    options = ("--tolerance", tolerance, "--fresh", "--out", tmp_path)
    process = begin("run", "over-scaling", *options, "--cluster", address)
    with distributed.Client(address, set_as_default=False) as client:
        while not any(client.processing().values()):
            assert process.poll() is None
            time.sleep(0.2)
    os.killpg({"worker": worker, "scheduler": scheduler}[lost].pid, signal.SIGKILL)
    ended = finish(process, 200)
    if lost == "scheduler":
        assert ended.status == 2
        assert ended.complaint.startswith("a task was lost with its worker")
    else:
        assert ended.status == 0, ended.err


@pytest.mark.slow
def test_ctrl_c_reaches_no_process_of_a_cluster_for_one_run(tmp_path: Path) -> None:
    """A terminal sends it to all; the run alone answers, in one line, and all end with it."""
    pytest.importorskip("distributed")
    options = ("--tolerance", 0.0005, "--fresh", "--out", tmp_path, "--cluster", "local:2")
    process = begin("run", "over-scaling", *options, start_new_session=True)
    while len(alive(process.pid)) < 4:
        time.sleep(0.02)
    os.killpg(process.pid, signal.SIGINT)
    ended = finish(process)
    assert ended.status == 130
    assert "interrupted" in ended.err
    assert not re.search("Traceback|KeyboardInterrupt", ended.err)
    until = time.monotonic() + 10
    while alive(process.pid) and time.monotonic() < until:
        time.sleep(0.1)
    assert not alive(process.pid)
