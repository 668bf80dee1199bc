"""A campaign of kills: the tool or its workers are ended at random moments, and nothing may be lost or left.

The store must be sound afterwards, and a run that goes on from it have the digests of an undisturbed one. A
cluster of Dask's is among the victims where Dask is installed. Workers of any kind are also stopped for a
while.

``python -m tests.faults.kills --kills 500 --seed 1`` prints a table, and what went wrong with its number;
``--only NUMBER`` repeats one kill of a campaign, ``--target "dask worker"`` kills nothing else.
"""

import argparse
import contextlib
import importlib.util
import io
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from tests.tool import EXAMPLE, alive, begin, example_claim, finish
from verify import api
from verify.auditing.files import load as load_recording
from verify.cli import main as command_line
from verify.engine.store import VARIABLE, Store
from verify.errors import RecordingError, VerifyError
from verify.evidence.load import load_any

HAS_DASK = importlib.util.find_spec("distributed") is not None
HAS_TORCH = importlib.util.find_spec("torch") is not None
TARGETS = (*["main"] * 5, *["worker"] * 3, *["dask worker"] * HAS_DASK)
_USING_A_STORE = ("run", "file", "report", "merge", *["cluster"] * HAS_DASK)
COMMANDS = {
    "main": (
        *_USING_A_STORE,
        *("run", "merge", "render", "check-docs", "export", "audit", "probe"),
        *["record"] * HAS_TORCH,
    ),
    "worker": ("run", "run", "run", "file", "report"),
    "dask worker": ("cluster",),
}
"""What is killed, and where: those that take less time more often."""
SIGNALS = (signal.SIGKILL, signal.SIGTERM, signal.SIGHUP, signal.SIGINT)
STRAGGLING_S = 2.0
"""Seconds for which SIGSTOP stops a worker: a straggler that comes back."""
CLAIMS, TOLERANCE = ("score-mean", "variance-of-multiple"), 0.005
"""So fine that workers draw for a good part of the time: those killed earlier have nothing to lose."""
PATIENCE = 180.0
"""Seconds in which a command that lost a worker must have ended by itself."""

_DOCUMENT = "it is <!-- verify: score-variance.variance-d8:estimate|default -->9999<!-- /verify -->\n" * 40
_PROGRAM = """
import torch
layer = torch.nn.MultiheadAttention(8, 2)
for _ in range(200):
    layer(*[torch.randn(5, 3, 8)] * 3)
"""
_ATTENTION = """
import numpy as np
def attend(q, k, v):
    scores = q @ np.swapaxes(k, -1, -2) / np.sqrt(q.shape[-1])
    weights = np.exp(scores - scores.max(axis=-1, keepdims=True))
    return weights / weights.sum(axis=-1, keepdims=True) @ v
"""
_AS_DRAWN = ("--allow-unseen", "output", "--intended", "1/sqrt(d)", "--mask", "none")
_MERGED = 3000
"""Rows of the store that is merged: reading them takes the most of the time."""
_WORKER = b"--multiprocessing-fork"
_NOISE = ("Traceback", "resource_tracker", "leaked", "Exception ignored", "Fatal Python error")


@dataclass(frozen=True)
class Kill:
    """One kill: of what, by which signal, and when; ``moment`` is a share of the command's usual time.

    ``choice``, from 0 to 1, says which one of several processes: some have nothing to do just then.
    """

    command: str
    number: signal.Signals
    target: str
    moment: float | None
    cold: bool = True
    choice: float = 0.0

    @property
    def kind(self) -> tuple[str, str, str]:
        """What it is counted under."""
        return self.target, self.number.name, "while writing" if self.moment is None else "at any moment"


@dataclass
class Outcome:
    """What a kill has led to; ``hit`` says whether the command was still running.

    ``orphans`` are the processes that outlived the command.
    """

    kill: Kill
    hit: bool = False
    status: int = 0
    orphans: tuple[int, ...] = ()
    problems: list[str] = field(default_factory=list)


class Place:
    """A folder with whole files of earlier runs, and the commands that are killed there.

    Only those in ``killed`` are run before, for the time that they take.
    """

    def __init__(self, folder: Path, killed: Iterable[str]) -> None:
        self.out = folder / "reports"
        self.temporary = folder / "tmp"
        self.document = folder / "docs" / "doc.md"
        self.claim, self.recording = folder / EXAMPLE, folder / "recording"
        for one in (self.out, self.temporary, self.document.parent):
            one.mkdir()
        self.claim.write_text(example_claim(), encoding="utf-8")
        # The commands that run in this process have the same one.
        tempfile.tempdir = str(self.temporary)
        self.store = folder / "store" / "store.sqlite"
        self.environment = {
            "TMPDIR": str(self.temporary),
            "XDG_CACHE_HOME": str(folder / "cache"),
            VARIABLE: str(self.store),
        }
        self.digests = {name: self._digests(name, None) for name in ("run", "file")}
        self.record = api.run(["score-variance"], profile="quick", workers=1, store=False)
        self.results, self.other = folder / "results.json", folder / "other.sqlite"
        self.results.write_text(self.record.to_json(), encoding="utf-8")
        self._digests("run", self.other)
        _lengthen(self.other)
        drawn = np.random.default_rng(1).standard_normal((2, 200, 2, 16, 8))
        np.savez(folder / "drawn.npz", q=drawn[0], k=drawn[1])
        (folder / "program.py").write_text(_PROGRAM, encoding="utf-8")
        (folder / "attention.py").write_text(_ATTENTION, encoding="utf-8")
        quick: tuple[object, ...] = ("--profile", "quick", "--out", self.out)
        run = (*CLAIMS, "--tolerance", TOLERANCE, *quick)
        self.commands: dict[str, tuple[object, ...]] = {
            "run": ("run", *run, "--workers", 2),
            "file": ("run", "doubled-keys", "--claims", self.claim, *run, "--workers", 2),
            "report": ("report", *CLAIMS, "--workers", 2, *quick),
            "cluster": ("run", *run, "--cluster", "local:2"),
            "merge": ("store", "merge", self.other),
            "render": ("render", self.results, "--out", self.out),
            "check-docs": ("check-docs", "--write", "--results", self.results, self.document),
            "export": ("export", "--results", self.results, "--out", self.out / "verify.tex"),
            "audit": ("audit", folder / "drawn.npz", "--out", self.out, "--workers", 1, *_AS_DRAWN),
            "probe": ("probe", f"{folder / 'attention.py'}:attend", "--d-k", 8),
            "record": ("record", "--out", self.recording, folder / "program.py"),
        }
        cold = {name: self._time(name) for name in set(killed)}
        self.usual_s = {(name, is_cold): cold[name] for name in cold for is_cold in (True, False)}
        self.old = self._contents()
        finish(self.start("check-docs"))
        self.fixed = self.document.read_text()

    def start(self, command: str, *, cold: bool = False) -> subprocess.Popen[str]:
        """Start a command in a session of its own, ``cold`` without a store; the document is stale."""
        for one in [self.recording, *[self.store.parent] * (cold and command in _USING_A_STORE)]:
            shutil.rmtree(one, ignore_errors=True)
        self.document.write_text(_DOCUMENT)
        return begin(*self.commands[command], environment=self.environment, start_new_session=True)

    def writes(self) -> bool:
        """Return whether a temporary file with something in it lies beside the files of the command."""
        for folder in (self.out, self.document.parent, self.recording):
            for path in folder.glob(".sdpa-verify-*"):
                with contextlib.suppress(FileNotFoundError):
                    if path.stat().st_size:
                        return True
        return False

    def damage(self) -> Iterator[str]:
        """Yield what is wrong with the files that the command may have written."""
        for name, content in self._contents().items():
            if content != self.old.get(name) and not _is_whole(self.out / name):
                yield f"{name} is neither the old one nor whole"
        yield from (f"{name} is gone" for name in self.old if not (self.out / name).exists())
        if self.document.read_text() not in {self.fixed, _DOCUMENT}:
            yield "the document is half written"
        if self.recording.exists():
            # Without its index, which comes last, it is refused.
            with contextlib.suppress(RecordingError):
                yield from ["an empty recording is whole"] * (not load_recording(self.recording).layers)

    def faults_of_the_store(self, command: str) -> Iterator[str]:
        """Yield what is wrong with the store, or with the run that goes on from it."""
        if self.store.is_file():
            try:
                with Store(self.store) as store:
                    damaged = store.contents().damaged
            except VerifyError as error:
                yield str(error)
            else:
                yield from [f"{damaged} rows of the store are damaged"] * bool(damaged)
        name = "file" if command == "file" else "run"
        if self._digests(name, self.store) != self.digests[name]:
            yield "the repeated run has other digests"

    def _digests(self, name: str, store: Path | None) -> dict[str, str]:
        claims: list[str | Path] = [*CLAIMS, *[self.claim] * (name == "file")]
        run = api.run(claims, profile="quick", tolerance=TOLERANCE, workers=1, store=store or False)
        return {claim.id: claim.digest for claim in run.claims}

    def debris(self) -> Iterator[str]:
        """Yield what is left over after the next commands, which run in this process."""
        quick = ("--profile", "quick", "--workers", "1", "--out", str(self.out))
        for command in (
            ("run", "worked-dot-products", "--fresh", *quick),
            tuple(map(str, self.commands["check-docs"])),
        ):
            with (
                contextlib.suppress(SystemExit),
                contextlib.redirect_stdout(io.StringIO()),
                contextlib.redirect_stderr(io.StringIO()),
            ):
                command_line.main(command)
        known = {
            *self.old,
            "results.json",
            self.document.name,
            *(f"{self.store.name}{end}" for end in ("", "-wal", "-shm")),
        }
        for folder in (self.out, self.document.parent, self.temporary, self.store.parent):
            for path in folder.iterdir() if folder.exists() else ():
                if path.name not in known:
                    yield f"{path} is left"
                    shutil.rmtree(path) if path.is_dir() else path.unlink()

    def _time(self, command: str) -> float:
        begun = time.monotonic()
        ended = finish(self.start(command, cold=True), PATIENCE)
        assert ended.status == 0, ended
        return time.monotonic() - begun

    def _contents(self) -> dict[str, bytes]:
        return {path.name: path.read_bytes() for path in self.out.iterdir() if path.name[0] != "."}


def _is_whole(path: Path) -> bool:
    if path.suffix == ".json":
        try:
            load_any(path)
        except VerifyError:
            return False
        return True
    # All else is written with the same content.
    end = {".html": b"</html>", ".pdf": b"%%EOF"}.get(path.suffix)
    return end is not None and path.read_bytes().rstrip().endswith(end)


def _lengthen(path: Path) -> None:
    """Add many rows to a store: a chunk of its own, under other keys."""
    with Store(path) as store:
        content = next(row.content for row, _ in store._all() if row.kind == "chunk")
        for number in range(_MERGED):
            key = number.to_bytes(32)
            store.put("chunk", key, key + content[32:])


def kills(number: int, seed: int, targets: Sequence[str] = TARGETS) -> list[Kill]:
    """Return a campaign: signals, ``targets`` and moments take turns, the rest is drawn."""
    source = random.Random(seed)  # noqa: S311 - nothing is secret
    campaign: list[Kill] = []
    turns: Counter[str] = Counter()
    for place in range(number):
        target = targets[place % len(targets)]
        command = source.choice(COMMANDS[target])
        writes = target == "main" and command not in {"merge", "probe"}
        moment = None if writes and source.random() < 0.4 else source.uniform(0, 1.05)
        signals = SIGNALS if target == "main" else (*SIGNALS, signal.SIGSTOP)
        chosen = signals[turns[target] % len(signals)]
        turns[target] += 1
        campaign.append(Kill(command, chosen, target, moment, source.random() < 0.7, source.random()))
    return campaign


def struck(kill: Kill, place: Place) -> Outcome:
    """Start the command, kill, and return what is wrong afterwards."""
    outcome = Outcome(kill)
    process = place.start(kill.command, cold=kill.cold)
    outcome.hit = _strike(kill, place, process)
    ended = finish(process, PATIENCE)
    assert isinstance(ended.status, int)
    outcome.status = ended.status
    _wait_for_the_end(process.pid, 10 if kill.command == "cluster" else 1)
    outcome.orphans = tuple(sorted(alive(process.pid)))
    outcome.problems += [f"process {pid} is alive" for pid in outcome.orphans]
    # Before Python has come to the tool's first line, Ctrl-C is its own affair.
    ours = "Traceback" not in ended.err or ", in main" in ended.err
    outcome.problems += [f"standard error: {ended.err}" for word in _NOISE if ours and word in ended.err]
    if ended.status not in _statuses(kill, hit=outcome.hit):
        outcome.problems.append(f"status {ended.status}: {ended.err}")
    outcome.problems += [*place.damage(), *place.debris()]
    if kill.command in _USING_A_STORE:
        outcome.problems += place.faults_of_the_store(kill.command)
    for pid in alive(process.pid):
        os.kill(pid, signal.SIGKILL)
    return outcome


def _strike(kill: Kill, place: Place, process: subprocess.Popen[str]) -> bool:
    """Kill at the moment that is meant, and return whether the command was still running then."""
    if kill.moment is not None:
        begun = time.monotonic()
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(kill.moment * place.usual_s[kill.command, kill.cold])
            # It took less than it took at first: warm, or on a machine with less to do now.
            place.usual_s[kill.command, kill.cold] = time.monotonic() - begun
    victims: Callable[[], Sequence[int]] = lambda: [process.pid]  # noqa: E731
    if kill.target != "main":
        victims = lambda: workers_of(process.pid, kill.target)  # noqa: E731
    ready = place.writes if kill.moment is None else victims
    while process.poll() is None and not ready():
        time.sleep(0.0005 if kill.moment is None else 0.01)
    there = victims()
    if not there or process.poll() is not None:
        return False
    victim = there[int(kill.choice * len(there))]
    with contextlib.suppress(ProcessLookupError):
        os.kill(victim, kill.number)
        if kill.number is signal.SIGSTOP:
            time.sleep(STRAGGLING_S)
            os.kill(victim, signal.SIGCONT)
    return True


def _wait_for_the_end(session: int, seconds: float) -> None:
    """Give the processes of a session the time that they may take to end."""
    until = time.monotonic() + seconds
    while alive(session) and time.monotonic() < until:
        time.sleep(0.1)


def workers_of(session: int, target: str) -> list[int]:
    """Return the processes at work for the one that leads a session: its own, or those of a Dask cluster.

    Its own are started by name or copies of it, those of a cluster copies of Python's server of copies.
    """
    commands = {}
    for pid in sorted(alive(session)):
        with contextlib.suppress(OSError):
            commands[pid] = Path(f"/proc/{pid}/cmdline").read_bytes()
    leader = commands.pop(session, b"")
    if target == "dask worker":
        served = [pid for pid, command in commands.items() if b"multiprocessing.forkserver" in command]
        return [pid for pid in served if _parent_of(pid) in served]
    return [pid for pid, command in commands.items() if command == leader or _WORKER in command]


def _parent_of(pid: int) -> int:
    with contextlib.suppress(OSError):
        return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])
    return 0


def _statuses(kill: Kill, *, hit: bool) -> set[int]:
    """Return what the command may end with; a signal may also come before it is handled, or too late."""
    if not hit:
        return {0}
    if kill.target != "main":
        # A worker of ours ignores Ctrl-C, a straggler comes back; one that has done its work is not missed.
        is_harmless = kill.number is signal.SIGSTOP or (kill.target, kill.number) == ("worker", signal.SIGINT)
        return {0} if is_harmless else {0, 2, 4}
    return {0, -kill.number, *([128 + kill.number] if kill.number is not signal.SIGKILL else [])}


def table(outcomes: Sequence[Outcome]) -> str:
    """Return how many of each kind there were, hit something, went wrong, and left processes behind."""
    kinds = sorted({one.kill.kind for one in outcomes})
    head = f"{'kills':>5} {'hit':>5} {'wrong':>5} {'orphans':>7}"
    lines = [f"{'target':12} {'signal':8} {'when':14} {head}  statuses"]
    for kind in kinds:
        some = [one for one in outcomes if one.kill.kind == kind]
        statuses = ", ".join(f"{n}×{status}" for status, n in sorted(Counter(o.status for o in some).items()))
        lines.append(f"{kind[0]:12} {kind[1]:8} {kind[2]:14} {_counts(some)}  {statuses}")
    return "\n".join([*lines, f"{'together':36} {_counts(outcomes)}"])


def _counts(some: Sequence[Outcome]) -> str:
    hit, wrong = sum(one.hit for one in some), sum(bool(one.problems) for one in some)
    return f"{len(some):5} {hit:5} {wrong:5} {sum(len(one.orphans) for one in some):7}"


def main() -> None:
    """Run a campaign from the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kills", type=int, default=500)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", type=int)
    parser.add_argument("--target", choices=sorted(set(TARGETS)))
    options = parser.parse_args()
    # A job in the background may have been started deaf to it.
    signal.signal(signal.SIGHUP, signal.SIG_DFL)
    targets = [options.target] if options.target else TARGETS
    campaign = list(enumerate(kills(options.kills, options.seed, targets)))
    chosen = campaign if options.only is None else [campaign[options.only]]
    outcomes = []
    with tempfile.TemporaryDirectory() as folder:
        place = Place(Path(folder), (kill.command for _, kill in chosen))
        try:
            for number, kill in chosen:
                outcome = struck(kill, place)
                outcomes.append(outcome)
                for problem in outcome.problems:
                    print(f"kill {number}, {kill}: {problem}", flush=True)
                if len(outcomes) % 25 == 0:
                    print(table(outcomes), flush=True)
        except KeyboardInterrupt:
            print(f"interrupted after {len(outcomes)} of {len(chosen)} kills")
    print(table(outcomes))
    sys.exit(any(one.problems for one in outcomes))


if __name__ == "__main__":
    main()
