"""Recording: what is refused before anything is recorded, whether PyTorch is installed or not."""

from __future__ import annotations

import importlib.util

import pytest

from verify.auditing.record import record
from verify.errors import RecordingError, SettingsError


@pytest.mark.parametrize("name", ["max_sequences", "max_bytes"])
@pytest.mark.parametrize("bad", [0, -1, True, 1.5, "1", None])
def test_limits_are_whole_numbers(name: str, bad: object) -> None:
    """At once, and not first when the context is entered; one line says which."""
    with pytest.raises(SettingsError) as caught:
        record(**{name: bad})  # type: ignore[arg-type]  # that is the mistake
    assert str(caught.value) == f"{name} {bad!r}: give a whole number of at least 1"


def test_without_pytorch_it_is_said_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    """In a line, and nothing of PyTorch is imported."""
    monkeypatch.setattr(importlib.util, "find_spec", {"torch": None}.__getitem__)
    with pytest.raises(RecordingError) as caught:
        record()
    assert str(caught.value) == "record: PyTorch is missing; install it with sdpa-verify[torch]"
