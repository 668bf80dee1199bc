"""Worker processes: every task is done once, whatever ends a process is reported, and none outlives us."""

import faulthandler
import os
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from faulthandler import is_enabled
from pathlib import Path
from typing import Any

import pytest

from tests.tool import ROOT, alive
from verify.errors import ClaimError, SettingsError, VerifyError, WorkerError
from verify.executors import workers as module
from verify.executors.workers import Task, Workers, portable

LEFT_HERE: list[int] = []
"""What only a copy of this process can know of."""


def pid_after(seconds: float = 0.2) -> int:
    """Return the process that works on this; slowly, so that others have to work too."""
    time.sleep(seconds)
    return os.getpid()


def is_gone(pid: int) -> bool:
    """Return whether there is no such process."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return True
    return False


@pytest.fixture(
    params=[
        pytest.param("spawned", marks=pytest.mark.slow),
        pytest.param("copies", marks=pytest.mark.skipif(sys.platform != "linux", reason="no copies")),
    ]
)
def two(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[Workers]:
    """Yield two workers: started when needed, or copies of this process, despite pytest's threads."""
    with Workers(2) as workers:
        if request.param == "copies":
            monkeypatch.setattr(threading, "active_count", lambda: 1)
            workers.prepare_copies(2)
        yield workers


@pytest.mark.parametrize("count", [1, 2])
def test_each_task_is_done_once(count: int) -> None:
    """Places identify the tasks."""
    with Workers(count) as workers:
        for many in (0, 1, 2, 7):
            tasks = [Task(pow, (n, 2)) for n in range(many)]
            assert dict(workers.run_tasks(tasks)) == {n: n * n for n in range(many)}


def test_processes_share_tasks_and_are_gone_afterwards(two: Workers) -> None:
    """Two processes work for this one."""
    with two:
        pids = {pid for _, pid in two.run_tasks([Task(pid_after) for _ in range(4)])}
        assert len(pids) == 2
        assert os.getpid() not in pids
    assert all(map(is_gone, pids))


@pytest.mark.skipif(sys.platform != "linux", reason="no copies")
def test_copies_have_what_was_imported_here(monkeypatch: pytest.MonkeyPatch) -> None:
    """What was left in this process is there; those that get no task end as well."""
    monkeypatch.setattr(threading, "active_count", lambda: 1)
    monkeypatch.setattr(f"{__name__}.LEFT_HERE", [3])
    with Workers(3) as workers:
        workers.prepare_copies(3)
        pids = [one.pid for one in workers._processes]
        assert workers.hand_out(Task(left_here)).result() == [3]
    assert len(pids) == 3
    assert all(map(is_gone, pids))


def left_here() -> list[int]:
    """Return what was left in the process that was copied."""
    return LEFT_HERE


def test_nothing_is_copied_while_a_thread_works() -> None:
    """Its locks would be held for ever."""
    stop = threading.Event()
    threads = [threading.Thread(target=stop.wait) for _ in range(2)]
    for one in threads:
        one.start()
    with Workers(2) as workers:
        workers.prepare_copies(2)
        copies = list(workers._processes)
    stop.set()
    assert copies == []


def test_a_process_gets_ready_ahead_of_its_first_task() -> None:
    """It is one more, for tasks of its key alone, and calls a function; what fails is left to its tasks."""
    threads = threading.active_count()
    with Workers(2) as workers:
        workers.prepare("called", faulthandler.enable)
        workers.prepare("failed", fail)
        assert threading.active_count() <= threads  # else no process could be copied from here on
        found = [workers.hand_out(Task(is_enabled, near=key)).result() for key in ("called", "failed", "")]
        pids = {workers.hand_out(Task(os.getpid, near=key)).result() for key in ("called", "failed", "")}
    assert found == [True, False, False]
    assert len(pids) == 3


def fail() -> None:
    """Fail."""
    raise OSError


@pytest.mark.slow
def test_tasks_of_one_key_stay_in_one_process(two: Workers) -> None:
    """Until the key is released or the process ends."""
    keys = ("a", "b", "a", "a", "b", "a")
    pids = [pid for _, pid in two.run_tasks([Task(pid_after, near=key) for key in keys])]
    homes = {key: {pid for pid, its in zip(pids, keys, strict=True) if its == key} for key in keys}
    assert [len(home) for home in homes.values()] == [1, 1]
    assert homes["a"] != homes["b"]
    two.release("b")
    assert (two.serves("a"), two.serves("b")) == (True, False)
    with pytest.raises(WorkerError):
        two.hand_out(Task(os._exit, (1,), near="a")).result()
    assert not two.serves("a")


def test_room_is_for_as_many_busy_processes_as_there_are_workers(two: Workers) -> None:
    """And for one more task behind each, which then need not wait to arrive."""
    assert two.has_room("a")
    futures = [two.hand_out(Task(pid_after, near=key)) for key in ("a", "b")]
    assert [two.has_room(key) for key in ("", "a", "b")] == [True] * 3
    futures.append(two.hand_out(Task(pid_after, near="a")))
    assert [two.has_room(key) for key in ("", "a", "b")] == [True, False, True]
    futures.append(two.hand_out(Task(pid_after)))
    assert not two.has_room()
    for future in futures:
        future.result()
    assert two.has_room("a")


def refuse(text: str) -> None:
    """Raise as a function of the tool does."""
    raise SettingsError(text)


def test_an_error_in_a_process_is_raised(two: Workers) -> None:
    """Ours arrive as they are, others in words; the workers go on."""
    with pytest.raises(SettingsError, match=r"^too much$"):
        two.hand_out(Task(refuse, ("too much",))).result()
    with pytest.raises(WorkerError, match=r"^ZeroDivisionError: .* by zero$"):
        list(two.run_tasks([Task(divmod, (1, n)) for n in (1, 0, 2)]))
    assert dict(two.run_tasks([Task(abs, (-n,)) for n in (1, 2)])) == {0: 1, 1: 2}


def end_by(number: int) -> None:
    """Send this process a signal; Python prints no stack of a process that ends as it is meant to."""
    faulthandler.disable()
    os.kill(os.getpid(), number)


def unpicklable() -> Any:
    """Return what cannot be sent."""
    return lambda: None


@pytest.mark.parametrize(
    ("function", "arguments", "message"),
    [
        pytest.param(
            *(os._exit, (0,), r"ended its process with status 0 before there was a result"),
            marks=pytest.mark.slow,
        ),
        (end_by, (signal.SIGKILL,), r"its process was ended by SIGKILL, which .* when memory runs out"),
        pytest.param(end_by, (signal.SIGSEGV,), r"its process was ended by SIGSEGV", marks=pytest.mark.slow),
        (unpicklable, (), r".*(P|p)ickl.*"),
    ],
)
def test_whatever_ends_a_process_is_reported(
    two: Workers, function: Callable[..., Any], arguments: tuple[Any, ...], message: str
) -> None:
    """It is one line, in time, and the workers go on, with a new process where one is missing."""
    begun = time.monotonic()
    with pytest.raises(WorkerError) as caught:
        two.hand_out(Task(function, arguments)).result()
    assert re.fullmatch(message, str(caught.value))
    assert time.monotonic() - begun < 10
    assert len({pid for _, pid in two.run_tasks([Task(pid_after) for _ in range(4)])}) == 2


def half_a_result() -> bytes:
    """Return more than a pipe holds, and end the process while it is sent."""
    threading.Timer(0.5, os._exit, (4,)).start()
    return bytes(1 << 30)


@pytest.mark.slow
def test_half_a_result_ends_the_wait_for_it(two: Workers) -> None:
    """The pool itself would wait for the rest for ever."""
    with pytest.raises(WorkerError, match=r"status 4|SIG"):
        two.hand_out(Task(half_a_result)).result()


def killed_after(seconds: float) -> None:
    """End this process, with a task that waits unread in its pipe."""
    time.sleep(seconds)
    os.kill(os.getpid(), signal.SIGKILL)


@pytest.mark.slow
def test_half_a_task_ends_the_wait_for_it(two: Workers) -> None:
    """Nobody reads the rest of what is sent to a process that has ended; Python 3.11.2 went on writing."""
    task = Task(killed_after, (0.5,), near="one")
    sent = [two.hand_out(one) for one in (task, Task(len, (bytes(10**7),), near="one"))]
    for future in sent:
        with pytest.raises(WorkerError, match="ended by SIGKILL"):
            future.result(20)
    closing = threading.Thread(target=two.close, daemon=True)
    closing.start()
    closing.join(20)
    assert not closing.is_alive()


@pytest.mark.parametrize("how", [pytest.param("spawned", marks=pytest.mark.slow), "copies"])
def test_what_a_task_prints_goes_to_standard_error(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str], how: str
) -> None:
    """Standard output is for results."""
    monkeypatch.setattr(threading, "active_count", lambda: 1)
    with Workers(2) as workers:
        if how == "copies":
            workers.prepare_copies(1)
        workers.hand_out(Task(os.system, ("echo a word",))).result()
        workers.hand_out(Task(print, ("another",))).result()
        captured = capfd.readouterr()
    assert (captured.out, captured.err) == ("", "a word\nanother\n")


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
    if "{how}" == "copies":
        workers.prepare_copies(2)
        assert len(workers._processes) == 2
    futures = [workers.hand_out(Task(busy)) for _ in range(2)]
    [one.result() for one in futures]
"""


def busy() -> None:
    """Say which process this is, and keep it at work for a minute."""
    os.write(2, b"%d\n" % os.getpid())
    sum(number % 7 for number in range(10**9))


@pytest.mark.skipif(sys.platform != "linux", reason="looks for processes under /proc")
@pytest.mark.parametrize("how", [pytest.param("spawned", marks=pytest.mark.slow), "copies"])
@pytest.mark.parametrize(
    "number",
    [
        signal.SIGKILL,
        signal.SIGINT,
        *(pytest.param(one, marks=pytest.mark.slow) for one in (signal.SIGTERM, signal.SIGHUP)),
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
    said = parent.stdout.read()
    parent.wait()
    complaints = parent.stderr.read()
    parent.stdout.close()
    parent.stderr.close()
    until = time.monotonic() + 5
    while alive(parent.pid) and time.monotonic() < until:
        time.sleep(0.02)
    assert not alive(parent.pid)
    assert said == "said before, once\n"
    assert number != signal.SIGKILL or complaints == ""


PROGRAM = """
from pathlib import Path
from verify.executors.workers import Task, Workers
Path("runs").open("a").write("x")
with Workers(2) as workers:
    print(workers.hand_out(Task(abs, (-3,))).result(), Path("runs").read_text())
"""


def test_a_program_is_not_run_again_by_its_workers(tmp_path: Path) -> None:
    """It needs no guard around what it does."""
    (tmp_path / "program.py").write_text(PROGRAM)
    out = subprocess.run(
        [sys.executable, "program.py"],
        cwd=tmp_path,
        capture_output=True,
        check=True,
        text=True,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    ).stdout
    assert out == "3 x\n"


def test_no_more_processes_is_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    """It says what the system says, and what helps."""

    def fail(*_: object) -> None:
        raise OSError(11, "Resource temporarily unavailable")

    monkeypatch.setattr(module, "_Process", fail)
    with (
        Workers(2) as workers,
        pytest.raises(VerifyError, match=r"cannot be started \(Resource temp.*fewer --w"),
    ):
        workers.hand_out(Task(abs, (-1,))).result()


class OwnError(ClaimError):
    """An error of an author's own, which only this module knows."""


@pytest.mark.parametrize(
    ("error", "kind", "text"),
    [
        (SettingsError("it\n  is\tso"), SettingsError, "it is so"),
        (VerifyError("it is so"), VerifyError, "it is so"),
        (OwnError("it is so"), ClaimError, "it is so"),
        (ZeroDivisionError("it is so"), WorkerError, "ZeroDivisionError: it is so"),
        (KeyboardInterrupt(), WorkerError, "KeyboardInterrupt"),
        (ValueError("x" * 100_000), WorkerError, f"ValueError: {'x' * 1988}"),
    ],
)
def test_whatever_a_task_raises_is_one_of_our_errors(
    error: BaseException, kind: type[VerifyError], text: str
) -> None:
    """The nearest that every process knows, in one line that is not endless."""
    found = portable(error)
    assert (type(found), str(found)) == (kind, text)
