"""Ctrl-C, a full disk, a closed pipe, a missing library: the tool ends at once and loses nothing."""

import os
import resource
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.tool import ROOT, Ended, alive, begin, finish
from verify.cli.interrupts import interruptible
from verify.evidence import RunRecord

Write = Callable[..., Path]

OLD = {name: f"the {name} of an earlier run\n" for name in ("results.json", "report.html", "report.pdf")}
MARK = "__import__('sys').stderr.write('now\\n') or __import__('sys').stderr.flush()"
PATIENCE = 3.0
"""Seconds in which an interrupted tool must be gone, here where other processes want the processor too."""


@pytest.fixture
def reports(tmp_path: Path) -> Iterator[Path]:
    """Return a folder with a report of an earlier run, and see afterwards that it is as it was."""
    folder = tmp_path / "reports"
    folder.mkdir()
    for name, text in OLD.items():
        (folder / name).write_text(text)
    yield folder
    assert {path.name: path.read_text() for path in folder.iterdir()} == OLD


def interrupted(process: subprocess.Popen[str], line: str, after: float = 0.0) -> Ended:
    """Press Ctrl-C some time after a line of progress, and return what the tool leaves."""
    seen = []
    for text in iter(process.stderr.readline, ""):  # type: ignore[union-attr]  # it is a pipe
        seen.append(text)
        if text.strip() == line:
            break
    time.sleep(after)
    assert process.poll() is None, seen
    begun = time.monotonic()
    process.send_signal(signal.SIGINT)
    ended = finish(process)
    assert time.monotonic() - begun < PATIENCE
    return ended


def is_interrupted(ended: Ended, number: int = signal.SIGINT) -> None:
    """Assert what every interrupted run has in common."""
    assert ended.status == 128 + number
    assert ended.complaint == "interrupted; every file is complete or unchanged"


@pytest.mark.slow
def test_ctrl_c_while_deriving(reports: Path, claim_file: Write) -> None:
    """SymPy may take as long as it likes; it is interrupted in the middle."""
    endless = "[Var(n * score).definition.expand() for n in range(1, 10**8)]"
    path = claim_file(("    return Chain", f"    {MARK}\n    {endless}\n    return Chain"))
    process = begin("report", "doubled-keys", "--claims", path, "--out", reports)
    is_interrupted(interrupted(process, "now", 0.2))


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc").is_dir(), reason="looks for processes under /proc")
def test_impatience_leaves_no_process_behind(reports: Path, claim_file: Write) -> None:
    """Ctrl-C pressed again and again, while processes are at work, ends all of them like a single one."""
    mark = "__import__('os').write(2, b'%d\\n' % __import__('os').getpid())"
    path = claim_file(("    yield Fit(", f"    {mark}\n    yield Fit("))
    options = ("--claims", path, "--tolerance", "0.0004", "--workers", 2, "--out", reports)
    process = begin("report", "doubled-keys", "score-variance", *options, start_new_session=True)
    process.stderr.readline()  # type: ignore[union-attr]  # it is a pipe
    time.sleep(0.3)
    for _ in range(5):
        os.killpg(process.pid, signal.SIGINT)
        time.sleep(0.05)
    is_interrupted(finish(process))
    begun = time.monotonic()
    while alive(process.pid) and time.monotonic() - begun < PATIENCE:
        time.sleep(0.1)
    assert not alive(process.pid)


@pytest.mark.parametrize("phase", ["figures", pytest.param("pdf", marks=pytest.mark.slow)])
def test_ctrl_c_while_rendering(reports: Path, tmp_path: Path, small: RunRecord, phase: str) -> None:
    """A report half made leaves no trace; the results were written before."""
    results = tmp_path / "results.json"
    results.write_text(small.to_json(), encoding="utf-8")
    for _ in range(5):
        ended = interrupted(begin("render", results, "--out", reports), f"rendering: {phase}", 0.05)
        if "report.pdf" not in ended.out:
            break
        # It came after the end: the PDF is made beside the page, and may be there first.
        for name, text in OLD.items():
            (reports / name).write_text(text)
    is_interrupted(ended)
    assert (reports / "results.json").read_bytes() == results.read_bytes()
    (reports / "results.json").write_text(OLD["results.json"])


def _processor_s(pid: int) -> float:
    """Return the processor time that a process has used, in seconds."""
    user, system = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[11:13]
    return (int(user) + int(system)) / os.sysconf("SC_CLK_TCK")


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="reads processor time from /proc")
@pytest.mark.parametrize(
    "number",
    [signal.SIGTERM, *(pytest.param(n, marks=pytest.mark.slow) for n in (signal.SIGINT, signal.SIGHUP))],
)
def test_a_signal_while_importing(reports: Path, number: int) -> None:
    """The first second belongs to the libraries; Ctrl-C, CI or a closed terminal end it too."""
    process = begin("report", "--out", reports)
    # Of its own processor time: on a busy machine the interpreter itself is still starting by the clock.
    while process.poll() is None and _processor_s(process.pid) < 0.4:
        time.sleep(0.005)
    process.send_signal(number)
    ended = finish(process)
    assert ended.status == 128 + number
    assert ended.complaint.startswith("interrupted")


@pytest.mark.skipif(not hasattr(resource, "prlimit"), reason="limits another process")
@pytest.mark.slow
def test_a_full_disk(reports: Path) -> None:
    """Files that may not grow beyond 8 KiB stand for a disk that fills up while results are written."""
    process = begin("report", "worked-dot-products", "--profile", "quick", "--out", reports)
    # From outside, while it imports: a function run after a fork warns where a library has threads.
    resource.prlimit(process.pid, resource.RLIMIT_FSIZE, (8192, 8192))
    ended = finish(process)
    assert ended.status == 2
    assert "File too large" in ended.complaint
    assert "; free space" in ended.complaint


SWALLOWING = """
import signal, time
from verify.cli.interrupts import interruptible
signal.signal(signal.SIGINT, signal.default_int_handler)
with interruptible():
    while True:
        try:
            print("ready", flush=True)
            time.sleep(60)
        except KeyboardInterrupt:
            pass
"""


def test_what_swallows_an_interruption_is_ended_all_the_same() -> None:
    """Some library code does, in a callback say: the process ends a moment later, with the same line."""
    command, pipe = [sys.executable, "-c", SWALLOWING], subprocess.PIPE
    process = subprocess.Popen(command, stdout=pipe, stderr=pipe, text=True, cwd=ROOT)
    assert process.stdout is not None
    assert process.stdout.readline() == "ready\n"
    begun = time.monotonic()
    process.send_signal(signal.SIGINT)
    is_interrupted(finish(process))
    assert time.monotonic() - begun < PATIENCE


def test_a_blocked_signal_waits_whichever_thread_receives_it() -> None:
    """Python runs the handler in the main thread, in the middle of what must not be broken off."""
    reached = []

    def start_a_process() -> None:
        with interruptible():
            signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
            # The process's signal goes to the thread that insists, which does not block it.
            os.kill(os.getpid(), signal.SIGINT)
            time.sleep(0.3)
            reached.append("end of the block")
            signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})
            time.sleep(5)

    # A job in the background may have been started deaf to it.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        with pytest.raises(KeyboardInterrupt):
            start_a_process()
    finally:
        signal.signal(signal.SIGINT, before)
    assert reached == ["end of the block"]
