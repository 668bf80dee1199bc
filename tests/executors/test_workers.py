"""Processes: every task is done once, and whatever ends one is reported."""

from __future__ import annotations

import contextlib
import os
import re
import signal
import subprocess
import sys
import time
from faulthandler import is_enabled
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests.tool import ROOT, alive
from verify.errors import SettingsError, WorkerError
from verify.executors.workers import Task, Workers, starmap_unordered

if TYPE_CHECKING:
    from collections.abc import Callable


def process_of(_: int) -> int:
    """Return the process that works on this; slowly, so that others have to work too."""
    time.sleep(0.2)
    return os.getpid()


def reciprocal(number: int) -> int:
    """Return 1 divided by ``number``."""
    return 1 // number


def refuse(text: str) -> None:
    """Raise as a function of the tool does."""
    raise SettingsError(text)


@pytest.mark.parametrize("processes", [1, 2, 3])
def test_each_task_is_done_once(processes: int) -> None:
    """Places identify the tasks, whatever order they are done in."""
    with Workers(processes) as workers:
        for count in (0, 1, 2, 7):
            tasks = [Task(pow, (n, 2)) for n in range(count)]
            assert dict(workers.run_tasks(tasks)) == {n: n * n for n in range(count)}


def test_tasks_are_done_by_other_processes() -> None:
    """Two processes work for this one, and are gone afterwards."""
    pids = {pid for _, pid in starmap_unordered(process_of, [(n,) for n in range(4)], 2)}
    assert len(pids) == 2
    assert os.getpid() not in pids
    for pid in pids:
        with pytest.raises(ProcessLookupError):
            os.kill(pid, 0)


def test_a_process_gets_ready_ahead_of_its_first_task() -> None:
    """It imports what it is told to, and calls a function named so; what fails is left to its tasks."""
    with Workers(2) as workers:
        workers.prepare("ready", "no.such.module,ignored")
        workers.prepare("called", "faulthandler:enable")
        before, after = (workers.call(Task(is_enabled, isolate=key)) for key in ("ready", "called"))
    assert (before, after) == (False, True)


def test_workers_are_an_executor() -> None:
    """Futures hold results and errors, with one process and with two; what is not begun can be cancelled."""
    for count in (1, 2):
        with Workers(count) as workers:
            assert [one.result() for one in [workers.submit(abs, -n) for n in range(5)]] == list(range(5))
            assert isinstance(workers.submit(reciprocal, 0).exception(), ZeroDivisionError | WorkerError)
    with Workers(2) as workers:
        futures = [workers.submit(process_of, n) for n in range(8)]
        assert futures[-1].cancel()
    assert all(one.done() for one in futures)


def test_tasks_of_one_key_stay_in_one_process() -> None:
    """What the first of them left there is at hand for the others, however busy it is."""
    with Workers(2) as workers:
        keys = ("a", "b", "a", "a", "b", "a")
        tasks = [Task(process_of, (n,), near=key) for n, key in enumerate(keys)]
        pids = [pid for _, pid in sorted(workers.run_tasks(tasks))]
    homes = {key: {pid for pid, its in zip(pids, keys, strict=True) if its == key} for key in keys}
    assert [len(home) for home in homes.values()] == [1, 1]
    assert homes["a"] != homes["b"]


def test_isolated_tasks_share_no_process_with_others() -> None:
    """Tasks of one key may share a process, with one worker as well; no others ever run in it."""
    keys = ("", "a", "b", "a", "")
    with Workers(1) as workers:
        tasks = [Task(os.getpid, isolate=key) for key in keys]
        pids = [pid for _, pid in sorted(workers.run_tasks(tasks))]
    homes = {key: {pid for pid, its in zip(pids, keys, strict=True) if its == key} for key in keys}
    assert homes[""] == {os.getpid()}
    assert len({pid for found in homes.values() for pid in found}) == sum(map(len, homes.values()))


def test_an_error_in_a_process_is_raised() -> None:
    """Ours arrive as they are, others in words with the task's place; others can be given work afterwards."""
    with Workers(2) as workers:
        with pytest.raises(SettingsError, match=r"^too much$"):
            workers.call(Task(refuse, ("too much",), isolate="a"))
        with pytest.raises(WorkerError, match=r"^ZeroDivisionError: .* by zero$") as caught:
            list(workers.run_tasks([Task(reciprocal, (n,)) for n in (1, 0, 2)]))
        assert caught.value.place == 1
        assert dict(workers.run_tasks([Task(abs, (-n,)) for n in (1, 2)])) == {0: 1, 1: 2}


def end_by(signal_number: int) -> None:
    """Send this process a signal."""
    os.kill(os.getpid(), signal_number)


def close_everything() -> int:
    """Close every file of this process but the standard ones, and go on."""
    os.closerange(3, 64)
    time.sleep(60)
    return 0


def fork_and_return() -> int:
    """Return twice, as a task does that forks and forgets which copy it is."""
    os.fork()
    return os.getpid()


def keep_the_pipe_and_end() -> None:
    """End while a process of the task's own has all its files open."""
    if os.fork():
        os._exit(3)
    time.sleep(60)


def answer_nonsense() -> None:
    """Write to every file of this process."""
    for number in range(3, 64):
        with contextlib.suppress(OSError):
            os.write(number, b"hello, reader of the replies")
    time.sleep(60)


class Treacherous(Exception):  # noqa: N818 - it is no error of ours
    """An exception that has no text."""

    def __str__(self) -> str:
        raise SystemExit(0)


def raise_treacherously() -> None:
    """Raise what cannot be printed."""
    raise Treacherous


def unpicklable() -> Any:
    """Return what cannot be sent."""
    return lambda: None


@pytest.mark.parametrize(
    ("function", "arguments", "message"),
    [
        (sys.exit, (0,), r"SystemExit: 0"),
        (os._exit, (0,), r"ended its process with status 0 before there was a result"),
        (end_by, (signal.SIGKILL,), r"its process was ended by SIGKILL, which .* when memory runs out"),
        (end_by, (signal.SIGSEGV,), r"its process was ended by SIGSEGV"),
        (close_everything, (), r"closed the files of its process, .*"),
        (keep_the_pipe_and_end, (), r"ended its process with status 3 before .*"),
        (answer_nonsense, (), r"closed the files of its process, .*|its process was ended by SIGKILL.*"),
        (raise_treacherously, (), r"Treacherous: its text cannot be made"),
        (unpicklable, (), r".*(P|p)ickl.*"),
    ],
)
def test_whatever_ends_a_process_is_reported(
    function: Callable[..., Any], arguments: tuple[Any, ...], message: str
) -> None:
    """It is one line, in time, and the workers go on with others."""
    begun = time.monotonic()
    with Workers(1) as workers:
        with pytest.raises(WorkerError) as caught:
            workers.call(Task(function, arguments, isolate="a"))
        assert re.fullmatch(message, str(caught.value))
        assert workers.call(Task(abs, (-1,), isolate="a")) == 1
    assert time.monotonic() - begun < 10


def test_a_copy_of_a_process_gives_no_answer() -> None:
    """A task that forks has one result, and the next task gets its own."""
    with Workers(1) as workers:
        pid = workers.call(Task(fork_and_return, isolate="a"))
        assert workers.call(Task(os.getpid, isolate="a")) == pid


def say(text: str) -> None:
    """Print on standard output."""
    print(text)  # noqa: T201 - as a claim file may


def test_what_a_task_prints_goes_to_standard_error(capfd: pytest.CaptureFixture[str]) -> None:
    """Standard output is for results."""
    with Workers(1) as workers:
        workers.call(Task(say, ("a word",), isolate="a"))
    captured = capfd.readouterr()
    assert (captured.out, captured.err) == ("", "a word\n")


PARENT = """
import signal
from tests.executors.test_workers import busy
from verify.executors.workers import Task, Workers
# Under nohup, tests inherit that it is ignored.
signal.signal(signal.SIGHUP, signal.SIG_DFL)
with Workers(2) as workers:
    list(workers.run_tasks([Task(busy, (one,), isolate=one) for one in ("a", "b")]))
"""


def busy(_: str) -> None:
    """Say which process this is, and keep its interpreter from doing anything else for a minute."""
    os.write(2, b"%d\n" % os.getpid())
    sum(range(10**10))


@pytest.mark.skipif(not Path("/proc").is_dir(), reason="looks for processes under /proc")
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM, signal.SIGHUP])
def test_processes_end_with_their_parent(number: int) -> None:
    """However it ends, and whatever they are doing, they are gone within a second."""
    parent = subprocess.Popen(
        [sys.executable, "-c", PARENT],
        stderr=subprocess.PIPE, env={**os.environ, "PYTHONPATH": str(ROOT)}, start_new_session=True,
    )  # fmt: skip
    assert parent.stderr is not None
    at_work = {int(parent.stderr.readline()) for _ in range(2)}
    assert alive(parent.pid) == {parent.pid, *at_work}
    parent.send_signal(number)
    parent.wait()
    parent.stderr.close()
    time.sleep(1)
    assert not alive(parent.pid)
