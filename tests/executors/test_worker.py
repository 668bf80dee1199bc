"""The other side of a worker's pipes: messages arrive whole or not at all; every task leads to an answer."""

from __future__ import annotations

import os
import pickle
import threading
from typing import TYPE_CHECKING, Any, NoReturn

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.strategies import examples
from verify.errors import ClaimError, SettingsError, VerifyError
from verify.executors import worker
from verify.executors.worker import HEADER, MARK, Done, Failed, receive

if TYPE_CHECKING:
    from collections.abc import Callable


class Pipe:
    """A pipe, closed at the end."""

    def __enter__(self) -> tuple[int, int]:
        self._ends = os.pipe()
        return self._ends

    def __exit__(self, *_: object) -> None:
        for end in self._ends:
            try:
                os.close(end)
            except OSError:
                continue


@examples(30)
@given(st.lists(st.binary(max_size=200), max_size=4))
def test_messages_come_as_they_were_sent(messages: list[bytes]) -> None:
    """In their order, empty ones too; then the end."""
    with Pipe() as (source, target):
        for message in messages:
            worker._send(target, message)
        os.close(target)
        assert [receive(source) for _ in messages] == messages
        assert receive(source) is None


def test_a_message_may_be_larger_than_a_pipe() -> None:
    """It is written and read in as many pieces as it takes."""
    message = bytes(range(256)) * 12_000
    with Pipe() as (source, target):
        sender = threading.Thread(target=worker._send, args=(target, message))
        sender.start()
        assert receive(source) == message
        sender.join()


@pytest.mark.parametrize("size", range(0, HEADER.size + 5, 3))
def test_a_message_that_is_cut_short_is_none(size: int) -> None:
    """In its head or in what follows: whoever wrote it is gone."""
    whole = HEADER.pack(MARK, 5) + b"hello"
    with Pipe() as (source, target):
        os.write(target, whole[:size])
        os.close(target)
        assert receive(source) is None


def test_what_somebody_else_wrote_is_no_message() -> None:
    """A library may print to what it takes for standard output."""
    with Pipe() as (source, target):
        os.write(target, HEADER.pack(b"not ours", 5) + b"hello")
        assert receive(source) is None


def answer(function: Callable[..., Any], *arguments: Any) -> Any:
    """Return what a worker answers to a task."""
    return pickle.loads(worker._reply(pickle.dumps((function, arguments))))  # noqa: S301 - made here


def test_a_task_leads_to_its_result() -> None:
    """Whatever it is, as long as it can be sent."""
    assert answer(divmod, 7, 3) == Done((2, 1))
    assert answer(dict) == Done({})


def raises(kind: type[BaseException], text: str) -> NoReturn:
    """Raise an error."""
    raise kind(text)


class OwnError(ClaimError):
    """An error of somebody's own, which only this module knows."""


class MuteError(Exception):
    """An error whose text cannot be made."""

    def __str__(self) -> str:
        """Fail."""
        raise RuntimeError


@pytest.mark.parametrize(
    ("kind", "failed"),
    [
        (SettingsError, Failed("SettingsError", "it is so")),
        (VerifyError, Failed("VerifyError", "it is so")),
        (OwnError, Failed("ClaimError", "it is so")),
        (ZeroDivisionError, Failed("", "ZeroDivisionError: it is so")),
        (SystemExit, Failed("", "SystemExit: it is so")),
        (KeyboardInterrupt, Failed("", "KeyboardInterrupt: it is so")),
        (MuteError, Failed("", "MuteError: its text cannot be made")),
    ],
)
def test_whatever_a_task_raises_is_an_answer(kind: type[BaseException], failed: Failed) -> None:
    """By the nearest error that the parent knows, in one line; an exit ends the task alone."""
    assert answer(raises, kind, "it\n  is\tso") == failed


def test_a_text_without_end_is_cut() -> None:
    """It crosses a pipe, and ends in a line for people."""
    assert len(answer(raises, ValueError, "x" * 100_000).text) == 2000


def test_what_cannot_be_read_or_sent_is_an_answer_too() -> None:
    """A task of a module that is not there, and a result that no process can be sent."""
    assert "pickle" in answer(threading.Lock).text
    broken = pickle.loads(worker._reply(b"no pickle"))  # noqa: S301 - made here
    assert isinstance(broken, Failed)
    assert "\n" not in broken.text
