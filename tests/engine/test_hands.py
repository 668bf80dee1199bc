"""What a crew is handed next."""

from __future__ import annotations

import queue
from concurrent.futures import Future
from typing import TYPE_CHECKING, Any

from verify.engine.crews import Here
from verify.engine.hands import IN_TURN, NEXT, Hands

if TYPE_CHECKING:
    from verify.engine.hands import Tasks


def handed_out(hands: Hands) -> list[str]:
    """Return the names of the tasks, as they are handed out one at a time."""
    done: queue.SimpleQueue[Future[Any]] = queue.SimpleQueue()
    names: list[str] = []
    while True:
        hands.fill(done)
        if not hands.open:
            return names
        assert len(hands.open) == hands.crew.count == 1
        future, then = hands.open.popitem()
        then(future)
        names.append(future.result())


def tasks(*names: str) -> Tasks:
    """Yield tasks that are done and give their names."""
    for name in names:
        future: Future[str] = Future()
        future.set_result(name)
        yield future, lambda _: None


def test_what_weighs_least_goes_first() -> None:
    """Claims that can go on, claims that are to begin, then draws by size; of one weight in their turn."""
    hands = Hands(Here(1))
    for weight, names in ((500, "ab"), (20, "cd"), (IN_TURN, "e"), (20, "f"), (NEXT, "g"), (IN_TURN, "h")):
        hands.add(weight, tasks(*names))
    assert handed_out(hands) == ["g", "e", "h", "c", "d", "f", "a", "b"]


def test_what_is_added_meanwhile_has_its_place() -> None:
    """A job may add another while it is asked for its next task, and after its last."""
    hands = Hands(Here(1))

    def adding() -> Tasks:
        hands.add(NEXT, tasks("first"))
        yield from tasks("own")
        hands.add(30, tasks("small"))

    hands.add(100, adding())
    hands.add(200, tasks("large"))
    assert handed_out(hands) == ["own", "first", "small", "large"]
