"""Copies of a process: they work as others do, end with it, and leave its files and signals alone."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests.executors.test_workers import (
    answer_nonsense,
    close_everything,
    end_by,
    fork_and_return,
    process_of,
    raise_treacherously,
    refuse,
    say,
)
from tests.tool import ROOT, alive
from verify.errors import SettingsError, WorkerError
from verify.executors.workers import Task, Workers

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="elsewhere there are none")

LEFT_HERE: list[int] = []
"""What only a copy of this process can know of."""


@pytest.fixture
def workers(monkeypatch: pytest.MonkeyPatch) -> Iterator[Workers]:
    """Yield two workers that are copies of this process, whose other threads are those of the tests."""
    monkeypatch.setattr("verify.executors.copies.can_copy", lambda: True)
    with Workers(2) as two:
        two.prepare_copies(2)
        yield two


def left_here(_: int) -> tuple[int, list[int]]:
    """Return what was left in the process that was copied; slowly, so that others have to work too."""
    return process_of(0), LEFT_HERE


def test_copies_have_what_was_there(monkeypatch: pytest.MonkeyPatch, workers: Workers) -> None:
    """Two processes that are not this one; what came after them they do not have."""
    monkeypatch.setattr("verify.executors.copies.can_copy", lambda: True)
    monkeypatch.setattr(f"{__name__}.LEFT_HERE", [3])
    assert {tuple(found) for _, (_, found) in workers.run_tasks([Task(left_here, (0,))])} == {()}
    with Workers(2) as later:
        later.prepare_copies(2)
        answers = [found for _, found in later.run_tasks([Task(left_here, (n,)) for n in range(4)])]
    pids = {pid for pid, _ in answers}
    assert [found for _, found in answers] == 4 * [[3]]
    assert len(pids) == 2
    assert os.getpid() not in pids
    for pid in pids:
        with pytest.raises(ProcessLookupError):
            os.kill(pid, 0)


def test_copies_that_get_no_task_end_too(monkeypatch: pytest.MonkeyPatch) -> None:
    """Even where no task was handed out at all."""
    monkeypatch.setattr("verify.executors.copies.can_copy", lambda: True)
    with Workers(3) as some:
        some.prepare_copies(3)
        pids = [process.pid for _, process in some._ahead]
    assert len(pids) == 3
    for pid in pids:
        with pytest.raises(ProcessLookupError):
            os.kill(pid, 0)


def test_nothing_is_copied_while_a_thread_works() -> None:
    """Its locks would be held for ever; processes are started afresh instead."""
    stop, ready = threading.Event(), threading.Barrier(4)

    def work() -> None:
        ready.wait()
        stop.wait()

    threads = [threading.Thread(target=work) for _ in range(3)]
    for one in threads:
        one.start()
    ready.wait()
    try:
        with Workers(2) as some:
            some.prepare_copies(2)
            assert not some._ahead
            assert dict(some.run_tasks([Task(abs, (-n,)) for n in (1, 2)])) == {0: 1, 1: 2}
    finally:
        stop.set()
        for one in threads:
            one.join()


@pytest.mark.parametrize(
    ("function", "arguments", "message"),
    [
        (sys.exit, (0,), r"SystemExit: 0"),
        (os._exit, (0,), r"ended its process with status 0 before there was a result"),
        (os._exit, (3,), r"ended its process with status 3 before there was a result"),
        (end_by, (signal.SIGKILL,), r"its process was ended by SIGKILL, which .* when memory runs out"),
        (end_by, (signal.SIGTERM,), r"its process was ended by SIGTERM"),
        (close_everything, (), r"closed the files of its process, .*"),
        (answer_nonsense, (), r"closed the files of its process, .*|its process was ended by SIGKILL.*"),
        (raise_treacherously, (), r"Treacherous: its text cannot be made"),
    ],
)
def test_whatever_ends_a_copy_is_reported(
    workers: Workers, function: Callable[..., Any], arguments: tuple[Any, ...], message: str
) -> None:
    """It is one line, and the workers go on, with a process that is started afresh where one is missing."""
    with pytest.raises(WorkerError) as caught:
        workers.call(Task(function, arguments))
    assert re.fullmatch(message, str(caught.value))
    pids = {pid for _, pid in workers.run_tasks([Task(process_of, (n,)) for n in range(4)])}
    assert len(pids) == 2


def test_an_error_in_a_copy_is_raised(workers: Workers) -> None:
    """Ours arrive as they are."""
    with pytest.raises(SettingsError, match=r"^too much$"):
        workers.call(Task(refuse, ("too much",)))


def test_a_copy_that_forks_has_one_result(workers: Workers) -> None:
    """The next task gets its own."""
    pid = workers.call(Task(fork_and_return, near="a"))
    assert workers.call(Task(os.getpid, near="a")) == pid


def test_what_a_copy_prints_goes_to_standard_error(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """Standard output is for results."""
    monkeypatch.setattr("verify.executors.copies.can_copy", lambda: True)
    with Workers(2) as some:
        some.prepare_copies(2)
        assert some.call(Task(say, ("a word",))) is None
        captured = capfd.readouterr()
    assert (captured.out, captured.err) == ("", "a word\n")


def files_of(_: int) -> list[str]:
    """Return what the files of this process are."""
    return [str(one.readlink()) for one in Path("/proc/self/fd").iterdir() if one.is_symlink()]


def test_a_copy_has_no_file_of_the_other_processes(workers: Workers, tmp_path: Path) -> None:
    """A pipe that it kept open would never show its end; a lock on a file would stay."""
    with (tmp_path / "open").open("w"), Workers(2) as later:
        later.prepare_copies(1)
        files = later.call(Task(files_of, (0,)))
    assert str(tmp_path / "open") not in files
    assert sum(one.startswith("pipe:") for one in files) <= 4
    assert workers.call(Task(abs, (-1,))) == 1


PARENT = """
import signal, sys
from tests.executors.test_workers import busy
from verify.cli.interrupts import insisting
from verify.executors.workers import Task, Workers
# Under nohup, and in the background of a script, tests inherit that these are ignored.
signal.signal(signal.SIGHUP, signal.SIG_DFL)
signal.signal(signal.SIGINT, signal.default_int_handler)
print("said before, once")
with insisting(), Workers(2) as workers:
    workers.prepare_copies(2)
    assert len(workers._ahead) == 2
    list(workers.run_tasks([Task(busy, (one,)) for one in ("a", "b")]))
"""


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM, signal.SIGHUP, signal.SIGINT])
def test_copies_end_with_their_parent(number: int) -> None:
    """However it ends, and whatever they are doing, they are gone; what it has printed is there once."""
    parent = subprocess.Popen(
        [sys.executable, "-c", PARENT], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": str(ROOT), "PYTHONUNBUFFERED": ""},
        start_new_session=True, text=True,
    )  # fmt: skip
    assert parent.stdout is not None
    assert parent.stderr is not None
    at_work = {int(parent.stderr.readline()) for _ in range(2)}
    assert alive(parent.pid) == {parent.pid, *at_work}
    # Those that work have no signal of the terminal's.
    for pid in at_work:
        os.kill(pid, signal.SIGINT)
    time.sleep(0.1)
    assert alive(parent.pid) == {parent.pid, *at_work}
    parent.send_signal(number)
    said = parent.stdout.read()
    parent.wait()
    parent.stdout.close()
    parent.stderr.close()
    time.sleep(1)
    assert not alive(parent.pid)
    assert said == ("" if number == signal.SIGKILL else "said before, once\n")
