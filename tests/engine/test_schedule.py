"""The schedule: the same evidence whoever works, in whatever order, whatever is stored; and keys of rows."""

import pickle
import queue
import random
import sys
import threading
from collections.abc import Callable
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.tool import example_claim
from verify.engine import evaluate as evaluating
from verify.engine.catalogue import Entry, catalogue, shipped
from verify.engine.evaluate import evaluate, key, perform, versions
from verify.engine.preparing import Work
from verify.engine.runner import settings
from verify.engine.schedule import Schedule
from verify.engine.store import Store
from verify.errors import ClaimError, SettingsError, VerifyError
from verify.executors.workers import Workers, threads_of

NAMES = ("sqrt-scaling-unique", "variance-of-multiple", "worked-dot-products")
TASK_S = 1e-3
"""So short that every chunk is a task of its own."""


def settled(
    executor: Executor, store: Store | None = None, task_s: float = TASK_S
) -> tuple[list[str], Schedule]:
    """Return the digests of three claims, and how much was drawn for them."""
    chosen = settings(profile="quick", tolerance=0.02)
    works = [Work(shipped()[name], chosen) for name in NAMES]
    schedule = Schedule(works, executor, store, task_s=task_s)
    digests = {claim.record.id: claim.record.digest for claim in schedule.run()}
    return [digests[name] for name in NAMES], schedule


@pytest.fixture(scope="module")
def alone() -> list[str]:
    """Return the digests where each claim is settled by a single task."""
    return settled(Workers(1), task_s=60.0)[0]


class Shuffled(Executor):
    """An executor that does what it is given in another order, once it has several or nothing more comes."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)  # noqa: S311 - nothing is secret
        self._tasks: queue.SimpleQueue[Any] = queue.SimpleQueue()
        threading.Thread(target=self._serve, daemon=True).start()

    def submit(self, function: Callable[..., Any], /, *arguments: Any, **named: Any) -> Future[Any]:
        """Take a task."""
        future: Future[Any] = Future()
        self._tasks.put((future, function, arguments, named))
        return future

    def _serve(self) -> None:
        waiting: list[Any] = []
        while True:
            try:
                waiting.append(self._tasks.get(timeout=0.02))
            except queue.Empty:
                self._random.shuffle(waiting)
                for future, function, arguments, named in waiting:
                    future.set_result(function(*arguments, **named))
                waiting = []


@pytest.mark.parametrize("executor", [lambda: Workers(1), lambda: ThreadPoolExecutor(3), lambda: Shuffled(1)])
def test_whoever_works(alone: list[str], executor: Callable[[], Executor]) -> None:
    """This process, threads, any executor in any order: chunk by chunk they find what one task does."""
    with executor() as workers:
        digests, progress = settled(workers)
    assert digests == alone
    assert progress.drawn == progress.wanted > 0


@pytest.mark.parametrize("count", [2, pytest.param(4, marks=pytest.mark.slow)])
def test_any_number_of_processes(alone: list[str], count: int) -> None:
    """They give the digests of this one."""
    with Workers(count) as workers:
        assert settled(workers)[0] == alone


def test_a_claim_made_here_stays_here(alone: list[str]) -> None:
    """This process and its threads settle it, its cells need no pickle, and nothing of it is stored."""
    made = Entry(NAMES[0], "user", made=catalogue()[NAMES[0]])
    assert key("a", made) is None
    with threads_of(2) as threads:
        work = Work(made, settings(profile="quick", tolerance=0.02))
        (claim,) = Schedule([work], Executor(), mapped=threads.map).run()
    assert claim.record.digest == alone[0]


class Lost(Exception):  # noqa: N818 - it is the end of a process in the midst of a run
    """Stands for the end of the process."""


@pytest.mark.parametrize("after", [1, 4, 9])
def test_a_run_that_ended_goes_on(tmp_path: Path, alone: list[str], after: int) -> None:
    """Whatever was done when it ended is not done again; a third run computes nothing."""

    class Stopping(Workers):
        def __init__(self, left: int) -> None:
            super().__init__(1)
            self.left = left

        def submit(self, *arguments: Any, **named: Any) -> Future[Any]:
            self.left -= 1
            if self.left < 0:
                raise Lost
            return super().submit(*arguments, **named)

    with Store(tmp_path / "store.sqlite") as store:
        with pytest.raises(Lost):
            settled(Stopping(after), store)
        digests, again = settled(Workers(1), store)
        assert digests == alone
        assert again.drawn < settled(Workers(1))[1].drawn or after < 4
        digests, last = settled(Stopping(0), store)
    assert (digests, last.drawn) == (alone, 0)


def test_a_lost_task_is_one_line(tmp_path: Path) -> None:
    """Of an executor that cancels, and of one whose worker ended; with a store the next run goes on."""

    class Losing(Executor):
        def submit(self, *_: Any, **__: Any) -> Future[Any]:
            future: Future[Any] = Future()
            future.cancel()
            future.set_running_or_notify_cancel()
            return future

    with pytest.raises(VerifyError, match=r"^a task was lost with its worker \(Cancel.*\); run it again$"):
        settled(Losing())
    with (
        Store(tmp_path / "store.sqlite") as store,
        pytest.raises(VerifyError, match=r"; run it again: it goes on from the cache$"),
    ):
        settled(Losing(), store)


def complain(text: str) -> None:
    """Raise as a claim does."""
    raise ClaimError(text)


@pytest.mark.parametrize("name", ["sdpa-verify", "numpy", "python", "instructions", "sympy"])
def test_a_worker_with_another_version_is_refused(name: str) -> None:
    """One line names what differs; the task is not even read."""
    with pytest.raises(SettingsError, match=rf"^worker on .*: has {name} .*; use workers with the same$"):
        perform({**versions(), name: "0.0"}, b"no pickle")


def test_a_task_is_done_with_the_same_version() -> None:
    """Its result comes back, and its errors are the tool's, in one line each."""
    assert perform(versions(), pickle.dumps((abs, (-3,)))) == 3
    with pytest.raises(ClaimError, match=r"^wrong$"):
        perform(versions(), pickle.dumps((complain, ("wrong",))))
    with pytest.raises(VerifyError, match="ValueError: invalid literal"):
        perform(versions(), pickle.dumps((int, ("x",))))
    with pytest.raises(VerifyError, match="SystemExit: 3"):
        perform(versions(), pickle.dumps((sys.exit, (3,))))


FILE = Entry("mine", "user", Path("mine.py"), example_claim().encode(), (("common", b"X = 1"),))
CLAIMS = (
    shipped()["score-variance"],
    shipped()["score-mean"],
    FILE,
    replace(FILE, text=FILE.text + b"\n"),
    replace(FILE, beside=(("common", b"X = 2"),)),
    replace(FILE, id="other"),
)


def test_all_that_a_value_depends_on_is_in_its_key(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its kind, its claim with the text of files, its parts, and what it is computed with."""

    def made() -> list[bytes | None]:
        return [key(kind, claim, part) for kind in ("a", "b") for claim in CLAIMS for part in (1, "1")]

    before = made()
    assert None not in before
    assert len(set(before)) == len(before)
    assert made() == before
    assert key("a", replace(FILE, origin=Path("elsewhere/mine.py"))) == key("a", FILE)
    for name in versions():
        monkeypatch.setattr(evaluating, "versions", lambda name=name: {**versions(), name: "other"})
        assert not set(before) & set(made())
        monkeypatch.undo()


def test_the_cells_of_the_catalogue_have_lasting_keys() -> None:
    """A cell made again is the same pickle."""
    claim = shipped()["pairwise-estimator"]
    works = [Work(claim, settings(profile="quick", seed=seed)) for seed in (1, 1, 2)]
    first, again, other = (
        [(cell.id, cell.pickled, cell.drawn.total.to_bytes()) for cell in stretch.cells if cell.drawn.batches]
        for stretch in (evaluate(work, "", {}, 0.0) for work in works)
    )
    assert first
    assert first == again
    assert [cell[:2] for cell in first] == [cell[:2] for cell in other]
    assert first != other
