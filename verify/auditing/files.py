"""Files of recordings: NumPy archives, safetensors files, and folders that a recording writes.

Only names, shapes and numbers are read at first; arrays as the calls of a layer are run through.
"""

import json
import math
import os
import re
import tokenize
import zipfile
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Literal, NamedTuple

import numpy as np
from numpy.lib import format as npy
from pydantic import Field, ValidationError
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save

from verify.auditing.arrays import as_stored, widened
from verify.auditing.masks import intended_mask
from verify.auditing.recording import (
    ARRAYS,
    FLOATING,
    Call,
    Described,
    Intended,
    Layer,
    Recording,
    check_call,
    check_shapes,
)
from verify.auditing.scales import scale_expression
from verify.errors import OutputError, RecordingError, SettingsError, unknown, what_is_wrong
from verify.evidence.audits import Origin
from verify.evidence.records import Record
from verify.evidence.texts import Code, Count, Line, Many, Named
from verify.files.reading import MEGABYTE, InputKind, read_text
from verify.files.writing import check_writable, write_together, write_whole
from verify.text.escapes import one_line

INDEX = "recording.json"
_AN_INDEX = InputKind(
    32 * MEGABYTE, RecordingError, "give the folder of a recording, which is written at its end"
)
_WANTED = "give a NumPy archive (.npz), a safetensors file, or the folder of a recording"
_NUMBERS = ("scale", "causal", "softcap")
_TEXTS = ("intended", "intended_mask")
_KEYS = (*ARRAYS, *_NUMBERS, *_TEXTS)
_LONGEST_NAME = 200
_DTYPES = {
    "BOOL": "bool",
    "F16": "float16",
    "BF16": "bfloat16",
    "F32": "float32",
    "F64": "float64",
    "I64": "int64",
    "I32": "int32",
    "U8": "uint8",
}
"""The dtypes of safetensors that are read, and their names in NumPy."""

_HEADER_AT_MOST = 10 * MEGABYTE
_MEMBERS_AT_MOST = 10_000
_ARRAY_AT_MOST = 8_000 * MEGABYTE
_BROKEN = (
    ValueError,
    TypeError,
    EOFError,
    RuntimeError,
    OverflowError,
    RecursionError,
    SyntaxError,
    tokenize.TokenError,
    zipfile.BadZipFile,
    zlib.error,
    SafetensorError,
)
"""What the readers of the two formats raise for files that are cut short or were made to be."""


class StoredIntention(Record):
    """The intended scale of a layer; see `Intended`."""

    expression: Code
    origin: Origin
    where: Line = ""


class StoredLayer(Record):
    """One layer of a recording in a folder; see `Layer`. ``files`` has a file for each call."""

    name: Line
    files: Many[Line]
    intended: StoredIntention | None = None
    width: Count | None = None
    backend: Line = ""
    padded: Named[Count] = Field(default_factory=dict)
    notes: Many[Line] = ()
    left_out: Many[Line] = ()
    mask: Line = ""


class Index(Record):
    """What ``recording.json`` says; see `Recording`."""

    schema_version: Literal[1] = Field(default=1, alias="recording_schema")
    source: Line
    layers: Many[StoredLayer]
    left_out: Many[Line] = ()


class Stored(NamedTuple):
    """An array in a file: what it is, and how to read it."""

    described: Described
    read: Callable[[], np.ndarray]


_Content = Mapping[str, Stored | str]


@dataclass(frozen=True)
class StoredCalls:
    """The calls of a layer in files, each read as it is reached; they can be run through again.

    Each is the arrays, numbers and texts of a call by their keys, and in words the place where they are.
    """

    stored: Sequence[tuple[str, _Content]]

    def __iter__(self) -> Iterator[Call]:
        for place, content in self.stored:
            arrays = {
                field: array.read()
                for key, field in ARRAYS.items()
                if isinstance(array := content.get(key), Stored)
            }
            scale, causal, softcap = (_number(place, content, key) for key in _NUMBERS)
            query = content["q"]
            is_half = isinstance(query, Stored) and query.described.dtype == "bfloat16"
            dtype = "bfloat16" if is_half else ""
            yield Call(**arrays, scale=scale, softcap=softcap, causal=bool(causal), dtype=dtype)

    def __len__(self) -> int:
        return len(self.stored)


def load(path: Path) -> Recording:
    """Describe a recording: a NumPy archive, a safetensors file, or a folder with ``recording.json``.

    In a file, arrays of shape [sequence, head, token, d] have the keys ``q`` and ``k`` and, where there are
    any, ``v``, ``out``, ``mask`` (True where a key may be seen), ``bias``, ``sink`` and ``x``; ``scale``,
    ``softcap`` and ``causal`` are one number each, ``intended`` is a number or an expression. Several layers
    have keys such as ``NAME/q``.

    Raises:
        RecordingError: it is missing, cut short, holds objects, or its arrays do not fit.
    """
    if path.is_dir():
        return _of_folder(path)
    layers = [_layer(*stored) for stored in _calls_in(path)]
    if not layers:
        raise RecordingError(f"{path}: holds no arrays; give q and k at least")
    return Recording(source=one_line(path.name), layers=layers)


def _of_folder(folder: Path) -> Recording:
    path = folder / INDEX
    text = read_text(path, _AN_INDEX)
    try:
        index = Index.model_validate(json.loads(text))
    except (ValidationError, ValueError, RecursionError) as error:
        raise RecordingError(
            f"{path}: is not what a recording writes ({what_is_wrong(error)}); record again"
        ) from error
    layers = []
    for stored in index.layers:
        calls = []
        for name in stored.files:
            if Path(name).name != name:
                raise RecordingError(f"{path}: names the file {name!r} outside its folder; record again")
            found = _calls_in(folder / name)
            if len(found) != 1:
                raise RecordingError(
                    f"{folder / name}: holds {len(found)} layers instead of one; record again"
                )
            calls.append(found[0][1:])
        intended = None if stored.intended is None else Intended(**dict(stored.intended))
        described = {key: value for key, value in stored if key not in ("files", "intended")}
        layers.append(Layer(calls=StoredCalls(calls), intended=intended, **described))
    return Recording(source=index.source, layers=layers, left_out=index.left_out)


def _number(place: str, content: _Content, key: str) -> float | None:
    """Return a number of a call, None where it has none."""
    stored = content.get(key)
    if not isinstance(stored, Stored):
        return None
    shape, dtype = stored.described
    if math.prod(shape) != 1 or dtype not in ("bool", "int32", "int64", "uint8", *FLOATING):
        raise RecordingError(f"{place}: {key} is an array of {dtype}; give one number")
    value = float(stored.read().reshape(()))
    if not math.isfinite(value):
        raise RecordingError(f"{place}: {key} is {value}; give a finite number, or none")
    return value


def _text(place: str, content: _Content, key: str) -> str | None:
    """Return a text of a call, such as the intended scale, None where there is none."""
    stored = content.get(key)
    if not isinstance(stored, Stored):
        return stored
    if not stored.described.dtype.startswith("str"):
        return repr(_number(place, content, key))
    given = stored.read()
    if given.size != 1:
        raise RecordingError(f"{place}: {key} is an array of texts; give one expression")
    return str(given.reshape(()))


def _layer(name: str, place: str, content: _Content) -> Layer:
    """Return the layer of a file; its numbers and texts are checked at once."""
    for key in _NUMBERS:
        _number(place, content, key)
    expression, mask = (_text(place, content, key) for key in _TEXTS)
    try:
        if expression is not None:
            scale_expression(expression)
        if mask is not None:
            intended_mask(mask)
    except SettingsError as error:
        raise RecordingError(f"{place}: {error}") from error
    intended = None if expression is None else Intended(expression, "recorded", f"intended in {place}")
    return Layer(name=name, calls=StoredCalls([(place, content)]), intended=intended, mask=mask or "")


def _calls_in(path: Path) -> list[tuple[str, str, _Content]]:
    """Return name, place and content of the layers of a file, in the natural order of their names."""
    arrays, texts = _open(path)
    by_layer: dict[str, dict[str, Stored | str]] = {}
    for key, array in arrays.items():
        name, _, last = key.rpartition("/")
        if len(name) > _LONGEST_NAME:
            raise RecordingError(
                f"{path}: layer {one_line(name[:40])}…: its name has {len(name):,} characters; "
                f"give at most {_LONGEST_NAME}"
            )
        if last not in _KEYS:
            known = f"the keys are {', '.join(_KEYS)}"
            missing = [one for one in ("q", "k") if one not in {full.rpartition("/")[2] for full in arrays}]
            wrong = f"has no {' and no '.join(missing)}, but a key {key!r}; {known}"
            raise RecordingError(f"{path}: {wrong if missing else unknown('key', key, _KEYS, known)}")
        by_layer.setdefault(name, {})[last] = array
    calls: list[tuple[str, str, _Content]] = []
    for name in sorted(by_layer, key=_natural):
        place = one_line(f"{path}: layer {name}" if name else str(path))
        content = by_layer[name]
        content |= {key: texts[full] for key in _TEXTS if (full := f"{name}/{key}" if name else key) in texts}
        stored = {key: array for key, array in content.items() if isinstance(array, Stored) and key in ARRAYS}
        check_shapes({key: array.described for key, array in stored.items()}, place)
        calls.append((one_line(name) or one_line(path.stem), place, content))
    return calls


def _natural(name: str) -> list[tuple[int, int, str]]:
    """Return what sorts layer 2 before layer 10."""
    parts = re.split(r"(\d{1,18})", name)
    return [(0, int(part), "") if part.isdecimal() else (1, 0, part) for part in parts]


@contextmanager
def _reading(path: Path, name: str = "") -> Iterator[None]:
    """Report in one line whatever is wrong with a file, or with the array ``name`` in it."""
    place = f"{path}: {name}" if name else str(path)
    try:
        yield
    except OSError as error:
        raise RecordingError(f"{place}: cannot be read ({error.strerror or error}); {_WANTED}") from error
    except MemoryError as error:
        raise RecordingError(f"{place}: does not fit into memory; give fewer sequences") from error
    except _BROKEN as error:
        raise RecordingError(
            f"{place}: is cut short or malformed ({what_is_wrong(error)}); {_WANTED}"
        ) from error


def _open(path: Path) -> tuple[dict[str, Stored], dict[str, str]]:
    """Return the arrays of a NumPy archive or safetensors file by name, and its texts; none is read.

    Raises:
        RecordingError: it is neither, cannot be read, is cut short, or holds objects.
    """
    with _reading(path):
        with path.open("rb") as stream:
            start = stream.read(8)
        if not start:
            raise RecordingError(f"{path}: is empty; {_WANTED}")
        if start[:2] == b"PK":
            return dict(_in_archive(path)), {}
        if start.startswith(b"\x93NUM"):
            raise RecordingError(
                f"{path}: is a single array; give an archive of q and k: np.savez(path, q=q, k=k)"
            )
        if int.from_bytes(start, "little") > _HEADER_AT_MOST:
            raise ValueError("its first 8 bytes are no length of a header")
        # The library refuses offsets that overlap, leave holes, do not fit a shape or lie beyond the end.
        with safe_open(path, framework="numpy") as file:
            arrays = {}
            for name in file.keys():  # noqa: SIM118 - it is no mapping
                part = file.get_slice(name)
                dtype = _DTYPES.get(part.get_dtype(), part.get_dtype())
                described = Described(tuple(part.get_shape()), dtype)
                arrays[name] = _stored(path, name, described, 1, partial(_read_tensor, path, name))
            return arrays, file.metadata() or {}


def _stored(
    path: Path, name: str, described: Described, itemsize: int, read: Callable[[], np.ndarray]
) -> Stored:
    """Return an array of a file, if it is not larger than any one layer's batch."""
    if math.prod(described.shape) * itemsize > _ARRAY_AT_MOST:
        raise RecordingError(
            f"{path}: {name} is larger than {_ARRAY_AT_MOST // MEGABYTE} MB; give fewer sequences, "
            "or batches in the folder of a recording"
        )

    def reported() -> np.ndarray:
        with _reading(path, name):
            return read()

    return Stored(described, reported)


def _in_archive(path: Path) -> Iterator[tuple[str, Stored]]:
    """Yield the arrays of a NumPy archive by their names; only their headers are read."""
    with zipfile.ZipFile(path) as archive:
        names = archive.namelist()
        if len(names) > _MEMBERS_AT_MOST:
            raise RecordingError(f"{path}: has more than {_MEMBERS_AT_MOST} arrays; give fewer layers")
        for name in names:
            if not name.endswith(".npy"):
                raise RecordingError(f"{path}: {name} is no array, and is not unpickled; {_WANTED}")
            key = name.removesuffix(".npy")
            with _reading(path, key), archive.open(name) as member:
                version = npy.read_magic(member)
                header = npy.read_array_header_1_0 if version == (1, 0) else npy.read_array_header_2_0
                shape, _, dtype = header(member)
            if dtype.hasobject:
                raise RecordingError(
                    f"{path}: {key} holds Python objects, which are not unpickled; give an array of numbers"
                )
            described = Described(shape, dtype.newbyteorder("=").name)
            yield key, _stored(path, key, described, dtype.itemsize, partial(_read_member, path, name))


def _read_member(path: Path, name: str) -> np.ndarray:
    with zipfile.ZipFile(path) as archive, archive.open(name) as member:
        array: np.ndarray = npy.read_array(member, allow_pickle=False)
        return array.astype(array.dtype.newbyteorder("="), copy=False)


def _read_tensor(path: Path, name: str) -> np.ndarray:
    with safe_open(path, framework="numpy") as file:
        return widened(file.get_tensor(name))


@dataclass
class FolderWriter:
    """Writes calls as they are made; without `finish` the folder is no recording."""

    folder: Path
    _files: dict[str, list[str]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if os.path.lexists(self.folder / INDEX):
            raise OutputError(
                f"{self.folder}: holds a recording already; remove it, or choose another folder with --out"
            )
        check_writable(self.folder, INDEX)

    def add(self, name: str, call: Call) -> None:
        """Write one call of the layer of this name."""
        check_call(call, f"layer {name}")
        written = self._files.setdefault(name, [])
        number = list(self._files).index(name)
        file = f"{number:04d}-{len(written):04d}.safetensors"
        arrays = {key: getattr(call, field) for key, field in ARRAYS.items()}
        numbers = {"scale": call.scale, "causal": call.causal or None, "softcap": call.softcap}
        # A module may be given another dtype than attention computes in.
        content = {
            key: as_stored(one, "" if key == "x" else call.dtype)
            for key, one in arrays.items()
            if one is not None
        }
        content |= {key: as_stored(np.float64(one)) for key, one in numbers.items() if one is not None}
        write_together({self.folder / file: save(content)}, durably=False)
        written.append(file)

    def finish(self, recording: Recording) -> None:
        """Write ``recording.json``, which makes the folder a recording."""
        index = Index(
            source=one_line(recording.source),
            layers=tuple(_described(layer, self._files.get(layer.name, ())) for layer in recording.layers),
            left_out=tuple(map(one_line, recording.left_out)),
        )
        text = index.model_dump_json(by_alias=True, indent=1) + "\n"
        write_whole(self.folder / INDEX, text.encode())


def _described(layer: Layer, files: Sequence[str]) -> StoredLayer:
    meant = layer.intended
    return StoredLayer(
        name=one_line(layer.name),
        files=tuple(files),
        intended=meant
        and StoredIntention(expression=meant.expression, origin=meant.origin, where=one_line(meant.where)),
        width=layer.width,
        backend=one_line(layer.backend),
        padded=dict(layer.padded),
        notes=tuple(map(one_line, layer.notes)),
        left_out=tuple(map(one_line, layer.left_out)),
        mask=layer.mask,
    )
