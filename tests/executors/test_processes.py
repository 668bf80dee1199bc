"""What another process's reply says, and nothing where somebody else wrote it."""

from __future__ import annotations

import pickle
import sys

import pytest

from verify.executors import processes
from verify.executors.processes import read
from verify.executors.worker import Done, Failed


@pytest.mark.parametrize("outcome", [Done(3), Done(None), Failed("ClaimError", "it is so")])
def test_a_reply_is_what_was_sent(outcome: Done | Failed) -> None:
    """A result or what was raised."""
    assert read(pickle.dumps(outcome)) == outcome


@pytest.mark.parametrize("reply", [None, b"", b"no pickle", pickle.dumps(3), pickle.dumps(Done(3))[:-2]])
def test_what_is_no_reply_is_none(reply: bytes | None) -> None:
    """The end of a pipe, what a task printed, another object, or a part of one."""
    assert read(reply) is None


def test_options_that_tasks_may_notice_are_passed_on() -> None:
    """Warnings that are errors here are errors there."""
    flags = processes._flags()
    assert [one.removeprefix("-W") for one in flags if one.startswith("-W")] == sys.warnoptions
    assert flags.count("-O") == sys.flags.optimize
    assert ("-B" in flags) == bool(sys.flags.dont_write_bytecode)
