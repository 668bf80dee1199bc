"""A Dask cluster: the digests of one process, and one line where there is none."""

import contextlib
import json
import os
import re
import resource
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from tests.tool import ROOT, alive, begin, finish
from verify import api
from verify.errors import SettingsError, WorkerError
from verify.executors import cluster as module
from verify.executors.cluster import Cluster

NAMES = ["variance-of-multiple", "sqrt-scaling-unique"]


def test_without_dask_one_line_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    """It is an extra."""
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(
        SettingsError, match=r"needs Dask; install it with `pip install 'sdpa-verify\[dask\]'`"
    ):
        Cluster("local:2")


@pytest.mark.slow
@pytest.mark.parametrize("address", ["local:", "local:0", "local:-1", "local:x", "local:1.5", "local:1025"])
def test_a_number_of_processes_is_wanted(address: str) -> None:
    """Anything else after ``local:`` is refused."""
    pytest.importorskip("distributed")
    with pytest.raises(SettingsError, match="give local:N with a number of processes"):
        Cluster(address)


@pytest.mark.slow
@pytest.mark.parametrize(
    "address",
    [
        "",
        "foo",
        "host:port",
        "http://host:80",
        "inproc://1/2",
        ":8786",
        "tcp://:8786",
        "host:-1",
        "a b:80",
        "host:8786/",
        "scheduler.json:",
    ],
)
def test_what_is_no_address_is_refused_on_sight(address: str) -> None:
    """Dask would wait for half a minute, and end with a traceback from one of its threads."""
    pytest.importorskip("distributed")
    with pytest.raises(SettingsError, match="is not an address; give HOST:PORT or local:N"):
        Cluster(address)


@pytest.mark.slow
def test_no_scheduler_is_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    """It says where none was found, and what to start."""
    pytest.importorskip("distributed")
    monkeypatch.setattr(module, "_JOIN_S", 1)
    with pytest.raises(SettingsError, match=r"127.0.0.1:9: no worker can be reached .*`dask scheduler`"):
        Cluster("tcp://127.0.0.1:9")


@pytest.mark.slow
def test_the_digests_are_those_of_one_process(tmp_path: Path, claim_file: Callable[..., Path]) -> None:
    """Of claims that come with the tool and of a file, whose text goes to the workers."""
    pytest.importorskip("distributed")
    path = claim_file()
    alone = api.run([*NAMES, path], profile="quick", workers=1)
    arguments = (*NAMES, "doubled-keys", "--claims", path, "--profile", "quick", "--fresh", "--out", tmp_path)
    ended = finish(begin("run", *arguments, "--cluster", "local:2"))
    assert ended.status == 0, ended.err
    assert "Traceback" not in ended.err
    from verify.evidence.load import load  # noqa: PLC0415

    found = load(tmp_path / "results.json")
    assert {claim.id: claim.digest for claim in found.claims} == {
        claim.id: claim.digest for claim in alone.claims
    }


@pytest.mark.slow
def test_two_clusters_for_one_run_each() -> None:
    """Neither warns that the other has its port; no process is started by this one, or imports SymPy itself.

    Processes keep freed memory: otherwise every array of a batch is taken from the system again. An exception
    that is none of the tool's arrives as one line.
    """
    pytest.importorskip("distributed")
    with Cluster("local:2") as cluster, Cluster("local:1") as other:
        assert cluster.submit(os.getpid).result(30) != other.submit(os.getpid).result(30)
        parents = {cluster.submit(os.getppid).result(30) for _ in range(8)}
        with pytest.raises(WorkerError, match="ValueError"):
            cluster.submit(int, "x").result(30)
        if sys.platform == "linux":  # elsewhere each process imports everything itself
            assert len(parents) == 1
            assert parents != {os.getpid()}
            assert cluster.submit(_imported, "verify.engine.backends").result(30)
            assert cluster.submit(_pages_of_arrays_after_the_first).result(30) < 1000
    with pytest.raises(WorkerError, match="its task was lost"):
        cluster.submit(abs, -1).result(30)


def _imported(module: str) -> bool:
    return module in sys.modules


def _pages_of_arrays_after_the_first() -> int:
    pages = []
    for _ in range(5):
        before = resource.getrusage(resource.RUSAGE_THREAD).ru_minflt
        _ = [np.ones(1 << 18) for _ in range(30)]
        pages.append(resource.getrusage(resource.RUSAGE_THREAD).ru_minflt - before)
    return sum(pages[1:])


@pytest.mark.slow
def test_a_lost_worker_changes_no_digit() -> None:
    """Another does what it was at."""
    pytest.importorskip("distributed")
    alone = api.run(["over-scaling"], tolerance=0.005, workers=1, store=False)
    with Cluster("local:2") as cluster:
        (address, pid), *_ = cluster._client.run(os.getpid).items()

        def kill() -> None:
            while not cluster._client.processing()[address]:
                time.sleep(0.01)
            os.kill(pid, signal.SIGKILL)

        end = threading.Thread(target=kill, daemon=True)
        end.start()
        found = api.run(["over-scaling"], tolerance=0.005, executor=cluster, store=False)
        assert not end.is_alive(), "the run ended before its worker did"
    assert found.claims[0].digest == alone.claims[0].digest


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


@pytest.mark.slow
def test_a_worker_that_joins_late_has_work(tmp_path: Path) -> None:
    """A scheduler with one worker at first counts two soon after, and both are handed tasks."""
    pytest.importorskip("distributed")
    parts = [started("scheduler", tmp_path)]
    while not (tmp_path / "address.json").exists():
        time.sleep(0.1)
    try:
        parts.append(started("worker", tmp_path))
        with Cluster(json.loads((tmp_path / "address.json").read_text())["address"]) as cluster:
            assert cluster.workers == 1
            parts.append(started("worker", tmp_path))
            until = time.monotonic() + 120
            while cluster.workers < 2 and time.monotonic() < until:
                time.sleep(0.2)
            assert cluster.workers == 2
            asked = [cluster.submit(_process_after, 0.3) for _ in range(12)]
            assert len({one.result(60) for one in asked}) == 2
            found = api.run(["score-mean"], profile="quick", executor=cluster, store=False)
        alone = api.run(["score-mean"], profile="quick", workers=1, store=False)
        assert found.claims[0].digest == alone.claims[0].digest
    finally:
        for one in reversed(parts):
            with contextlib.suppress(ProcessLookupError):
                os.killpg(one.pid, signal.SIGKILL)
            one.wait()


def _process_after(seconds: float) -> int:
    time.sleep(seconds)
    return os.getpid()


@pytest.mark.slow
@pytest.mark.parametrize("end", [signal.SIGKILL, signal.SIGSTOP])
def test_a_scheduler_that_is_gone_is_one_line(tmp_path: Path, end: signal.Signals) -> None:
    """A cluster of processes started by hand serves a run; without its scheduler the run ends in time.

    So it does where the scheduler is there and says nothing.
    """
    distributed = pytest.importorskip("distributed")
    scheduler = started("scheduler", tmp_path)
    while not (tmp_path / "address.json").exists():
        time.sleep(0.1)
    worker = started("worker", tmp_path)
    try:
        address = json.loads((tmp_path / "address.json").read_text())["address"]
        process = begin(
            "run", "over-scaling", "--tolerance", 0.0005, "--fresh", "--out", tmp_path, "--cluster", address
        )
        with distributed.Client(address, set_as_default=False) as client:
            while not any(client.processing().values()):
                assert process.poll() is None
                time.sleep(0.2)
        os.killpg(scheduler.pid, end)
        ended = finish(process, 90)
        assert ended.status == 2
        assert "gone" in ended.complaint or "lost" in ended.complaint
    finally:
        for one in (worker, scheduler):
            with contextlib.suppress(ProcessLookupError):
                os.killpg(one.pid, signal.SIGKILL)
            one.wait()


@pytest.mark.slow
def test_a_worker_without_the_tool_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its first task would end it, and the next worker's it, until none is left that could say why."""
    pytest.importorskip("distributed")
    monkeypatch.setattr(module, "__name__", "absent.module")
    with pytest.raises(
        SettingsError,
        match=r"worker tcp://\S+ lacks sdpa-verify \(ModuleNotFoundError: No module named 'absent'\); ",
    ):
        Cluster("local:1")


@pytest.mark.slow
def test_ctrl_c_reaches_no_process_of_a_cluster_for_one_run(tmp_path: Path) -> None:
    """A terminal sends it to all; the run alone answers, in one line, and all end with it."""
    pytest.importorskip("distributed")
    process = begin(
        "run",
        "over-scaling",
        "--tolerance",
        0.0005,
        "--fresh",
        "--out",
        tmp_path,
        "--cluster",
        "local:2",
        start_new_session=True,
    )
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
