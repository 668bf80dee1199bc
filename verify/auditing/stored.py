"""Arrays in NumPy archives and safetensors files, described at once and read one at a time."""

from __future__ import annotations

import json
import math
import tokenize
import zipfile
import zlib
from contextlib import contextmanager
from dataclasses import dataclass
from typing import IO, TYPE_CHECKING, Any

import numpy as np
from numpy.lib import format as npy
from safetensors import SafetensorError, safe_open

from verify.auditing.arrays import HALF, SAFE_TYPES, widened
from verify.auditing.shapes import Described
from verify.errors import RecordingError, what_is_wrong
from verify.files.reading import MEGABYTE, open_regular

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

WANTED = "give a NumPy archive (.npz), a safetensors file, or the folder of a recording"
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


@dataclass(frozen=True)
class Stored:
    """An array in a file: what it is, and how to read it."""

    described: Described
    read: Callable[[], np.ndarray]


@dataclass(frozen=True)
class Archive:
    """All arrays of a file by name, and the texts that it has beside them."""

    path: Path
    arrays: dict[str, Stored]
    texts: dict[str, str]


def open_archive(path: Path) -> Archive:
    """Describe the arrays of a NumPy archive or safetensors file; none is read.

    Raises:
        RecordingError: it is neither, cannot be read, is cut short, or holds objects.
    """
    with _reading(path), open_regular(path) as stream:
        start = stream.read(4) or b""
    if not start:
        raise RecordingError(f"{path}: is empty; {WANTED}")
    if start[:2] == b"PK":
        return _open_zip(path)
    if start.startswith(b"\x93NUM"):
        raise RecordingError(
            f"{path}: is a single array; give an archive of q and k: np.savez(path, q=q, k=k)"
        )
    return _open_safetensors(path)


@contextmanager
def _reading(path: Path, name: str = "") -> Iterator[None]:
    """Report in one line whatever is wrong with a file, or with the array ``name`` in it."""
    place = f"{path}: {name}" if name else str(path)
    try:
        yield
    except OSError as error:
        raise RecordingError(f"{place}: cannot be read ({error.strerror or error}); {WANTED}") from error
    except MemoryError as error:
        raise RecordingError(f"{place}: does not fit into memory; give fewer sequences") from error
    except _BROKEN as error:
        raise RecordingError(
            f"{place}: is cut short or malformed ({what_is_wrong(error)}); {WANTED}"
        ) from error


def _checked(described: Described, path: Path, name: str, itemsize: int) -> Described:
    """Return what an array is, if it is not larger than any one layer's batch."""
    if math.prod(described.shape) * itemsize > _ARRAY_AT_MOST:
        raise RecordingError(
            f"{path}: {name} is larger than {_ARRAY_AT_MOST // MEGABYTE} MB; give fewer sequences, "
            "or batches in the folder of a recording"
        )
    return described


def _open_zip(path: Path) -> Archive:
    with _reading(path), open_regular(path) as stream, zipfile.ZipFile(stream) as archive:
        names = archive.namelist()
        if len(names) > _MEMBERS_AT_MOST:
            raise RecordingError(f"{path}: has more than {_MEMBERS_AT_MOST} arrays; give fewer layers")
        arrays = {}
        for name in names:
            if not name.endswith(".npy"):
                raise RecordingError(f"{path}: {name} is no array, and is not unpickled; {WANTED}")
            key = name.removesuffix(".npy")
            with _reading(path, key), archive.open(name) as member:
                dtype, shape = _npy_header(member, path, key)
            described = _checked(Described(shape, dtype.newbyteorder("=").name), path, key, dtype.itemsize)
            arrays[key] = Stored(described, _reader_of_member(path, name, key))
    return Archive(path, arrays, {})


def _npy_header(member: IO[bytes], path: Path, name: str) -> tuple[np.dtype, tuple[int, ...]]:
    """Return dtype and shape of an array; of objects they would be a program that reading runs."""
    version = npy.read_magic(member)
    read = npy.read_array_header_1_0 if version == (1, 0) else npy.read_array_header_2_0
    shape, _, dtype = read(member)
    if dtype.hasobject:
        raise RecordingError(
            f"{path}: {name} holds Python objects, which are not unpickled; give an array of numbers"
        )
    return dtype, shape


def _reader_of_member(path: Path, name: str, key: str) -> Callable[[], np.ndarray]:
    def read() -> np.ndarray:
        with _reading(path, key), open_regular(path) as stream, zipfile.ZipFile(stream) as archive:
            with archive.open(name) as member:
                array: np.ndarray = npy.read_array(member, allow_pickle=False)
            return array.astype(array.dtype.newbyteorder("="), copy=False)

    return read


def _open_safetensors(path: Path) -> Archive:
    with _reading(path):
        header, start = _safetensors_header(path)
        # The library refuses offsets that overlap, leave holes, do not fit a shape or lie beyond the end.
        with safe_open(path, framework="numpy"):
            pass
    texts = header.pop("__metadata__", {})
    arrays = {}
    for name, entry in header.items():
        first, last = entry["data_offsets"]
        dtype = SAFE_TYPES.get(entry["dtype"], entry["dtype"])
        described = _checked(Described(tuple(entry["shape"]), dtype), path, name, 1)
        arrays[name] = Stored(
            described, _reader_of_tensor(path, name, described, (start + first, last - first))
        )
    return Archive(path, arrays, texts)


def _safetensors_header(path: Path) -> tuple[dict[str, Any], int]:
    """Return the header of a safetensors file, and where its data start."""
    with open_regular(path) as stream:
        size = int.from_bytes(stream.read(8) or b"", "little")
        if size > _HEADER_AT_MOST:
            raise ValueError("its first 8 bytes are no length of a header")
        header = json.loads(stream.read(size) or b"")
    if not isinstance(header, dict):
        raise TypeError("its header is no object of JSON")
    return header, 8 + size


def _reader_of_tensor(
    path: Path, name: str, described: Described, extent: tuple[int, int]
) -> Callable[[], np.ndarray]:
    def read() -> np.ndarray:
        first, size = extent
        bits = described.dtype == HALF
        with _reading(path, name), open_regular(path) as stream:
            stream.seek(first)
            array = np.fromfile(stream, np.uint16 if bits else described.dtype, math.prod(described.shape))
            if array.nbytes != size:
                raise EOFError("the file was cut short after it was opened")
        array = array.reshape(described.shape)
        return widened(array) if bits else array

    return read
