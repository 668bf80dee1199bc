"""Recording a program's attention calls: as a context in it, or of a program that is run unchanged."""

from __future__ import annotations

import importlib.util
import runpy
import signal
import sys
import threading
import traceback
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NoReturn

from verify.auditing.files import FolderWriter, load
from verify.auditing.recording import Layer, Recording
from verify.errors import RecordingError, SettingsError
from verify.files.reading import MEGABYTE, InputKind, read_bytes

WRITTEN_OUT = "attention that is written out: save q, k, v and out with np.savez, and audit that file"
"""What to do about attention that makes no call."""

_NOT_SEEN = (
    "record: no attention call was seen; recorded are scaled_dot_product_attention, nn.MultiheadAttention, "
    f"flex_attention and the models of transformers, unless they are compiled; {WRITTEN_OUT}"
)
_NOT_STORED = "record: no attention call could be recorded"
_SCRIPT = InputKind(10 * MEGABYTE, RecordingError, "give a Python script, or -m and a module")
_under_way = threading.Lock()


@contextmanager
def record(
    model: Any = None,
    *,
    out: Path | None = None,
    max_sequences: int = 200,
    max_bytes: int = 2_000_000_000,
    inputs: bool = False,
    source: str = "",
) -> Iterator[Recording]:
    """Record what PyTorch's attention calls are given and give back while the context lasts.

    Seen are ``scaled_dot_product_attention``, ``nn.MultiheadAttention`` and what is built on it, and the
    models of transformers; the program runs unchanged, with the same results to the last bit. Layers have the
    names of their modules in ``model``, or in the outermost module that runs. What cannot be seen, such as
    compiled code or attention that is written out, is named in ``left_out`` of the recording.

    Args:
        model: the model that gives names, None for each outermost module.
        out: a folder to write to, call by call; None keeps the recording in memory.
        max_sequences: how many sequences of each layer are recorded, from the first on.
        max_bytes: how much is recorded of all layers together.
        inputs: whether what each layer's module was given is recorded too, to compare two recordings by.
        source: what the recording is called; the model's class, else the program, where it is empty.

    Yields:
        The recording, which is complete when the context ends, in an exception too.

    Raises:
        RecordingError: PyTorch is missing, a recording is under way, or no attention call was seen.
        OutputError: the folder holds a recording already, or cannot be written.
    """
    for name, given in (("max_sequences", max_sequences), ("max_bytes", max_bytes)):
        if not isinstance(given, int) or isinstance(given, bool) or given < 1:
            raise SettingsError(f"{name} {given!r}: give a whole number of at least 1")
    if importlib.util.find_spec("torch") is None:
        raise RecordingError("record: needs PyTorch; install it with `pip install '.[torch]'` in the clone")
    # PyTorch takes its time.
    from verify.auditing.pytorch.recorder import Recorder  # noqa: PLC0415
    from verify.auditing.pytorch.watching import watching  # noqa: PLC0415

    if not _under_way.acquire(blocking=False):
        raise RecordingError("record: is recording already; end the `with` that does first")
    try:
        writer = None if out is None else FolderWriter(Path(out))
        recorder = Recorder(max_sequences, max_bytes, writer, inputs=inputs)
        if model is not None:
            if not hasattr(model, "named_modules"):
                raise SettingsError(f"model {str(model)[:60]!r}: is not a torch.nn.Module; give a module")
            recorder.modules.add_root(model)
            source = source or type(model).__name__
        source = source or Path(sys.argv[0]).name or "a program"
        layers: list[Layer] = []
        left_out: list[str] = []
        try:
            with watching(recorder):
                yield Recording(source, layers, left_out)
        finally:
            done = recorder.finish(source)
            layers.extend(load(writer.folder).layers if writer and done.layers else done.layers)
            left_out.extend(done.left_out)
        if not layers:
            raise RecordingError(
                "; ".join((_NOT_STORED if recorder.has_seen_calls else _NOT_SEEN, *left_out))
            )
    finally:
        _under_way.release()


def program(name: str, arguments: Sequence[str], *, is_module: bool = False) -> Callable[[], int]:
    """Return what runs a program in this process, with ``arguments`` after its name, and returns its status.

    What the program raises is shown as Python does, and its status is 1; an interruption passes.

    Raises:
        RecordingError: there is no such script.
    """
    if not is_module:
        read_bytes(Path(name), _SCRIPT)

    def end(number: int, _frame: Any) -> NoReturn:
        raise SystemExit(128 + number)

    def run() -> int:
        before = sys.argv, list(sys.path)
        # What runs it puts the program's path in the place of the first argument.
        sys.argv = [name, *arguments]
        # Signals do what they do in a program of Python's, but leave the time to write what was recorded.
        handlers: dict[int, Any] = {signal.SIGINT: signal.signal(signal.SIGINT, signal.default_int_handler)}
        for number in (getattr(signal, signal_name, None) for signal_name in ("SIGTERM", "SIGHUP")):
            if number is not None:
                handlers[number] = signal.signal(number, end)
        try:
            if is_module:
                sys.path[0] = str(Path.cwd())
                runpy.run_module(name, run_name="__main__", alter_sys=True)
            else:
                sys.path[0] = str(Path(name).resolve().parent)
                runpy.run_path(name, run_name="__main__")
        except SystemExit as ended:
            if ended.code is None or isinstance(ended.code, int):
                return (ended.code or 0) & 0xFF
            sys.stderr.write(f"{ended.code}\n")
            return 1
        except Exception as error:  # noqa: BLE001 - whatever the program raises is its own
            frame = error.__traceback__
            while frame is not None and frame.tb_frame.f_code.co_filename in (__file__, "<frozen runpy>"):
                frame = frame.tb_next
            traceback.print_exception(type(error), error, frame)
            return 1
        finally:
            for number, handler in handlers.items():
                signal.signal(number, handler)
            sys.argv, sys.path[:] = before
        return 0

    return run
