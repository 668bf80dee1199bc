"""Worker processes, each task done once and none left over; threads of linear algebra, and freed memory."""

import multiprocessing
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import BrokenExecutor, ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
from threadpoolctl import threadpool_info, threadpool_limits

from tests.tool import ROOT, alive
from verify.errors import VerifyError
from verify.executors import workers as module
from verify.executors.workers import Workers, one_blas_thread


def pid_after(seconds: float = 0.2) -> int:
    """Return the process that works on this; slowly, so that others have to work too."""
    time.sleep(seconds)
    return os.getpid()


@pytest.fixture(
    params=[
        pytest.param("spawn", marks=pytest.mark.slow),
        pytest.param("fork", marks=pytest.mark.skipif(sys.platform != "linux", reason="no copies")),
    ]
)
def two(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[Workers]:
    """Yield two workers: new processes, or copies of this one, despite pytest's threads."""
    monkeypatch.setattr(module, "_context", lambda: multiprocessing.get_context(request.param))
    with Workers(2) as workers:
        yield workers


def test_processes_share_tasks_and_are_gone_afterwards(two: Workers) -> None:
    """Results come in the order of the tasks, from two processes that are not this one."""
    with two:
        assert list(two.map(pow, range(7), [2] * 7)) == [number**2 for number in range(7)]
        pids = set(two.map(pid_after, [0.2] * 4))
        assert len(pids) == 2
        assert os.getpid() not in pids
    for pid in pids:
        with pytest.raises(ProcessLookupError):
            os.kill(pid, 0)


def test_a_single_worker_is_this_process() -> None:
    """Tasks are done as they are submitted."""
    with Workers(1) as workers:
        assert set(workers.map(pid_after, [0] * 3)) == {os.getpid()}


def end_by(number: int) -> None:
    """Send this process a signal."""
    os.kill(os.getpid(), number)


def test_a_process_that_ends_is_noticed(two: Workers) -> None:
    """At once, and all end."""
    pids = set(two.map(pid_after, [0.2] * 4))
    begun = time.monotonic()
    with pytest.raises(BrokenExecutor):
        two.submit(end_by, signal.SIGKILL).result()
    two.shutdown()
    assert time.monotonic() - begun < 10
    for pid in pids:
        with pytest.raises(ProcessLookupError):
            os.kill(pid, 0)


PARENT = """
import multiprocessing, signal
from tests.executors.test_workers import busy
from verify.cli.interrupts import interruptible
from verify.executors import workers as module
# Under nohup, and in the background of a script, tests inherit that these are ignored.
signal.signal(signal.SIGHUP, signal.SIG_DFL)
signal.signal(signal.SIGINT, signal.default_int_handler)
module._context = lambda: multiprocessing.get_context({how!r})
print("said before, once")
with interruptible(), module.Workers(2) as workers:
    futures = [workers.submit(busy) for _ in range(2)]
    [future.result() for future in futures]
"""


def busy() -> None:
    """Say which process this is, and keep it at work for a minute."""
    os.write(2, b"%d\n" % os.getpid())
    sum(number % 7 for number in range(10**9))


@pytest.mark.skipif(sys.platform != "linux", reason="looks for processes under /proc")
@pytest.mark.parametrize("how", [pytest.param("spawn", marks=pytest.mark.slow), "fork"])
@pytest.mark.parametrize(
    "number",
    [
        signal.SIGKILL,
        signal.SIGINT,
        *(pytest.param(number, marks=pytest.mark.slow) for number in (signal.SIGTERM, signal.SIGHUP)),
    ],
)
def test_processes_end_with_their_parent(number: int, how: str) -> None:
    """However it ends, and whatever they are doing, they are gone; what it has printed is there once."""
    parent = subprocess.Popen(
        [sys.executable, "-c", PARENT.format(how=how)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": str(ROOT), "PYTHONUNBUFFERED": ""},
        start_new_session=True,
        text=True,
    )
    assert parent.stdout is not None
    assert parent.stderr is not None
    at_work = {int(parent.stderr.readline()) for _ in range(2)}
    for pid in at_work:
        # A terminal's Ctrl-C is for the parent alone.
        os.kill(pid, signal.SIGINT)
    time.sleep(0.1)
    assert at_work < alive(parent.pid)
    parent.send_signal(number)
    said, _ = parent.communicate(timeout=20)
    until = time.monotonic() + 5
    while alive(parent.pid) and time.monotonic() < until:
        time.sleep(0.02)
    assert not alive(parent.pid)
    assert said == "said before, once\n"


PROGRAM = """
import multiprocessing
from pathlib import Path
from verify.executors import workers as module
module._context = lambda: multiprocessing.get_context("spawn")
Path("runs").open("a").write("x")
with module.Workers(2) as workers:
    print(workers.submit(abs, -3).result(), Path("runs").read_text())
"""


def test_a_program_is_not_run_again_by_its_workers(tmp_path: Path) -> None:
    """It needs no guard around what it does."""
    (tmp_path / "program.py").write_text(PROGRAM)
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    command = [sys.executable, "program.py"]
    out = subprocess.run(command, cwd=tmp_path, capture_output=True, check=True, text=True, env=environment)
    assert out.stdout == "3 x\n"


def test_no_more_processes_is_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    """It says what the system says, and what helps."""

    def fail(*_: object) -> None:
        raise OSError(11, "Resource temporarily unavailable")

    monkeypatch.setattr(module, "ProcessPoolExecutor", fail)
    with (
        Workers(2) as workers,
        pytest.raises(VerifyError, match=r"cannot be started \(Resource temp.*fewer --w"),
    ):
        workers.submit(abs, -1)


def blas_threads() -> set[int]:
    """Return how many threads linear algebra would use in this one."""
    assert np.linalg.det(np.eye(2)) == 1
    return {library["num_threads"] for library in threadpool_info() if library["user_api"] == "blas"}


def test_all_threads_of_a_run_use_one_thread_for_linear_algebra() -> None:
    """Also while another thread ends its work; afterwards linear algebra uses as many as before.

    More threads add products up in another order, so that the last digits would depend on who draws.
    """

    def draws(_: int) -> set[int]:
        with one_blas_thread():
            return blas_threads()

    with threadpool_limits(limits=2):
        with one_blas_thread(), ThreadPoolExecutor(4) as threads:
            assert draws(0) == {1}
            assert list(threads.map(draws, range(20))) == [{1}] * 20
            assert blas_threads() == {1}
        assert blas_threads() == {2}


ROUNDS = """
import resource, sys
import numpy as np
from verify.errors import SettingsError
from verify.executors.workers import keep_freed
if sys.argv[1] == "kept":
    keep_freed()
def faults():
    for _ in range(20):
        arrays = [np.ones(1 << 17) for _ in range(4)]
        del arrays
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt
first = faults()
print(faults() - first)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="the C library is not glibc")
def test_freed_memory_is_taken_again_without_a_page_fault() -> None:
    """Twenty rounds of 4 MiB touch next to no new page; without it they touch most of them each time."""
    retained, released = (
        int(subprocess.run([sys.executable, "-c", ROUNDS, how], capture_output=True, check=True).stdout)
        for how in ("kept", "given-back")
    )
    assert retained < 100
    assert released > 1000
