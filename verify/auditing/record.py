"""Recording a program's attention calls: as a context in it, or of a program that is run unchanged."""

from __future__ import annotations

import importlib.util
import runpy
import signal
import sys
import traceback
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

from verify.errors import RecordingError, SettingsError
from verify.files.reading import MEGABYTE, InputKind, read_bytes

if TYPE_CHECKING:
    from verify.auditing.recording import Recording

_SCRIPT = InputKind(10 * MEGABYTE, RecordingError, "give a Python script, or -m and a module")


def record(
    model: Any = None,
    *,
    out: Path | None = None,
    max_sequences: int = 200,
    max_bytes: int = 2_000_000_000,
    inputs: bool = False,
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
        inputs: whether what each layer's module was given is kept too, to compare two recordings by.
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
        raise RecordingError("record: needs PyTorch; install it with `pip install 'sdpa-verify[torch]'`")
    from verify.auditing.pytorch.recorder import recording_of  # noqa: PLC0415 - PyTorch takes its time

    folder = None if out is None else Path(out)
    return recording_of(model, folder, max_sequences, max_bytes, source, inputs=inputs)


class Program:
    """A program, which is found at once and run once.

    ``arguments`` are those after its name. Raises a RecordingError where there is no such script.
    """

    def __init__(self, name: str, arguments: Sequence[str], *, is_module: bool = False) -> None:
        self._name, self._arguments, self._is_module = name, list(arguments), is_module
        if not is_module:
            read_bytes(Path(name), _SCRIPT)

    @property
    def title(self) -> str:
        """The name of the program without its folder."""
        return self._name if self._is_module else Path(self._name).name

    def run(self) -> int:
        """Run the program in this process, and return its exit status.

        What it raises is shown as Python does, and its status is 1; an interruption passes.
        """
        before = sys.argv, list(sys.path)
        # What runs it puts the program's name in the place of the first one.
        sys.argv = [self._name, *self._arguments]
        try:
            with _signals_of_python():
                if self._is_module:
                    sys.path[0] = str(Path.cwd())
                    runpy.run_module(self._name, run_name="__main__", alter_sys=True)
                else:
                    sys.path[0] = str(Path(self._name).resolve().parent)
                    runpy.run_path(self._name, run_name="__main__")
        except SystemExit as ended:
            return _status(ended.code)
        except Exception as error:  # noqa: BLE001 - whatever the program raises is its own
            _show(error)
            return 1
        finally:
            sys.argv, sys.path[:] = before
        return 0


@contextmanager
def _signals_of_python() -> Iterator[None]:
    """Let signals do what they do in a program of Python's, but leave the time to write what was recorded."""
    wanted: dict[int, Callable[..., Any]] = {signal.SIGINT: signal.default_int_handler}
    for name in ("SIGTERM", "SIGHUP"):
        if hasattr(signal, name):
            wanted[getattr(signal, name)] = _end
    before = {number: signal.signal(number, handler) for number, handler in wanted.items()}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _end(number: int, _frame: Any) -> NoReturn:
    raise SystemExit(128 + number)


def _status(code: object) -> int:
    """Return the exit status that Python makes of what ``sys.exit`` was given."""
    if code is None:
        return 0
    if isinstance(code, int):
        return code & 0xFF
    sys.stderr.write(f"{code}\n")
    return 1


def _show(error: Exception) -> None:
    """Show what the program raised, from its own first frame on."""
    frame = error.__traceback__
    while frame is not None and frame.tb_frame.f_code.co_filename in (__file__, "<frozen runpy>"):
        frame = frame.tb_next
    traceback.print_exception(type(error), error, frame)
