"""Recording attention calls, where PyTorch is installed."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import TYPE_CHECKING, Any

from verify.errors import RecordingError, SettingsError

if TYPE_CHECKING:
    from contextlib import AbstractContextManager

    from verify.auditing.recording import Recording


def record(
    model: Any = None,
    *,
    out: Path | None = None,
    max_sequences: int = 64,
    max_bytes: int = 2_000_000_000,
    source: str = "",
) -> AbstractContextManager[Recording]:
    """Record what PyTorch's attention calls are given and give back while the context lasts.

    Seen are ``scaled_dot_product_attention``, ``nn.MultiheadAttention`` and what is built on it, and the
    models of transformers; the program runs unchanged, with the same results to the last bit. Layers have the
    names of their modules in ``model``, or in the outermost module that runs. What cannot be seen, such as
    compiled code or attention that is written out, is named in ``left_out`` of the recording.

    Args:
        model: the model that gives names, None for each outermost module.
        out: a folder to write to, call by call; None keeps the recording in memory.
        max_sequences: how many sequences of each layer are kept, the first ones.
        max_bytes: how much is kept of all layers together.
        source: what the recording is called; the model's class, else the program, where it is empty.

    Returns:
        A context manager that yields the recording, which is complete when the context ends, in an exception
        too.

    Raises:
        RecordingError: PyTorch is missing, a recording is under way, or no attention call was seen.
        OutputError: the folder holds a recording already, or cannot be written.
    """
    for name, given in (("max_sequences", max_sequences), ("max_bytes", max_bytes)):
        if not isinstance(given, int) or isinstance(given, bool) or given < 1:
            raise SettingsError(f"{name} {given!r}: give a whole number of at least 1")
    if importlib.util.find_spec("torch") is None:
        raise RecordingError("record: PyTorch is missing; install it with sdpa-verify[torch]")
    from verify.auditing.pytorch.record import recording_of  # noqa: PLC0415 - PyTorch takes its time
    from verify.auditing.pytorch.recorder import Limits  # noqa: PLC0415

    return recording_of(model, None if out is None else Path(out), Limits(max_sequences, max_bytes), source)
