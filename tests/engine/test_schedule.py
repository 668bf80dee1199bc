"""The schedule and its backends: the same evidence whoever works, in whatever order, whatever is stored."""

import pickle
import queue
import random
import sys
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from verify.engine.backends import IN_HAND, Backend, ExecutorBackend, InProcessBackend, perform
from verify.engine.catalogue import BuiltIn, catalogue
from verify.engine.evaluate import CellToDraw, NeedsDraws, Work, begin, forget
from verify.engine.keys import made_by
from verify.engine.runner import settings
from verify.engine.schedule import PendingClaim, RunProgress, Schedule
from verify.engine.store import Store
from verify.errors import ClaimError, SettingsError, WorkerError
from verify.montecarlo.blocks import Chunk, Sums

NAMES = ("sqrt-scaling-unique", "variance-of-multiple", "worked-dot-products")


def works(tolerance: float = 0.02, names: Sequence[str] = NAMES) -> list[Work]:
    """Return what settling some claims takes."""
    chosen = settings(profile="quick", tolerance=tolerance)
    return [Work(BuiltIn(catalogue()[name].chapter, name), chosen, (), "test") for name in names]


def digests(
    backend: Backend, store: Store | None = None, tolerance: float = 0.02, names: Sequence[str] = NAMES
) -> tuple[dict[str, str], RunProgress]:
    """Return the digests of the claims settled, by their ids, and how much was drawn."""
    some = works(tolerance, names)
    schedule = Schedule(some, lambda _: backend, store)
    found = {some[one.place].claim.id: one.record.digest for one in schedule.run()}
    return dict(sorted(found.items())), schedule.progress


@pytest.fixture(scope="module")
def alone() -> dict[str, str]:
    """Return the digests that one worker finds."""
    return digests(InProcessBackend(1))[0]


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
        held: list[Any] = []
        while True:
            try:
                held.append(self._tasks.get(timeout=0.02))
            except queue.Empty:
                self._random.shuffle(held)
                for future, function, arguments, named in held:
                    future.set_result(function(*arguments, **named))
                held = []


def test_whoever_works(alone: dict[str, str]) -> None:
    """Threads of this process, and any executor, in any order, give the digests of one worker."""
    here = InProcessBackend(3)
    assert digests(here)[0] == alone
    here.close()
    with ThreadPoolExecutor(2) as pool:
        assert digests(ExecutorBackend(pool, InProcessBackend(1)))[0] == alone
    assert digests(ExecutorBackend(Shuffled(1), InProcessBackend(1)))[0] == alone


class Noting(InProcessBackend):
    """This process, which notes what it does: the claim, and whether that was drawn for before."""

    def __init__(self) -> None:
        super().__init__(1)
        self.done: list[tuple[str, str, int]] = []

    def evaluate(self, work: Work, proof: str, sums: Sequence[Sums] | None) -> Future[Any]:
        """Evaluate, and note it."""
        self.done.append(("evaluate", work.claim.id, int(sums is not None)))
        return super().evaluate(work, proof, sums)

    def draw(self, work: Work, chunks: Sequence[tuple[CellToDraw, Chunk]]) -> Future[Any]:
        """Draw, and note it."""
        asked = sum((chunk.stop - chunk.first) * cell.batch_draws for cell, chunk in chunks)
        self.done.append(("draw", work.claim.id, asked))
        return super().draw(work, chunks)


@pytest.mark.slow
def test_small_draws_go_first() -> None:
    """Everything is derived before anything is drawn; what waits meanwhile is never the smallest draw."""
    noting = Noting()
    claims = ["attention-sink", "effective-keys", "linear-bias"]
    digests(noting, None, 0.05, claims)
    kinds = [kind for kind, _, _ in noting.done]
    assert kinds[:4] == ["evaluate", "evaluate", "evaluate", "draw"]
    draws = [(claim, asked) for kind, claim, asked in noting.done if kind == "draw"]
    waiting = {one: [asked for claim, asked in draws if claim == one] for one in claims}
    assert all(len(sizes) > 2 for sizes in waiting.values())
    for claim, asked in draws:
        others = [sizes[0] for name, sizes in waiting.items() if sizes and name != claim]
        assert asked <= min(others, default=asked)
        waiting[claim].pop(0)


def test_a_tighter_tolerance_goes_on(tmp_path: Path) -> None:
    """What was drawn for a coarse one is part of what a fine one rests on, and changes no digit of it."""
    with Store(tmp_path / "store.sqlite") as store:
        _, coarse = digests(InProcessBackend(1), store, 0.05, ["self-score"])
        found, fine = digests(InProcessBackend(1), store, 0.02, ["self-score"])
    assert fine.stored == coarse.drawn > 0
    assert fine.drawn > 0
    assert found == digests(InProcessBackend(1), None, 0.02, ["self-score"])[0]


class Lost(Exception):  # noqa: N818 - it is the end of a process in the midst of a run
    """Stands for the end of the process."""


@pytest.mark.parametrize("after", [1, 2])
def test_a_run_that_ended_goes_on(tmp_path: Path, alone: dict[str, str], after: int) -> None:
    """Whatever was done when it ended is not done again, and the digests are those of one run."""

    class Stopping(InProcessBackend):
        left = after

        def draw(self, *arguments: Any) -> Future[Any]:
            self.left -= 1
            if self.left < 0:
                raise Lost
            return super().draw(*arguments)

    with Store(tmp_path / "store.sqlite") as store:
        with pytest.raises(Lost):
            digests(Stopping(1), store)
        found, progress = digests(InProcessBackend(1), store)
    assert found == alone
    assert progress.stored > 0
    assert progress.derivations > 0


def test_a_row_that_cannot_be_read_is_computed_again(tmp_path: Path, alone: dict[str, str]) -> None:
    """Without a word, with the same digests, and the next run finds it."""
    said: list[str] = []
    with Store(tmp_path / "store.sqlite", said.append) as store:
        digests(InProcessBackend(1), store)
        store._execute("UPDATE rows SET content = substr(content, 9)")
        found, again = digests(InProcessBackend(1), store)
        assert found == alone
        assert (again.stored, again.derivations) == (0, 0)
        found, last = digests(InProcessBackend(1), store)
    assert (found, last.drawn, said) == (alone, 0, [])


def test_a_lost_task_is_one_line(tmp_path: Path) -> None:
    """A worker that ends, and an executor that cancels, end the run; the line names the claim."""

    class Losing(InProcessBackend):
        def draw(self, *_: Any) -> Future[Any]:
            future: Future[Any] = Future()
            future.cancel()
            future.set_running_or_notify_cancel()
            return future

    with pytest.raises(WorkerError, match=r"^claim .*: CancelledError; run it again$"):
        digests(Losing(1))

    class Ending(InProcessBackend):
        def evaluate(self, *_: Any) -> Future[Any]:
            future: Future[Any] = Future()
            future.set_exception(WorkerError("its process was ended by SIGKILL"))
            return future

    with (
        Store(tmp_path / "store.sqlite") as store,
        pytest.raises(
            WorkerError, match=r"^claim .*-unique: its process .*; run it again: it goes on from the"
        ),
    ):
        digests(Ending(1), store)


def test_progress_is_told_in_numbers() -> None:
    """Rate and time left follow from what is drawn; nothing is foreseen before anything is."""
    progress = RunProgress(drawn=300, stored=100, wanted=1000, seconds=2.0)
    assert (progress.rate, progress.left_s) == (150.0, 4.0)
    assert RunProgress(wanted=10).left_s is None


NAME = "sqrt-scaling-unique"
WORK = Work(BuiltIn(catalogue()[NAME].chapter, NAME), settings(profile="quick"), (), "test")


class Few(Executor):
    """An executor that says how many workers it has."""

    def __init__(self, workers: int) -> None:
        self.workers = workers


@pytest.fixture(scope="module")
def cell() -> CellToDraw:
    """Return a cell of which two chunks and a part of a third are wanted."""
    awaited = begin(WORK, "")
    assert isinstance(awaited, NeedsDraws)
    forget(WORK)
    return replace(awaited.cells[0], batches=5, chunk_batches=2)


def test_short_chunks_make_a_task_together_where_sending_costs(cell: CellToDraw) -> None:
    """As many as fill its time, but not before that is known, nor more than leave something for all."""
    backend = ExecutorBackend(Few(4), InProcessBackend(1))
    claim = PendingClaim(0, WORK, backend, has_store=False, awaited=(cell.id, "after"))
    claim.ask(replace(cell, batches=480, chunk_batches=2))
    claim.ask(replace(cell, id="after", batches=20, chunk_batches=2))
    waiting = claim.cells[cell.id]
    chunks, whole = list(waiting.missing(NAME)), 2 * cell.batch_draws

    def chunks_from(place: int, others: int = 0) -> float:
        return claim.task_draws(waiting, chunks[place], others * whole) / whole

    assert chunks_from(0) == 1
    claim.draw_s = backend.task_s / 10 / whole
    assert chunks_from(0) == pytest.approx(10)
    assert chunks_from(240 - 62) == pytest.approx((62 + 10) / 12)
    assert chunks_from(-1) == 1
    assert chunks_from(-1, others=85) == pytest.approx(96 / 12)
    claim.draw_s = 2 * backend.task_s / whole
    assert chunks_from(0) == 1
    claim.backend = ExecutorBackend(Few(2000), InProcessBackend(1))
    assert chunks_from(0) == 4
    claim.backend = InProcessBackend(4)
    assert chunks_from(0) == 1


def complain(text: str) -> None:
    """Raise as a claim does."""
    raise ClaimError(text)


@pytest.mark.parametrize("name", ["sdpa-verify", "numpy", "python", "instructions", "sympy"])
def test_a_worker_with_another_version_is_refused(name: str) -> None:
    """One line names what differs; the task is not even read."""
    with pytest.raises(
        SettingsError, match=rf"^worker on .*: has {name} .*; use workers with the same$"
    ) as caught:
        perform({**made_by(), name: "0.0"}, b"no pickle")
    assert "\n" not in str(caught.value)


def test_a_task_is_done_with_the_same_version() -> None:
    """Its result comes back, and its errors are the tool's."""
    assert perform(made_by(), pickle.dumps((abs, (-3,)))) == 3
    with pytest.raises(ClaimError, match=r"^wrong$"):
        perform(made_by(), pickle.dumps((complain, ("wrong",))))
    with pytest.raises(WorkerError, match="ValueError: invalid literal"):
        perform(made_by(), pickle.dumps((int, ("x",))))
    with pytest.raises(WorkerError, match="SystemExit: 3"):
        perform(made_by(), pickle.dumps((sys.exit, (3,))))


def test_workers_that_join_later_are_handed_work() -> None:
    """The executor is asked again how many it has: for the room, and for the length of a task."""
    with ThreadPoolExecutor(1) as executor:
        executor.workers = 1  # type: ignore[attr-defined]
        backend = ExecutorBackend(executor, InProcessBackend(1))
        work = Work(BuiltIn("scores", "score-mean"), settings(profile="quick"), (), "test")
        assert (backend.workers, backend.chunks_at_once) == (1, 1)
        assert not backend.has_room(work, IN_HAND, is_evaluated=False)
        executor.workers = 1000  # type: ignore[attr-defined]
        assert (backend.workers, backend.chunks_at_once) == (1000, 2)
        assert backend.has_room(work, IN_HAND, is_evaluated=False)
