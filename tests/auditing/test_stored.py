"""Arrays in files: whatever is wrong with a file is one clear line, and nothing in it is run."""

from __future__ import annotations

import os
import pickle
import struct
import zipfile
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from tests.auditing.stored import arrays, normal, only_call, safetensors
from verify.auditing.files import load
from verify.errors import RecordingError

if TYPE_CHECKING:
    from pathlib import Path


class Trap:
    """An object whose unpickling would make a folder."""

    def __reduce__(self) -> tuple[Any, ...]:
        return os.mkdir, ("trapped",)


def test_objects_are_not_unpickled(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither in an archive nor as a file of their own."""
    monkeypatch.chdir(tmp_path)
    np.savez(tmp_path / "a.npz", q=np.array([Trap()], dtype=object), k=normal())
    with pytest.raises(RecordingError, match=r"a.npz: q holds Python objects, which are not unpickled"):
        load(tmp_path / "a.npz")
    with zipfile.ZipFile(tmp_path / "weights.pt", "w") as archive:
        archive.writestr("weights/data.pkl", pickle.dumps(Trap()))
    with pytest.raises(RecordingError, match=r"weights.pt: weights/data.pkl is no array, and is not unp"):
        load(tmp_path / "weights.pt")
    (tmp_path / "b.npz").write_bytes(pickle.dumps(Trap()))
    with pytest.raises(RecordingError, match=r"b.npz: is cut short or malformed"):
        load(tmp_path / "b.npz")
    np.save(tmp_path / "c.npy", normal())
    with pytest.raises(RecordingError, match=r"c.npy: is a single array; give an archive"):
        load(tmp_path / "c.npy")
    assert not (tmp_path / "trapped").exists()


@pytest.mark.parametrize("name", ["a.npz", "a.safetensors"])
def test_files_that_are_cut_short(tmp_path: Path, name: str) -> None:
    """Wherever it is, a clear line; never a number."""
    path = tmp_path / name
    if name.endswith("z"):
        np.savez(path, **arrays())
    else:
        safetensors(path, {key: (one, "float32") for key, one in arrays().items()})
    whole = path.read_bytes()
    for size in range(0, len(whole), max(1, len(whole) // 60)):
        path.write_bytes(whole[:size])
        with pytest.raises(RecordingError, match=r"is empty|is cut short or malformed|cannot be read"):
            load(path)


def test_a_damaged_archive(tmp_path: Path) -> None:
    """Its checksum is wrong, which shows when the array is read."""
    path = tmp_path / "a.npz"
    np.savez(path, **arrays())
    whole = bytearray(path.read_bytes())
    whole[400] ^= 1
    path.write_bytes(whole)
    with pytest.raises(RecordingError, match=r"a.npz: q: is cut short or malformed \(BadZipFile: Bad CRC"):
        only_call(path)


@pytest.mark.parametrize(
    ("header", "wrong"),
    [
        (b"[]", "malformed"),
        (b"{" * 100_000, "malformed"),
        (b'{"q":{"dtype":"F32","shape":[1],"data_offsets":[0,9]}}', "malformed"),
        (b'{"q":{"dtype":"F32","shape":[-1],"data_offsets":[0,4]}}', "malformed"),
        (b'{"q":{"dtype":"F32","shape":[4611686018427387905],"data_offsets":[0,4]}}', "malformed"),
        (b'{"q":1}', "malformed"),
        (b"{}", "holds no arrays; give q and k at least"),
    ],
)
def test_headers_made_to_hurt(tmp_path: Path, header: bytes, wrong: str) -> None:
    """A header of any form is refused; one that says it is huge is not read."""
    path = tmp_path / "a.safetensors"
    path.write_bytes(struct.pack("<Q", len(header)) + header + bytes(4 if b"F32" in header else 0))
    with pytest.raises(RecordingError, match=wrong):
        load(path)
    path.write_bytes(struct.pack("<Q", 2**63) + header)
    with pytest.raises(RecordingError, match="its first 8 bytes are no length of a header"):
        load(path)


def test_an_array_that_unpacks_to_more_than_a_batch(tmp_path: Path) -> None:
    """Its header says so; it is refused before it is unpacked."""
    path = tmp_path / "a.npz"
    header = b"{'descr': '<f8', 'fortran_order': False, 'shape': (1, 1, 2000000000, 1)}\n"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("q.npy", b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header)
    with pytest.raises(RecordingError, match=r"a.npz: q is larger than 8000 MB; give fewer sequences"):
        load(path)


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("none", "No such file"),
        ("pipe", "is a pipe"),
        ("/dev/zero", "is no regular file"),
        ("a\0b", "embedded null byte|is not a path"),
        ("loop", "Too many levels"),
    ],
)
def test_what_is_no_regular_file(tmp_path: Path, name: str, reason: str) -> None:
    """It is refused at once, without waiting for a writer."""
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "loop").symlink_to(tmp_path / "loop")
    with pytest.raises(RecordingError, match=reason):
        load(tmp_path / name)
    with pytest.raises(RecordingError, match="is not a path; give a NumPy archive"):
        load(None)  # type: ignore[arg-type]
