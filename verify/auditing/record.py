"""Recordings of attention calls: made while a program runs, written to folders, and read from files.

A program is recorded by a context in it (`record`), or is run unchanged (`program`). `load` reads NumPy
archives, safetensors files, and the folders that a recording writes.
"""

from __future__ import annotations

import importlib.util
import math
import os
import re
import runpy
import signal
import sys
import tokenize
import traceback
import zipfile
import zlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal, NoReturn

import numpy as np
from pydantic import AfterValidator, Field, ValidationError
from safetensors import SafetensorError
from safetensors.numpy import load_file, save

from verify.auditing.masks import intended_mask
from verify.auditing.recording import ARRAYS, Call, Intended, Layer, Recording, as_stored, check_call
from verify.auditing.scales import scale_expression
from verify.errors import OutputError, RecordingError, SettingsError, what_is_wrong
from verify.evidence.records import Record
from verify.evidence.texts import Line, Many, Named
from verify.files import MEGABYTE, InputKind, check_writable, read_bytes, write_together, write_whole
from verify.text.escapes import one_line

WRITTEN_OUT = "attention that is written out: save q, k, v and out with np.savez, and audit that file"
"""What to do about attention that makes no call."""

_NOT_SEEN = (
    "record: no attention call was seen; recorded are scaled_dot_product_attention, nn.MultiheadAttention, "
    f"flex_attention and the models of transformers, unless they are compiled; {WRITTEN_OUT}"
)
_NOT_STORED = "record: no attention call could be recorded"
_SCRIPT = InputKind(10 * MEGABYTE, RecordingError, "give a Python script, or -m and a module")

INDEX = "recording.json"
_AN_INDEX = InputKind(
    32 * MEGABYTE, RecordingError, "give the folder of a recording, which is written at its end"
)
_WANTED = "give a NumPy archive (.npz), a safetensors file, or the folder of a recording"
_NUMBERS, _TEXTS = ("scale", "causal", "softcap"), ("intended", "intended_mask")
_KEYS = (*ARRAYS, *_NUMBERS, *_TEXTS)
_LONGEST_NAME = 200
_LARGEST = 8_000 * MEGABYTE  # of an array
_BROKEN = (
    *(ValueError, TypeError, EOFError, RuntimeError, OverflowError, RecursionError, SyntaxError),
    *(tokenize.TokenError, zipfile.BadZipFile, zlib.error, SafetensorError),
)
"""What the readers of the two formats raise for files that are cut short or were made to be."""


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

    writer = None if out is None else FolderWriter(Path(out))
    recorder = Recorder(max_sequences, max_bytes, writer.add if writer else None, inputs=inputs)
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
        if writer and done.layers:
            writer.finish(done)
            done = load(writer.folder)
        layers.extend(done.layers)
        left_out.extend(done.left_out)
    if not layers:
        raise RecordingError("; ".join((_NOT_STORED if recorder.has_seen_calls else _NOT_SEEN, *left_out)))


def program(name: str, arguments: Sequence[str], *, is_module: bool = False) -> int:
    """Run a program in this process, with ``arguments`` after its name, and return its status.

    What the program raises is shown as Python does, and its status is 1; an interruption passes.

    Raises:
        RecordingError: there is no such script.
    """
    if not is_module:
        read_bytes(Path(name), _SCRIPT)

    def end(number: int, _frame: Any) -> NoReturn:
        raise SystemExit(128 + number)

    before = sys.argv, list(sys.path)
    # Signals do what they do in a program of Python's, but leave the time to write what was recorded.
    ends = {signal.SIGINT: signal.default_int_handler, signal.SIGTERM: end, signal.SIGHUP: end}
    handlers = {number: signal.signal(number, handler) for number, handler in ends.items()}
    # What runs it puts the program's path in the place of the first argument.
    sys.argv = [name, *arguments]
    sys.path[0] = str(Path.cwd() if is_module else Path(name).resolve().parent)
    try:
        if is_module:
            runpy.run_module(name, run_name="__main__", alter_sys=True)
        else:
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


_Shown = Annotated[str, AfterValidator(one_line)]
_Width = Annotated[int, Field(gt=0, lt=2**63)]


class StoredLayer(Record):
    """One layer of a recording in a folder; see `Layer`. ``files`` has a file for each call."""

    name: _Shown
    files: Many[Line]
    intended: Intended | None = None
    width: _Width | None = None
    backend: _Shown = ""
    padded: Named[_Width] = Field(default_factory=dict)
    notes: Many[_Shown] = ()
    mask: Line = ""


class Index(Record):
    """What ``recording.json`` says; see `Recording`."""

    schema_version: Literal[1] = Field(default=1, alias="recording_schema")
    source: _Shown
    layers: Many[StoredLayer]
    left_out: Many[_Shown] = ()


@dataclass(frozen=True)
class StoredCalls:
    """The calls of a layer in files, each read as it is reached; they can be run through again."""

    files: Sequence[Path]

    def __iter__(self) -> Iterator[Call]:
        for path in self.files:
            yield _call(str(path), _read(path))


def load(path: Path) -> Recording:
    """Describe a recording: a NumPy archive, a safetensors file, or a folder with ``recording.json``.

    In a file, arrays of shape [sequence, head, token, d] have the keys ``q`` and ``k`` and, where there are
    any, ``v``, ``out``, ``mask`` (True where a key may be seen), ``bias``, ``sink`` and ``x``; ``scale``,
    ``softcap`` and ``causal`` are one number each, ``intended`` is a number or an expression. Several layers
    have keys such as ``NAME/q``. A file is read at once, the calls of a folder one by one.

    Raises:
        RecordingError: it is missing, cut short, holds objects, or its arrays do not fit.
    """
    if path.is_dir():
        return _of_folder(path)
    # A name may hold slashes; the last part of a key says which array it is.
    by_layer: dict[str, dict[str, np.ndarray]] = {}
    for key, array in _read(path).items():
        name, _, last = key.rpartition("/")
        by_layer.setdefault(name, {})[last] = array
    if not by_layer:
        raise RecordingError(f"{path}: holds no arrays; give q and k at least")
    layers = []
    # Layer 2 comes before layer 10.
    for name in sorted(by_layer, key=lambda name: re.sub("[0-9]+", lambda digits: digits[0].zfill(20), name)):
        arrays = by_layer[name]
        place = one_line(f"{path}: layer {name[:_LONGEST_NAME]}" if name else str(path))
        if wrong := [key for key in _TEXTS if key in arrays and arrays[key].size != 1]:
            raise RecordingError(f"{place}: {wrong[0]} is an array; give a single expression")
        scale, mask = (str(arrays[key].item()) if key in arrays else "" for key in _TEXTS)
        _check_intention(place, scale, mask)
        intended = Intended(scale, "recorded", f"intended in {place}") if scale else None
        short = one_line(name or path.stem)[:_LONGEST_NAME]
        layers.append(Layer(short, [_call(place, arrays)], intended, mask=mask))
    return Recording(one_line(path.name), layers)


def _check_intention(place: str, scale: str, mask: str) -> None:
    """Refuse an intended scale or mask that is none; ``place`` is for messages."""
    try:
        if scale:
            scale_expression(scale)
        if mask:
            intended_mask(mask)
    except SettingsError as error:
        raise RecordingError(f"{place}: {error}") from error


def _call(place: str, content: Mapping[str, np.ndarray]) -> Call:
    """Return the call of these arrays and numbers by their keys; ``place`` is for messages."""
    missing = " and no ".join(key for key in ("q", "k") if key not in content)
    problems = [f"has no {missing}; give q and k at least"] if missing else []
    odd = [key for key in content if key not in _KEYS]
    problems += [f"has a key {odd[0]!r}; the keys are {', '.join(_KEYS)}"] if odd else []
    if problems:
        raise RecordingError(f"{place}: {'; '.join(problems)}")
    fields: dict[str, Any] = {field: content[key] for key, field in ARRAYS.items() if key in content}
    for key in [key for key in _NUMBERS if key in content]:
        given = content[key]
        if given.size != 1 or given.dtype.kind not in "bifu":
            raise RecordingError(f"{place}: {key} is an array of {given.dtype}; give one number")
        number = fields[key] = float(given.item())
        if not math.isfinite(number):
            raise RecordingError(f"{place}: {key} is {number}; give a finite number, or none")
    call = Call(**fields | {"causal": bool(fields.get("causal"))})
    check_call(call, place)
    return call


def _of_folder(folder: Path) -> Recording:
    path = folder / INDEX
    try:
        index = Index.model_validate_json(read_bytes(path, _AN_INDEX))
    except ValidationError as error:
        what = f"is not what a recording writes ({what_is_wrong(error)})"
        raise RecordingError(f"{path}: {what}; record again") from error
    layers = []
    for stored in index.layers:
        if outside := [name for name in stored.files if Path(name).name != name]:
            raise RecordingError(f"{path}: names the file {outside[0]!r} outside its folder; record again")
        expression = "" if stored.intended is None else stored.intended.expression
        _check_intention(one_line(f"{path}: layer {stored.name}"), expression, stored.mask)
        calls = StoredCalls([folder / name for name in stored.files])
        layers.append(Layer(calls=calls, **{key: value for key, value in stored if key != "files"}))
    return Recording(source=index.source, layers=layers, left_out=index.left_out)


def _read(path: Path) -> dict[str, np.ndarray]:
    """Return the arrays of a NumPy archive or safetensors file by name.

    Raises:
        RecordingError: it is neither, cannot be read, is cut short, or holds objects.
    """
    try:
        with path.open("rb") as stream:
            start = stream.read(8)
            stream.seek(0)
            if start[:2] == b"PK":
                with np.load(stream, allow_pickle=False) as archive:
                    for member in archive.zip.infolist():
                        place = f"{path}: {member.filename} is"
                        if not member.filename.endswith(".npy"):
                            raise RecordingError(f"{place} a pickled object, which is not read; {_WANTED}")
                        if member.file_size > _LARGEST:
                            raise RecordingError(f"{place} larger than 8 GB; give fewer sequences")
                    return dict(archive)
        if not start:
            raise RecordingError(f"{path}: is empty; {_WANTED}")
        if start.startswith(b"\x93NUM"):
            wanted = "give an archive of q and k: np.savez(path, q=q, k=k)"
            raise RecordingError(f"{path}: is a single array; {wanted}")
        # The library refuses offsets that overlap, leave holes, do not fit a shape or lie beyond the end.
        return dict(load_file(path))
    except OSError as error:
        raise RecordingError(f"{path}: cannot be read ({error.strerror or error}); {_WANTED}") from error
    except AttributeError as error:  # of NumPy, which lacks the types of eight bits and fewer
        what = f"has a type of number that is not read ({error})"
        raise RecordingError(f"{path}: {what}; store float16, bfloat16, float32 or float64") from error
    except MemoryError as error:
        raise RecordingError(f"{path}: does not fit into memory; give fewer sequences") from error
    except _BROKEN as error:
        what = what_is_wrong(error)
        raise RecordingError(f"{path}: is cut short or malformed ({what}); {_WANTED}") from error


class FolderWriter:
    """Writes calls as they are made; without `finish` the folder is no recording."""

    def __init__(self, folder: Path) -> None:
        if os.path.lexists(folder / INDEX):
            raise OutputError(
                f"{folder}: holds a recording already; remove it, or choose another folder with --out"
            )
        check_writable(folder / INDEX)
        self.folder, self._files = folder, dict[str, list[str]]()

    def add(self, name: str, call: Call) -> None:
        """Write one call of the layer of this name."""
        written = self._files.setdefault(name, [])
        number = list(self._files).index(name)
        file = f"{number:04d}-{len(written):04d}.safetensors"
        # A module may be given another dtype than attention computes in.
        arrays = call.arrays.items()
        content = {key: as_stored(array, "" if key == "x" else call.dtype) for key, array in arrays}
        numbers = {"scale": call.scale, "causal": call.causal or None, "softcap": call.softcap}
        content |= {key: as_stored(np.float64(x)) for key, x in numbers.items() if x is not None}
        write_together({self.folder / file: save(content)}, durably=False)
        written.append(file)

    def finish(self, recording: Recording) -> None:
        """Write ``recording.json``, which makes the folder a recording."""
        layers = []
        for layer in recording.layers:
            said = {name: value for name, value in vars(layer).items() if name != "calls"}
            layers.append(StoredLayer(files=tuple(self._files.get(layer.name, ())), **said))
        index = Index(source=recording.source, layers=tuple(layers), left_out=tuple(recording.left_out))
        write_whole(self.folder / INDEX, f"{index.model_dump_json(by_alias=True, indent=1)}\n".encode())
